#include "net/mpi/mpi_window.hpp"

#include <shoal/base/error.hpp>

#include <fmt/format.h>

#include <utility>

#include "net/mpi/mpi_check.hpp"
#include "net/mpi/mpi_lifetime.hpp"

namespace shoal::net {

std::string window_problem(int result, bool unified) {
  constexpr const char* kAdvice =
      "run without --global-rma, and gets from other nodes go by messages";
  if (result != MPI_SUCCESS) {
    return fmt::format(
        "--global-rma: this MPI makes no window over memory of the program ({}): {}, or choose "
        "another one-sided component of the MPI or another MPI",
        mpi_error_text(result), kAdvice);
  }
  if (!unified) {
    return fmt::format(
        "--global-rma: windows of this MPI keep copies of the memory (MPI_WIN_SEPARATE): {}",
        kAdvice);
  }
  return "";
}

MpiWindow::MpiWindow(MpiSession& session, bool wanted) : session_(session) {
  if (!wanted) return;
  const int result = make();
  bool unified = false;
  if (result == MPI_SUCCESS) {
    int* model = nullptr;
    int found = 0;
    mpi_check(MPI_Win_get_attr(window_, MPI_WIN_MODEL, static_cast<void*>(&model), &found),
              {"MPI_Win_get_attr", session_.process()});
    unified = found != 0 && *model == MPI_WIN_UNIFIED;
  }
  std::string problem;
  for (const std::string& text : session_.exchange(window_problem(result, unified))) {
    if (problem.empty()) problem = text;
  }
  if (problem.empty()) return;
  if (result == MPI_SUCCESS) close();
  session_.close();  // all processes are here: none waits
  throw ConfigError(problem);
}

// MPI_MODE_NOCHECK: no process takes an exclusive lock, so none has to be asked.
int MpiWindow::make() {
  if (const int result = MPI_Win_create_dynamic(MPI_INFO_NULL, session_.communicator(), &window_);
      result != MPI_SUCCESS) {
    window_ = MPI_WIN_NULL;
    return result;
  }
  mpi_check(MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN),
            {"MPI_Win_set_errhandler", session_.process()});
  return MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);
}

MpiWindow::~MpiWindow() {
  if (!exists() || !MpiLifetime::is_up()) return;
  static_cast<void>(new std::vector(std::move(memories_)));
}

void MpiWindow::attach(std::shared_ptr<env::SharedMemory> memory) {
  const int result =
      MPI_Win_attach(window_, memory->data(), static_cast<MPI_Aint>(memory->size_bytes()));
  if (result != MPI_SUCCESS) {
    throw TransportError(
        fmt::format("MPI_Win_attach of {} bytes failed in process {}: {}; choose a smaller heap "
                    "(--global-heap, GlobalMemoryOptions::heap_bytes), or run without --global-rma",
                    memory->size_bytes(), session_.process(), mpi_error_text(result)));
  }
  memories_.push_back(std::move(memory));
}

void MpiWindow::close() {
  if (!exists()) return;
  mpi_check(MPI_Win_unlock_all(window_), {"MPI_Win_unlock_all", session_.process()});
  // No process unmaps its memory while another one is in the call above.
  mpi_check(MPI_Barrier(session_.communicator()), {"MPI_Barrier", session_.process()});
  for (const auto& memory : memories_) {
    mpi_check(MPI_Win_detach(window_, memory->data()), {"MPI_Win_detach", session_.process()});
  }
  mpi_check(MPI_Win_free(&window_), {"MPI_Win_free", session_.process()});
  window_ = MPI_WIN_NULL;
  memories_.clear();
}

}  // namespace shoal::net
