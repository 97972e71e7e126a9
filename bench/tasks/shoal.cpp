// The kernels about tasks on shoal.

#include <shoal/shoal.hpp>

#include <array>
#include <exception>
#include <filesystem>
#include <mutex>
#include <numeric>
#include <string>
#include <vector>

#include "tasks/gate.hpp"
#include "tasks/side.hpp"

namespace bench::tasks {
namespace {

class Shoal final : public Side {
 public:
  [[nodiscard]] std::string name() const override { return "shoal"; }
  // How the keys of the grid are found; "traced": by hash, and the run is recorded.
  [[nodiscard]] std::vector<std::string> forms() const override {
    return {"hash", "dense", "traced"};
  }

  void start(int workers, const std::function<void()>& body) override {
    const std::string count = std::to_string(workers);
    std::vector<const char*> argv{"shoal", "--workers", count.c_str()};
    const std::string trace = std::filesystem::temp_directory_path() / "shoal_bench.trace";
    if (form == "traced") argv.insert(argv.end(), {"--trace", trace.c_str()});
    std::exception_ptr error;
    shoal::run(static_cast<int>(argv.size()), argv.data(), [&](shoal::World& world) {
      world_ = &world;
      try {
        body();
      } catch (...) {
        error = std::current_exception();
      }
    });
    if (form == "traced") std::filesystem::remove(trace);
    if (error) std::rethrow_exception(error);
  }

  double flood(Flood& flood) override {
    if (flood.ready) return ready_flood(flood);
    const Stopwatch watch;
    for (std::uint64_t i = 0; i < flood.tasks; ++i) {
      world_->spawn([&flood] { flood.run_task(); });
    }
    world_->wait();
    return watch.seconds();
  }

  double grid(Grid& grid) override {
    using Key = std::array<int, 2>;  // row, column
    shoal::TaskGraph<Key> graph(*world_, "grid");
    graph.set_indegree([&grid](Key k) { return k[1] == 0 ? 1 : grid.dependencies; })
        .set_mapping([this](Key k) { return k[0] % workers; })
        .set_task([&grid, &graph](Key k) {
          grid.run_task(k[0], k[1]);
          if (k[1] + 1 == grid.columns) return;
          for (int d = 0; d < grid.dependencies; ++d) {
            graph.fulfill({grid.row_behind(k[0], d), k[1] + 1});
          }
        });
    const Stopwatch watch;
    if (form == "dense") {
      const auto rows = static_cast<std::size_t>(grid.rows);
      graph.set_dense(rows * static_cast<std::size_t>(grid.columns), [rows](Key k) {
        return static_cast<std::size_t>(k[1]) * rows + static_cast<std::size_t>(k[0]);
      });
    }
    for (int i = 0; i < grid.rows; ++i) graph.fulfill({i, 0});
    world_->wait();
    return watch.seconds();
  }

  std::uint64_t fib(const Fib& fib) override { return fib_of(fib.n); }

  std::uint64_t queens(const Queens& queens) override { return solutions(queens.n, {}); }

  double switching(Switching& switching) override {
    const Stopwatch watch;
    for (int task = 0; task < switching.tasks; ++task) {
      world_->spawn([&switching] {
        for (int i = 0; i < switching.rounds; ++i) {
          switching.add_turn();
          shoal::yield();
        }
      });
    }
    world_->wait();
    return watch.seconds();
  }

  double round_trips(const RoundTrips& trips, std::uint64_t& sum) override {
    const Stopwatch watch;
    for (int i = 0; i < trips.rounds; ++i) {
      sum += world_->async([i] { return static_cast<std::uint64_t>(i); }).get();
    }
    return watch.seconds();
  }

  double hand_over(HandOver& hand_over) override {
    shoal::Mutex mutex(*world_, "handed over");
    const Stopwatch watch;
    for (int task = 0; task < hand_over.tasks; ++task) {
      world_->spawn([&hand_over, &mutex] {
        for (int i = 0; i < hand_over.rounds; ++i) {
          const std::unique_lock lock(mutex);
          hand_over.enter();
          shoal::yield();
          hand_over.leave();
        }
      });
    }
    world_->wait();
    return watch.seconds();
  }

 private:
  double ready_flood(Flood& flood) {
    Gate gate;
    for (int worker = 1; worker < workers; ++worker) {
      world_->spawn([&gate] { gate.pass(); },
                    {.worker = shoal::WorkerId(worker), .bound = true, .name = "gate"});
    }
    gate.wait_for(workers - 1);
    for (std::uint64_t i = 0; i < flood.tasks; ++i) {
      const auto worker = static_cast<int>(i % static_cast<std::uint64_t>(workers));
      world_->spawn([&flood] { flood.run_task(); }, {.worker = shoal::WorkerId(worker)});
    }
    const Stopwatch watch;
    gate.open();
    world_->wait();
    return watch.seconds();
  }

  std::uint64_t fib_of(int n) {
    if (n < 2) return static_cast<std::uint64_t>(n);
    auto first = world_->async([this, n] { return fib_of(n - 1); });
    const std::uint64_t second = fib_of(n - 2);
    return first.get() + second;
  }

  static std::uint64_t solutions(int n, const Queens::Board& board) {
    if (board.row() == n) return 1;
    std::array<std::uint64_t, Queens::kSizeMax> found{};
    shoal::TaskGroup group;
    for (int column = 0; column < n; ++column) {
      if (!board.is_safe(column)) continue;
      group.spawn([n, next = board.with(column), &count = found[static_cast<std::size_t>(column)]] {
        count = solutions(n, next);
      });
    }
    group.wait();
    return std::accumulate(found.begin(), found.end(), std::uint64_t{0});
  }

  shoal::World* world_ = nullptr;
};

}  // namespace
}  // namespace bench::tasks

int main(int argc, char** argv) {
  bench::tasks::Shoal side;
  return bench::tasks::run_program(argc, argv, side);
}
