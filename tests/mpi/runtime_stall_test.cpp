// Hangs over MPI: one report of all processes, written by one of them, independent of the stuck
// one.

#include <shoal/mpi.hpp>

#include "mpi/communicator_run.hpp"
#include "mpi/world_battery.hpp"
#include "support/joined_program.hpp"
#include "support/seeded_bugs.hpp"
#include "support/stderr_tap.hpp"

#include <chrono>
#include <csignal>
#include <functional>
#include <thread>

namespace runtime_stall_test {

using shoal::Rank;
using shoal::World;
using shoal::testing::require;
using shoal::testing::run_with;
using shoal::testing::SeededBug;
using shoal::testing::StderrTap;

constexpr int kReleaseTag = 1;

/// Blocks the calling thread, outside shoal, until process `from` releases it. Not in MPI_Recv:
/// MPICH's lets no other thread into MPI meanwhile.
void stand_outside(MPI_Comm pair, int from) {
  for (int is_here = 0; is_here == 0;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    MPI_Iprobe(from, kReleaseTag, pair, &is_here, MPI_STATUS_IGNORE);
  }
  MPI_Recv(nullptr, 0, MPI_INT, from, kReleaseTag, pair, MPI_STATUS_IGNORE);
}
void release(MPI_Comm pair, int process) {
  MPI_Send(nullptr, 0, MPI_INT, process, kReleaseTag, pair);
}

void require_part(const std::string& text, const std::string& part) {
  require(text.find(part) != std::string::npos, "no '{}' in: {}", part, text);
}

void ending_bugs(MPI_Comm pair) {
  for (const SeededBug& bug : shoal::testing::seeded_bugs()) {
    const int code = run_with(
        {},
        [&](World& world) {
          const std::string text = explanation(bug, world);
          if (world.rank() != bug.told) return;
          for (const std::string& part : bug.named) require_part(text, part);
        },
        pair);
    require(code <= 1, "{} ended with {}", bug.name, code);  // 1: a rank that was not told
  }
}

struct Live {
  int teller = 0;  // the process that writes the report
  std::vector<std::string> options;
  std::vector<std::string> parts;  // of its report
};

/// Runs a world that does not end before `teller` has written all parts, and then called `release`.
void live_bug(MPI_Comm pair, const Live& live, const std::function<void(World&)>& program,
              const std::function<void()>& release_all) {
  int process = 0;
  MPI_Comm_rank(pair, &process);
  StderrTap tap;
  bool found = true;
  std::thread reader([&] {
    if (process != live.teller) return;
    for (const std::string& part : live.parts) found = found && tap.await(part);
    release_all();
  });
  const int code = run_with(live.options, program, pair);
  reader.join();
  const std::string said = tap.stop();
  require(found && code == 0, "process {} ended with {} and wrote: {}", process, code, said);
}

// Process 1 has one worker, which does not come back: others tell of it what it told them before.
void blocked_handler(MPI_Comm pair) {
  live_bug(
      pair,
      {0,
       {"--workers", "1", "--stall-report", "300ms"},
       {"rank 1 does not answer", "worker 0: runs the handler 'write log' for"}},
      [&](World& world) {
        const auto log = world.make_am([&](int) { stand_outside(pair, 0); }, {.name = "write log"});
        if (world.rank() == 0) log.send(Rank(1), 1);
        world.wait();
      },
      [&] { release(pair, 1); });
}

// Process 1 has a second worker, which answers.
void blocked_main_function(MPI_Comm pair) {
  live_bug(
      pair,
      {0,
       {"--workers", "2", "--stall-report", "100000s"},
       {"report of 2 ranks: requested by SIGUSR1", "rank 1: main function: running",
        "worker 0: runs the main function for"}},
      [&](World& world) {
        if (world.rank() == 1) {
          raise(SIGUSR1);
          stand_outside(pair, 0);
        }
        world.wait();
      },
      [&] { release(pair, 1); });
}

// Process 0 is blocked: process 1 collects.
void blocked_first_process(MPI_Comm pair) {
  live_bug(
      pair,
      {1,
       {"--workers", "1", "--stall-report", "300ms"},
       {"rank 0 does not answer", "rank 0: main function: running",
        "worker 0: runs the main function for"}},
      [&](World& world) {
        if (world.rank() == 0) stand_outside(pair, 1);
        world.wait();
      },
      [&] { release(pair, 0); });
}

// A process that receives nothing reports its own ranks on a signal.
void signal_to_the_deaf(MPI_Comm pair) {
  live_bug(
      pair,
      {1,
       {"--workers", "1", "--stall-report", "100000s"},
       {"only of process 1", "rank 1: main function: running"}},
      [&](World& world) {
        if (world.rank() == 1) {
          raise(SIGUSR1);
          stand_outside(pair, 1);
        }
        world.wait();
      },
      [&] { release(pair, 1); });
}

void ping_pong(MPI_Comm pair, const std::string& progress) {
  std::atomic<bool> stop{false};
  live_bug(
      pair,
      {0,
       {"--stall-report", "100000s", "--progress", progress, "--workers", "2"},
       {"tasks run or messages move right now", "the last 'ping'", "the last 'pong'",
        "the last 'ping'", "the last 'pong'"}},
      [&](World& world) { shoal::testing::ping_pong(world, stop, [] { raise(SIGUSR1); }); },
      [&] { stop = true; });
}

// Signals and stalls all the time, until the very end: nothing is disturbed.
void reports_all_the_time(MPI_Comm communicator) {
  StderrTap tap;
  for (const std::string progress : {"worker", "main", "thread"}) {
    for (const std::string per_process : {"1", "2"}) {
      const int code = run_with(
          {"--stall-report", "1ms", "--progress", progress, "--ranks-per-process", per_process},
          [&](World& world) {
            raise(SIGUSR1);
            shoal::testing::battery(world);
            raise(SIGUSR1);
          },
          communicator);
      require(code == 0, "the world ended with {}: {}", code, tap.stop());
    }
  }
  tap.stop();
}

int program(int argc, char** argv) {
  int granted = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &granted);
  const int failed = shoal::testing::report([] {
    reports_all_the_time(MPI_COMM_WORLD);
    int process = 0;
    int count = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &process);
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    if (count < 2) return;
    MPI_Comm pair = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, process / 2, process, &pair);
    ending_bugs(pair);
    blocked_handler(pair);
    blocked_main_function(pair);
    blocked_first_process(pair);
    signal_to_the_deaf(pair);
    for (const std::string progress : {"worker", "main", "thread"}) ping_pong(pair, progress);
    MPI_Comm_free(&pair);
  });
  MPI_Finalize();
  return failed;
}

const shoal::testing::JoinedProgram kProgram("runtime_stall_test", &program);

}  // namespace runtime_stall_test
