// A program that leaves MPI to shoal: launched, it is a world of all processes, as often as it
// likes. The first world decides how MPI is initialized, so it depends on the launch.
//
// runtime_launch_test [leave|linger|exit|own_leave|own_exit]: a process leaves early, or stays when
// the others exit, or exits inside a world; own_: where MPI is the program's, and a process does
// something else instead of leaving.

#include <fmt/core.h>
#include <mpi.h>

#include "mpi/world_battery.hpp"
#include "support/joined_program.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <thread>

namespace runtime_launch_test {

using shoal::World;
using shoal::testing::battery;
using shoal::testing::require;
using shoal::testing::run_with;

/// Behind all that shoal does at the exit, since it is registered first.
void check_end() {
  int initialized = 0;
  int finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (initialized == finalized) return;
  fmt::print(stderr, "FAILED: MPI is not finalized at the end of the process\n");
  std::fflush(nullptr);
  std::_Exit(1);
}

void whole_launch(World& world) {
  int processes = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  require(world.size() == processes, "{} ranks, {} processes", world.size(), processes);
  require(world.launch() == shoal::Launch::mpi, "not launched by MPI");
  battery(world);
}

void good(const std::vector<std::string>& options) {
  const int code = run_with(options, battery);
  require(code == 0, "the world with '{}' ended with {}", options.empty() ? "" : options[0], code);
}

void each_throws(World& world) {
  world.wait();
  throw std::runtime_error("an error that this test causes on every rank");
}

void last_throws(World& world) {
  if (world.rank() == world.size() - 1) {
    throw std::runtime_error("an error that this test causes on one rank");
  }
  world.wait();
}

/// Whether this is a launch of two processes.
bool two_processes() {
  for (const char* const name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    const char* const size = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread yet
    if (size != nullptr) return std::string_view(size) == "2";
  }
  return false;
}

void many_worlds(int argc, char** argv) {
  if (two_processes()) good({"--workers", "1", "--progress", "main"});  // for one thread
  require(shoal::run(argc, argv, whole_launch) == 0, "the first world failed");
  good({"--progress", "thread"});
  require(run_with({"--workers", "none"}, battery) == 1, "no error of the configuration");
  good({"--ranks-per-process", "2"});
  require(run_with({"--ranks", "1000"}, battery) == 1, "1000 ranks of 4");
  good({"--progress", "main"});
  require(run_with({}, each_throws) == 1, "an error on each rank was lost");
  good({"--node-processes", "1"});
  require(run_with({}, last_throws) == 1, "an error on one rank was lost");
  good({"--workers", "2"});
  int finalized = 0;
  MPI_Finalized(&finalized);
  require(finalized == 0, "MPI is finalized while there may be a next world");
}

int program(int argc, char** argv) {
  std::string_view what = argc > 1 ? argv[1] : "";
  const bool own = what.starts_with("own_");
  if (own) {
    what.remove_prefix(4);
    int granted = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &granted);
  }
  if (what != "exit") std::atexit(check_end);
  if (what == "exit") {
    return shoal::run(argc, argv, [](World& world) {
      if (world.rank() == 0) std::exit(3);  // NOLINT(concurrency-mt-unsafe): it is the test
      world.wait();
    });
  }
  if (what == "finalize") {
    return shoal::run(argc, argv, [](World& world) {
      if (world.rank() == 0) MPI_Finalize();
      world.wait();
    });
  }
  if (what == "two") {
    std::atomic<int> second{0};
    const int first = shoal::run(argc, argv, [&](World& world) {
      std::thread([&] { second = run_with({}, battery); }).join();
      world.wait();
    });
    return 10 * first + second;
  }
  if (what == "leave" && own) {
    int process = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &process);
    // It is somewhere else. (Open MPI may wait for ever for one that is in MPI_Finalize.)
    if (process == 0) std::this_thread::sleep_for(std::chrono::minutes(1));
    return shoal::run(argc, argv, [](World& world) { world.wait(); });
  }
  if (what == "leave") {
    bool is_first = false;
    if (run_with({}, [&](World& world) { is_first = world.rank() == 0; }) != 0) return 1;
    return is_first ? 0 : run_with({}, battery);
  }
  if (what == "linger") {
    bool is_first = false;
    const auto note_rank = [&](World& world) { is_first = world.rank() == 0; };
    if (run_with({"--stall-abort", "1s"}, note_rank) != 0) return 1;
    if (is_first) std::this_thread::sleep_for(std::chrono::minutes(1));
    return 0;
  }
  return shoal::testing::report([&] { many_worlds(argc, argv); });
}

const shoal::testing::JoinedProgram kProgram("runtime_launch_test", &program);

}  // namespace runtime_launch_test
