#include "net/mpi/mpi_lifetime.hpp"

#include <shoal/error.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "env/alarm.hpp"
#include "env/host.hpp"
#include "net/mpi/mpi_check.hpp"

namespace shoal::net {

namespace {

/// Ends the process if the others do not come to their exit in time; nullptr without a limit, or
/// when no thread can be made for it.
std::unique_ptr<env::ExitDeadline> limit_exit(std::uint64_t timeout_ns) {
  if (timeout_ns == 0) return nullptr;
  try {
    return std::make_unique<env::ExitDeadline>(
        timeout_ns,
        "shoal: error: this process exits, but other processes have not come to their exit in "
        "time: the run is given up (--stall-abort)\n",
        1);
  } catch (const Error&) {
    return nullptr;
  }
}

}  // namespace

// A static object: the state of MPI belongs to the process, and atexit() takes no argument.
MpiLifetime& MpiLifetime::of_process() {
  static MpiLifetime lifetime;
  return lifetime;
}

const MpiTable& MpiLifetime::load(const MpiChoice& choice) {
  if (mpi_ == nullptr) mpi_ = &load_mpi(choice);
  return *mpi_;
}

bool MpiLifetime::is_up() const {
  if (mpi_ == nullptr) return false;
  int initialized = 0;
  int finalized = 0;
  mpi_check(*mpi_, mpi_->initialized(&initialized), {"MPI_Initialized"});
  mpi_check(*mpi_, mpi_->finalized(&finalized), {"MPI_Finalized"});
  return initialized != 0 && finalized == 0;
}

int MpiLifetime::initialize(int wanted_level) {
  int granted = SHOAL_MPI_SINGLE;
  mpi_check(*mpi_, mpi_->init_thread(wanted_level, &granted), {"MPI_Init_thread"});
  is_ours_ = true;
  // Some MPIs raise the errors of MPI_Test, which is given no communicator, on one of these.
  // Where the program has initialized MPI, they are the program's to set.
  for (const MpiComm fallback : {mpi_->comm_world, mpi_->comm_self}) {
    mpi_check(*mpi_, mpi_->comm_return_errors(fallback), {"MPI_Comm_set_errhandler"});
  }
  return granted;
}

void MpiLifetime::watch_end() {
  if (std::exchange(watches_end_, true)) return;
  process_id_ = getpid();
  static_cast<void>(on_exit([](int code, void*) { of_process().at_exit(code); }, nullptr));
  mpi_check(*mpi_, mpi_->watch_finalize([] { of_process().on_finalize(); }), {"MPI_Comm_set_attr"});
}

// MPI would end the process at shoal's next call, without a word about the cause. Inside of
// MPI_Finalize nothing of MPI may be called; the launcher ends the other processes.
void MpiLifetime::on_finalize() const {
  if (phase_ != Phase::in_world) return;
  env::write_to_standard_error(
      fmt::format("shoal: error: process {} calls MPI_Finalize inside shoal::run(), which still "
                  "uses MPI: call it after the last shoal::run(), or leave it to shoal\n",
                  process_));
  std::fflush(nullptr);
  std::_Exit(1);
}

bool MpiLifetime::all_go_on(bool this_one) const {
  const int mine = this_one ? 1 : 0;
  int least = 0;
  mpi_check(*mpi_, mpi_->allreduce_min(&mine, &least, mpi_->comm_world), {"MPI_Allreduce"});
  return least == 1;
}

void MpiLifetime::agree_to_go_on() {
  parted_ = parted_ || !all_go_on(true);
  if (!parted_) return;
  throw ConfigError(
      "a process of this launch exits, while this one calls shoal::run() once more: all processes "
      "must call it equally often. Make the same decision in all of them, for example by a value "
      "that they have agreed on with allreduce() during the run: the value that shoal::run() "
      "returns may differ");
}

// The children of this process have no part in its MPI.
void MpiLifetime::at_exit(int code) {
  if (getpid() != process_id_) return;
  if (phase_ == Phase::in_world) {  // Hydra is silent if the exit code reaches it early enough
    env::write_to_standard_error(
        fmt::format("shoal: error: process {} exits inside shoal::run(), so the launcher ends the "
                    "others. Throw an exception instead: run() then returns 1 in all processes.\n",
                    process_));
    std::fflush(nullptr);
    if (code % 256 == 0) std::_Exit(1);  // the launcher of MPICH would return 0
  }
  if (phase_ != Phase::between_worlds || !is_ours_) return;
  try {
    if (!is_up()) return;  // the program has finalized it
    const auto deadline = limit_exit(exit_timeout_ns_);
    if (!parted_) static_cast<void>(all_go_on(false));
    static_cast<void>(mpi_->finalize());
  } catch (const TransportError& error) {  // the launcher only says that MPI was not finalized
    env::write_to_standard_error(fmt::format(
        "shoal: error: process {} could not finalize MPI: {}\n", process_, error.what()));
  }
}

}  // namespace shoal::net
