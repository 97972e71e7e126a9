// Failures over MPI: every rank hears of them with the same words, nothing hangs, and the next
// world of the same processes is a healthy one.

#include <shoal/mpi.hpp>

#include "mpi/world_battery.hpp"

namespace {

using shoal::Rank;
using shoal::World;
using shoal::testing::require;
using shoal::testing::run_with;

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
    const int code = run_with({"--workers", "2"}, main_function, MPI_COMM_WORLD);
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
  const int code = run_with(
      {},
      [](World& world) {
        if (world.rank() == 0) throw std::runtime_error("an error that this test causes");
        world.wait();
      },
      MPI_COMM_WORLD);
  require(code == 1, "an uncaught error ended with {}", code);
}

void stuck_world() {
  const int code = run_with(
      {},
      [](World& world) {
        shoal::TaskGraph<int> graph(world, "bridge");
        graph.set_indegree([](int) { return 3; })
            .set_mapping([](int) { return 0; })
            .set_task([](int) {});
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
      },
      MPI_COMM_WORLD);
  require(code == 0, "the stuck world ended with {}", code);
}

}  // namespace

int main(int argc, char** argv) {
  int granted = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &granted);
  const int failed = shoal::testing::report([] {
    failing_worlds();
    stuck_world();
    const int code = run_with({}, shoal::testing::battery, MPI_COMM_WORLD);
    require(code == 0, "a healthy world after failed ones ended with {}", code);
  });
  MPI_Finalize();
  return failed;
}
