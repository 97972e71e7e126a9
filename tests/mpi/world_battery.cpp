#include "mpi/world_battery.hpp"

#include "support/large_arguments.hpp"
#include "support/sizes.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace shoal::testing {

namespace {

std::atomic<int> g_static_calls{0};  // of all ranks of this process
void count_static_call(World& world, int from, std::span<const double> values) {
  require(from >= 0 && from < world.size(), "a message from rank {}", from);
  require(values.size() == 3 && values[2] == 3.0, "values did not arrive");
  ++g_static_calls;
}

/// Every rank sends to every rank, small and owning arguments; order is checked per sender.
void messages(World& world) {
  const int size = world.size();
  std::vector<int> next(static_cast<std::size_t>(size), 0);
  const auto am = world.make_am([&](int from, int number, const std::string& text) {
    const auto source = static_cast<std::size_t>(from);
    require(next[source]++ == number, "message {} of rank {} out of order", number, from);
    require(text == std::string(static_cast<std::size_t>(number % 100), 'x'), "text differs");
  });
  constexpr int kCount = sized(500, 100);
  for (int i = 0; i < kCount; ++i) {
    const std::string text(static_cast<std::size_t>(i % 100), 'x');
    for (int target = 0; target < size; ++target) am.send(Rank(target), world.rank(), i, text);
  }
  world.wait();
  for (const int count : next) require(count == kCount, "{} of {} messages", count, kCount);

  const std::array<double, 3> values{1, 2, 3};
  world.send(Rank((world.rank() + 1) % size), shoal::am<count_static_call, Delivery::task>,
             world.rank(), std::span<const double>(values));
  world.wait();
}

/// A token goes round by tasks of a graph that the previous rank's message fulfills.
void ring(World& world) {
  constexpr int kHops = sized(1000, 200);
  TaskGraph<int> graph(world, "ring");
  std::atomic<int> ran{0};
  const auto next = world.make_am([&](int hop) { graph.fulfill(hop); });
  graph.set_indegree([](int) { return 1; })
      .set_mapping([&](int hop) { return hop % world.worker_count(); })
      .set_task([&](int hop) {
        ++ran;
        if (hop < kHops) next.send(Rank((hop + 1) % world.size()), hop + 1);
      });
  if (world.rank() == 0) graph.fulfill(0);
  world.wait();
  const int total = world.allreduce(ran.load(), std::plus<>());
  require(total == kHops + 1, "{} hops instead of {}", total, kHops + 1);
}

/// Payloads of several sizes to the next rank; each arrives whole and is released once.
void large(World& world) {
  const std::vector<std::size_t> sizes{0, 1, 1000, 100'000, sized(3'000'000, 150'000)};
  std::vector<std::vector<double>> in(sizes.size());
  std::vector<std::vector<double>> out(sizes.size());
  int arrived = 0;
  int released = 0;
  const auto big = world.make_large_am<double>(
      [&](std::size_t count, std::size_t i) -> std::span<double> {
        in[i].resize(count);
        return in[i];
      },
      [&](std::span<double>, std::size_t) { ++arrived; }, [&](std::size_t) { ++released; });
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    out[i].resize(sizes[i]);
    for (std::size_t j = 0; j < sizes[i]; ++j) out[i][j] = static_cast<double>(i * 7 + j);
    big.send(Rank((world.rank() + 1) % world.size()), std::span<const double>(out[i]), i);
  }
  world.wait();
  require(arrived == 5 && released == 5, "{} arrived, {} released", arrived, released);
  require(in == out, "a payload differs");
}

/// Messages for what rank 0 makes only after it was told that it is missing.
void held(World& world) {
  if (world.size() == 1) return;
  int arrived = 0;
  int released = 0;
  std::vector<double> place(1000);
  const auto make = [&] {
    return world.make_large_am<double>(
        [&](std::size_t count) { return std::span(place).first(count); },
        [&](std::span<double>) { ++arrived; }, [&] { ++released; });
  };
  std::optional<decltype(make())> message;
  const std::vector<double> payload(1000, 1.0);
  if (world.rank() != 0) {
    message.emplace(make());
    message->send(Rank(0), std::span<const double>(payload));
    message->send(Rank(0), std::span<const double>());
  }
  bool stuck = false;
  try {
    world.wait();
  } catch (const StuckError&) {
    stuck = true;
  }
  require(stuck, "a missing active message went unnoticed");
  if (world.rank() == 0) message.emplace(make());
  world.wait();
  const int expected = world.rank() == 0 ? 2 * (world.size() - 1) : 0;
  require(arrived == expected, "{} arrived instead of {}", arrived, expected);
  require(released == (world.rank() == 0 ? 0 : 2), "{} were released", released);
}

/// All main functions flood the next rank with more than the window has room for.
void flood(World& world) {
  constexpr std::uint64_t kCount = sized(20'000, 4'000);
  using Filling = std::array<std::uint64_t, 64>;
  static_assert(kCount * sizeof(Filling) > std::size_t{1} << 20U);  // --window-bytes
  std::uint64_t sum = 0;
  const auto am = world.make_am([&](const Filling& filling) { sum += filling.back(); });
  Filling filling{};
  for (std::uint64_t i = 0; i < kCount; ++i) {
    filling.back() = i;
    am.send(Rank((world.rank() + 1) % world.size()), filling);
  }
  world.wait();
  require(sum == kCount * (kCount - 1) / 2, "messages of the flood were lost");
}

void collectives(World& world) {
  const int size = world.size();
  for (int root = 0; root < size; ++root) {
    require(world.broadcast(world.rank() * 10, Rank(root)) == root * 10, "broadcast");
    const std::vector<int> all = world.gather(int{world.rank()}, Rank(root));
    require(static_cast<int>(all.size()) == (world.rank() == root ? size : 0), "gather");
    world.barrier();
  }
  const std::vector<std::string> names = world.allgather(std::to_string(world.rank()));
  for (int i = 0; i < size; ++i) {
    require(names[static_cast<std::size_t>(i)] == std::to_string(i), "allgather");
  }
  // Large ones, several under way.
  const Rank last(size - 1);
  constexpr std::size_t kSums = sized(50'000, 10'000);
  constexpr std::size_t kCopies = sized(300'000, 30'000);
  constexpr std::size_t kValues = sized(200'000, 20'000);
  std::vector<double> sums(kSums, world.rank().value() + 1.0);
  std::vector<double> copies(kCopies, world.rank() == last ? 2.5 : 0.0);
  auto summed = world.allreduce_async(std::span(sums), std::plus<>());
  auto copied = world.broadcast_async(std::span(copies), last);
  auto barrier = world.barrier_async();
  const auto mine = static_cast<std::size_t>(world.rank().value());
  const std::vector<int> turned = world.alltoall(std::vector<int>(names.size(), world.rank()));
  require(turned.back() == size - 1 && turned[mine] == world.rank(), "alltoall");
  require(world.scan(1, std::plus<>()) == world.rank() + 1, "scan");
  const std::vector<double> value(kValues, world.rank() == 0 ? 1.5 : 0.0);
  require(world.broadcast(value, Rank(0)) == std::vector<double>(kValues, 1.5), "large value");
  barrier.get();
  copied.get();
  require(copies == std::vector<double>(kCopies, 2.5), "large broadcast in place");
  summed.get();
  require(sums == std::vector<double>(kSums, size * (size + 1) / 2.0), "large sum in place");
}

}  // namespace

void battery(World& world) {
  for (int i = 0; i < 20; ++i) world.wait();  // nothing to wait for
  messages(world);
  ring(world);
  large(world);
  held(world);
  flood(world);
  collectives(world);
  for (std::uint64_t seed = 0; seed < sized(3, 1); ++seed) {
    const std::string wrong = run_large_arguments(world, seed, 10);
    require(wrong.empty(), "{}", wrong);
  }
}

}  // namespace shoal::testing
