// Transfers that follow from the order of insertion, alike on all ranks.

#include "base/bytes.hpp"
#include "flow/core.hpp"

#include <shoal/detail/flow/sequence.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

namespace shoal::flow {

namespace {

/// Priority of a transfer, for the first task that waits for its value: transfers take little time
/// and let others begin, so they come before all tasks, and in the order of those that wait.
int ahead_of_tasks(int priority) {
  constexpr int kAhead = std::numeric_limits<int>::max() / 2;
  return priority < kAhead ? std::max(priority, -1) + kAhead : std::numeric_limits<int>::max();
}

/// Combines the partial values of one rank: into the value itself, or into one of them, which it
/// leaves as the only one.
class CombineTask final : public FlowTask {
 public:
  /// `value` is nullptr on ranks that do not own the datum.
  CombineTask(Sequence& sequence, Instance& partial, Instance* value)
      : FlowTask(sequence, std::span(accesses_).first(value != nullptr ? 2 : 1)) {
    accesses_[0] = {.instance = &partial, .task = this, .mode = Mode::read_write};
    accesses_[1] = {.instance = value, .task = this, .mode = Mode::read_write};
  }
  [[nodiscard]] std::string_view plain_name() const noexcept override { return "combine"; }

 private:
  void execute() override {
    Instance& partial = *accesses_[0].instance;
    const Handle& handle = partial.handle();
    const Reduction& reduction = *handle.extras->reduction;
    void* const into = accesses().size() == 2 ? accesses_[1].object : accesses_[0].object;
    if (accesses().size() == 1) reduction.init(into);
    for (void* const from : partial.take_all_spares()) {
      reduction.combine(into, from);
      handle.type->destroy(from);
    }
  }

  std::array<Access, 2> accesses_;
};

/// Copies one instance to another of the same handle.
class CopyTask final : public FlowTask {
 public:
  CopyTask(Sequence& sequence, Instance& from, Instance& to)
      : FlowTask(sequence, std::span(accesses_)) {
    accesses_[0] = {.instance = &from, .task = this, .mode = Mode::read};
    accesses_[1] = {.instance = &to, .task = this, .mode = Mode::read_write};
  }
  [[nodiscard]] std::string_view plain_name() const noexcept override { return "copy"; }

 private:
  void execute() override {
    const DataType& type = *accesses_[0].instance->handle().type;
    type.decode(accesses_[1].object, as_span(type.encode(accesses_[0].object)));
  }

  std::array<Access, 2> accesses_;
};

}  // namespace

void Sequence::enter_all(FlowTask& task) {
  const std::span<Access> accesses = task.accesses();
  // relaxed: no other thread knows the task yet
  task.missing.store(static_cast<std::int32_t>(accesses.size()) + 1, std::memory_order_relaxed);
  count_created();
  std::int32_t granted = 1;
  for (Access& access : accesses) {
    if (access.instance->enter(access)) ++granted;
  }
  // acq_rel: as in satisfy()
  if (task.missing.fetch_sub(granted, std::memory_order_acq_rel) == granted) {
    make_ready(task);
  }
}

void Sequence::enter_watched(FlowTask& task, std::span<Instance* const> held,
                             std::source_location place) {
  if (core_.dependencies() != nullptr) core_.dependencies()->add(task, held, place);
  enter_all(task);
}

void Sequence::infer(std::span<Request> requests, int rank) {
  for (Request& request : requests) infer_one(request, rank);
}

void Sequence::infer_one(Request& request, int rank) {
  Handle& handle = *request.handle;
  if (request.mode == Mode::scratch || request.mode == Mode::reduction) [[unlikely]] {
    if (request.mode == Mode::reduction) {
      handle.is_reducing = true;
      std::vector<int>& ranks = handle.more().reducing_ranks;
      if (std::ranges::find(ranks, rank) == ranks.end()) ranks.push_back(rank);
    }
    if (rank != rank_) return;
    HandleExtras& more = handle.more();
    Instance*& spares = request.mode == Mode::scratch ? more.scratch : more.reducing;
    if (spares == nullptr) spares = &Instance::make(core_.instances(), handle, nullptr, true);
    request.instance = spares;
    return;
  }
  settle(handle, request.mode);
  if (rank == handle.owner) {
    request.instance = handle.current;  // of the owner; others do not use it
    if (size_ > 1 && writes(request.mode)) renew(handle);
    return;
  }
  if (reads(request.mode)) {
    bring(handle, rank);
  } else if (rank == rank_) {
    if (handle.current != nullptr && handle.current != handle.at_home) handle.current->detach();
    handle.current = &Instance::make(core_.instances(), handle, nullptr, true);
  }
  request.instance = handle.current;
}

void Sequence::bring_back(std::span<const Request> requests, int rank) {
  for (const Request& request : requests) {
    Handle& handle = *request.handle;
    if (!writes(request.mode) || handle.owner == rank) continue;
    ++handle.epoch;
    if (rank_ == rank) {
      send(handle, *handle.current, handle.owner);
    } else if (rank_ == handle.owner) {
      receive(handle, *handle.current, rank, false);
      handle.peer(rank).epoch = handle.epoch;  // it has the value that it has written
    } else {
      renew(handle);
    }
  }
}

void Sequence::renew(Handle& handle) {
  ++handle.epoch;
  if (rank_ == handle.owner || handle.current == nullptr) return;
  if (handle.current != handle.at_home) handle.current->detach();
  handle.current = nullptr;
}

void Sequence::bring(Handle& handle, int rank) {
  if (rank_ == handle.owner) {
    Peer& peer = handle.peer(rank);
    if (std::exchange(peer.epoch, handle.epoch) != handle.epoch) {
      send(handle, *handle.current, rank);
    }
  } else if (rank_ == rank && handle.current == nullptr) {
    handle.current = &Instance::make(core_.instances(), handle, nullptr, true);
    receive(handle, *handle.current, handle.owner, false);
  }
}

void Sequence::send(Handle& handle, Instance& instance, int rank) {
  const Destination to{rank, handle.peer(rank).sent++, task_priority_};
  if (instance.join_send(to)) return;
  const bool is_late = std::exchange(handle.sent_epoch, handle.epoch) == handle.epoch;
  auto* const task = new SendTask(*this, instance, to, is_late);
  task->priority = ahead_of_tasks(task_priority_);
  task->missing.store(2, std::memory_order_relaxed);
  count_created();
  if (core_.dependencies() != nullptr) core_.dependencies()->add(*task);
  const std::int32_t there = instance.enter_send(*task) ? 2 : 1;
  if (task->missing.fetch_sub(there, std::memory_order_acq_rel) == there) make_ready(*task);
}

void Sequence::receive(Handle& handle, Instance& instance, int source, bool combines) {
  const TransferId id{handle.id, source, handle.peer(source).expected++};
  auto* const task = new ReceiveTask(*this, instance, id, combines);
  task->priority = ahead_of_tasks(task_priority_);
  // The access, the value, and the insertion.
  task->missing.store(3, std::memory_order_relaxed);
  count_created();
  if (core_.dependencies() != nullptr) core_.dependencies()->add(*task);
  const std::int32_t granted = instance.enter(task->access()) ? 2 : 1;
  task->missing.fetch_sub(granted, std::memory_order_acq_rel);
  core_.transfers().expect(*task);
}

// --- reductions

void Sequence::settle(Handle& handle, Mode mode) {
  if (handle.is_reducing && mode != Mode::reduction && mode != Mode::scratch) [[unlikely]] {
    combine(handle);
  }
}

void Sequence::combine(Handle& handle) {
  handle.is_reducing = false;
  HandleExtras& more = *handle.extras;
  Instance* const partial = std::exchange(more.reducing, nullptr);
  const std::vector<int> ranks = std::exchange(more.reducing_ranks, {});
  renew(handle);
  const bool owns = rank_ == handle.owner;
  if (partial != nullptr) {
    enter_watched(*new CombineTask(*this, *partial, owns ? handle.current : nullptr));
    if (!owns) send(handle, *partial, handle.owner);
    partial->detach();
  }
  if (!owns) return;
  for (const int rank : ranks) {
    if (rank != rank_) receive(handle, *handle.current, rank, true);
  }
}

// --- migration

void Sequence::migrate(Handle& handle, int rank) {
  settle(handle, Mode::read_write);
  const int old = handle.owner;
  if (rank == old) return;
  if (rank_ == rank && handle.at_home != nullptr && handle.current != handle.at_home) {
    Instance* const copy = std::exchange(handle.current, handle.at_home);
    if (copy != nullptr) {
      enter_watched(*new CopyTask(*this, *copy, *handle.at_home));
      copy->detach();
    } else {
      receive(handle, *handle.at_home, old, false);
    }
  } else {
    bring(handle, rank);
  }
  handle.owner = rank;  // what the old one has becomes a copy
  ++handle.epoch;
  if (rank_ == rank) {
    handle.peer(old).epoch = handle.epoch;
  } else if (rank_ != old && handle.current != nullptr) {
    if (handle.current != handle.at_home) handle.current->detach();
    handle.current = nullptr;
  }
}

}  // namespace shoal::flow
