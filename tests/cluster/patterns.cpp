// Times of patterns of messages between ranks, real or simulated: for tests of predictions.
//
//   cluster_patterns BYTES REPETITIONS [options of shoal]
//
// Each line is a pattern and the median of its times on rank 0 in microseconds.

#include <shoal/shoal.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace {

using shoal::Rank;
using shoal::World;

/// The median time of `body` on rank 0, which ends there when the pattern has.
void measure(World& world, const char* name, int repetitions, const std::function<void()>& body) {
  std::vector<double> times_us;
  for (int i = 0; i < repetitions; ++i) {
    world.barrier();
    const std::uint64_t begin_ns = world.now_ns();
    body();
    times_us.push_back(static_cast<double>(world.now_ns() - begin_ns) * 1e-3);
  }
  std::ranges::sort(times_us);
  if (world.rank() == 0) std::printf("%s %.1f\n", name, times_us[times_us.size() / 2]);
}

void run(World& world, std::size_t bytes, int repetitions) {
  const Rank root(0);
  const std::vector<char> mine(bytes, 'x');
  std::vector<double> numbers(bytes / sizeof(double), 1.0);
  // An answer of so many bytes.
  const auto answer =
      world.make_function([](std::size_t count) { return std::vector<char>(count, 'x'); });
  const auto ask = [&](std::size_t count) {
    if (world.rank() == root) static_cast<void>(answer.call(Rank(1), count).get());
  };
  measure(world, "round_trip", 10 * repetitions, [&] { ask(1); });
  measure(world, "one_to_one", repetitions, [&] { ask(bytes); });
  measure(world, "many_to_one", repetitions, [&] {
    if (world.rank() != root) return;
    std::vector<shoal::Future<std::vector<char>>> answers;
    for (int rank = 1; rank < world.size(); ++rank)
      answers.push_back(answer.call(Rank(rank), bytes));
    for (auto& one : answers) static_cast<void>(one.get());
  });
  measure(world, "gather", repetitions, [&] { static_cast<void>(world.gather(mine, root)); });
  // Along a tree, each vector at once.
  const auto add = [](std::vector<double> a, const std::vector<double>& b) {
    std::ranges::transform(a, b, a.begin(), std::plus<>());
    return a;
  };
  measure(world, "reduce", repetitions,
          [&] { static_cast<void>(world.reduce(numbers, add, root)); });
  // In segments along a chain.
  measure(world, "reduce_array", repetitions,
          [&] { static_cast<void>(world.reduce(std::span(numbers), std::plus<>(), root)); });
  measure(world, "allreduce_array", repetitions,
          [&] { static_cast<void>(world.allreduce(std::span(numbers), std::plus<>())); });
  measure(world, "alltoall", repetitions, [&] {
    static_cast<void>(world.alltoall(
        std::vector<std::vector<char>>(static_cast<std::size_t>(int{world.size()}), mine)));
  });
}

}  // namespace

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](World& world) {
    const auto args = world.args();
    run(world, std::stoul(std::string(args[1])), std::stoi(std::string(args[2])));
  });
}
