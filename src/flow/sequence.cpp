// Insertion: checks, the rank that runs a task, transfers, limits.
#include <shoal/detail/flow/sequence.hpp>

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/sched/attempt.hpp>
#include <shoal/detail/sched/park.hpp>
#include <shoal/detail/sched/scheduler.hpp>
#include <shoal/detail/sync/asymmetric_barrier.hpp>
#include <shoal/detail/sync/strand.hpp>

#include <fmt/format.h>

#include "flow/comparison.hpp"
#include "flow/core.hpp"
#include "sync/pause.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace shoal::flow {

SequenceProgress::SequenceProgress(sched::Scheduler& scheduler, const sched::TaskScope& team,
                                   std::string flow)
    : scheduler_(scheduler),
      team_(team),
      flow_(std::move(flow)),
      asymmetric_(sync::has_asymmetric_barrier()),
      finished_(
          std::make_unique<Counter[]>(static_cast<std::size_t>(scheduler.worker_count()) + 1)) {}

// A waiter sees the last task as finished before count_finished() of that task has returned.
SequenceProgress::~SequenceProgress() {
  for (int slot = 0; slot <= scheduler_.worker_count(); ++slot) {
    const std::atomic<std::uint32_t>& inside = finished_[static_cast<std::size_t>(slot)].inside;
    while (inside.load(std::memory_order_acquire) != 0) sync::pause_briefly();
  }
}

/// Wait until few enough tasks are in flight.
class SequenceProgress::Wait final : public sched::Waitable {
 public:
  Wait(SequenceProgress& progress, std::uint64_t count, const char* what)
      : Waitable(progress.scheduler_), progress_(progress), count_(count), what_(what) {}

  void wait() {
    check_may_wait();
    if (!is_over()) wait_here();
  }
  [[nodiscard]] bool is_over() const override { return progress_.under_way() <= count_; }
  // The code that finishes a task counts it and then looks for a waiter; here the order is
  // reversed, with a barrier in between: one of the two sees the other.
  bool enlist(sync::Waiter& waiter) override {
    const sync::Lock lock(progress_.mutex_);
    const auto limit = progress_.wait_limit_.load(std::memory_order_relaxed);
    progress_.wait_limit_.store(std::max(limit, count_), std::memory_order_relaxed);
    progress_.wait_count_.fetch_add(1, std::memory_order_seq_cst);
    if (progress_.asymmetric_) static_cast<void>(sync::heavy_barrier());
    if (is_over()) {
      progress_.wait_count_.fetch_sub(1, std::memory_order_relaxed);
      return false;
    }
    waiter_ = &waiter;
    next_ = std::exchange(progress_.waits_, this);
    return true;
  }
  bool withdraw(sync::Waiter& /*waiter*/) override {
    const sync::Lock lock(progress_.mutex_);
    for (Wait** place = &progress_.waits_; *place != nullptr; place = &(*place)->next_) {
      if (*place != this) continue;
      *place = next_;
      progress_.wait_count_.fetch_sub(1, std::memory_order_relaxed);
      return true;
    }
    return false;
  }
  [[nodiscard]] const sched::TaskScope* ending_scope() const override { return &progress_.team_; }
  [[nodiscard]] sched::Cancellable cancellable() const override {
    return sched::Cancellable::by_team;
  }
  [[nodiscard]] std::string describe() const override {
    return fmt::format("{} of flow '{}', with {} tasks and transfers under way", what_,
                       progress_.flow_, progress_.under_way());
  }

 private:
  friend class SequenceProgress;
  SequenceProgress& progress_;
  const std::uint64_t count_;
  const char* const what_;
  sync::Waiter* waiter_ = nullptr;
  Wait* next_ = nullptr;
};

void SequenceProgress::check_waits() {
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

void SequenceProgress::count_finished() {
  // To the race detector, tasks of one worker are not ordered by the counter of that.
  struct End {
    const SequenceProgress* progress;
    ~End() { sync::publish(progress); }
  };
  const End end{this};
  const int slot = scheduler_.count_slot();
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
  const Inside inside{slot_counter.inside, slot == scheduler_.worker_count()};
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
  const auto unseen = static_cast<std::uint64_t>(scheduler_.worker_count());
  if (under_way() <= wait_limit_.load(std::memory_order_relaxed) + unseen) check_waits();
}

std::uint64_t SequenceProgress::under_way() const {
  std::uint64_t finished = 0;
  for (int slot = 0; slot <= scheduler_.worker_count(); ++slot) {
    // acquire pairs with the store in count_finished(): the waiter sees the writes of the task
    finished += finished_[static_cast<std::size_t>(slot)].value.load(std::memory_order_acquire);
  }
  return created_.load(std::memory_order_relaxed) - finished;
}

void SequenceProgress::wait_until(std::uint64_t count, const char* what) {
  Wait(*this, count, what).wait();
  if (count == 0) sync::observe(this);
}

namespace {

constexpr std::uint64_t kTaskHash = wire::fnv1a("task");

Digest digest_of(std::span<const Request> requests, std::uint64_t name_hash, int rank) {
  Digest digest{.codelet = static_cast<std::uint32_t>(name_hash), .rank = rank};
  for (const Request& request : requests) {
    digest.datum = request.handle->id;
    digest.fingerprint =
        digest.fingerprint * 31 + digest.datum * 8 + static_cast<std::uint64_t>(request.mode);
  }
  return digest;
}

FlowOptions with_limits(FlowOptions options) {
  options.copy_bytes_max = std::min(options.copy_bytes_max, Instances::kLooks - 1);
  return options;
}

}  // namespace

Sequence::Sequence(Core& core, std::string name, const FlowOptions& options, ProgramLog* log)
    : core_(core),
      name_(std::move(name)),
      options_(with_limits(options)),
      rank_(core.rank()),
      size_(core.size()),
      watches_(options.check_reads || core.dispatcher() != nullptr || core.skips_tasks()),
      is_plain_(core.size() == 1 && core.dependencies() == nullptr && core.dag() == nullptr),
      log_(log),
      load_(static_cast<std::size_t>(size_), 0),
      progress_(core.scheduler(), core.team(), name_) {
  SHOAL_CHECK(options.tasks_max >= 1, "flow '{}': tasks_max must be at least 1", name_);
}

void Sequence::refuse_number(std::string_view codelet, detail::TextValue number,
                             std::string_view type) const {
  detail::refuse_number(
      fmt::format("flow '{}': insert() of '{}', on rank {}", name_, codelet, rank_), number, type);
}

bool Sequence::begin(const std::shared_ptr<CodeletCore>& codelet, std::span<Request> requests,
                     const InsertOptions& options) {
  check(requests, codelet.get());
  if (progress_.created() - finished_seen_ >= options_.tasks_max ||
      core_.instances().copy_bytes() > options_.copy_bytes_max) [[unlikely]] {
    throttle();
  }
  if (codelet != nullptr && !core_.codelets().keeps(*codelet)) core_.codelets().keep(codelet);
  ++count_;
  task_priority_ = options.priority;
  if (is_plain_) {
    if (options.rank != InsertOptions::kByOwner) static_cast<void>(place(requests, options));
    for (Request& request : requests) infer_one(request, 0);
    return true;
  }
  task_rank_ = place(requests, options);
  if (log_ != nullptr) {
    const std::uint64_t name_hash = codelet != nullptr ? codelet->hash : kTaskHash;
    log_->add(digest_of(requests, name_hash, task_rank_));
  }
  if (core_.dag() != nullptr) {
    core_.dag()->add(codelet != nullptr ? std::string_view(codelet->name) : "task", requests,
                     task_rank_);
  }
  core_.open_handlers();
  ++load_[static_cast<std::size_t>(task_rank_)];
  infer(requests, task_rank_);
  if (task_rank_ == rank_) return true;
  bring_back(requests, task_rank_);
  task_place_ = {};
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
  if (is_plain_) return enter_all(*task);
  enter_watched(*task, {}, std::exchange(task_place_, {}));
  if (size_ > 1) bring_back(requests, rank_);
}

void Sequence::note(const char* what, const Handle* handle, int rank, std::uint64_t count) {
  core_.check_runs();
  sched::refuse_in_attempt(what);
  ++count_;
  if (log_ != nullptr) {
    log_->add({.fingerprint = count,
               .datum = handle != nullptr ? handle->id : Digest::kNoDatum,
               .codelet = wire::fnv1a(what),
               .rank = rank});
  }
  if (size_ > 1) core_.open_handlers();
}

void Sequence::report() {
  if (log_ != nullptr) core_.comparison()->report(*log_);
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
    if (one.handle->generation != one.generation || one.handle->flow != &core_.instances())
        [[unlikely]] {
      const bool is_old = one.handle->generation != one.generation || one.handle->flow == nullptr;
      refuse(is_old ? fmt::format("argument {} is a datum that was unregistered before{}", i + 1,
                                  one.handle->former_name(one.generation))
                    : fmt::format("'{}' is a datum of another flow", one.handle->name()));
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

int Sequence::place(std::span<const Request> requests, const InsertOptions& options) {
  const auto task = [&] {
    return requests.empty() ? fmt::format("task {}", count_)
                            : fmt::format("task {}, with '{}'", count_, requests[0].handle->name());
  };
  const auto refuse = [&] {
    core_.team().refuse_rank(fmt::format("flow '{}': on_rank() of {}", name_, task()),
                             options.rank);
  };
  if (options.rank >= 0) {
    if (options.rank >= size_) refuse();
    return options.rank;
  }
  if (options.rank != InsertOptions::kByOwner && options.rank != InsertOptions::kCheapest) refuse();
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

// Caches are left out: only an owner knows where its value is. All ranks that insert the task find
// the same rank: those of a pruned flow do not know the load.
int Sequence::cheapest(std::span<const Request> requests) {
  int best = -1;
  std::size_t best_bytes = 0;
  std::uint64_t best_key = 0;
  std::uint64_t hash = 0;
  for (const Request& one : requests) hash = hash * 31 + one.handle->id;
  for (const Request& candidate : requests) {
    if (candidate.mode == Mode::scratch) continue;
    const int rank = candidate.handle->owner;
    std::size_t bytes = 0;
    for (const Request& one : requests) {
      if (one.handle->owner == rank || one.mode == Mode::scratch) continue;
      bytes += one.handle->size_bytes() * (static_cast<std::size_t>(reads(one.mode)) +
                                           static_cast<std::size_t>(one.mode != Mode::read));
    }
    const std::uint64_t key = options_.pruned
                                  ? (hash + static_cast<std::uint64_t>(rank)) * 0x9E3779B97F4A7C15U
                                  : load_[static_cast<std::size_t>(rank)];
    if (best < 0 || std::tie(bytes, key, rank) < std::tie(best_bytes, best_key, best)) {
      best = rank;
      best_bytes = bytes;
      best_key = key;
    }
  }
  if (best >= 0) return best;
  if (options_.pruned) return static_cast<int>(without_data_++ % static_cast<unsigned>(size_));
  return static_cast<int>(std::ranges::min_element(load_) - load_.begin());
}

// --- limits

// With nothing under way the bytes belong to caches: waiting would not free them.
void Sequence::throttle() {
  core_.check_runs();
  if (sched::Attempt* const attempt = sched::current_attempt(); attempt != nullptr) {
    attempt->refuse(fmt::format("flow '{}': insert()", name_));
  }
  const std::uint64_t created = progress_.created();
  finished_seen_ = created - under_way();
  if (created - finished_seen_ >= options_.tasks_max) {
    wait_until(options_.tasks_max / 2, "insert() beyond tasks_max");
  }
  while (core_.instances().real_copy_bytes() > options_.copy_bytes_max) {
    const std::uint64_t under_way_now = under_way();
    if (under_way_now == 0) break;
    wait_until(under_way_now / 2, "insert() beyond copy_bytes_max");
  }
  finished_seen_ = progress_.created() - under_way();
}

void Sequence::wait_until(std::uint64_t count, const char* what) {
  core_.check_runs();
  if (size_ > 1) core_.open_handlers();
  if (under_way() > count) report();
  core_.team().wait_for_part([&] { progress_.wait_until(count, what); });
}

}  // namespace shoal::flow
