#pragma once
// Ranks and workers for a program that has its own main loop: a GUI, a server, a library, a test.

#include <shoal/detail/base/build_check.hpp>
#include <shoal/detail/base/function.hpp>
#include <shoal/world.hpp>

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace shoal {

/// Settings of a Runtime. Those that are not given here come from SHOAL_* environment variables and
/// the --config file, as for run().
struct RuntimeOptions {
  int ranks = 0;                       // all in this process; 0: not given, which is one
  int workers = 0;                     // of each rank; 0: the processors are shared out
  std::string name = "a runtime";      // for errors
  std::vector<std::string> options{};  // further ones, as on a command line: {"--trace", "t.shoal"}
};

/// Ranks and workers of this process that run what any thread of the program gives them, from the
/// constructor to stop(). A program may make many, one after the other or several at once; none of
/// them uses MPI. Idle workers sleep.
///
/// The trace that one of them records (--trace) has the events of the whole process; a second one
/// that is to record at the same time is refused. **Caller**: where nothing else is said, any
/// thread of the program, and tasks. **Errors** of all calls after stop(), and after a failure:
/// Error with the reason.
class Runtime {
 public:
  /// Starts the ranks. **Caller**: a thread of the program, in main(); not a task. **Errors**:
  /// ConfigError for a wrong option and for one of simulation (threads of a program are not
  /// simulated: use run()); Error when the system refuses threads or the trace's file.
  explicit Runtime(const RuntimeOptions& options = {});
  /// Stops the ranks, as stop() does; writes an error that no call has thrown to standard error.
  /// **Caller**: a thread of the program, or anyone after stop(). In a task, a main function or a
  /// handler, which it would wait for, it ends the process with an error.
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  /// Number of ranks.
  [[nodiscard]] int size() const { return size_; }
  /// Returns whether work is taken: not after stop(), nor after a failure.
  [[nodiscard]] bool is_running() const;

  /// Runs `function` as a task of rank 0; returns the future of its result, for which the calling
  /// thread may wait. An exception goes to the future; if that is dropped, the runtime fails.
  /// **Blocks**: never.
  template <class F>
  [[nodiscard]] auto async(F function, const TaskOptions& options = {}) {
    return async(Rank(0), std::move(function), options);
  }
  /// Runs `function` as a task of a rank; returns the future of its result. **Errors**: also
  /// CheckError for a rank that does not exist. **Blocks**: never.
  template <class F>
  [[nodiscard]] auto async(Rank rank, F function, const TaskOptions& options = {}) {
    const Entry entry(*this, rank);
    return entry.world().async(std::move(function), options);
  }
  /// Runs `function` as a task of rank 0. An exception fails the runtime: see failures at run().
  /// **Blocks**: never.
  template <class F>
  void spawn(F function, const TaskOptions& options = {}) {
    const Entry entry(*this, Rank(0));
    entry.world().spawn(std::move(function), options);
  }

  /// Runs `function(world)` on every rank, as run() runs its main function: with all models and
  /// collective operations. Returns when this and all tasks of the runtime have ended, with what it
  /// returned on rank 0. Calls of several threads follow each other.
  ///
  /// An exception of a main function, of a task that has no future, or of a handler fails the
  /// runtime: tasks that have not begun are dropped, their futures throw, and the error is thrown
  /// here, or by stop(). To go on, make a new Runtime. **Caller**: a thread of the program.
  /// **Blocks**: the thread. **Errors**: those; StuckError when a task waits for what nothing can
  /// bring any more; CheckError in a task.
  template <class F>
  auto run(F function) {
    using Result = std::invoke_result_t<F&, World&>;
    if constexpr (std::is_void_v<Result>) {
      run_section([f = std::move(function)](World& world) mutable { f(world); });
    } else {
      std::optional<Result> result;
      run_section([f = std::move(function), &result](World& world) mutable {
        Result value = f(world);
        if (world.rank() == Rank(0)) result.emplace(std::move(value));
      });
      return std::move(*result);
    }
  }

  /// Ends the ranks when all that was given to them has ended. Does nothing the second time.
  /// **Caller**: a thread of the program. **Blocks**: the thread. **Errors**: what has failed the
  /// runtime, unless run() has thrown it; CheckError in a task of this process.
  void stop();

 private:
  class State;
  /// A call that gives work to a rank: stop() waits for it.
  class Entry {
   public:
    Entry(Runtime& runtime, Rank rank);
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    [[nodiscard]] World& world() const { return *world_; }

   private:
    State& state_;
    World* world_;
  };
  void run_section(const Function<void(World&)>& function);

  const std::unique_ptr<State> state_;
  int size_ = 0;
};

}  // namespace shoal
