#pragma once
// The part of a team's objects on one rank: representatives, and the invocations that wait for
// them.

#include <shoal/detail/object/invocation.hpp>
#include <shoal/detail/object/objects.hpp>
#include <shoal/detail/sync/mutex.hpp>

#include <boost/container/small_vector.hpp>

#include "object/run_queue.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <typeinfo>
#include <unordered_map>
#include <utility>
#include <vector>

namespace shoal::object {

/// Checker of the order of invocations in simulated runs, with a record of arrivals of its own
/// beside the queue. The owner holds a lock. Each function returns a text about a violation, or "".
class OrderCheck {
 public:
  void arrives(const Invocation& invocation);
  /// `epoch`: of this rank. In a context, invocations run in the order of their arrival, each after
  /// the end of the one before it.
  [[nodiscard]] std::string begins(const Invocation& invocation, std::uint32_t epoch);
  void ends(std::uint64_t context);
  /// Called when all waiting invocations were dropped.
  void forget();

 private:
  struct Context {
    std::deque<const Invocation*> waiting;
    bool is_running = false;
  };

  std::unordered_map<std::uint64_t, Context> contexts_;
};

/// Text for reports and traces: the method as users know it.
[[nodiscard]] std::string method_of(const Invocation& invocation);

class Runner;
class Share;

/// Class as the author of the program would write it.
[[nodiscard]] inline std::string class_name(const ObjectClass& registered) {
  return naming::readable(registered.spelled, "T");
}
/// Libraries of a program may each have their own ObjectClass of one class.
[[nodiscard]] inline bool is_same(const ObjectClass& a, const ObjectClass& b) {
  return &a == &b || a.type == b.type;
}

/// A representative.
struct Entry {
  void* representative = nullptr;
  const ObjectClass* registered = nullptr;
  std::atomic<std::uint32_t>* epoch = nullptr;  // of the object; written by the section
  std::atomic<int> running{0};  // runners that use it; relaxed: written by the turn's owner
};

/// Makes the task that runs the invocations of a share.
using MakeRunner = std::unique_ptr<sched::Task> (*)(std::shared_ptr<Share>, sched::TaskScope&);

/// Representatives of a team on one rank, and the invocations that wait there. Runners, which are
/// tasks of the team, run these in the turn of the rank.
///
/// Invariant: if an invocation may run, and no runner of the share that can take it has the turn,
/// one waits for the turn, and is counted in the team.
class Share final : public std::enable_shared_from_this<Share>, private team::Unsatisfied {
 public:
  Share(Objects& objects, TeamCore& core, std::shared_ptr<Turn> turn, MakeRunner make_runner);
  ~Share() = default;

  [[nodiscard]] const std::shared_ptr<Turn>& turn() const { return turn_; }

  // --- representatives
  std::uint32_t add(void* representative, const ObjectClass& registered,
                    std::atomic<std::uint32_t>& epoch);
  void move(std::uint32_t number, void* representative);
  void remove(std::uint32_t number) noexcept;
  /// Returns the representative of an object; nullptr if there is none. **Errors**: as
  /// Objects::find().
  [[nodiscard]] void* find(std::uint32_t number, const ObjectClass& wanted) const;
  [[nodiscard]] std::string describe_missing(std::uint32_t number) const;
  /// See Objects::name_of().
  [[nodiscard]] std::string name_of(std::uint32_t number) const;
  /// relaxed: written by the section's task only, or read by others as a hint
  [[nodiscard]] std::uint32_t epoch() const { return epoch_.load(std::memory_order_relaxed); }
  [[nodiscard]] const std::atomic<std::uint32_t>& epoch_here() const { return epoch_; }
  void advance_epoch(std::uint32_t number);
  /// A context unlike all others.
  [[nodiscard]] std::uint64_t fresh_context();

  // --- invocations of this rank that go through rank 0 of the team: see Forwards
  [[nodiscard]] bool is_direct() const {
    return is_direct_.load(std::memory_order_acquire);  // pairs with the release in forward_arrived
  }
  /// Sets the number of invocations that this rank has sent through rank 0; called before any
  /// invocation.
  void begin_forwarded(std::uint64_t count);
  /// Counts an invocation through rank 0, unless all earlier ones have arrived; returns whether it
  /// has.
  [[nodiscard]] bool forward();
  void forward_arrived();

  // --- invocations
  void accept(std::unique_ptr<Invocation> invocation);
  /// The runner is about to wait, and has the turn: invocations that it has taken and not begun
  /// wait here again, and the turn is free.
  void park(Runner& runner);
  /// Sets whether the section waits for all invocations, see RunQueue::set_draining().
  void set_draining(bool draining) {
    const sync::Lock lock(mutex_);
    queue_.set_draining(draining);
  }
  /// The owner of the turn begins to wait for room, or ends that (false).
  void open_windows(bool open) {
    const sync::Lock lock(mutex_);
    queue_.open_windows(open);
  }
  /// Runs invocations, some of them. The turn is the runner's; afterwards it is not.
  void serve(Runner& runner);
  /// The team has failed: a runner that has the turn is not run.
  void drop();
  /// Name of the invocation that `runner` runs, for reports.
  [[nodiscard]] std::string name_of(const Runner& runner) const;

  /// The team has ended here.
  void close();
  [[nodiscard]] bool is_closed() const { return closed_.load(std::memory_order_acquire); }

 private:
  using Ended = std::pair<std::uint32_t, const ObjectClass*>;  // by number
  /// An object of which invocations run: counts them as one.
  class InUse {
   public:
    InUse(Share& share, Runner& runner, const Invocation& invocation);
    ~InUse() { end(); }
    InUse(const InUse&) = delete;
    InUse& operator=(const InUse&) = delete;
    /// Returns the representative at the last renewal; nullptr if there is none, or one of another
    /// class.
    [[nodiscard]] void* representative() const;
    /// Looks the representative up again, as code of the program has run since.
    void renew();

   private:
    [[nodiscard]] bool is_known() const;
    void look_up();
    void begin_anew();
    void begin();
    void end();

    Share& share_;
    Runner& runner_;
    const std::uint32_t number_;
    const ObjectClass& wanted_;
    bool is_counted_ = false;
  };
  static constexpr int kServedMax = 64;  // by a runner, before other tasks have their turn
  static constexpr std::ptrdiff_t kEndedMax = 1024;  // objects remembered by type, at least

  [[nodiscard]] std::uint64_t unsatisfied_count() const override;
  [[nodiscard]] std::vector<std::string> describe_unsatisfied() const override;
  bool run_ended() override;

  [[nodiscard]] bool take(Runner& runner, bool is_first);
  void clear(InvocationList& dropped) SHOAL_REQUIRES(mutex_);
  [[nodiscard]] static std::uint64_t begin_span(const Invocation& invocation);
  int run_taken(Runner& runner);
  int run_some(Runner& runner, Invocation& invocation, int count_max);
  void run(Runner& runner, Invocation& invocation, void* representative);
  void miss(Invocation& invocation);
  void fail(const Runner& runner);
  void run_on_strand(Runner& runner, Invocation& invocation, void* representative);
  /// A task waits for the turn, or the team has failed.
  [[nodiscard]] bool is_wanted() const { return turn_->is_wanted() || core_.failed(); }
  void finish(Runner& runner);
  /// Another runner is to be started: from here on, the share has one.
  [[nodiscard]] bool wants_runner() SHOAL_REQUIRES(mutex_) {
    return queue_.is_ready() && !is_closed() && !std::exchange(has_runner_, true);
  }
  void start_runner();
  /// The runner takes no more, and gives the turn up.
  void leave(Runner& runner);
  void check_begins(const Invocation& invocation);
  void check_ends(const Invocation& invocation);
  void fail_check(const std::string& violation);
  [[nodiscard]] bool may_run(const Invocation& invocation) const SHOAL_REQUIRES(mutex_);
  [[nodiscard]] std::string missing_text(std::uint32_t number) const SHOAL_REQUIRES(mutex_);
  [[nodiscard]] std::string object_text(std::uint32_t number) const SHOAL_REQUIRES(mutex_);
  void update_source();

  Objects& objects_;
  TeamCore& core_;  // gone when the share is closed
  const std::shared_ptr<Turn> turn_;
  const MakeRunner make_runner_;
  const std::string where_;                  // the team, and the rank in it
  const std::unique_ptr<OrderCheck> check_;  // in simulated runs; under mutex_
  std::atomic<std::uint32_t> epoch_{0};      // written under mutex_
  std::atomic<std::uint64_t> fresh_{1};
  std::atomic<bool> closed_{false};
  std::atomic<bool> is_direct_{true};      // once true, it stays so
  std::atomic<std::uint64_t> version_{0};  // of entries_; written under mutex_

  mutable sync::Mutex mutex_;
  bool has_runner_ SHOAL_GUARDED_BY(mutex_) = false;  // one that is to take invocations
  RunQueue queue_ SHOAL_GUARDED_BY(mutex_);
  std::unordered_map<std::uint32_t, Entry> entries_ SHOAL_GUARDED_BY(mutex_);
  bool run_has_ended_ = false;                            // written when the workers have stopped
  std::uint64_t forwarded_ SHOAL_GUARDED_BY(mutex_) = 0;  // and not arrived
  std::uint32_t last_number_ SHOAL_GUARDED_BY(mutex_) = 0;
  std::vector<Ended> ended_ SHOAL_GUARDED_BY(mutex_);

  sync::Mutex source_mutex_;  // taken before that of the team
  bool is_source_ SHOAL_GUARDED_BY(source_mutex_) = false;
};

/// Part of a task that takes part in turns, or invokes, or was submitted by one that has.
class Caller final : public sched::TaskLocal {
 public:
  /// Epochs of teams that a context has; it has none of the others.
  using Epochs = std::vector<std::pair<std::shared_ptr<Share>, std::uint32_t>>;

  explicit Caller(std::uint64_t context, std::shared_ptr<const Epochs> epochs = nullptr)
      : context_(context), epochs_(std::move(epochs)) {}
  ~Caller() override;

  /// Caller of the running task, or nullptr.
  [[nodiscard]] static Caller* find();

  /// Returns the context in which the task invokes.
  [[nodiscard]] std::uint64_t context() const { return context_; }
  void set_context(std::uint64_t context) {
    context_ = context;
    to_ = Rank(-1);
  }
  /// A runner begins an invocation that came with this epoch.
  void set_epoch(std::uint32_t epoch) {
    // relaxed: only the task reads it
    if (arrived_epoch_.load(std::memory_order_relaxed) != epoch)
      arrived_epoch_.store(epoch, std::memory_order_relaxed);
  }
  /// Epoch of the context in a team.
  [[nodiscard]] std::uint32_t epoch_in(const Share& share) {
    if (!knows_epoch_in(share)) find_epoch(share);
    return known_epoch();
  }
  /// False as well while invocations of the team do not go directly: so an invocation that goes has
  /// to look for that only where this is false.
  [[nodiscard]] bool knows_epoch_in(const Share& share) const { return epoch_share_ == &share; }
  [[gnu::noinline]] void find_epoch(const Share& share);
  /// Returns the epoch in the team that find_epoch() has looked for.
  [[nodiscard]] std::uint32_t known_epoch() const {
    return epoch_->load(std::memory_order_relaxed);  // relaxed: the section alone advances its own
  }
  /// Its epoch in the team is that of the rank.
  [[nodiscard]] bool is_section_of(const Share& share) const {
    return runner_ == nullptr && takes_part_in(share);
  }
  /// Context on `to` of the invocations that the task makes there.
  [[nodiscard]] std::uint64_t context_on(Rank to) {
    if (to != to_) set_receiver(to);
    return context_there_;
  }
  [[nodiscard]] bool is_runner() const { return is_runner_; }
  /// The task runs an invocation of this object.
  [[nodiscard]] bool runs(const Share& share, std::uint32_t number) const;
  /// The task is a runner, and has the turn.
  void begin_runner(const std::shared_ptr<Share>& share, Runner& runner);
  /// The turn is the runner's no more.
  void end_runner() {
    shares_.clear();
    has_turn_ = false;
    runner_ = nullptr;
  }
  /// A section: it takes part in the turns of the rank from now on, until the team ends. Waits.
  void enter(const std::shared_ptr<Share>& share);
  /// A team has ended.
  void leave_closed();

  void parks() override;
  void goes_on() override;
  void waits_for_room(bool begins) override {
    if (has_turn_) shares_.front()->turn()->owner_waits_for_room(begins);
  }
  [[nodiscard]] std::unique_ptr<sched::TaskLocal> for_submitted(
      const sched::Task& task) const override;

 private:
  [[gnu::noinline]] void set_receiver(Rank to);
  [[nodiscard]] bool takes_part_in(const Share& share) const;
  [[nodiscard]] std::shared_ptr<const Epochs> epochs_now() const;
  void forget_closed();

  std::uint64_t context_;
  const std::shared_ptr<const Epochs> epochs_;   // of the code that has submitted the task
  std::atomic<std::uint32_t> arrived_epoch_{0};  // of a runner's invocation
  const Share* epoch_share_ = nullptr;  // *epoch_ is the epoch in its team; see knows_epoch_in()
  const std::atomic<std::uint32_t>* epoch_ = nullptr;
  std::atomic<std::uint32_t> submitted_epoch_{0};  // *epoch_, if it is from epochs_
  Rank to_{-1};                                    // context_there_ is the context there
  std::uint64_t context_there_ = 0;
  bool is_runner_ = false;
  Runner* runner_ = nullptr;  // that runs
  bool has_turn_ = false;
  bool is_away_ = false;                                              // the task stands still
  bool is_coming_ = false;                                            // it waits for the turn
  boost::container::small_vector<std::shared_ptr<Share>, 1> shares_;  // why it takes part in turns
};

}  // namespace shoal::object

/// For each invocation: comparing addresses takes a tenth of the instructions of the general one's
/// cast. The library that makes a Caller also looks for it, so there is one type_info.
template <>
inline shoal::object::Caller* shoal::sched::Task::find_local<shoal::object::Caller>() const {
  for (TaskLocal* one = local_.get(); one != nullptr; one = one->next_.get()) {
    if (&typeid(*one) == &typeid(object::Caller)) return static_cast<object::Caller*>(one);
  }
  return nullptr;
}

namespace shoal::object {

inline Caller* Caller::find() {
  const sched::Task* const task = sched::current_task();
  return task != nullptr ? task->find_local<Caller>() : nullptr;
}

/// Task that runs invocations of one team.
class Runner final : public sched::Task {
 public:
  Runner(std::shared_ptr<Share> share, sched::TaskScope& in);
  [[nodiscard]] static std::unique_ptr<sched::Task> make(std::shared_ptr<Share> share,
                                                         sched::TaskScope& in) {
    return std::make_unique<Runner>(std::move(share), in);
  }
  ~Runner() override;
  void run() override;
  [[nodiscard]] std::string name() const override { return share_->name_of(*this); }

 private:
  friend class Caller;
  friend class Share;
  const std::shared_ptr<Share> share_;
  Caller* caller_ = nullptr;
  bool has_run_ = false;
  bool is_taking_ = true;  // the share's runner, which takes invocations
  // Reports read it with the lock of the share, without which the runner destroys no invocation
  // that it has run. release and acquire.
  std::atomic<const Invocation*> current_{nullptr};
  RunQueue::Taken taken_;
  std::unique_ptr<Invocation> running_;
  InvocationList done_;
  // The last object, at this version of the table.
  Entry* entry_ = nullptr;
  std::uint32_t number_ = 0;
  std::uint64_t version_ = 0;
};

inline bool Caller::runs(const Share& share, std::uint32_t number) const {
  return runner_ != nullptr && runner_->share_.get() == &share && runner_->number_ == number;
}

}  // namespace shoal::object
