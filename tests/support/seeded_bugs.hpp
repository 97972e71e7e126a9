#pragma once
// Programs with one common mistake each, on two ranks or more. Each is the main function of all
// ranks. The tests look at the reports of these programs.

#include <shoal/shoal.hpp>

#include "support/seeded_orders.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace shoal::testing {

/// A chain of tasks over all ranks, each of which also waits for a second dependency. The second
/// one of task 7 is never fulfilled.
inline void missing_fulfill(World& world) {
  const auto rank_of = [&](int k) { return Rank(k % world.size()); };
  TaskGraph<int> chain(world, "chain");
  const auto next = world.make_am([&](int k) { chain.fulfill(k); }, {.name = "next"});
  chain.set_indegree([](int k) { return k == 0 ? 1 : 2; })
      .set_mapping([](int) { return 0; })
      .set_task([&](int k) {
        if (k < 9) next.send(rank_of(k + 1), k + 1);
      });
  for (int k = 0; k < 10; ++k) {
    if (rank_of(k) == world.rank() && k != 7) chain.fulfill(k);
  }
  world.wait();
}

/// Rank 0 adds what all ranks send, but waits for one more than there are.
inline void wrong_indegree(World& world) {
  TaskGraph<std::string> graph(world, "sum");
  const auto add =
      world.make_am([&](const std::string& of) { graph.fulfill(of); }, {.name = "add"});
  graph.set_indegree([&](const std::string&) { return world.size() + 1; })
      .set_mapping([](const std::string&) { return 0; })
      .set_task([](const std::string&) {});
  add.send(Rank(0), std::string("residual"));
  world.wait();
}

/// The opposite: it waits for one only.
inline void indegree_too_small(World& world) {
  TaskGraph<int> graph(world, "sum");
  const auto add = world.make_am([&](int of) { graph.fulfill(of, 3); }, {.name = "add"});
  graph.set_indegree([](int) { return 2; }).set_mapping([](int) { return 0; }).set_task([](int) {});
  add.send(Rank(0), 42);
  world.wait();
}

/// Task 4 lives on rank 0. One of its two inputs is sent to rank 1.
inline void wrong_rank(World& world) {
  TaskGraph<int> graph(world, "halo");
  const auto arrive = world.make_am([&](int k) { graph.fulfill(k); }, {.name = "arrive"});
  graph.set_indegree([](int) { return 2; }).set_mapping([](int) { return 0; }).set_task([](int) {});
  if (world.rank() == 0) arrive.send(Rank(0), 4);
  if (world.rank() == 1) arrive.send(Rank(1), 4);
  world.wait();
}

/// Rank 1 goes on to the next phase without wait(), and there to a reduction that the others come
/// to only after theirs.
inline void skipped_wait(World& world) {
  const auto am = world.make_am([](int) {}, {.name = "work"});
  am.send(Rank(0), 1);
  if (world.rank() != 1) world.wait();
  static_cast<void>(world.allreduce(1, std::plus<>()));
}

/// Rank 1 returns without wait(), with its active message, while rank 0 still has something for it.
inline void left_early(World& world) {
  std::optional<ActiveMessage<int>> work(world.make_am([](int) {}, {.name = "work"}));
  if (world.rank() == 1) work.reset();
  world.barrier();
  if (world.rank() == 0) work->send(Rank(1), 1);
  if (world.rank() != 1) world.wait();
}

/// A handler calls wait(), which only the main function may do.
inline void wait_in_handler(World& world) {
  const auto finish = world.make_am([&](int) { world.wait(); }, {.name = "finish"});
  if (world.rank() == 0) finish.send(Rank(1), 1);
  world.wait();
}

/// One rank throws.
inline void exception_on_one_rank(World& world) {
  if (world.rank() == 1) {
    world.spawn([] { throw std::runtime_error("no such file: mesh.dat"); }, {.name = "load mesh"});
  }
  world.wait();
}

/// Two messages that answer each other for ever, or until `stop` is raised. `begun` is called now
/// and then.
inline void ping_pong(World& world, const std::atomic<bool>& stop,
                      const std::function<void()>& begun = nullptr) {
  struct Messages {
    std::optional<ActiveMessage<int>> ping;
    std::optional<ActiveMessage<int>> pong;
  } messages;
  messages.ping.emplace(world.make_am(
      [&](int n) {
        if (!stop.load()) messages.pong->send(Rank(0), n + 1);
      },
      {.name = "ping"}));
  messages.pong.emplace(world.make_am(
      [&](int n) {
        if (n % 1000 == 999 && begun) begun();
        if (!stop.load()) messages.ping->send(Rank(1), n + 1);
      },
      {.name = "pong"}));
  if (world.rank() == 0) messages.ping->send(Rank(1), 0);
  world.wait();
}

inline std::vector<SeededBug> seeded_bugs() {
  std::vector<SeededBug> bugs{
      {"missing_fulfill",
       missing_fulfill,
       {"nothing runs any more",
        "rank 1: task graph 'chain': chain[7] has fulfilled 1 of 2 dependencies"}},
      {"wrong_indegree",
       wrong_indegree,
       {"rank 0: task graph 'sum': sum[\"residual\"] has fulfilled 2 of 3 dependencies"}},
      {"indegree_too_small",
       indegree_too_small,
       {"rank 0: add failed", "sum[42]", "cannot take 3 more", "the indegree is too small"}},
      {"wrong_rank",
       wrong_rank,
       {"rank 0: task graph 'halo': halo[4] has fulfilled 1 of 2 dependencies",
        "rank 1: task graph 'halo': halo[4] has fulfilled 1 of 2 dependencies"}},
      {"skipped_wait",
       skipped_wait,
       {"rank 1: the main function waits in allreduce() (collective number 1), which not every "
        "rank called"}},
      {"left_early",
       left_early,
       {"a message from rank 0", "destroyed here", "keep it until wait() has returned"}},
      {"wait_in_handler",
       wait_in_handler,
       {"rank 1: finish failed", "wait() was called in handler"}},
      {"exception_on_one_rank",
       exception_on_one_rank,
       {"rank 1: load mesh failed: no such file: mesh.dat"}},
  };
  std::ranges::move(seeded_orders(), std::back_inserter(bugs));
  return bugs;
}

/// Error of the main function of this rank when it runs `program`, or "".
inline std::string explanation(const SeededBug& bug, World& world) {
  try {
    bug.program(world);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace shoal::testing
