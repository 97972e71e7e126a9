#include "top/view.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <span>

namespace shoal::top {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kOldNs = 3'000'000'000;  // an age that is worth telling
constexpr std::size_t kWorkersShown = 16;
constexpr std::size_t kBarColumns = 10;

const char* name_of(WorkerState state) {
  switch (state) {
    case WorkerState::asleep:
      return "asleep";
    case WorkerState::looking:
      return "looking";
    case WorkerState::task:
      return "task";
    case WorkerState::handler:
      return "handler";
    case WorkerState::unknown:
      break;
  }
  return "unknown";
}

char letter_of(WorkerState state) {
  switch (state) {
    case WorkerState::asleep:
      return '.';
    case WorkerState::looking:
      return '-';
    case WorkerState::task:
      return 'T';
    case WorkerState::handler:
      return 'H';
    case WorkerState::unknown:
      break;
  }
  return '?';
}

double window_share(const RankFigures& rank) {
  if (rank.window_bytes == 0) return 0;
  return static_cast<double>(rank.in_flight_bytes) / static_cast<double>(rank.window_bytes);
}

double key_of(const Row& row, Order order) {
  if (!row.sample.has_value()) return -1;
  const RankFigures& rank = row.sample->rank;
  switch (order) {
    case Order::busy:
      return rank.busy;
    case Order::tasks:
      return rank.tasks_per_s;
    case Order::ready:
      return static_cast<double>(rank.ready);
    case Order::parked:
      return static_cast<double>(rank.parked);
    case Order::messages:
      return rank.messages_sent_per_s + rank.messages_received_per_s;
    case Order::bytes:
      return rank.bytes_sent_per_s;
    case Order::window:
      return window_share(rank);
    case Order::memory:
      return static_cast<double>(rank.resident_bytes);
    case Order::rank:
      break;
  }
  return -static_cast<double>(rank.rank);
}

std::string workers_text(const Sample& sample) {
  std::string text;
  const std::size_t shown = std::min(sample.workers.size(), kWorkersShown);
  for (const WorkerFigures& worker : std::span(sample.workers).first(shown)) {
    text += letter_of(worker.state);
  }
  if (shown < sample.workers.size()) text += '+';
  return text;
}

// The task that most workers run.
std::string task_text(const Sample& sample) {
  std::map<std::string_view, int> counts;
  for (const WorkerFigures& worker : sample.workers) {
    if (!worker.task.view().empty()) ++counts[worker.task.view()];
  }
  const auto most = std::ranges::max_element(
      counts, [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? std::string() : std::string(most->first);
}

std::string end_text(const Row& row) {
  std::string text = task_text(*row.sample);
  const int senders = row.sample->rank.waiting_senders;
  if (senders > 0) text += fmt::format(" [{} wait to send]", senders);
  if (row.age_ns > kOldNs) text += fmt::format(" [no news for {} s]", row.age_ns / 1'000'000'000);
  return text;
}

constexpr const char* kTitle =
    "  RANK      PID HOST         WORKERS           BUSY            READY PARKED TASKS/s  OUT/s   "
    "IN/s    B/s WINDOW           MEMORY TASK";

std::string line_of(const Row& row) {
  if (!row.sample.has_value()) return fmt::format("{:>6}  has not reported yet", row.rank);
  const RankFigures& rank = row.sample->rank;
  return fmt::format(
      "{:>6} {:>8} {:<12.12} {:<17} {} {:>3.0f}% {:>5} {:>6} {:>7} {:>6} {:>6} {:>6} {} {:>3.0f}% "
      "{:>7} {}",
      rank.rank, rank.pid, rank.host.view(), workers_text(*row.sample), bar(rank.busy, kBarColumns),
      100 * rank.busy, short_number(static_cast<double>(rank.ready)),
      short_number(static_cast<double>(rank.parked)), short_number(rank.tasks_per_s),
      short_number(rank.messages_sent_per_s), short_number(rank.messages_received_per_s),
      short_number(rank.bytes_sent_per_s), bar(window_share(rank), kBarColumns),
      100 * window_share(rank), short_number(static_cast<double>(rank.resident_bytes)),
      end_text(row));
}

Json json_of(const Row& row) {
  Json one = {{"job", row.job},
              {"program", row.program},
              {"world_size", row.world_size},
              {"rank", row.rank}};
  one["known"] = row.sample.has_value();
  if (!row.sample.has_value()) return one;
  const RankFigures& rank = row.sample->rank;
  one["process"] = rank.process;
  one["pid"] = rank.pid;
  one["host"] = std::string(rank.host.view());
  one["age_s"] = static_cast<double>(row.age_ns) / 1e9;
  one["busy"] = rank.busy;
  one["tasks_run"] = rank.tasks_run;
  one["tasks_per_s"] = rank.tasks_per_s;
  one["tasks_ready"] = rank.ready;
  one["tasks_parked"] = rank.parked;
  one["messages_sent"] = rank.messages_sent;
  one["messages_sent_per_s"] = rank.messages_sent_per_s;
  one["messages_received"] = rank.messages_received;
  one["messages_received_per_s"] = rank.messages_received_per_s;
  one["bytes_sent"] = rank.bytes_sent;
  one["bytes_sent_per_s"] = rank.bytes_sent_per_s;
  one["window"] = {{"to_rank", rank.fullest_window},
                   {"in_flight_bytes", rank.in_flight_bytes},
                   {"size_bytes", rank.window_bytes},
                   {"waiting_senders", rank.waiting_senders}};
  one["resident_bytes"] = rank.resident_bytes;
  one["workers"] = Json::array();
  for (const WorkerFigures& worker : row.sample->workers) {
    Json state = {{"state", name_of(worker.state)}};
    if (!worker.task.view().empty()) state["task"] = std::string(worker.task.view());
    one["workers"].push_back(std::move(state));
  }
  return one;
}

}  // namespace

const std::vector<std::string>& order_names() {
  static const std::vector<std::string> names = {"rank",     "busy",  "tasks",  "ready", "parked",
                                                 "messages", "bytes", "window", "memory"};
  return names;
}

std::string bar(double share, std::size_t columns) {
  const double filled = std::round(std::clamp(share, 0.0, 1.0) * static_cast<double>(columns));
  const auto count = static_cast<std::size_t>(filled);
  return std::string(count, '#') + std::string(columns - count, '-');
}

std::string short_number(double value) {
  constexpr std::array<const char*, 6> kPrefixes = {"", "k", "M", "G", "T", "P"};
  std::size_t prefix = 0;
  while (value >= 999.5 && prefix + 1 < kPrefixes.size()) {
    value /= 1000;
    ++prefix;
  }
  const int digits = prefix == 0 || value >= 99.95 ? 0 : 1;
  return fmt::format("{:.{}f}{}", value, digits, kPrefixes.at(prefix));
}

std::vector<std::string> lines_of(const Overview& overview, Order order, std::size_t width) {
  std::vector<const Row*> rows;
  rows.reserve(overview.rows.size());
  for (const Row& row : overview.rows) rows.push_back(&row);
  std::ranges::stable_sort(rows, [order](const Row* a, const Row* b) {
    if (a->job != b->job) return a->job < b->job;
    return order != Order::rank && key_of(*a, order) > key_of(*b, order);
  });
  std::vector<std::string> lines;
  std::string_view job;
  for (const Row* row : rows) {
    if (row->job != job) {
      job = row->job;
      lines.push_back(fmt::format("{}  (job {}, {} ranks)", row->program, job, row->world_size));
      lines.emplace_back(kTitle);
    }
    lines.push_back(line_of(*row));
  }
  if (rows.empty()) {
    lines.push_back(overview.process.has_value()
                        ? fmt::format("process {} is no running program of yours that uses shoal",
                                      *overview.process)
                        : "no program of yours that uses shoal runs on this host");
  }
  if (overview.other_versions > 0) {
    lines.push_back(
        fmt::format("not shown: {} with another version of shoal", overview.other_versions));
  }
  for (std::string& line : lines) line = line.substr(0, width);
  return lines;
}

std::string json_of(const Overview& overview) {
  Json all = {{"ranks", Json::array()}, {"other_versions", overview.other_versions}};
  for (const Row& row : overview.rows) all["ranks"].push_back(json_of(row));
  return all.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace shoal::top
