// Hints about messages: receivers that do not look, windows, links.

#include "trace_tool/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace shoal::trace_tool {

namespace {

/// Name of the handler that most bytes between two ranks are for.
std::string name_of_messages(const Advice& advice, int from, int to) {
  Sums sums;
  for (const Message& message : advice.model.messages) {
    if (message.from != from || message.to != to) continue;
    sums[message.name] += static_cast<std::int64_t>(message.size_bytes) + 1;
  }
  return advice.largest(sums);
}

/// The sender keeps its worker while it waits for room, so that this is not busy.
bool waits_in_place(const Model& model, const Interval& window) {
  const auto& here = model.busy[window.track];
  const auto at = std::partition_point(here.begin(), here.end(),
                                       [&](const Stretch& one) { return one.end <= window.begin; });
  return at != here.end() && at->begin <= window.begin && at->end >= window.end;
}

/// Time of the waits for room in which the receiver did nothing, or a handler took much longer than
/// usual. 0 without a record of the receiver.
std::int64_t stood_still(const Model& model, int rank, const std::vector<Stretch>& waits) {
  constexpr double kLong = 4;
  std::vector<Stretch> working;
  std::map<NameId, std::vector<double>> handlers;
  for (std::uint32_t track = 0; track < model.busy.size(); ++track) {
    if (model.rank_of(track) != rank) continue;
    working.insert(working.end(), model.busy[track].begin(), model.busy[track].end());
  }
  for (const Interval& one : model.intervals) {
    if (model.rank_of(one.track) != rank) continue;
    if (one.what == Interval::What::progress) working.push_back({one.begin, one.end});
    if (one.what == Interval::What::handler) {
      handlers[one.name].push_back(number(one.end - one.begin));
    }
  }
  if (working.empty()) return 0;
  join(working);
  std::map<NameId, std::int64_t> most;
  for (auto& [name, times] : handlers) {
    most[name] = static_cast<std::int64_t>(kLong * lower_median(times));
  }
  std::vector<Stretch> held;
  for (const Interval& one : model.intervals) {
    if (one.what != Interval::What::handler || model.rank_of(one.track) != rank) continue;
    const std::int64_t begin = one.begin + most[one.name];
    if (begin < one.end) held.push_back({begin, one.end});
  }
  join(held);
  std::int64_t sum = 0;
  for (const Stretch& wait : waits) {
    sum += wait.end - wait.begin - busy_within(working, wait.begin, wait.end) +
           busy_within(held, wait.begin, wait.end);
  }
  return sum;
}

/// Senders wait for room in a window, and their workers have nothing else to do.
void full_windows(Advice& advice) {
  for (const RankUsage& rank : advice.analysis.ranks) {
    std::int64_t idle = 0;
    for (std::uint32_t track = 0; track < advice.model.usage.size(); ++track) {
      if (advice.model.rank_of(track) != rank.rank || !is_worker(advice.model, track)) continue;
      for (const Stretch& one : rank.full) {
        idle += one.end - one.begin - busy_within(advice.model.busy[track], one.begin, one.end);
      }
    }
    std::map<int, std::int64_t> targets;
    std::map<int, std::vector<Stretch>> waits;  // by target
    for (const Interval& interval : advice.model.intervals) {
      if (interval.what != Interval::What::window) continue;
      if (advice.model.rank_of(interval.track) != rank.rank) continue;
      waits[static_cast<int>(interval.value)].push_back({interval.begin, interval.end});
      targets[static_cast<int>(interval.value)] += interval.end - interval.begin;
      if (waits_in_place(advice.model, interval)) idle += interval.end - interval.begin;
    }
    const double cost = number(idle) / (advice.duration() * std::max(rank.workers, 1));
    if (cost < kNoticeable || targets.empty()) continue;
    const int most =
        std::max_element(targets.begin(), targets.end(), [](const auto& a, const auto& b) {
          return a.second < b.second;
        })->first;
    const double still =
        number(stood_still(advice.model, most, waits[most])) / number(targets[most]);
    advice.add_timed(
        kNoticeable, {"window-full", cost, name_of_messages(advice, rank.rank, most), rank.rank},
        fmt::format("on rank {}, senders wait for room in a window of messages for {} of the run, "
                    "most to rank {}, and workers have nothing else to do for {} of it: "
                    "that rank takes messages too slowly. Send less to it, in larger messages, or "
                    "enlarge the window",
                    rank.rank, share_text(number(rank.window_full), advice.duration()), most,
                    share_text(cost, 1)),
        {static_cast<std::int64_t>(cost * still * advice.duration()),
         "But that rank did nothing for most of this time, or stood still in a handler: other "
         "programs, the host of a virtual machine or the network may have held it up"});
  }
}

/// The path waits for a rank that is busy and does not look for messages.
void busy_receiver(Advice& advice) {
  std::map<std::pair<NameId, int>, std::int64_t> sums;  // by task and rank
  for (const PathStep& step : advice.analysis.path) {
    if (step.what != PathStep::What::blocked || step.index == kNone) continue;
    sums[{step.name, step.rank}] += step.end - step.begin;
  }
  for (const auto& [key, ns] : sums) {
    const double cost = number(ns) / advice.duration();
    if (cost < kNoticeable) continue;
    advice.add_timed(
        kNoticeable, {"busy-receiver", cost, advice.model.input().name(key.first), key.second},
        fmt::format("messages to rank {} waited {} until its tasks '{}' let it look for "
                    "them, {} of the critical path: the network is not the reason. Make "
                    "these tasks shorter, call yield() in them, or give --progress thread",
                    key.second, time_text(number(ns)), advice.model.input().name(key.first),
                    share_text(cost, 1)));
  }
}

/// Time of the critical path for messages between two ranks, either way.
double on_path(const Advice& advice, int a, int b) {
  std::int64_t sum = 0;
  for (const PathStep& step : advice.analysis.path) {
    if (step.what != PathStep::What::message) continue;
    const Message& message = advice.model.messages[step.index];
    const bool is_between =
        (message.from == a && message.to == b) || (message.from == b && message.to == a);
    if (is_between) sum += step.end - step.begin;
  }
  return number(sum) / advice.duration();
}

/// One pair of ranks exchanges much more than any other: in the chain of a multicast, which shoal
/// chooses, several do.
void hot_link(Advice& advice) {
  constexpr std::size_t kPairsMin = 3;
  constexpr double kTimesTheMean = 4;
  constexpr double kTimesTheNext = 2;
  std::map<std::pair<int, int>, std::uint64_t> bytes;  // smaller rank first
  std::uint64_t sum = 0;
  for (const auto& [pair, statistics] : advice.analysis.pairs) {
    if (pair.first == pair.second) continue;
    bytes[std::minmax(pair.first, pair.second)] += statistics.bytes;
    sum += statistics.bytes;
  }
  if (bytes.size() < kPairsMin) return;
  const auto hottest = std::max_element(
      bytes.begin(), bytes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  std::uint64_t next = 0;
  for (auto pair = bytes.begin(); pair != bytes.end(); ++pair) {
    if (pair != hottest) next = std::max(next, pair->second);
  }
  const double most = number(hottest->second);
  const double others = (number(sum) - most) / number(bytes.size() - 1);
  const auto [a, b] = hottest->first;
  const double cost = on_path(advice, a, b);
  if (most < kTimesTheMean * others || most < kTimesTheNext * number(next)) return;
  if (cost < kNoticeable) return;
  advice.add_timed(
      kNoticeable, {"hot-link", cost, name_of_messages(advice, a, b), a},
      fmt::format("rank {} sends {} to rank {} and back, {:.0f} times as much as other "
                  "pairs do on average, and these messages are {} of the critical path: "
                  "distribute their common data differently",
                  a, bytes_text(most), b, others > 0 ? most / others : most, share_text(cost, 1)));
}

int size_class_of(const Message& message) {
  return static_cast<int>(std::bit_width(message.size_bytes));
}

/// Time on the way of messages of like size, without the time in which their rank did not look.
/// Ranks of one host have no network between them: their messages are late when the system runs
/// other threads.
void slow_link(Advice& advice) {
  constexpr std::size_t kPairsMin = 4;
  constexpr double kSlower = 4;
  using Pair = std::pair<int, int>;
  const std::map<int, std::string> hosts = hosts_of_ranks(advice.model);
  const auto are_of_one_host = [&hosts](const Pair& pair) {
    const auto a = hosts.find(pair.first);
    const auto b = hosts.find(pair.second);
    return a != hosts.end() && b != hosts.end() && a->second == b->second;
  };
  std::map<int, std::map<Pair, std::vector<double>>> ways;  // by size
  for (const Message& message : advice.model.messages) {
    const std::int64_t arrived = message.received != kNever ? message.received : message.handled;
    if (message.from < 0 || message.to < 0 || message.from == message.to) continue;
    if (message.sent == kNever || arrived == kNever) continue;
    if (are_of_one_host({message.from, message.to})) continue;
    const Blocked blocked = blocked_before(advice.model, message);
    const std::int64_t until = blocked.busy_since == kNever ? arrived : blocked.busy_since;
    ways[size_class_of(message)][{message.from, message.to}].push_back(
        number(until - message.sent));
  }
  Pair slowest{-1, -1};
  int of_size = 0;
  double worst = 0;
  // Medians: one message that met a busy processor says nothing about the link.
  std::pair<double, double> medians;  // of that pair, and of the others
  for (const auto& [size, pairs] : ways) {
    if (pairs.size() < kPairsMin) continue;
    std::vector<double> all;
    for (const auto& [pair, times] : pairs) all.push_back(lower_median(times));
    const double usual = lower_median(all);
    for (const auto& [pair, times] : pairs) {
      const double own = lower_median(times);
      const double lost = (own - usual) * static_cast<double>(times.size());
      if (own < kSlower * usual || lost <= worst) continue;
      worst = lost;
      slowest = pair;
      of_size = size;
      medians = {own, usual};
    }
  }
  if (slowest.first < 0) return;
  std::int64_t sum = 0;
  for (const PathStep& step : advice.analysis.path) {
    if (step.what != PathStep::What::message) continue;
    const Message& message = advice.model.messages[step.index];
    // Small messages are slow behind large ones.
    const bool is_of_size = size_class_of(message) == of_size;
    if (is_of_size && Pair(message.from, message.to) == slowest) sum += step.end - step.begin;
  }
  const double cost = number(sum) / advice.duration();
  if (cost < kNoticeable) return;
  advice.add_timed(
      kNoticeable,
      {"slow-link", cost, name_of_messages(advice, slowest.first, slowest.second), slowest.second},
      fmt::format("messages from rank {} to rank {} take {} (median), those of their size "
                  "between other ranks {}, and are {} of the critical path: look at the "
                  "network between their nodes, or place ranks that exchange much on one "
                  "node",
                  slowest.first, slowest.second, time_text(medians.first),
                  time_text(medians.second), share_text(cost, 1)));
}

}  // namespace

void add_message_hints(Advice& advice) {
  busy_receiver(advice);
  full_windows(advice);
  hot_link(advice);
  slow_link(advice);
}

}  // namespace shoal::trace_tool
