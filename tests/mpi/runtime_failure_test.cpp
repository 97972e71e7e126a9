// Failures over MPI: every rank hears of them with the same words, nothing hangs, and the next
// world of the same processes is a healthy one.

#include <shoal/shoal.hpp>

#include "mpi/mpi_launch.hpp"
#include "support/joined_program.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace runtime_failure_test {

using shoal::Rank;
using shoal::World;
using shoal::testing::require;
using shoal::testing::run_on_launch;

void expect_task_error(World& world, const std::function<void()>& step, int origin,
                       const std::string& name) {
  try {
    step();
  } catch (const shoal::TaskError& error) {
    require(error.rank() == origin, "the error is said to be from rank {}", int{error.rank()});
    require(error.task_name() == name && error.text() == "boom", "the error is {}", error.what());
    return;
  }
  require(false, "rank {} heard of no failure", int{world.rank()});
}

/// Large messages and floods under way between all ranks, as company for the failure.
void with_traffic(World& world, const std::function<void()>& cause, const std::string& name) {
  const int last = world.size() - 1;
  std::vector<double> payload(300'000, 1.0);
  std::vector<std::vector<double>> in(64);
  std::atomic<std::size_t> used{0};
  const auto big = world.make_large_am<double>(
      [&](std::size_t count, int) -> std::span<double> {
        auto& place = in[used++ % in.size()];
        place.resize(count);
        return place;
      },
      [](std::span<double>, int) {}, [](int) {});
  const auto small = world.make_am([](int) {});
  if (world.rank() == last) cause();
  for (int i = 0; i < 2000; ++i) small.send(Rank(i % world.size()), i);
  for (int i = 0; i < 8; ++i) {
    big.send(Rank(i % world.size()), std::span<const double>(payload), i);
  }
  expect_task_error(
      world, [&] { world.wait(); }, last, name);
}

void failing_worlds() {
  const auto failing = [](auto main_function) {
    const int code = run_on_launch({"--workers", "2"}, main_function);
    require(code == 0, "a world whose main functions caught the error ended with {}", code);
  };
  failing([](World& world) {
    with_traffic(
        world, [&] { world.spawn([] { throw std::runtime_error("boom"); }, {.name = "bomb"}); },
        "bomb");
  });
  failing([](World& world) {
    const auto bad = world.make_am([](int) { throw std::runtime_error("boom"); }, {.name = "fuse"});
    with_traffic(
        world, [&] { bad.send(world.rank(), 1); }, "fuse");
  });
  // Uncaught: every process ends with 1.
  const int code = run_on_launch({}, [](World& world) {
    if (world.rank() == 0) throw std::runtime_error("an error that this test causes");
    world.wait();
  });
  require(code == 1, "an uncaught error ended with {}", code);
}

/// Output of every process of the world to standard error while the object lives, at process 0.
class ErrorOutput {
 public:
  ErrorOutput() : before_(dup(STDERR_FILENO)), file_(std::tmpfile()) {
    std::fflush(stderr);
    dup2(fileno(file_), STDERR_FILENO);
  }
  ~ErrorOutput() { close(before_); }
  ErrorOutput(const ErrorOutput&) = delete;
  ErrorOutput& operator=(const ErrorOutput&) = delete;

  std::string collective_gather() {
    std::fflush(stderr);
    dup2(before_, STDERR_FILENO);
    std::rewind(file_);
    std::string mine(kSize, ' ');
    static_cast<void>(std::fread(mine.data(), 1, kSize, file_));
    std::fclose(file_);
    return shoal::testing::collective_gather(mine, kSize);
  }

 private:
  static constexpr int kSize = 1 << 14;
  const int before_;
  std::FILE* const file_;
};

/// Runs a world, and requires that a text is written that often, and the exit code of a process.
void expect_errors(int count, const std::string& text, const std::function<void(World&)>& function,
                   const std::function<int()>& code) {
  ErrorOutput output;
  const int ended_with = run_on_launch({"--workers", "2"}, function);
  const std::string all = output.collective_gather();
  require(ended_with == code(), "main functions with '{}' ended with {}", text, ended_with);
  if (shoal::testing::process_of_launch() != 0) return;
  int found = 0;
  for (std::size_t at = all.find(text); at != std::string::npos; at = all.find(text, at + 1)) {
    ++found;
  }
  require(found == count, "'{}' was written {} times, not {}: {}", text, found, count, all);
}

/// Runs a world whose main functions end with an error of this text, which is written once.
void expect_error_once(const std::string& text, const std::function<void(World&)>& function) {
  expect_errors(1, text, function, [] { return 1; });
}

/// Errors that all main functions catch are not written; those that one does not are, once, though
/// the main function where they began has caught them.
void caught_errors() {
  const int process = shoal::testing::process_of_launch();
  const int processes = shoal::testing::processes_of_launch();
  for (const bool is_stuck : {false, true}) {
    const std::string text = is_stuck ? "nothing runs any more" : "no more bananas";
    for (const bool by_all : {true, false}) {
      // The task lives on rank 0; the main functions of the other processes may let its error pass.
      const bool catches = by_all || process == 0;
      const auto main_function = [&](World& world) {
        shoal::Promise<int> promise;
        if (world.rank() == 0) {
          world.spawn([is_stuck, future = promise.future()]() mutable {
            if (!is_stuck) throw std::runtime_error("no more bananas");
            static_cast<void>(future.get());
          });
        }
        if (!catches) return world.wait();
        try {
          world.wait();
        } catch (const shoal::Error&) {
          return;
        }
        require(false, "rank {} heard of no error", int{world.rank()});
      };
      expect_errors(by_all || processes == 1 ? 0 : 1, text, main_function,
                    [&] { return catches ? 0 : 1; });
    }
  }
}

/// A main function throws while all of it is in use: large messages from its stack and to it,
/// handlers and tasks.
void main_that_throws(World& world, bool all_throw) {
  std::vector<double> payload(300'000, 1.0);
  std::vector<double> place(300'000);
  std::atomic<int> used{0};
  const auto big =
      world.make_large_am<double>([&](std::size_t count) { return std::span(place).first(count); },
                                  [&](std::span<double>) { ++used; }, [&] { ++used; });
  const auto small = world.make_am([&](int i) { used += i; });
  for (int i = 0; i < 200; ++i) {
    small.send(Rank(i % world.size()), i);
    world.spawn([&] { ++used; });
  }
  for (int i = 0; i < world.size(); ++i) big.send(Rank(i), std::span<const double>(payload));
  if (all_throw || world.rank() == world.size() - 1) small.send(Rank(99), 1);
  world.wait();
}

void throwing_mains() {
  for (int i = 0; i < 5; ++i) {
    expect_error_once("rank 99", [](World& world) { main_that_throws(world, false); });
    expect_error_once("rank 99", [](World& world) { main_that_throws(world, true); });
    expect_error_once("an exception of type int", [](World& world) {
      if (world.rank() == 0) throw 42;
      world.wait();
    });
  }
}

void stuck_world() {
  const int code = run_on_launch({}, [](World& world) {
    shoal::TaskGraph<int> graph(world, "bridge");
    graph.set_indegree([](int) { return 3; }).set_mapping([](int) { return 0; }).set_task([](int) {
    });
    graph.fulfill(world.rank());
    try {
      world.wait();
    } catch (const shoal::StuckError& error) {
      const std::string text = error.what();
      for (int rank = 0; rank < world.size(); ++rank) {
        const std::string line = fmt::format(
            "rank {}: task graph 'bridge': bridge[{}] has fulfilled 1 of 3", rank, rank);
        require(text.find(line) != std::string::npos, "no '{}' in: {}", line, text);
      }
      graph.fulfill(world.rank(), 2);  // repaired
      world.wait();
      return;
    }
    require(false, "wait() returned although tasks wait");
  });
  require(code == 0, "the stuck world ended with {}", code);
}

/// A graph, a flow and a task of a team that would never end, until one rank cancels the team: all
/// of its ranks hear of that, and the world goes on.
void cancel_team(World& world, int by) {
  std::vector<Rank> all;
  for (int rank = 0; rank < world.size(); ++rank) all.emplace_back(rank);
  shoal::Team team(world, all, "solver");
  std::atomic<bool> has_begun{false};
  std::atomic<bool> was_cancelled{false};
  std::atomic<int> steps{0};
  shoal::TaskGraph<int> endless(team, "endless");
  endless.set_rank([&](int k) { return Rank(k % world.size()); })
      .set_indegree([](int) { return 1; })
      .set_task([&](int k) { endless.fulfill(k + 1); });
  shoal::Flow flow(team, "steps");
  const auto left = flow.data(0L, {.owner = Rank(0), .name = "left"});
  const auto right = flow.data(0L, {.owner = Rank(world.size() - 1), .name = "right"});
  const auto step = [&](const long& from, long& to) {
    to = from + 1;
    if (++steps <= 10) return;
    while (!team.is_cancelled()) shoal::yield();
  };
  constexpr int kSteps = 100;
  for (int i = 0; i < kSteps; ++i) {
    flow.insert(step, shoal::read(i % 2 == 0 ? left : right),
                shoal::read_write(i % 2 == 0 ? right : left));
  }
  shoal::Promise<int> promise(team);
  team.spawn([&, never = promise.future()]() mutable {
    has_begun = true;
    try {
      never.get();
    } catch (const shoal::CancelledError&) {
      was_cancelled = true;
      throw;
    }
  });
  while (!has_begun) shoal::yield();
  world.barrier();
  if (world.rank() == 0) endless.fulfill(0);
  if (world.rank() == by) team.cancel("too large");
  std::string text;
  try {
    team.wait();
  } catch (const shoal::TaskError& error) {
    text = error.is_cancellation() ? error.what() : "another error";
  }
  require(text == fmt::format("rank {} has cancelled team 'solver': too large", by),
          "rank {} heard '{}' from rank {}", int{world.rank()}, text, by);
  require(was_cancelled, "a task of rank {} still waits", int{world.rank()});
  require(!world.is_cancelled() && world.allreduce(1, std::plus<>()) == world.size(),
          "the world of rank {} did not go on", int{world.rank()});
}

void cancelled_teams() {
  const int code = run_on_launch({"--workers", "2"}, [](World& world) {
    for (int by = 0; by < world.size(); ++by) cancel_team(world, by);
  });
  require(code == 0, "a world whose teams were cancelled ended with {}", code);
}

int program(int argc, char** argv) {
  return shoal::testing::report_with_mpi(argc, argv, [] {
    failing_worlds();
    throwing_mains();
    caught_errors();
    stuck_world();
    cancelled_teams();
    const int code = run_on_launch({}, shoal::testing::battery);
    require(code == 0, "a healthy world after failed ones ended with {}", code);
  });
}

const shoal::testing::JoinedProgram kProgram("runtime_failure_test", &program);

}  // namespace runtime_failure_test
