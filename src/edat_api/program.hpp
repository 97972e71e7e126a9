#pragma once
// The one world of a program that uses edat.h.

#include "edat_api/configuration.hpp"
#include "edat_api/task_thread.hpp"
#include "env/alarm.hpp"

#include <shoal/edat/edat.h>
#include <shoal/detail/env/env.hpp>
#include <shoal/event/events.hpp>
#include <shoal/world.hpp>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace shoal::edat_api {

/// Returns whether events of this type carry the address itself.
[[nodiscard]] bool travels_as_address(int type, AddressRule addresses);

/// Events as EDAT shows them: with data of their own, which the program may change.
class Shown {
 public:
  Shown(const EventList& events, AddressRule addresses);
  Shown(const Shown&) = delete;
  Shown& operator=(const Shown&) = delete;

  [[nodiscard]] EDAT_Event* events() { return shown_.data(); }
  [[nodiscard]] int count() const { return static_cast<int>(shown_.size()); }

 private:
  struct Copy {
    std::string name;
    std::unique_ptr<std::byte[]> data;  // aligned as operator new aligns
  };
  std::vector<Copy> copies_;
  std::vector<EDAT_Event> shown_;
};

/// Belongings of a task, or of a thread of the program.
struct Belongings {
  std::set<std::string, std::less<>> locks;
  std::vector<std::unique_ptr<Shown>> shown;  // what edatWait and edatRetrieveAny returned
  TaskThread* task_thread = nullptr;          // of a thread only: it runs functions of tasks
};
Belongings& belongings();

/// The `user` of bound tasks that will not run any more, until the program asks. Any thread.
class ReleasedUsers {
 public:
  void add(void* user) {
    const sync::Lock lock(mutex_);
    users_.push_back(user);
  }
  /// Moves as many as fit, and returns their number.
  int take(std::span<void*> to) {
    const sync::Lock lock(mutex_);
    const std::size_t count = std::min(to.size(), users_.size());
    std::copy_n(users_.end() - static_cast<std::ptrdiff_t>(count), count, to.begin());
    users_.resize(users_.size() - count);
    return static_cast<int>(count);
  }

 private:
  sync::Mutex mutex_;
  std::vector<void*> users_ SHOAL_GUARDED_BY(mutex_);
};

/// The world runs on a thread of its own, from edatInit to edatFinalise. In between the program's
/// own threads may fire and submit: a Hold keeps the world from ending.
class Program {
 public:
  Program(Configuration configuration, std::shared_ptr<const void> communicator);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // For the thread that calls edatInit: main().

  /// Starts the world; returns whether it runs. **Blocks**: until events can be fired, or the world
  /// has ended before that.
  bool start();
  /// Waits until nothing can run any more on any rank; returns false if the world has ended with an
  /// error. **Blocks**: the thread.
  bool pause();
  /// Ends the world; returns its exit code. **Blocks**: until the world has ended.
  int finish();
  [[nodiscard]] bool is_main_thread() const { return std::this_thread::get_id() == main_thread_; }
  /// main() begins to wait, and goes on: see Configuration::main_is_worker.
  void leave_worker_to_tasks();
  void take_worker();

  /// Locks and unlocks the calls of MPI, see Transport::lock_calls(), for one owner at a time.
  /// **Errors**: CheckError for an owner that has locked them already, or that unlocks and has not.
  void lock_communication(const Belongings& owner) SHOAL_UNCHECKED_LOCKING;
  void unlock_communication(const Belongings& owner) SHOAL_UNCHECKED_LOCKING;
  [[nodiscard]] bool has_locked_communication(const Belongings& owner) const {
    return communication_owner_.load(std::memory_order_relaxed) == &owner;  // its own write, or not
  }

  // From start() to finish().
  [[nodiscard]] World& world() const { return *world_; }
  [[nodiscard]] Events& events() const { return *events_; }
  [[nodiscard]] TaskThreads& task_threads() { return task_threads_; }
  [[nodiscard]] ReleasedUsers& released() { return released_; }
  [[nodiscard]] AddressRule addresses() const { return configuration_.addresses; }

 private:
  void run();
  void run_main(World& world);
  void report_workers(World& world) const;

  const Configuration configuration_;
  const std::shared_ptr<const void> communicator_;
  const std::thread::id main_thread_ = std::this_thread::get_id();
  const std::unique_ptr<env::Env> env_;
  const std::unique_ptr<env::Parker> starter_;  // of main()
  ReleasedUsers released_;
  TaskThreads task_threads_;
  // The world's thread writes them before it wakes main(); finish() ends them.
  World* world_ = nullptr;
  Events* events_ = nullptr;
  std::optional<Hold> hold_;
  bool has_ended_ = false;
  int exit_code_ = 0;
  std::atomic<bool> is_finishing_{false};  // written before hold_ ends, read behind that
  std::shared_ptr<env::Parker> taken_;     // on which a worker stands still
  sync::Mutex communication_;
  std::atomic<const Belongings*> communication_owner_{nullptr};
  std::optional<env::Thread> thread_;  // the last member: it uses the others
};

}  // namespace shoal::edat_api
