// Random programs whose tasks fail at random and are tried again have the results of those without
// failures: a graph whose edges are of all kinds, and a flow.

#include <shoal/event.hpp>
#include <shoal/flow.hpp>
#include <shoal/graph.hpp>
#include <shoal/object.hpp>
#include <shoal/shoal.hpp>

#include "support/first_seed.hpp"
#include "support/run_world.hpp"
#include "support/sizes.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace runtime_retries_test {

using shoal::Rank;
using shoal::Team;
using shoal::World;
using shoal::testing::first_seed;
using shoal::testing::run_with;
using shoal::testing::sized_on_one_thread;

constexpr int kRetries = 6;

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a * 0x9e3779b97f4a7c15U + b + 0x7f4a7c15U;
  x ^= x >> 31U;
  x *= 0xbf58476d1ce4e5b9U;
  return x ^ (x >> 29U);
}

/// How often the task `key` fails before it succeeds.
int failures_of(std::uint64_t seed, std::uint64_t key) {
  const std::uint64_t number = mixed(seed ^ 0xfa11, key) % 8;
  return number < kRetries ? static_cast<int>(number) : 0;
}

/// Counts attempts of tasks by key; throws while they are to fail.
class Failures {
 public:
  Failures(std::uint64_t seed, std::size_t keys) : seed_(seed), attempts_(keys) {}
  void end(std::size_t key) {
    if (++attempts_[key] <= failures_of(seed_, key)) throw std::runtime_error("not yet");
  }

 private:
  const std::uint64_t seed_;
  std::vector<std::atomic<int>> attempts_;
};

struct Dag {
  std::vector<std::vector<int>> readers;  // of the value of each node
  std::vector<int> inputs;
};

Dag make_dag(std::uint64_t seed, int nodes) {
  std::mt19937_64 random(seed);
  Dag dag{std::vector<std::vector<int>>(static_cast<std::size_t>(nodes)),
          std::vector<int>(static_cast<std::size_t>(nodes), 0)};
  for (int to = 1; to < nodes; ++to) {
    const int count = static_cast<int>(random() % 4);
    for (int i = 0; i < count; ++i) {
      dag.readers[random() % static_cast<std::uint64_t>(to)].push_back(to);
      ++dag.inputs[static_cast<std::size_t>(to)];
    }
  }
  return dag;
}

std::vector<std::uint64_t> values_of(const Dag& dag) {
  std::vector<std::uint64_t> values(dag.readers.size());
  for (std::size_t k = 0; k < values.size(); ++k) {
    values[k] = mixed(values[k], k);
    for (const int reader : dag.readers[k]) values[static_cast<std::size_t>(reader)] += values[k];
  }
  return values;
}

struct Edge {
  int to = 0;
  std::uint64_t value = 0;
};

using Graph = shoal::TaskGraph<int>;

class Router : public shoal::DistributedObject<Router> {
 public:
  Router(Team& team, Graph& graph) : DistributedObject(team), graph_(graph) {}
  void route(int to, std::uint64_t value) { graph_.send(to, 0, value); }

 private:
  Graph& graph_;
};

/// Returns the values that the nodes had, all of them on rank 0, each as often as its task said so.
std::map<int, std::vector<std::uint64_t>> run_dag(World& world, const Dag& dag, std::uint64_t seed,
                                                  Failures& failures, Failures& of_edges) {
  std::map<int, std::vector<std::uint64_t>> results;
  const auto rank_of = [&](int k) {
    return Rank(static_cast<int>(mixed(seed, static_cast<std::uint64_t>(k)) %
                                 static_cast<std::uint64_t>(world.size())));
  };
  Graph graph(world, "nodes");
  const auto report =
      world.make_am([&](int k, std::uint64_t value) { results[k].push_back(value); });
  const auto pass = world.make_am([&](Edge edge) { graph.send(edge.to, 0, edge.value); });
  shoal::Events events(world, "edges");
  events.submit({{shoal::any, "edge"}},
                [&](shoal::EventList& list) {
                  const auto edge = list[0].get<Edge>();
                  graph.send(edge.to, 0, edge.value);
                  of_edges.end(static_cast<std::size_t>(edge.value % 64));
                },
                {.name = "pass on", .persistent = true, .retries = 1000000});
  Router router(world, graph);
  graph.set_rank(rank_of)
      .set_indegree([&](int k) { return dag.inputs[static_cast<std::size_t>(k)] + 1; })
      .set_task([&](int k, shoal::Gathered<std::uint64_t> inputs) {
        const auto index = static_cast<std::size_t>(k);
        std::uint64_t sum = 0;
        for (const std::uint64_t one : inputs.values) sum += one;
        inputs.values.clear();  // the next attempt has them nevertheless
        const std::uint64_t value = mixed(sum, index);
        report.send(Rank(0), k, value);
        int number = 0;
        for (const int to : dag.readers[index]) {
          switch (mixed(seed + index, static_cast<std::uint64_t>(++number)) % 5) {
            case 0:
              graph.send(to, 0, value);
              break;
            case 1:
              pass.send(rank_of(to), Edge{to, value});
              break;
            case 2:
              world.spawn(
                  [&graph, &of_edges, to, value, index] {
                    graph.send(to, 0, value);
                    of_edges.end(64 + index);
                  },
                  {.retries = 1000000});
              break;
            case 3:
              events.fire(rank_of(to), "edge", Edge{to, value});
              break;
            default:
              router.async<&Router::route>(rank_of(to), to, value);
          }
        }
        failures.end(index);
      })
      .set_retries([](int k) { return k % 2 == 0 ? kRetries : 100; });
  world.barrier();
  if (world.rank() == 0) {
    for (int k = 0; k < static_cast<int>(dag.readers.size()); ++k) graph.fulfill(k);
  }
  world.wait();
  events.remove("pass on");
  world.wait();
  return results;
}

/// Runs `check` simulated for each seed, and for one of ten on threads.
void over_seeds(void (*check)(std::uint64_t seed, const std::vector<std::string>& arguments)) {
  constexpr int kSeeds = sized_on_one_thread(300, 30);
  const std::uint64_t first = first_seed() % 1000000;
  for (std::uint64_t seed = first; seed < first + kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    check(seed, {"--sim", "--ranks", std::to_string(1 + seed % 4), "--workers",
                 std::to_string(1 + seed % 3), "--sim-seed", std::to_string(seed)});
    if (seed % 10 == 0) check(seed, {"--ranks", "2", "--workers", "2"});
    if (::testing::Test::HasFailure()) return;
  }
}

void check_dag(std::uint64_t seed, const std::vector<std::string>& arguments) {
  const Dag dag = make_dag(seed, 40);
  const std::vector<std::uint64_t> expected = values_of(dag);
  Failures failures(seed, dag.readers.size());
  Failures of_edges(seed + 1, 64 + dag.readers.size());
  EXPECT_EQ(
      run_with(
          arguments,
          [&](World& world) {
            const auto results = run_dag(world, dag, seed, failures, of_edges);
            if (world.rank() != 0) return;
            ASSERT_EQ(results.size(), expected.size());
            for (const auto& [k, values] : results) {
              EXPECT_EQ(values, std::vector<std::uint64_t>{expected[static_cast<std::size_t>(k)]})
                  << k;
            }
          }),
      0);
}

TEST(Retries, AGraphWithEdgesOfAllKinds_HasTheValuesOfOneWithoutFailures) { over_seeds(check_dag); }

/// A statement of a flow: datum `to` becomes a function of itself and of others.
struct Statement {
  int to = 0;
  int from = 0;
  int kind = 0;
};

void check_flow(std::uint64_t seed, const std::vector<std::string>& arguments) {
  constexpr int kData = 5;
  std::mt19937_64 random(seed);
  std::vector<Statement> statements(40);
  for (Statement& one : statements) {
    one.to = static_cast<int>(random() % kData);
    one.from =
        static_cast<int>((static_cast<std::uint64_t>(one.to) + 1 + random() % (kData - 1)) % kData);
    one.kind = static_cast<int>(random() % 2);
  }
  std::vector<std::uint64_t> expected(kData, 1);
  for (std::size_t i = 0; i < statements.size(); ++i) {
    const auto [to, from, kind] = statements[i];
    std::uint64_t& value = expected[static_cast<std::size_t>(to)];
    const std::uint64_t other = expected[static_cast<std::size_t>(from)];
    value = kind == 0 ? mixed(other, i) : mixed(value + other, i);
  }
  Failures failures(seed, statements.size());
  const int code = run_with(arguments, [&](World& world) {
    shoal::Flow flow(world, "statements");
    std::vector<shoal::Data<std::uint64_t>> data;
    for (int i = 0; i < kData; ++i) {
      data.push_back(flow.data<std::uint64_t>(1, {.owner = Rank(i % world.size())}));
    }
    for (std::size_t i = 0; i < statements.size(); ++i) {
      const auto [to, from, kind] = statements[i];
      const auto target = data[static_cast<std::size_t>(to)];
      const auto source = data[static_cast<std::size_t>(from)];
      if (kind == 0) {
        flow.insert(
            [&failures, i](std::uint64_t& value, const std::uint64_t& other) {
              value = mixed(other, i);
              failures.end(i);
            },
            shoal::write(target), shoal::read(source), shoal::with_retries(kRetries));
      } else {
        flow.insert(
            [&failures](std::uint64_t& value, const std::uint64_t& other, std::size_t number) {
              value += other;
              value = mixed(value, number);
              failures.end(number);
            },
            shoal::read_write(target), shoal::read(source), i, shoal::with_retries(kRetries));
      }
    }
    for (int i = 0; i < kData; ++i) {
      EXPECT_EQ(flow.get(data[static_cast<std::size_t>(i)]), expected[static_cast<std::size_t>(i)])
          << i;
    }
  });
  EXPECT_EQ(code, 0);
}

TEST(Retries, AFlow_HasTheValuesOfOneWithoutFailures) { over_seeds(check_flow); }

}  // namespace runtime_retries_test
