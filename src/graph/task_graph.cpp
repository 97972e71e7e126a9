#include <shoal/graph/task_graph.hpp>

#include <fmt/format.h>

namespace shoal::graph {

std::string progress_of(const std::string& task, const Entry& entry) {
  return fmt::format("{} has fulfilled {} of {} dependencies", task, entry.fulfilled,
                     entry.indegree);
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
      "by {}; one of these is too many, or the indegree is too small (a graph with tasks that run "
      "again before wait() has returned says so by set_repeating())",
      task, culprit, indegree, names));
}

void refuse_change(const std::string& graph) {
  throw CheckError(fmt::format(
      "task graph '{}' is in use: call its set_ functions before the first fulfill()", graph));
}

}  // namespace shoal::graph
