#pragma once
// Objects and code that is not shoal's: threads of the program, and libraries that use MPI.

#include <shoal/detail/object/objects.hpp>
#include <shoal/world.hpp>

#include <functional>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace shoal {

/// A thread of the program that invokes methods: while one exists, the team's wait() does not
/// complete. Such threads invoke on objects (`a.async<...>()`), and may wait for futures. The
/// invocations of all threads of a rank have one order. **Source**: stapl-rts thesis, 3.5.1.
class ExternalThread {
 public:
  /// Registers the calling thread. **Errors**: CheckError in a simulated world (--sim), which has
  /// no threads.
  explicit ExternalThread(Team& team);

  /// Takes part in the next fence() that the main function, or section, of this rank calls on an
  /// object of the team, and returns when that does. So each registered thread of each rank calls
  /// it as often as the section calls fence() after the registration. **Caller**: the thread.
  /// **Blocks**: the thread. **Errors**: CancelledError if the team fails.
  void fence();

 private:
  Team& team_;
  std::optional<Hold> hold_;
};

/// Returns the ranks of a team on which external_call() calls its function: the first one in each
/// process.
[[nodiscard]] std::vector<Rank> external_callers(const Team& team);

/// Waits until all work of the team has ended, as Team::wait(), and then calls f(args...) on one
/// rank of each process while the others wait: for a library that uses MPI itself, say. Collective.
/// Returns the result of f on these ranks, and nothing on the others; if f returns void, whether
/// this rank has called it. f must not use shoal. MPI must have been initialized as docs/mpi.md
/// says for programs that call it during a run. **Source**: stapl-rts thesis, 3.5.1.
template <class F, class... Args>
auto external_call(Team& team, F f, Args... args) {
  using Result = std::invoke_result_t<F&, Args...>;
  constexpr bool has_result = !std::is_void_v<Result>;
  std::conditional_t<has_result, std::optional<Result>, bool> result{};
  team.wait();
  for (const Rank caller : external_callers(team)) {
    if (caller != team.rank()) continue;
    if constexpr (has_result) {
      result.emplace(std::invoke(f, std::move(args)...));
    } else {
      std::invoke(f, std::move(args)...);
      result = true;
    }
  }
  team.barrier();
  return result;
}

}  // namespace shoal
