// Dependencies of tasks: those that were recorded, whole or in parts, and the causes of the events
// by which tasks became ready.

#include "trace/insertion.hpp"
#include "trace_tool/model.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_set>

namespace shoal::trace_tool {

class Needs {
 public:
  explicit Needs(Model& model) : model_(model) {
    using Type = Detail::Type;
    model.input_.for_each_relation([this](Type type, std::uint64_t id, std::uint64_t other) {
      if (type == Type::depends_on) wholes_.emplace_back(id, other);
      if (type == Type::fulfilled) parts_.emplace_back(id, other);
      if (type == Type::joined) model_.joined_.emplace_back(id, other);
      if (type == trace::kInserted) model_.inserted_.emplace_back(id, other);
    });
    std::stable_sort(parts_.begin(), parts_.end(), by_first);
  }

  void run() {
    for (const auto& [task, other] : wholes_) {
      const auto found = model_.task_index_.find(task);
      if (found != model_.task_index_.end()) add_needs(found->second, other);
    }
    for (const auto& [event, task] : model_.matched_) {
      const auto fired = model_.fired_.find(event);
      const auto found = model_.task_index_.find(task);
      if (fired == model_.fired_.end() || found == model_.task_index_.end()) continue;
      add(found->second, fired->second);
    }
    add_joined();
    for (std::uint32_t i = 0; i < model_.tasks.size(); ++i) {
      const Cause& cause = model_.tasks[i].cause;
      const bool is_need = cause.what == Cause::What::task || cause.what == Cause::What::message;
      if (is_need) edges_.emplace_back(i, cause);  // a release gives memory, and no result
    }
    store();
    add_waits();
  }

 private:
  using Add = FunctionRef<void(const Cause&)>;
  using Pair = std::pair<std::uint64_t, std::uint64_t>;
  static bool by_first(const Pair& a, const Pair& b) { return a.first < b.first; }

  [[nodiscard]] Cause cause_of(std::uint64_t id) const {
    if ((id & trace::kMessageBit) != 0) {
      const auto message = model_.message_index_.find(id & ~trace::kMessageBit);
      if (message == model_.message_index_.end()) return {};
      return {Cause::What::message, message->second};
    }
    const auto task = model_.task_index_.find(id);
    if (task == model_.task_index_.end()) return {};
    return {Cause::What::task, task->second};
  }

  /// Since when it could fulfil something.
  [[nodiscard]] std::int64_t begin_of(const Cause& cause) const {
    if (cause.what == Cause::What::task) return model_.tasks[cause.index].start;
    const Message& message = model_.messages[cause.index];
    return message.received != kNever ? message.received : message.handled;
  }

  void add(std::uint32_t task, const Cause& cause) {
    if (cause.what != Cause::What::task && cause.what != Cause::What::message) return;
    if (cause.what == Cause::What::task && cause.index == task) return;
    const std::int64_t start = model_.tasks[task].start;
    if (start != kNever && begin_of(cause) > start) return;  // it was another task of that number
    edges_.emplace_back(task, cause);
  }

  void add_needs(std::uint32_t task, std::uint64_t other) {
    add_all(other, [this, task](const Cause& cause) { add(task, cause); });
  }

  /// Adds a task or message, or in place of a join all that it stands for.
  void add_all(std::uint64_t other, Add each, int depth = 0) const {
    constexpr int kDeep = 64;
    const Cause cause = cause_of(other);
    if (cause.what != Cause::What::unknown || depth == kDeep) return each(cause);
    const auto [first, last] =
        std::equal_range(parts_.begin(), parts_.end(), Pair(other, 0), by_first);
    for (auto part = first; part != last; ++part) add_all(part->second, each, depth + 1);
  }

  /// Waits of tasks in their middle: what has woken them, and all parts of what they waited for.
  void add_waits() {
    std::vector<Wait>& waits = model_.waits_;
    for (std::uint32_t i = 0; i < model_.segments.size(); ++i) {
      const Segment& segment = model_.segments[i];
      if (segment.previous_of_task == kNone) continue;
      const auto add_wait = [&](const Cause& cause) {
        const bool is_need = cause.what == Cause::What::task || cause.what == Cause::What::message;
        const std::uint32_t source = is_need ? model_.source_of(cause) : kNone;
        if (source == kNone || source == segment.task || begin_of(cause) > segment.begin) return;
        waits.push_back({i, cause});
      };
      add_wait(segment.cause);
      if (segment.join != 0) add_all(segment.join, add_wait);
    }
    std::sort(waits.begin(), waits.end());
    waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
  }

  /// Keys of a graph that runs again and again name several tasks. A part belongs to the first one
  /// that became ready after it can have been fulfilled.
  void add_joined() {
    std::vector<std::tuple<std::uint64_t, std::int64_t, std::uint32_t>> tasks;  // join, ready, task
    for (const auto& [task, join] : model_.joined_) {
      const auto found = model_.task_index_.find(task);
      if (found == model_.task_index_.end()) continue;
      if (cause_of(join).what != Cause::What::unknown) add_needs(found->second, join);
      const Task& one = model_.tasks[found->second];
      tasks.emplace_back(join, one.ready != kNever ? one.ready : model_.duration, found->second);
    }
    std::sort(tasks.begin(), tasks.end());
    for (const auto& [join, by] : parts_) {
      const Cause cause = cause_of(by);
      const std::int64_t begin = cause.what == Cause::What::unknown ? 0 : begin_of(cause);
      const auto task =
          std::lower_bound(tasks.begin(), tasks.end(), std::tuple(join, begin, std::uint32_t{0}));
      if (task != tasks.end() && std::get<0>(*task) == join) add_needs(std::get<2>(*task), by);
    }
  }

  /// Leaves out messages from tasks that are named themselves, and further ones of a task. Tasks
  /// stand before messages.
  void leave_out_messages() {
    std::unordered_set<std::uint32_t> sources;  // of the current task
    std::uint32_t current = kNone;
    std::erase_if(edges_, [&](const std::pair<std::uint32_t, Cause>& edge) {
      if (edge.first != current) sources.clear();
      current = edge.first;
      const std::uint32_t source = model_.source_of(edge.second);
      if (source == kNone) return false;
      return !sources.insert(source).second;
    });
  }

  void store() {
    std::sort(edges_.begin(), edges_.end());
    edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
    leave_out_messages();
    model_.needs_begin_.assign(model_.tasks.size() + 1, 0);
    for (const auto& [task, cause] : edges_) ++model_.needs_begin_[task + std::size_t{1}];
    for (std::size_t i = 1; i < model_.needs_begin_.size(); ++i) {
      model_.needs_begin_[i] += model_.needs_begin_[i - 1];
    }
    model_.needs_.reserve(edges_.size());
    for (const auto& [task, cause] : edges_) model_.needs_.push_back(cause);
  }

  Model& model_;
  std::vector<Pair> wholes_;  // task, what it needs
  std::vector<Pair> parts_;   // join, what has fulfilled a part of it; by join
  std::vector<std::pair<std::uint32_t, Cause>> edges_;
};

void Model::join_needs() {
  Needs(*this).run();
  fired_.clear();
  matched_.clear();
  joined_.clear();
}

std::span<const Wait> Model::waits_of(std::uint32_t segment) const {
  const auto [first, last] = std::ranges::equal_range(waits_, segment, {}, &Wait::segment);
  return {first, last};
}

std::uint32_t Model::source_of(Cause cause) const {
  constexpr int kHops = 8;
  for (int hops = 0; cause.what == Cause::What::message && hops < kHops; ++hops) {
    cause = messages[cause.index].sender;
  }
  return cause.what == Cause::What::task ? cause.index : kNone;
}

}  // namespace shoal::trace_tool
