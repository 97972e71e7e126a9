#pragma once
// MPI's own start and end, and the communicator between the two.

#include <shoal/detail/base/function.hpp>

#include <string>
#include <thread>
#include <vector>

#include "net/mpi/mpi_check.hpp"
#include "net/mpi_transport.hpp"

namespace shoal::net {

/// Where processes share processors, Open MPI yields in each call that finds nothing to do
/// (mpi_yield_when_idle). Beside a program that computes that takes a turn of the scheduler, and
/// one poll of shoal makes several calls. shoal rests between its polls by itself (MpiRest).
class MpiYields {
 public:
  /// Switches the yields on or off, and returns how they were.
  using Switch = int(int on);

  /// Makes an object for an MPI without yields that can be switched.
  MpiYields() = default;
  /// `set`: of an MPI that is initialized; nullptr: it has none.
  explicit MpiYields(Switch* set);

  /// While it lives, they are off for all threads of the process. Free where they are off anyway.
  class Off {
   public:
    explicit Off(const MpiYields& yields) : set_(yields.set_) {
      if (set_ != nullptr) static_cast<void>(set_(0));
    }
    ~Off() {
      if (set_ != nullptr) static_cast<void>(set_(1));
    }
    Off(const Off&) = delete;
    Off& operator=(const Off&) = delete;

   private:
    Switch* const set_;
  };

 private:
  Switch* set_ = nullptr;  // nullptr: there are none, or they are off
};

/// How the threads of this process use MPI.
struct ThreadUse {
  ProgressPolicy policy = ProgressPolicy::worker;
  bool shared = false;           // the program may call MPI meanwhile
  bool single_threaded = false;  // see MpiOptions
  bool earlier_world = false;    // an earlier world of this process has initialized MPI
};

/// The thread level to request, as mpi_table.h numbers them.
int wanted_thread_level(const ThreadUse& use);

/// Effect of the thread level that MPI granted on a policy.
struct ThreadDecision {
  ProgressPolicy policy;
  std::string note;   // empty: as asked
  std::string error;  // not empty: it cannot be done
};
ThreadDecision decide_threads(const ThreadUse& use, int granted);

/// "MPI_THREAD_SERIALIZED"
const char* thread_level_name(int level);

/// A duplicate of the program's communicator, with errors returned.
class MpiSession {
 public:
  /// Collective. Throws ConfigError in all processes or in none.
  explicit MpiSession(const MpiOptions& options);
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;
  /// Destroys the session. If close() was not called, leaves the communicator and MPI as they are,
  /// since freeing them might wait for other processes.
  ~MpiSession();

  [[nodiscard]] const MpiTable& mpi() const { return mpi_; }
  [[nodiscard]] MpiComm communicator() const { return communicator_; }
  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] int process() const { return layout_.process; }
  [[nodiscard]] ProgressPolicy policy() const { return policy_; }
  [[nodiscard]] int thread_level() const { return thread_level_; }
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  /// `say`: writes it to standard error, too.
  void add_note(std::string note, bool say);
  /// The caller is the thread that started the session.
  [[nodiscard]] bool is_main_thread() const { return std::this_thread::get_id() == main_thread_; }
  /// The largest tag that a message may have.
  [[nodiscard]] int tag_max() const { return tag_max_; }

  [[nodiscard]] std::uint64_t now_ns() const { return env_.now_ns(); }
  /// Yields inside of MPI's calls, off during polls.
  [[nodiscard]] const MpiYields& yields() const { return yields_; }

  /// MPI_Wait() that leaves the processor to others. `on_rest` is called between polls.
  void wait(
      MpiRequest& request, const MpiCall& call, FunctionRef<void()> on_rest = [] {}) const;
  /// Collective, blocking.
  std::vector<std::string> exchange(const std::string& mine) const;
  /// Collective: frees the communicator.
  void close();
  void abort(int exit_code) const;

 private:
  std::string initialize(const MpiOptions& options);
  void duplicate(const MpiOptions& options);
  void await_others(MpiRequest& request, const MpiOptions& options, MpiComm parent) const;
  [[nodiscard]] std::string find_disagreement(const MpiOptions& options) const;

  env::Env& env_;
  const MpiTable& mpi_;
  MpiComm communicator_;
  MpiYields yields_;
  Layout layout_;
  ProgressPolicy policy_;
  const std::thread::id main_thread_;
  int thread_level_ = SHOAL_MPI_SINGLE;
  std::string thread_error_;
  std::vector<std::string> notes_;
  int tag_max_ = 0;
};

/// Encodes the settings of one process. Names and values have no tab and no line break.
std::string encode_settings(const std::string& host, const std::vector<Setting>& settings);

/// Error text for the first setting with different values: each value with its hosts and
/// processes. Empty if all agree. `all` holds encode_settings() of each process.
std::string find_disagreement(const std::vector<std::string>& all);

}  // namespace shoal::net
