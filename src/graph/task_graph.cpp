#include <shoal/error.hpp>
#include <shoal/graph.hpp>
#include <shoal/outputs.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <limits>

#include "env/host.hpp"
#include "team/messenger.hpp"

namespace shoal::graph {

std::size_t write_text(std::span<char> text, FunctionRef<std::string()> make) noexcept {
  try {
    const std::string made = make();
    return made.copy(text.data(), text.size());
  } catch (...) {
    return 0;
  }
}

std::size_t write_number(std::span<char> text, std::int64_t number) noexcept {
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() ? static_cast<std::size_t>(end - text.data()) : 0;
}

std::size_t write_part(std::span<char> text, int part, bool is_first) noexcept {
  const std::string_view opening = is_first ? "(" : ", ";
  if (text.size() < opening.size()) return 0;
  opening.copy(text.data(), opening.size());
  return opening.size() + write_number(text.subspan(opening.size()), part);
}

std::string progress_of(const std::string& task, const Entry& entry) {
  return fmt::format("{} has fulfilled {} of {} dependencies", task, entry.fulfilled,
                     entry.indegree);
}

std::string missing_text(const std::vector<int>& slots) {
  if (slots.empty()) return "";
  return fmt::format(": {} {} {} missing", slots.size() == 1 ? "input" : "inputs",
                     fmt::join(slots, ", "), slots.size() == 1 ? "is" : "are");
}

std::string progress_of(std::size_t index, int remaining) {
  return fmt::format("the task of index {} waits for {} more dependencies", index, remaining);
}

void WaitingList::add(const std::string& progress) {
  ++count_;
  lines_.push_back(fmt::format("task graph '{}': {}", graph_, progress));
}

std::vector<std::string> WaitingList::lines(std::uint64_t total) && {
  if (total > count_) {
    lines_.push_back(fmt::format("task graph '{}': and {} more tasks", graph_, total - count_));
  }
  return std::move(lines_);
}

void refuse_missing(const std::string& graph, const std::string& key, const char* function) {
  throw CheckError(
      fmt::format("task graph '{}' cannot fulfill {}: call {}() before the first fulfill()", graph,
                  key, function));
}

void refuse_number(const std::string& graph, const std::string& key, const char* set,
                   const std::string& number) {
  throw CheckError(fmt::format(
      "graph '{}': the function that {}() was given returned {} for key {}: it must be "
      "between {} and {}",
      graph, set, number, key, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
}

void refuse_indegree(const std::string& task, std::int64_t indegree) {
  throw CheckError(
      fmt::format("{} has indegree {}: it must be at least 1 (a task that depends on "
                  "nothing has indegree 1 and is fulfilled once to start it)",
                  task, indegree));
}

void refuse_count(const std::string& task, std::int64_t count) {
  throw CheckError(
      fmt::format("{} cannot be fulfilled {} times: the count must be at least 1", task, count));
}

void refuse_worker(const std::string& task, std::int64_t worker, int worker_count) {
  throw CheckError(fmt::format("{} is mapped to worker {}: this rank has workers 0 to {}", task,
                               worker, worker_count - 1));
}

void refuse_over(const std::string& task, const Entry& entry, std::int64_t count) {
  throw CheckError(fmt::format(
      "{} has fulfilled {} of {} dependencies and cannot take {} more: one is fulfilled "
      "twice, or the indegree is too small",
      task, entry.fulfilled, entry.indegree, count));
}

void refuse_repeat(const std::string& task) {
  throw CheckError(fmt::format("{} is fulfilled, but it has run already", task));
}

void refuse_index(const std::string& task, std::size_t index, std::size_t size) {
  throw CheckError(
      fmt::format("{} has dense index {}: the index space has {} keys", task, index, size));
}

void refuse_reset(const std::string& graph, const std::vector<std::string>& waiting) {
  throw CheckError(fmt::format(
      "reset() of task graph '{}': some of its tasks have begun to be fulfilled and have "
      "not run:\n  {}",
      graph, fmt::join(waiting, "\n  ")));
}

// --- inputs

// While all ranks send and compute, each step of a tree waits for busy ranks: the sender serves a
// few recipients best, and a wide tree many (docs/design/predictions.md).
MulticastTree tree_of_inputs(std::size_t ranks) {
  constexpr std::size_t kFew = 48;
  constexpr int kBranches = 4;
  return {ranks <= kFew ? TreeShape::flat : TreeShape::k_ary, kBranches};
}

void refuse_slot(const std::string& graph, int slot, int count) {
  throw CheckError(fmt::format(
      "task graph '{}': send() to slot {}: the function of set_task() takes {} inputs behind the "
      "key{}",
      graph, slot, count, count > 0 ? fmt::format(", slots 0 to {}", count - 1) : ""));
}

void refuse_input_type(const std::string& graph, int slot, const std::string& given,
                       const std::string& wanted) {
  throw CheckError(fmt::format(
      "task graph '{}': send() of {} to slot {}: the function of set_task() takes {} there", graph,
      given, slot, wanted));
}

void refuse_reduction(const std::string& graph, int slot) {
  throw CheckError(fmt::format(
      "task graph '{}': set_reduction() of slot {}, whose values are Gathered: take a V in the "
      "function of set_task() in place of a Gathered<V>",
      graph, slot));
}

void refuse_early_reduction(const std::string& graph, int slot) {
  throw CheckError(
      fmt::format("task graph '{}': set_reduction() of slot {}: call set_task() first, whose "
                  "function says what "
                  "the inputs are",
                  graph, slot));
}

void refuse_second_input(const std::string& graph, const std::string& key, int slot) {
  throw CheckError(
      fmt::format("{}[{}] has its input of slot {} already: it is sent twice", graph, key, slot));
}

void refuse_missing_input(const std::string& graph, const std::string& key, int slot) {
  throw CheckError(fmt::format(
      "{}[{}] runs without its input of slot {}: its dependencies were fulfilled by others; the "
      "indegree is too small",
      graph, key, slot));
}

void refuse_graph_rank(const TeamCore& core, const std::string& graph, const std::string& task,
                       std::int64_t rank) {
  core.refuse_rank(fmt::format("task graph '{}': set_rank() of {}", graph, task), rank);
}

void refuse_key(const TeamCore& core, const std::string& graph, detail::TextValue key,
                std::string_view type) {
  detail::refuse_number(
      fmt::format("task graph '{}': key on rank {}", graph, core.scheduler().rank().value()), key,
      type);
}

// --- --check-graphs

void Fulfillers::add(int dependencies, const std::string& activity) {
  constexpr std::size_t kNamesMax_bytes = 200;
  count += dependencies;
  if (names.size() > kNamesMax_bytes) return;
  if (!names.empty()) names += ", ";
  names += names.size() > kNamesMax_bytes ? "..." : activity;
  if (dependencies > 1) names += fmt::format(" ({} times)", dependencies);
}

std::string fulfiller() {
  std::string activity = sched::current_activity();
  if (activity.empty()) return "a thread of the program";
  return activity == "main" ? "the main function" : activity;
}

void refuse_over(const std::string& task, const Entry& entry, int count, const std::string& culprit,
                 const std::string& names) {
  throw CheckError(fmt::format(
      "{} has fulfilled {} of {} dependencies and cannot take {} more from {}: fulfilled before by "
      "{}; one is fulfilled twice, or the indegree is too small",
      task, entry.fulfilled, entry.indegree, count, culprit, names));
}

void refuse_again(const std::string& task, int indegree, const std::string& culprit,
                  const std::string& names) {
  throw CheckError(fmt::format(
      "{} is fulfilled by {}, but it was made ready before: its indegree is {}, and it was "
      "fulfilled "
      "by {}; one of these is too many, or the indegree is too small (call set_repeating() if "
      "tasks of the graph may run again before wait() has returned)",
      task, culprit, indegree, names));
}

void refuse_ended(const std::string& graph) {
  team::refuse_after_run(fmt::format("task graph '{}'", graph));
}

void refuse_change(const std::string& graph) {
  throw CheckError(fmt::format(
      "task graph '{}' is in use: call its set_ functions before the first fulfill()", graph));
}

void refuse_readers(const std::string& outputs, const std::string& key, int readers) {
  throw CheckError(
      fmt::format("{}[{}] is put for {} readers: there must be at least 1", outputs, key, readers));
}

void refuse_second_put(const std::string& outputs, const std::string& key, int left) {
  throw CheckError(
      fmt::format("{}[{}] is put again, but its last output was not yet taken by {} more readers",
                  outputs, key, left));
}

void refuse_take(const std::string& outputs, const std::string& key) {
  throw CheckError(
      fmt::format("{}[{}] is taken, but there is no such output: it was not put before its reader "
                  "was fulfilled, "
                  "or all of its readers have taken it and put() was given too few",
                  outputs, key));
}

std::string text_of_unread(const std::string& outputs, const std::vector<Unread>& some,
                           std::uint64_t total) {
  std::string text =
      fmt::format("{}: {} outputs were not taken by all of their readers:", outputs, total);
  for (const Unread& one : some) {
    text += fmt::format(" [{}] by {} of {}", one.key, one.readers - one.left, one.readers);
  }
  if (total > some.size()) text += " ...";
  return text;
}

void refuse_unread(const std::string& text) { throw CheckError(text); }

void warn_of_unread(const std::string& text) {
  env::write_to_standard_error(fmt::format("shoal: warning: {}\n", text));
}

}  // namespace shoal::graph
