#pragma once
// The start of a shoal program.

#include <shoal/detail/base/build_check.hpp>
#include <shoal/detail/base/function.hpp>
#include <shoal/world.hpp>

#include <type_traits>
#include <utility>

namespace shoal {

namespace runtime {

using MainFunction = Function<int(World&)>;

/// Use of MPI by the program itself.
struct ProgramMpi {
  const void* communicator = nullptr;  // an MPI_Comm; nullptr: none was given
  const char* header = "";             // MPI of its mpi.h; "": not known
};

int run_world(int argc, const char* const* argv, const MainFunction& main_function,
              const ProgramMpi& program);

template <class F>
MainFunction as_main(F function) {
  if constexpr (std::is_void_v<std::invoke_result_t<F&, World&>>) {
    return [f = std::move(function)](World& world) mutable {
      f(world);
      return 0;
    };
  } else {
    return function;
  }
}

}  // namespace runtime

/// Runs `function(world)` as the main function of every rank, and returns when all have ended.
///
/// The ranks are those of the MPI launch, if the process was started by mpirun or srun, else
/// `--ranks N` of this process. An option of the command line (--help lists them) has precedence
/// over a SHOAL_* environment variable, and that over the --config file. The program's own
/// arguments are in world.args().
///
/// Each main function is a task on worker 0 of its rank. When it returns, an implicit wait() lets
/// everything finish. A main function that throws fails the world. Its stack unwinds only when all
/// main functions are parked or have ended, and no task and no message exists that may use objects
/// on it: so tasks must not wait for a destructor on that stack.
///
/// **Returns**: the largest value that the main functions of this process returned, or the smallest
/// if none is positive; at least 1 after an error that one of them did not catch, which the process
/// where it began has written to standard error. **Caller**: the main thread of the process, one
/// call at a time; a main function, a task or a handler is refused. Under MPI all processes call it
/// equally often: the first call initializes MPI unless the program has, and the end of the process
/// finalizes it. **Errors**: none are thrown: they are written to standard error, and 1 is
/// returned.
template <class F>
int run(int argc, const char* const* argv, F function) {
  return runtime::run_world(argc, argv, runtime::as_main(std::move(function)), {});
}

/// @cond internals
/// Names the header that declares the form with a communicator.
template <class Communicator, class F>
int run(Communicator, int, const char* const*, F) {
  static_assert(sizeof(F) == 0,
                "shoal::run() on a communicator of MPI: include <shoal/mpi.hpp>, and link an MPI");
  return 1;
}
/// @endcond

}  // namespace shoal
