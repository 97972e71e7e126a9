// Insertion: checks, the rank that runs a task, transfers, limits.

#include <shoal/flow/sequence.hpp>

#include "flow/core.hpp"
#include "sync/pause.hpp"

#include <shoal/base/check.hpp>
#include <shoal/sched/park.hpp>
#include <shoal/sync/asymmetric_barrier.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace shoal::flow {

Sequence::Sequence(Core& core, std::string name, const FlowOptions& options)
    : core_(core),
      name_(std::move(name)),
      options_(options),
      rank_(core.rank()),
      size_(core.size()),
      asymmetric_(sync::has_asymmetric_barrier()),
      watches_(options.check_reads || core.dispatcher() != nullptr),
      load_(static_cast<std::size_t>(size_), 0),
      finished_(std::make_unique<Counter[]>(
          static_cast<std::size_t>(core.scheduler().worker_count()) + 1)) {
  SHOAL_CHECK(options.tasks_max >= 1, "flow '{}': tasks_max must be at least 1", name_);
}

// A waiter sees the last task as finished before count_finished() of that task has returned.
Sequence::~Sequence() {
  for (int slot = 0; slot <= core_.scheduler().worker_count(); ++slot) {
    const std::atomic<std::uint32_t>& inside = finished_[static_cast<std::size_t>(slot)].inside;
    while (inside.load(std::memory_order_acquire) != 0) sync::pause_briefly();
  }
}

bool Sequence::begin(const std::shared_ptr<CodeletCore>& codelet, std::span<Request> requests,
                     const InsertOptions& options) {
  check(requests, codelet.get());
  if (created_.load(std::memory_order_relaxed) - finished_seen_ >= options_.tasks_max ||
      core_.copy_bytes() > options_.copy_bytes_max) [[unlikely]] {
    throttle();
  }
  if (codelet != nullptr && codelet->keeper.load(std::memory_order_relaxed) != &core_) {
    core_.keep(codelet);
  }
  ++count_;
  const std::uint64_t name_hash = codelet != nullptr ? codelet->hash : wire::fnv1a("task");
  std::uint64_t hash = name_hash;
  for (const Request& request : requests) {
    hash = hash * 31 + request.handle->id * 8 + static_cast<std::uint64_t>(request.mode);
  }
  stamp(hash);
  task_priority_ = options.priority;
  if (size_ == 1) {
    if (options.rank > 0) static_cast<void>(place(requests, options));
    for (Request& request : requests) infer_one(request, 0);
    return true;
  }
  keep_digest(name_hash, requests.empty() ? nullptr : requests.back().handle);
  core_.open_handlers();
  task_rank_ = place(requests, options);
  ++load_[static_cast<std::size_t>(task_rank_)];
  infer(requests, task_rank_);
  if (task_rank_ == rank_) return true;
  bring_back(requests, task_rank_);
  return false;
}

void Sequence::submit(FlowTask* task, std::span<const Request> requests) {
  const std::span<Access> accesses = task->accesses();
  task->priority = task_priority_;
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    accesses[i].instance = requests[i].instance;
    accesses[i].task = task;
    accesses[i].mode = requests[i].mode;
  }
  enter_all(*task);
  if (size_ > 1) bring_back(requests, rank_);
}

void Sequence::enter_all(FlowTask& task) {
  const std::span<Access> accesses = task.accesses();
  // relaxed: no other thread knows the task yet
  task.missing.store(static_cast<std::int32_t>(accesses.size()) + 1, std::memory_order_relaxed);
  count_created();
  std::int32_t granted = 1;
  for (Access& access : accesses) {
    if (access.mode == Mode::scratch || access.instance->enter(access)) ++granted;
  }
  // acq_rel: as in Core::satisfy()
  if (task.missing.fetch_sub(granted, std::memory_order_acq_rel) == granted) {
    core_.make_ready(task);
  }
}

void Sequence::note(const char* what, const Handle* handle) {
  ++count_;
  const std::uint64_t name_hash = wire::fnv1a(what);
  stamp(name_hash * 31 + (handle != nullptr ? handle->id : 0));
  if (size_ == 1) return;
  keep_digest(name_hash, handle);
  core_.open_handlers();
}

void Sequence::keep_digest(std::uint64_t name_hash, const Handle* handle) {
  Comparison* const comparison = core_.comparison();
  if (comparison == nullptr || this != &core_.main()) return;
  comparison->note({.fingerprint = fingerprint_,
                    .datum = handle != nullptr ? handle->id : 0,
                    .codelet = static_cast<std::uint32_t>(name_hash),
                    .has_datum = handle != nullptr ? 1U : 0U});
}

// --- checks

void Sequence::check(std::span<const Request> requests, const CodeletCore* codelet) const {
  const auto refuse = [&](const std::string& text) {
    throw CheckError(fmt::format("flow '{}': insert({}), task {}: {}", name_,
                                 codelet != nullptr ? codelet->name : "task", count_ + 1, text));
  };
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Request& one = requests[i];
    if (one.handle == nullptr) {
      refuse(fmt::format("argument {} is a datum that was never registered", i + 1));
    }
    if (one.handle->generation != one.generation || !one.handle->registered) [[unlikely]] {
      refuse(fmt::format("argument {} is a datum that was unregistered before", i + 1));
    }
    if (one.handle->partitioned) [[unlikely]] {
      refuse(fmt::format("'{}' is partitioned: use its parts, or unpartition() it first",
                         one.handle->name()));
    }
    if (one.mode == Mode::reduction &&
        (one.handle->extras == nullptr || one.handle->extras->reduction == nullptr)) [[unlikely]] {
      refuse(fmt::format("'{}' has no reduction: call set_reduction() first", one.handle->name()));
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (requests[j].handle != one.handle ||
          (one.mode == Mode::read && requests[j].mode == one.mode))
        continue;
      refuse(fmt::format("'{}' is given twice, as {} and as {}: give it once, as read_write",
                         one.handle->name(), name_of(requests[j].mode), name_of(one.mode)));
    }
  }
}

// --- the rank that runs a task

int Sequence::place(std::span<const Request> requests, const InsertOptions& options) const {
  if (options.rank >= 0) {
    SHOAL_CHECK(options.rank < size_, "flow '{}': on_rank({}): there are ranks 0 to {}", name_,
                options.rank, size_ - 1);
    return options.rank;
  }
  SHOAL_CHECK(options.rank == InsertOptions::kByOwner || options.rank == InsertOptions::kCheapest,
              "flow '{}': on_rank({}): there are ranks 0 to {}", name_, options.rank, size_ - 1);
  if (options.rank == InsertOptions::kCheapest) return cheapest(requests);
  int owner = -1;
  for (const Request& one : requests) {
    if (!writes(one.mode)) continue;
    if (owner >= 0 && one.handle->owner != owner) return cheapest(requests);
    owner = one.handle->owner;
  }
  if (owner >= 0) return owner;
  for (const Request& one : requests) {
    if (one.mode == Mode::read) return one.handle->owner;
  }
  return requests.empty() ? 0 : requests.front().handle->owner;
}

// Caches are left out: only an owner knows where its value is.
int Sequence::cheapest(std::span<const Request> requests) const {
  int best = 0;
  std::size_t best_bytes = 0;
  bool found = false;
  for (const Request& candidate : requests) {
    if (candidate.mode == Mode::scratch) continue;
    const int rank = candidate.handle->owner;
    std::size_t bytes = 0;
    for (const Request& one : requests) {
      if (one.handle->owner == rank || one.mode == Mode::scratch) continue;
      bytes += one.handle->size_bytes() * (static_cast<std::size_t>(reads(one.mode)) +
                                           static_cast<std::size_t>(one.mode != Mode::read));
    }
    const auto load = [&](int of) { return load_[static_cast<std::size_t>(of)]; };
    if (!found || bytes < best_bytes ||
        (bytes == best_bytes &&
         (load(rank) < load(best) || (load(rank) == load(best) && rank < best)))) {
      best = rank;
      best_bytes = bytes;
      found = true;
    }
  }
  return best;
}

// --- limits

/// Wait until few enough tasks are in flight.
class Sequence::Wait final : public sched::Waitable {
 public:
  Wait(Sequence& sequence, std::uint64_t count, const char* what)
      : Waitable(sequence.core_.scheduler()), sequence_(sequence), count_(count), what_(what) {}

  void wait() {
    check_may_wait();
    if (!is_over()) wait_here();
  }
  [[nodiscard]] bool is_over() const override { return sequence_.under_way() <= count_; }
  // The code that finishes a task counts it and then looks for a waiter; here the order is
  // reversed, with a barrier in between: one of the two sees the other.
  bool enlist(sync::Waiter& waiter) override {
    const sync::Lock lock(sequence_.mutex_);
    const auto limit = sequence_.wait_limit_.load(std::memory_order_relaxed);
    sequence_.wait_limit_.store(std::max(limit, count_), std::memory_order_relaxed);
    sequence_.wait_count_.fetch_add(1, std::memory_order_seq_cst);
    if (sequence_.asymmetric_) static_cast<void>(sync::heavy_barrier());
    if (is_over()) {
      sequence_.wait_count_.fetch_sub(1, std::memory_order_relaxed);
      return false;
    }
    waiter_ = &waiter;
    next_ = std::exchange(sequence_.waits_, this);
    return true;
  }
  bool withdraw(sync::Waiter& /*waiter*/) override {
    const sync::Lock lock(sequence_.mutex_);
    for (Wait** place = &sequence_.waits_; *place != nullptr; place = &(*place)->next_) {
      if (*place != this) continue;
      *place = next_;
      sequence_.wait_count_.fetch_sub(1, std::memory_order_relaxed);
      return true;
    }
    return false;
  }
  [[nodiscard]] std::string describe() const override {
    return fmt::format("{} of flow '{}', with {} tasks and transfers under way", what_,
                       sequence_.name_, sequence_.under_way());
  }

 private:
  friend class Sequence;
  Sequence& sequence_;
  const std::uint64_t count_;
  const char* const what_;
  sync::Waiter* waiter_ = nullptr;
  Wait* next_ = nullptr;
};

void Sequence::check_waits() {
  sync::TakenWaiters taken;
  {
    const sync::Lock lock(mutex_);
    for (Wait** place = &waits_; *place != nullptr;) {
      Wait* const wait = *place;
      if (!wait->is_over()) {
        place = &wait->next_;
        continue;
      }
      *place = wait->next_;
      wait_count_.fetch_sub(1, std::memory_order_relaxed);
      taken.push(*wait->waiter_);
    }
  }
  taken.wake_all();
}

void Sequence::count_created(std::uint64_t count) {
  created_.store(created_.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
}

void Sequence::count_finished() {
  sched::Scheduler& scheduler = core_.scheduler();
  const int slot = scheduler.count_slot();
  Counter& slot_counter = finished_[static_cast<std::size_t>(slot)];
  std::atomic<std::uint64_t>& counter = slot_counter.value;
  // The slot of a worker is its own; the last one is shared.
  struct Inside {
    std::atomic<std::uint32_t>& count;
    const bool shared;
    ~Inside() {
      if (shared) {
        count.fetch_sub(1, std::memory_order_release);
      } else {
        count.store(0, std::memory_order_release);
      }
    }
  };
  const Inside inside{slot_counter.inside, slot == scheduler.worker_count()};
  // relaxed: the store of `counter` below publishes it
  if (inside.shared) {
    inside.count.fetch_add(1, std::memory_order_relaxed);
  } else {
    inside.count.store(1, std::memory_order_relaxed);
  }
  if (inside.shared) {
    counter.fetch_add(1, std::memory_order_seq_cst);
  } else if (asymmetric_) {
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } else {
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
  }
  if (wait_count_.load(std::memory_order_seq_cst) == 0) return;
  // The last end of each other worker may not be visible yet: the lock settles that.
  const auto unseen = static_cast<std::uint64_t>(scheduler.worker_count());
  if (under_way() <= wait_limit_.load(std::memory_order_relaxed) + unseen) check_waits();
}

std::uint64_t Sequence::under_way() const {
  std::uint64_t finished = 0;
  for (int slot = 0; slot <= core_.scheduler().worker_count(); ++slot) {
    // acquire pairs with the store in count_finished(): the waiter sees the writes of the task
    finished += finished_[static_cast<std::size_t>(slot)].value.load(std::memory_order_acquire);
  }
  return created_.load(std::memory_order_relaxed) - finished;
}

// With nothing under way the bytes belong to caches: waiting would not free them.
void Sequence::throttle() {
  const auto created = created_.load(std::memory_order_relaxed);
  finished_seen_ = created - under_way();
  if (created - finished_seen_ >= options_.tasks_max) {
    wait_until(options_.tasks_max / 2, "insert() beyond tasks_max");
  }
  while (core_.copy_bytes() > options_.copy_bytes_max) {
    const std::uint64_t under_way_now = under_way();
    if (under_way_now == 0) break;
    wait_until(under_way_now / 2, "insert() beyond copy_bytes_max");
  }
  finished_seen_ = created_.load(std::memory_order_relaxed) - under_way();
}

void Sequence::wait_until(std::uint64_t count, const char* what) {
  if (size_ > 1) core_.open_handlers();
  Wait(*this, count, what).wait();
}

}  // namespace shoal::flow
