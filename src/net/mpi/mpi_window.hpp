#pragma once
// MPI-3 window over memory of the program.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "env/shared_memory.hpp"
#include "net/mpi/mpi_session.hpp"

namespace shoal::net {

/// Reason why reads cannot go by a window, with advice; "": they can. `result`: of the calls that
/// made it; `unified`: its memory model is MPI_WIN_UNIFIED.
std::string window_problem(const MpiTable& mpi, int result, bool unified);

/// A dynamic window, in one epoch of passive target from its beginning to its end. Only gets use
/// it: a put is complete at its target after MPI_Win_flush() only, which blocks the engine, and
/// accumulate functions are not atomic with the processor's instructions.
///
/// Guarded by the engine's lock, except for the constructor and close().
class MpiWindow {
 public:
  /// Collective. Makes no window unless `wanted`, the same in all processes. **Errors**:
  /// ConfigError in all processes if one cannot make it.
  MpiWindow(MpiSession& session, bool wanted);
  /// Destroys the window. If close() was not called, leaves it to MPI, and its memory mapped, since
  /// peers may read it.
  ~MpiWindow();
  MpiWindow(const MpiWindow&) = delete;
  MpiWindow& operator=(const MpiWindow&) = delete;

  [[nodiscard]] bool exists() const { return !is_same(window_, session_.mpi().win_null); }
  /// Attaches memory to the window. **Errors**: TransportError, with advice.
  void attach(std::shared_ptr<env::SharedMemory> memory);
  [[nodiscard]] MpiWin handle() const { return window_; }
  /// Collective. **Precondition**: no get is under way in any process.
  void close();

 private:
  int make();

  MpiSession& session_;
  MpiWin window_;
  std::vector<std::shared_ptr<env::SharedMemory>> memories_;
};

}  // namespace shoal::net
