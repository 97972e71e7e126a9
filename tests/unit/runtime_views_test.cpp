// Views as arguments, inputs and results: each model keeps the elements as long as it hands them
// out. The memory that a view referred to is overwritten at once, everywhere.

#include <shoal/object.hpp>
#include <shoal/shoal.hpp>

#include "support/turn_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace runtime_views_test {

using shoal::EventList;
using shoal::Events;
using shoal::Flow;
using shoal::Future;
using shoal::Rank;
using shoal::TaskGraph;
using shoal::World;
using shoal::testing::run_turns;
using testing::Each;
using testing::SizeIs;

constexpr std::size_t kSizes[] = {1, 100, 5000};  // the last one is large between processes

/// Runs it on 1 to 3 ranks, in one process and in several.
void on_ranks(const std::function<void(World&)>& program) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const int ranks = 1 + static_cast<int>(seed % 3);
    const auto result = run_turns({.seed = seed, .ranks = ranks, .workers = 2}, [&](World& world) {
      program(world);
      return 0;
    });
    for (const auto& error : result.errors) {
      ASSERT_EQ(error == nullptr ? "" : shoal::describe(error), "") << "seed " << seed;
    }
  }
}

/// Calls use(view of `size` numbers k) and overwrites the memory behind the view.
template <class F>
void with_numbers(std::size_t size, int k, F use) {
  std::vector<double> numbers(size, k);
  use(std::span<const double>(numbers));
  std::ranges::fill(numbers, -1);
}
template <class F>
void with_text(std::size_t size, char letter, F use) {
  std::string text(size, letter);
  use(std::string_view(text));
  std::ranges::fill(text, '?');
}

TEST(Views, AsInputsOfAGraph_AreKeptUntilTheTaskHasRun) {
  on_ranks([](World& world) {
    int ran = 0;
    TaskGraph<int> graph(world, "g");
    graph.set_rank([&world](int k) { return Rank(k % world.size()); })
        .set_mapping([](int) { return 0; })
        .set_task([&ran](int k, std::span<const double> numbers, std::string_view text) {
          EXPECT_THAT(numbers, SizeIs(kSizes[k % 3]));
          EXPECT_THAT(numbers, Each(k));
          EXPECT_EQ(text, std::string(kSizes[k % 3], static_cast<char>('a' + k)));
          ++ran;
        });
    if (world.rank() == 0) {
      for (int k = 0; k < 12; ++k) {
        with_numbers(kSizes[k % 3], k, [&](auto view) { graph.send(k, 0, view); });
      }
      for (int k = 0; k < 12; ++k) {
        const char letter = static_cast<char>('a' + k);
        with_text(kSizes[k % 3], letter, [&](auto view) { graph.send(k, 1, view); });
      }
    }
    world.wait();
    EXPECT_EQ(ran, 12 / world.size());
  });
}

TEST(Views, AsInputsOfSeveralTasks_AreCopiesOfTheirOwn) {
  on_ranks([](World& world) {
    int ran = 0;
    TaskGraph<int> graph(world, "g");
    graph.set_rank([&world](int k) { return Rank(k % world.size()); })
        .set_mapping([](int) { return 0; })
        .set_task([&ran](int k, std::span<double> numbers, std::vector<int> counts) {
          EXPECT_THAT(numbers, Each(7));
          for (double& number : numbers) number = k;  // its own
          EXPECT_THAT(counts, Each(k));
          ++ran;
        });
    const std::vector<int> keys{0, 1, 2, 3, 4, 5};
    if (world.rank() == 0) {
      with_numbers(5000, 7, [&](auto view) { graph.send_all(keys, 0, view); });
      for (const int k : keys) {
        std::vector<int> counts(10, k);
        graph.send(k, 1, std::span(counts));  // a view for a vector
        std::ranges::fill(counts, -1);
      }
    }
    world.wait();
    EXPECT_EQ(ran, 6 / world.size());
  });
}

std::string text_of_rank;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): a result
std::string_view letters(int k) {
  text_of_rank = std::string(60, static_cast<char>('a' + k));
  return text_of_rank;
}
std::span<const double> echo(std::span<const double> numbers) { return numbers; }

TEST(Views, AsResultsOfCalls_AreCopies) {
  on_ranks([](World& world) {
    const auto remote = world.make_function([](std::string_view text) { return text.substr(1); });
    if (world.rank() == 0) {
      const Rank last(world.size() - 1);
      Future<std::string> text = world.call(last, shoal::am<letters>, 0);
      text.wait();
      for (int k = 1; k < 20; ++k) world.call(last, shoal::am<letters>, k).get();
      EXPECT_EQ(text.get(), std::string(60, 'a'));
      Future<std::vector<double>> numbers;
      with_numbers(100, 3, [&](auto view) { numbers = world.call(last, shoal::am<echo>, view); });
      EXPECT_THAT(numbers.get(), Each(3));
      Future<std::string> rest;
      with_text(100, 'x', [&](auto view) { rest = remote.call(last, view); });
      EXPECT_EQ(rest.get(), std::string(99, 'x'));
    }
    world.wait();
  });
}

class Texts : public shoal::DistributedObject<Texts> {
 public:
  explicit Texts(shoal::Team& team) : DistributedObject(team) {}
  std::string_view letters(int k) {
    text_ = std::string(60, static_cast<char>('a' + k));
    return text_;
  }

 private:
  std::string text_;
};

TEST(Views, AsResultsOfMethods_AreCopies) {
  on_ranks([](World& world) {
    Texts texts(world);
    texts.fence();
    if (world.rank() == 0) {
      const Rank last(world.size() - 1);
      Future<std::string> text = texts.call<&Texts::letters>(last, 0);
      text.wait();
      for (int k = 1; k < 20; ++k) texts.sync<&Texts::letters>(last, k);
      EXPECT_EQ(text.get(), std::string(60, 'a'));
    }
    const std::vector<std::string> all = texts.allgather<&Texts::letters>(2).get();
    EXPECT_THAT(all, Each(std::string(60, 'c')));
    EXPECT_EQ(texts.broadcast<&Texts::letters>(Rank(0), 3).get(), std::string(60, 'd'));
    texts.fence();
  });
}

TEST(Views, AsValuesOfAFlow_AreKeptUntilTheTaskHasRun) {
  on_ranks([](World& world) {
    Flow flow(world, "f");
    const auto sum = flow.data(0.0, {.owner = Rank(0)});
    const shoal::Codelet add("add", [](double& into, std::span<const double> numbers) {
      for (const double number : numbers) into += number;
    });
    for (int k = 0; k < 10; ++k) {
      with_numbers(100, k, [&](auto view) { flow.insert(add, shoal::read_write(sum), view); });
      with_text(100, 'x', [&](auto view) {
        flow.insert(
            [](double& into, std::string_view text) {
              EXPECT_EQ(text, std::string(100, 'x'));
              into += static_cast<double>(text.size());
            },
            shoal::read_write(sum), view);
      });
    }
    EXPECT_EQ(flow.get(sum), 5500);
    // A temporary gives the datum back: it is a copy.
    const auto acquired = flow.acquire(read(sum), shoal::on_rank(Rank(0)));
    if (acquired.here()) {
      EXPECT_EQ(acquired.get(), 5500);
    }
    world.wait();
  });
}

TEST(Views, OfAcquiredDataThatAreTemporaries_AreCopies) {
  run_turns({.seed = 1}, [](World& world) {
    Flow flow(world, "f");
    std::vector<double> memory(100, 2);
    const auto numbers = flow.vector(memory.data(), memory.size());
    const auto copy = flow.acquire(read(numbers)).get();
    static_assert(std::is_same_v<decltype(copy), const std::vector<double>>);
    const double& first = *flow.acquire(read(flow.data(1.5)));
    flow.insert([](std::span<double> all) { std::ranges::fill(all, 9); }, write(numbers));
    flow.wait();
    EXPECT_THAT(copy, Each(2));
    EXPECT_EQ(first, 1.5);
    return 0;
  });
}

void expect_letters(int k, std::string_view text) {
  EXPECT_EQ(text, std::string(60, static_cast<char>('a' + k)));
}

TEST(Views, AsArgumentsOfAnExecutor_AreKeptUntilTheTaskHasRun) {
  on_ranks([](World& world) {
    shoal::Executor executor(world, shoal::Policy::stealing);
    world.barrier();
    if (world.rank() == 0) {
      for (int k = 0; k < 20; ++k) {
        with_text(60, static_cast<char>('a' + k),
                  [&](auto view) { executor.spawn<&expect_letters>(k, view); });
      }
    }
    executor.wait();
  });
}

TEST(Views, OfEvents_OutliveListsThatAreTemporaries) {
  on_ranks([](World& world) {
    Events events(world);
    with_numbers(1000, 4, [&](auto view) { events.fire(shoal::self, "a", view); });
    with_text(1000, 'x', [&](auto view) { events.fire(shoal::self, "b", view); });
    const auto& event = events.wait({{shoal::self, "a"}})[0];  // an event of its own
    const std::string name = events.wait({{shoal::self, "b"}}).front().name();
    EXPECT_EQ(name, "b");
    EXPECT_THAT(event.view<double>(), Each(4));
    events.fire(shoal::self, "c", 5);
    EXPECT_EQ(events.wait({{shoal::self, "c"}}).at(0).get<int>(), 5);
    static_assert(std::is_same_v<decltype(std::declval<EventList>()[0]), shoal::Event>);
    static_assert(std::is_same_v<decltype(std::declval<EventList&>()[0]), shoal::Event&>);
    world.wait();
  });
}

}  // namespace runtime_views_test
