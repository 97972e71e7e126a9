#include "net/mpi/mpi_window.hpp"

#include <shoal/error.hpp>

#include <fmt/format.h>

#include <utility>

#include "net/mpi/mpi_check.hpp"
#include "net/mpi/mpi_lifetime.hpp"

namespace shoal::net {

std::string window_problem(const MpiTable& mpi, int result, bool unified) {
  constexpr const char* kAdvice =
      "run without --global-rma, and gets from other nodes go by messages";
  if (result != 0) {
    return fmt::format(
        "--global-rma: this MPI makes no window over memory of the program ({}): {}, or choose "
        "another one-sided component of the MPI or another MPI",
        mpi_error_text(mpi, result), kAdvice);
  }
  if (!unified) {
    return fmt::format(
        "--global-rma: windows of this MPI keep copies of the memory (MPI_WIN_SEPARATE): {}",
        kAdvice);
  }
  return "";
}

MpiWindow::MpiWindow(MpiSession& session, bool wanted)
    : session_(session), window_(session.mpi().win_null) {
  if (!wanted) return;
  const int result = make();
  const MpiTable& mpi = session_.mpi();
  int unified = 0;
  if (result == 0) {
    mpi_check(mpi, mpi.win_is_unified(window_, &unified), {"MPI_Win_get_attr", session_.process()});
  }
  std::string problem;
  for (const std::string& text : session_.exchange(window_problem(mpi, result, unified != 0))) {
    if (problem.empty()) problem = text;
  }
  if (problem.empty()) return;
  if (result == 0) close();
  session_.close();  // all processes are here: none waits
  throw ConfigError(problem);
}

// MPI_MODE_NOCHECK: no process takes an exclusive lock, so none has to be asked.
int MpiWindow::make() {
  const MpiTable& mpi = session_.mpi();
  if (const int result = mpi.win_create_dynamic(session_.communicator(), &window_); result != 0) {
    window_ = mpi.win_null;
    return result;
  }
  mpi_check(mpi, mpi.win_return_errors(window_), {"MPI_Win_set_errhandler", session_.process()});
  return mpi.win_lock_all(window_);
}

MpiWindow::~MpiWindow() {
  if (!exists() || !MpiLifetime::of_process().is_up()) return;
  static_cast<void>(new std::vector(std::move(memories_)));
}

void MpiWindow::attach(std::shared_ptr<env::SharedMemory> memory) {
  const MpiTable& mpi = session_.mpi();
  const int result = mpi.win_attach(window_, memory->data(), memory->size_bytes());
  if (result != 0) {
    throw TransportError(
        fmt::format("MPI_Win_attach of {} bytes failed in process {}: {}; choose a smaller heap "
                    "(--global-heap, GlobalMemoryOptions::heap_bytes), or run without --global-rma",
                    memory->size_bytes(), session_.process(), mpi_error_text(mpi, result)));
  }
  memories_.push_back(std::move(memory));
}

void MpiWindow::close() {
  if (!exists()) return;
  const MpiTable& mpi = session_.mpi();
  mpi_check(mpi, mpi.win_unlock_all(window_), {"MPI_Win_unlock_all", session_.process()});
  // No process unmaps its memory while another one is in the call above.
  mpi_check(mpi, mpi.barrier(session_.communicator()), {"MPI_Barrier", session_.process()});
  for (const auto& memory : memories_) {
    mpi_check(mpi, mpi.win_detach(window_, memory->data()), {"MPI_Win_detach", session_.process()});
  }
  mpi_check(mpi, mpi.win_free(&window_), {"MPI_Win_free", session_.process()});
  window_ = mpi.win_null;
  memories_.clear();
}

}  // namespace shoal::net
