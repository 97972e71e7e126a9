#include <shoal/graph/task_graph.hpp>

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

void refuse_change(const std::string& graph) {
  throw CheckError(fmt::format(
      "task graph '{}' is in use: call its set_ functions before the first fulfill()", graph));
}

}  // namespace shoal::graph
