#include "trace_tool/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace shoal::trace_tool {

namespace {

using Json = nlohmann::ordered_json;

std::string time_of(std::int64_t ns) { return time_text(static_cast<double>(ns)); }

std::int64_t busy_of(const Analysis& analysis) {
  std::int64_t sum = 0;
  for (const RankUsage& rank : analysis.ranks) sum += rank.sum.tasks + rank.sum.handlers;
  return sum;
}

int workers_of(const Analysis& analysis) {
  int sum = 0;
  for (const RankUsage& rank : analysis.ranks) sum += rank.workers;
  return sum;
}

double utilization_of(const Analysis& analysis) {
  const double whole = static_cast<double>(analysis.duration) * workers_of(analysis);
  return whole > 0 ? static_cast<double>(busy_of(analysis)) / whole : 0;
}

std::int64_t mean_of(const NameStatistics& name) {
  return name.count == 0 ? 0 : name.total / static_cast<std::int64_t>(name.count);
}

std::pair<std::uint64_t, std::uint64_t> traffic_of(const Analysis& analysis) {
  std::pair<std::uint64_t, std::uint64_t> sum;
  for (const auto& [pair, statistics] : analysis.pairs) {
    sum.first += statistics.count;
    sum.second += statistics.bytes;
  }
  return sum;
}

constexpr std::size_t kRowsMax = 12;

struct Lines {
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text), format, std::forward<Args>(args)...);
    text += '\n';
  }
  std::string text;
};

void add_names(Lines& out, const Analysis& analysis) {
  if (analysis.names.empty()) return;
  out.add("\n{:<28} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}", "tasks", "count", "total", "mean",
          "least", "median", "most");
  for (std::size_t i = 0; i < std::min(analysis.names.size(), kRowsMax); ++i) {
    const NameStatistics& name = analysis.names[i];
    out.add("{:<28} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}", name.name, name.count,
            time_of(name.total), time_of(mean_of(name)), time_of(name.least), time_of(name.median),
            time_of(name.most));
  }
  if (analysis.names.size() > kRowsMax) out.add("and {} more", analysis.names.size() - kRowsMax);
}

void add_ranks(Lines& out, const Analysis& analysis) {
  if (analysis.ranks.empty()) return;
  out.add("\n{:<8} {:>8} {:>10} {:>8} {:>9} {:>8} {:>8} {:>12}", "rank", "workers", "tasks", "busy",
          "handlers", "asleep", "other", "window full");
  for (std::size_t i = 0; i < std::min(analysis.ranks.size(), kRowsMax); ++i) {
    const RankUsage& rank = analysis.ranks[i];
    const double whole = static_cast<double>(analysis.duration) * rank.workers;
    const auto share = [whole](std::int64_t ns) {
      return share_text(static_cast<double>(ns), whole);
    };
    out.add(
        "{:<8} {:>8} {:>10} {:>8} {:>9} {:>8} {:>8} {:>12}", rank.rank, rank.workers,
        rank.sum.task_count, share(rank.sum.tasks), share(rank.sum.handlers),
        share(rank.sum.asleep), share(rank.sum.other),
        share_text(static_cast<double>(rank.window_full), static_cast<double>(analysis.duration)));
  }
  if (analysis.ranks.size() > kRowsMax) out.add("and {} more", analysis.ranks.size() - kRowsMax);
}

/// Means over the messages of each handler.
void add_latencies(Lines& out, const Analysis& analysis) {
  if (analysis.latencies.empty()) return;
  out.add("\n{:<28} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}", "messages", "count", "bytes",
          "in window", "on the way", "progress", "worker");
  for (std::size_t i = 0; i < std::min(analysis.latencies.size(), kRowsMax); ++i) {
    const LatencyStatistics& one = analysis.latencies[i];
    const auto mean = [&one](std::int64_t ns) {
      return time_text(static_cast<double>(ns) / static_cast<double>(one.count));
    };
    out.add("{:<28} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}", one.name, one.count,
            bytes_text(static_cast<double>(one.bytes)), mean(one.window), mean(one.wire),
            mean(one.progress), mean(one.worker));
  }
  if (analysis.latencies.size() > kRowsMax) {
    out.add("and {} more", analysis.latencies.size() - kRowsMax);
  }
}

}  // namespace

namespace {

/// A fact of the run, as the first process has written it; "": none.
std::string identity_text(const Input& input, const char* key) {
  return input.processes().empty() ? "" : fact_of(input.processes().front(), key);
}

}  // namespace

std::string title_of(const Input& input) {
  if (input.processes().empty()) return "a run";
  const auto text = [&input](const char* key) { return identity_text(input, key); };
  std::string title = text("program").empty() ? "a run" : text("program");
  if (!text("arguments").empty()) title += fmt::format(" {}", text("arguments"));
  title += fmt::format(" on {} rank{}", input.rank_count(), input.rank_count() == 1 ? "" : "s");
  if (!text("commit").empty()) title += fmt::format(" ({:.12})", text("commit"));
  return title;
}

std::string not_modelled_text(const Input& input) {
  if (identity_text(input, "simulated") != "yes") return "";
  return "a simulated run: virtual time contains what compute() and set_cost() declare, steps of "
         "workers, and messages. Not modelled: more workers than processors, masks of processors, "
         "other programs, the cost of making tasks, switches of the network; without --sim-memory, "
         "memory traffic";
}

std::string partial_text(const std::vector<std::string>& gaps) {
  std::string text;
  for (const std::string& gap : gaps) {
    text += (text.empty() ? "this trace is partial: " : "; ") + gap;
  }
  return text;
}

namespace {

/// The busiest rank, beside the mean of all; "" where there is one rank, or no work.
std::string imbalance_text(const Analysis& analysis) {
  if (analysis.loads.size() < 2) return "";
  double sum = 0;
  double most = 0;
  int busiest = 0;
  for (const auto& [rank, load] : analysis.loads) {
    const double busy = number(load.busy) / std::max(load.workers, 1);
    sum += busy;
    if (busy <= most) continue;
    most = busy;
    busiest = rank;
  }
  const double mean = sum / number(analysis.loads.size());
  if (most == 0) return "";
  return fmt::format(
      "imbalance: workers of rank {} are busy for {}, {:.0f} % more than those of "
      "all ranks on average",
      busiest, time_text(most), 100 * (most / mean - 1));
}

}  // namespace

std::string summary_text(const Model& model, const Analysis& analysis) {
  Lines out;
  if (const std::string partial = partial_text(model.gaps()); !partial.empty()) {
    out.add("{}", partial);
  }
  const auto [messages, bytes] = traffic_of(analysis);
  out.add("{}", title_of(model.input()));
  const std::string tasks = model.has(Category::task) ? fmt::format("{} tasks", model.tasks.size())
                                                      : "tasks were not recorded";
  const std::string traffic =
      model.has(Category::message)
          ? fmt::format("{} messages, {}", messages, bytes_text(static_cast<double>(bytes)))
          : "messages were not recorded";
  const std::string busy =
      model.knows_idleness()
          ? fmt::format("; workers busy {} of the time", share_text(utilization_of(analysis), 1))
          : "";
  out.add("{} of {} tracks, {} events; {}; {}{}", time_of(analysis.duration),
          model.input().tracks().size(), model.events, tasks, traffic, busy);
  out.add("critical path: {}", path_text(analysis));
  if (const std::string text = imbalance_text(analysis); !text.empty() && model.knows_idleness()) {
    out.add("{}", text);
  }
  for (const std::string& line : idle_lines(analysis)) out.add("{}", line);
  if (const std::string text = iterations_text(analysis); !text.empty()) out.add("{}", text);
  if (const std::string text = attempts_text(model); !text.empty()) out.add("{}", text);
  if (const std::string text = not_modelled_text(model.input()); !text.empty()) {
    out.add("{}", text);
  }
  add_names(out, analysis);
  if (model.knows_idleness()) add_ranks(out, analysis);
  add_latencies(out, analysis);
  if (!analysis.hints.empty()) out.add("");
  for (const Hint& hint : analysis.hints) out.add("hint: {}", hint.text);
  for (const std::string& note : analysis.notes) out.add("note: {}", note);
  return std::move(out.text);
}

std::string summary_json(const Model& model, const Analysis& analysis) {
  Json all = {{"title", title_of(model.input())},
              {"duration_ns", analysis.duration},
              {"events", model.events},
              {"critical_path", path_text(analysis)},
              {"idle", idle_lines(analysis)}};
  if (model.has(Category::task)) {
    all["tasks"] = model.tasks.size();
  }
  if (model.knows_idleness()) all["utilization"] = utilization_of(analysis);
  if (model.has(Category::message)) {
    const auto [messages, bytes] = traffic_of(analysis);
    all["messages"] = messages;
    all["bytes"] = bytes;
  }
  if (const auto gaps = model.gaps(); !gaps.empty()) all["partial"] = gaps;
  if (const std::string text = attempts_text(model); !text.empty()) all["attempts"] = text;
  if (const std::string text = not_modelled_text(model.input()); !text.empty()) {
    all["not_modelled"] = text;
  }
  for (const NameStatistics& name : analysis.names) {
    all["names"].push_back({{"name", name.name},
                            {"count", name.count},
                            {"total_ns", name.total},
                            {"median_ns", name.median}});
  }
  for (const LatencyStatistics& one : analysis.latencies) {
    all["latencies"].push_back({{"name", one.name},
                                {"count", one.count},
                                {"bytes", one.bytes},
                                {"window_ns", one.window},
                                {"wire_ns", one.wire},
                                {"progress_ns", one.progress},
                                {"worker_ns", one.worker}});
  }
  for (const IterationStatistics& one : analysis.iterations) {
    all["iterations"].push_back({{"number", one.number},
                                 {"tasks", one.count},
                                 {"made_ns", one.made},
                                 {"begin_ns", one.begin},
                                 {"end_ns", one.end},
                                 {"busy_ns", one.busy}});
  }
  for (const Hint& hint : analysis.hints) {
    all["hints"].push_back({{"kind", hint.kind}, {"text", hint.text}});
  }
  if (!analysis.notes.empty()) all["notes"] = analysis.notes;
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

namespace {

std::string change(double before, double after) {
  if (before <= 0) return after > 0 ? "new" : "";
  return fmt::format("{:+.1f} %", 100 * (after - before) / before);
}

void diff_names(Lines& out, const Analysis& a, const Analysis& b) {
  struct Both {
    const NameStatistics* a = nullptr;
    const NameStatistics* b = nullptr;
    [[nodiscard]] std::int64_t difference() const {
      return (b == nullptr ? 0 : b->total) - (a == nullptr ? 0 : a->total);
    }
  };
  std::map<std::string, Both> by_name;
  for (const NameStatistics& name : a.names) by_name[name.name].a = &name;
  for (const NameStatistics& name : b.names) by_name[name.name].b = &name;
  std::vector<std::pair<std::string, Both>> rows(by_name.begin(), by_name.end());
  std::stable_sort(rows.begin(), rows.end(), [](const auto& x, const auto& y) {
    return std::abs(x.second.difference()) > std::abs(y.second.difference());
  });
  if (rows.empty()) return;
  out.add("\n{:<28} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}", "tasks", "count A", "count B",
          "mean A", "mean B", "change", "total");
  for (std::size_t i = 0; i < std::min(rows.size(), kRowsMax); ++i) {
    const auto& [name, both] = rows[i];
    const std::int64_t mean_a = both.a == nullptr ? 0 : mean_of(*both.a);
    const std::int64_t mean_b = both.b == nullptr ? 0 : mean_of(*both.b);
    const std::int64_t more = both.difference();
    out.add("{:<28} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}", name,
            both.a == nullptr ? 0 : both.a->count, both.b == nullptr ? 0 : both.b->count,
            time_of(mean_a), time_of(mean_b),
            change(static_cast<double>(mean_a), static_cast<double>(mean_b)),
            fmt::format("{}{}", more < 0 ? "-" : "+", time_of(std::abs(more))));
  }
}

void diff_ranks(Lines& out, const Analysis& a, const Analysis& b) {
  constexpr double kWorthTelling = 0.02;
  for (const RankUsage& after : b.ranks) {
    const auto before = std::find_if(a.ranks.begin(), a.ranks.end(),
                                     [&](const RankUsage& one) { return one.rank == after.rank; });
    if (before == a.ranks.end()) {
      out.add("rank {} is only in B", after.rank);
      continue;
    }
    const auto idle = [](const RankUsage& rank, const Analysis& of) {
      return static_cast<double>(rank.idle_ns) /
             std::max(1.0, static_cast<double>(of.duration) * rank.workers);
    };
    const double more = idle(after, b) - idle(*before, a);
    if (std::abs(more) < kWorthTelling) continue;
    out.add("rank {} waits {} of the run in A, {} in B", after.rank,
            share_text(idle(*before, a), 1), share_text(idle(after, b), 1));
  }
}

}  // namespace

std::string diff_text(const Model& a, const Analysis& of_a, const Model& b, const Analysis& of_b) {
  Lines out;
  out.add("A: {}: {}", a.input().path(), title_of(a.input()));
  out.add("B: {}: {}", b.input().path(), title_of(b.input()));
  if (const auto gaps = a.gaps(); !gaps.empty()) out.add("A: {}", partial_text(gaps));
  if (const auto gaps = b.gaps(); !gaps.empty()) out.add("B: {}", partial_text(gaps));
  const auto before = static_cast<double>(of_a.duration);
  const auto after = static_cast<double>(of_b.duration);
  const std::string not_in_a = not_modelled_text(a.input());
  const std::string not_in_b = not_modelled_text(b.input());
  if (not_in_a.empty() != not_in_b.empty()) {
    out.add("{}: {}", not_in_b.empty() ? "A" : "B", not_in_a + not_in_b);
  }
  out.add("duration: {} and {} ({})", time_text(before), time_text(after), change(before, after));
  // Events that one of the runs has not recorded are no difference.
  const bool has_tasks = a.has(Category::task) && b.has(Category::task);
  const bool has_messages = a.has(Category::message) && b.has(Category::message);
  const bool knows_idleness = a.knows_idleness() && b.knows_idleness();
  if (knows_idleness) {
    out.add("workers busy: {} and {} of the time", share_text(utilization_of(of_a), 1),
            share_text(utilization_of(of_b), 1));
  }
  if (has_messages) {
    const auto [messages_a, bytes_a] = traffic_of(of_a);
    const auto [messages_b, bytes_b] = traffic_of(of_b);
    out.add("messages: {} and {}, {} and {}", messages_a, messages_b,
            bytes_text(static_cast<double>(bytes_a)), bytes_text(static_cast<double>(bytes_b)));
  }
  out.add("critical path of A: {}", path_text(of_a));
  out.add("critical path of B: {}", path_text(of_b));
  if (knows_idleness) diff_ranks(out, of_a, of_b);
  if (has_tasks) diff_names(out, of_a, of_b);
  const auto has = [](const Analysis& in, const Hint& hint) {
    return std::any_of(in.hints.begin(), in.hints.end(),
                       [&](const Hint& one) { return one.kind == hint.kind; });
  };
  for (const Hint& hint : of_b.hints) {
    if (!has(of_a, hint)) out.add("only in B: {}", hint.text);
  }
  for (const Hint& hint : of_a.hints) {
    if (!has(of_b, hint)) out.add("only in A: {}", hint.text);
  }
  out.add("");
  out.text += text_of(verdict_on_difference(a, of_a, b, of_b));
  return std::move(out.text);
}

}  // namespace shoal::trace_tool
