#pragma once
// Memory with one value of a handle on this rank, and the queue of accesses to it.

#include <shoal/detail/base/function.hpp>
#include <shoal/detail/flow/task.hpp>
#include <shoal/detail/flow/types.hpp>
#include <shoal/detail/sync/mutex.hpp>
#include <shoal/detail/sync/store_release_mutex.hpp>
#include <shoal/rank.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace shoal::flow {

class Instances;
class SendTask;
struct SendList;
struct Destination;
struct Handle;

/// Invariant: granted_ accesses are held, all of kind_; if first_ is set, granted_ > 0. Accesses
/// are granted in the order in which they entered.
///
/// The memory of an instance is used for instances only, until the flow ends: a lock may be given
/// back after the instance was recycled.
class alignas(64) Instance {
 public:
  Instance() = default;
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  /// Starts an instance. `object` may be nullptr; then it is made when it is needed.
  [[nodiscard]] static Instance& make(Instances& store, Handle& handle, void* object,
                                      bool owns_object);
  /// Marks the object as no copy. Precondition: no task uses the instance yet.
  void set_at_home() { at_home_ = true; }
  /// Ends the instance, and frees the object if it is owned.
  void end();

  /// Grants an exclusive access to the maker of the instance.
  void hold();
  /// Enters an access; returns whether it was granted at once.
  bool enter(Access& access);
  /// Releases an access, and grants the next ones.
  void release(Mode mode);
  /// Makes the granted exclusive access a reading one, and grants the next readers.
  void share();
  /// Adds a destination to a send of the same version that has not left yet; returns false if there
  /// is none.
  [[nodiscard]] bool join_send(const Destination& to);
  /// Enters a send, to which join_send() may add destinations, see enter().
  bool enter_send(SendTask& task);
  /// Ends the list of destinations of a send, whose value leaves now, and returns it.
  [[nodiscard]] std::vector<Destination> close_send(const std::shared_ptr<SendList>& list);
  /// Lets the instance end when its last access was released.
  void detach();

  // Commutative accesses that are granted exclude each other by a flag.
  [[nodiscard]] bool try_take_turn();
  /// Registers an access for a retry when the flag is free; returns false if the flag is free now.
  [[nodiscard]] bool wait_for_turn(Access& access);
  void end_turn();

  /// For the holder of an exclusive access.
  [[nodiscard]] void* object();

  // Objects of accesses that do not share one: partial values of reductions, scratch memory.
  [[nodiscard]] void* take_spare(bool& is_new);
  void put_spare(void* object);
  /// For the holder of an exclusive access.
  [[nodiscard]] std::vector<void*> take_all_spares();

  /// Worker that has used it last, for FlowScheduler; -1: none. A hint, hence relaxed.
  [[nodiscard]] int last_worker() const { return last_worker_.load(std::memory_order_relaxed); }
  void set_last_worker(int worker) {
    last_worker_.store(static_cast<std::int16_t>(worker), std::memory_order_relaxed);
  }

  /// Counts the accesses that acquire() holds, for reports.
  void count_acquired(int by) { acquired_.fetch_add(by, std::memory_order_relaxed); }

  [[nodiscard]] Handle& handle() const { return *handle_; }
  /// Accesses that wait, and the mode of those that are granted. Any thread.
  struct State {
    std::uint32_t waiting = 0;
    std::uint32_t granted = 0;
    int acquired = 0;  // of those granted
    Mode mode = Mode::read;
    std::string first;  // name of the first task that waits, if asked for
  };
  [[nodiscard]] State state(bool with_name = false) const;
  /// Removes one waiting access after the other, when nothing runs any more.
  [[nodiscard]] Access* take_waiting();

 private:
  static bool is_shared(Mode mode) { return mode != Mode::write && mode != Mode::read_write; }
  [[nodiscard]] bool admits(Mode mode) const SHOAL_REQUIRES(mutex_) {
    return first_ == nullptr && (granted_ == 0 || (mode == kind_ && is_shared(mode)));
  }
  [[nodiscard]] bool enter_locked(Access& access) SHOAL_REQUIRES(mutex_);
  [[nodiscard]] Access* grant_next() SHOAL_REQUIRES(mutex_);
  /// Notifies the tasks of granted accesses.
  static void satisfy_all(Access* group);
  /// Ends the instance, which may be used again.
  void recycle();

  mutable sync::StoreReleaseMutex mutex_;
  std::uint32_t granted_ SHOAL_GUARDED_BY(mutex_) = 0;
  Mode kind_ SHOAL_GUARDED_BY(mutex_) = Mode::read;
  bool detached_ SHOAL_GUARDED_BY(mutex_) = false;
  bool turn_taken_ SHOAL_GUARDED_BY(mutex_) = false;
  bool owns_object_ = false;
  bool at_home_ = false;
  bool counted_ = false;  // among the bytes of copies
  std::atomic<std::int16_t> last_worker_{-1};
  std::atomic<int> acquired_{0};
  Access* first_ SHOAL_GUARDED_BY(mutex_) = nullptr;
  Access* last_ SHOAL_GUARDED_BY(mutex_) = nullptr;
  void* object_ = nullptr;
  Handle* handle_ = nullptr;
  Instances* store_ = nullptr;
  // List of the last send, until it leaves, or the value changes after it.
  std::shared_ptr<SendList> open_send_ SHOAL_GUARDED_BY(mutex_);
  Access* turns_ SHOAL_GUARDED_BY(mutex_) = nullptr;  // wait for the flag
  std::vector<void*> spares_ SHOAL_GUARDED_BY(mutex_);
};

/// Called when all accesses of the task are granted: it becomes ready when it has the flags of its
/// commutative ones. **Caller**: any thread.
void make_ready(FlowTask& task);

/// Called when one more access of the task is granted. **Caller**: any thread.
inline void satisfy(FlowTask& task) {
  // acq_rel: the last one sees the writes of all
  if (task.missing.fetch_sub(1, std::memory_order_acq_rel) == 1) make_ready(task);
}

class Dependencies;

/// Pool of instances, whose memory it keeps until the flow ends; counts the bytes of copies.
/// **Caller**: any thread.
class Instances {
 public:
  /// Returns an instance that is not in use.
  [[nodiscard]] Instance& take();
  void put_back(Instance& instance);
  /// Sets what is to forget the accesses to an instance that is taken. **Caller**: before the
  /// first.
  void set_dependencies(Dependencies& dependencies) { dependencies_ = &dependencies; }
  template <class F>
  void for_each(F f) {
    const sync::Lock lock(mutex_);
    for (Instance& instance : instances_) f(instance);
  }
  template <class F>
  void for_each(F f) const {
    const sync::Lock lock(mutex_);
    for (const Instance& instance : instances_) f(instance);
  }

  void count_copy_bytes(std::int64_t bytes) {
    copy_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  }
  /// So many, or more than any limit, by look_always().
  [[nodiscard]] std::size_t copy_bytes() const {
    return static_cast<std::size_t>(copy_bytes_.load(std::memory_order_relaxed));
  }
  [[nodiscard]] std::size_t real_copy_bytes() const { return copy_bytes() & ~kLooks; }
  /// Makes each insertion look at its limits: tasks run in attempts, which may not insert.
  void look_always() {
    copy_bytes_.fetch_or(static_cast<std::int64_t>(kLooks), std::memory_order_relaxed);
  }
  static constexpr std::size_t kLooks = std::size_t{1} << 62U;

 private:
  mutable sync::Mutex mutex_;
  std::deque<Instance> instances_ SHOAL_GUARDED_BY(mutex_);
  std::vector<Instance*> free_ SHOAL_GUARDED_BY(mutex_);
  Dependencies* dependencies_ = nullptr;
  std::atomic<std::int64_t> copy_bytes_{0};  // relaxed: a limit, not exact
};

/// Transfers of a handle between this rank and another one.
struct Peer {
  int rank = 0;
  std::uint32_t sent = 0;      // number of transfers so far
  std::uint32_t expected = 0;  // likewise, from there
  std::uint32_t epoch = 0;     // of the handle, when its value was last there
};

/// Functions of a reduction.
struct Reduction {
  Function<void(void* object)> init;
  Function<void(void* into, const void* from)> combine;
};

/// Rarely needed.
struct HandleExtras {
  std::shared_ptr<const Reduction> reduction;
  Instance* reducing = nullptr;     // partial values of this rank
  std::vector<int> reducing_ranks;  // that have partial values, in the order of insertion
  Instance* scratch = nullptr;
  std::vector<Handle*> parts;  // while it is partitioned
};

/// Used by the inserting thread only, unless said otherwise.
struct Handle {
  Instance* current = nullptr;  // its value on this rank, or nullptr
  int owner = 0;
  std::uint32_t generation = 0;
  std::uint32_t epoch = 1;       // changes whenever cached values end
  std::uint32_t sent_epoch = 0;  // when it was last sent
  bool partitioned = false;
  bool is_reducing = false;
  const DataType* type = nullptr;  // never changes while there are instances, likewise `shape`
  Shape shape;
  std::uint64_t id = 0;
  int home = 0;                 // the rank that it goes back to
  Instance* at_home = nullptr;  // with the memory of the program; on the home rank
  Handle* whole = nullptr;      // that it is a part of
  std::vector<Peer> peers;
  std::unique_ptr<HandleExtras> extras;
  const Instances* flow = nullptr;         // that it is registered with, by its instances
  std::atomic<std::int32_t> instances{0};  // alive. Any thread
  std::string text;  // its name, or ""; never changes while there are instances

  [[nodiscard]] std::size_t size_bytes() const {
    return shape.rows * shape.columns * type->element_bytes;
  }
  [[nodiscard]] std::string name() const;
  /// Its type and size, "a std::span<double> of 8 elements", for reports.
  [[nodiscard]] std::string describe_type() const;
  /// ", 'name'" of the datum that has ended with that generation, or "" where it is not known.
  [[nodiscard]] std::string former_name(std::uint32_t ended) const;
  [[nodiscard]] HandleExtras& more() {
    if (extras == nullptr) extras = std::make_unique<HandleExtras>();
    return *extras;
  }
  [[nodiscard]] Peer& peer(int rank);
};

}  // namespace shoal::flow
