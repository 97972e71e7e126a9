// Calls and promises between processes.

#include <shoal/shoal.hpp>
#include <shoal/sleep.hpp>
#include <shoal/when.hpp>

#include "mpi/mpi_launch.hpp"
#include "support/joined_program.hpp"
#include "support/random_collectives.hpp"
#include "support/sizes.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace runtime_call_test {

using shoal::Future;
using shoal::Promise;
using shoal::Rank;
using shoal::RemotePromise;
using shoal::World;
using shoal::testing::require;
using shoal::testing::run_on_launch;

int value_of(World& world) { return world.rank().value(); }

Rank next_of(const World& world) { return Rank((world.rank().value() + 1) % world.size()); }

std::string ask_round(World& world, int hops, const std::string& text) {
  if (hops == 0) return text;
  return world.call(next_of(world), shoal::am<ask_round>, hops - 1, text + "x").get();
}

void calls(World& world) {
  for (int target = 0; target < world.size(); ++target) {
    require(world.call(Rank(target), shoal::am<value_of>).get() == target, "a call");
    const auto bytes = world
                           .call(
                               Rank(target),
                               [](const std::vector<char>& in) {
                                 return std::vector<char>(in.rbegin(), in.rend());
                               },
                               std::vector<char>(500'000, 'y'))
                           .get();
    require(bytes == std::vector<char>(500'000, 'y'), "a large value");
  }
  require(ask_round(world, 20, "") == std::string(20, 'x'), "calls that wait inside");
  std::vector<Future<int>> futures;
  for (int i = 0; i < 2000; ++i) {
    futures.push_back(world.call(
        Rank(i % world.size()), [](int x) { return 2 * x; }, i));
  }
  const std::vector<int> values = shoal::when_all(std::move(futures)).get();
  for (int i = 0; i < 2000; ++i) {
    require(values[static_cast<std::size_t>(i)] == 2 * i, "many calls at once");
  }
  bool thrown = false;
  try {
    world.call(next_of(world), []() -> int { throw std::runtime_error("no"); }).get();
  } catch (const shoal::RemoteError& error) {
    thrown = error.rank() == next_of(world) && error.text() == "no";
  }
  require(thrown, "an exception did not come back");
  world.wait();
}

void promises(World& world) {
  Promise<std::string> promise;
  auto future = promise.future();
  const auto message = world.make_am([&world](const RemotePromise<std::string>& remote) {
    world.spawn([&world, remote] {
      shoal::sleep_for(std::chrono::microseconds(50));
      world.fulfill(remote, std::to_string(world.rank().value()));
    });
  });
  message.send(next_of(world), world.publish(std::move(promise)));
  require(future.get() == std::to_string(next_of(world).value()), "a promise");
  world.wait();
}

/// Small values, objects that are larger than the window, and payloads of several segments, along
/// trees of all shapes; from each rank to all, itself among them.
void multicasts(World& world) {
  constexpr std::size_t kSize = 400'000;  // of each vector; 1.6 MB
  using Numbers = std::vector<int>;
  std::size_t received = 0;
  std::vector<Numbers> buffers(static_cast<std::size_t>(world.size()));
  std::size_t released = 0;
  const auto values =
      world.make_am([&](shoal::MessageContext context, int root, const Numbers& numbers) {
        require(context.source() == root, "sender {}", context.source().value());
        require(numbers == Numbers(kSize, root), "the values of rank {}", root);
        ++received;
      });
  const auto payload = world.make_large_am<int>(
      [&](std::size_t count, int root) {
        Numbers& buffer = buffers[static_cast<std::size_t>(root)];
        buffer.assign(count, -1);
        return std::span(buffer);
      },
      [&](std::span<int> data, int root) {
        require(std::ranges::count(data, root) == static_cast<std::ptrdiff_t>(kSize),
                "the payload of rank {}", root);
        ++received;
      },
      [&] { ++released; });
  const int me = world.rank().value();
  const auto all = shoal::RankSet::range(Rank(0), world.size());
  const Numbers mine(kSize, me);
  using shoal::TreeShape;
  const std::array shapes{TreeShape::automatic, TreeShape::flat,  TreeShape::chain,
                          TreeShape::binomial,  TreeShape::k_ary, TreeShape::delegate};
  for (const TreeShape shape : shapes) {
    const shoal::Recipients to(all, {shape, 2});
    world.multicast(to, values, me, mine);
    world.multicast(to, payload, mine, me);
    world.wait();
  }
  const auto expected = 2 * shapes.size() * static_cast<std::size_t>(world.size());
  require(received == expected, "{} of {} were received", received, expected);
  require(released == shapes.size(), "{} payloads were released", released);
}

void collectives(World& world) {
  for (std::uint64_t seed = 1; seed <= std::uint64_t{shoal::testing::sized(3, 2)}; ++seed) {
    const std::string wrong = shoal::testing::run_random_collectives(world, seed, 25);
    require(wrong.empty(), "seed {}: wrong results of {}", seed, wrong);
    const Rank first(static_cast<int>(seed) % 2 % world.size());
    const std::string late = shoal::testing::run_pipelined_collectives(world, seed, first);
    require(late.empty(), "seed {}: wrong results of {}", seed, late);
  }
  world.wait();
}

void stuck(World& world) {
  try {
    if (world.rank() == 0) {
      world.call(Rank(world.size() - 1), [] { shoal::Semaphore(0, "never").acquire(); }).get();
    }
    world.wait();
  } catch (const shoal::StuckError& error) {
    const std::string text = error.what();
    require(text.find("'a call' waits in acquire() of semaphore 'never'") != std::string::npos,
            "rank {} heard: {}", world.rank().value(), text);
    throw;
  }
  require(false, "rank {} was not told that the world is stuck", world.rank().value());
}

/// The failure of one rank, while all are in calls.
void failure(World& world) {
  if (world.rank() == world.size() - 1) {
    world.spawn([] {
      shoal::sleep_for(std::chrono::milliseconds(2));
      throw std::runtime_error("enough");
    });
  }
  bool told = false;
  try {
    while (true) ask_round(world, 5, "");
  } catch (const shoal::TaskError& error) {
    told = error.text() == "enough";
  }
  require(told, "the failure was not told");
}

int program(int argc, char** argv) {
  return shoal::testing::report_with_mpi(argc, argv, [] {
    for (const std::string workers : {"1", "2"}) {
      const auto run = [&workers](void (*part)(World&), int expected) {
        const int code = run_on_launch({"--workers", workers}, part);
        require(code == expected, "ended with {} and {} workers", code, workers);
      };
      run(
          [](World& world) {
            calls(world);
            promises(world);
            multicasts(world);
            collectives(world);
          },
          0);
      run(&failure, 0);
      run(&stuck, 1);
    }
  });
}

const shoal::testing::JoinedProgram kProgram("runtime_call_test", &program);

}  // namespace runtime_call_test
