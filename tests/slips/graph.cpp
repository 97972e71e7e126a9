// Slips with task graphs, active messages and what their programs wait in.

#include <shoal/shoal.hpp>

#include <cstdlib>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "slips.hpp"

namespace {

using shoal::Rank;
using shoal::TaskGraph;
using shoal::World;

Rank other(const World& world) { return Rank((world.rank() + 1) % world.size()); }

void set_functions(TaskGraph<int>& graph, int indegree) {
  graph.set_indegree([indegree](int) { return indegree; })
      .set_mapping([](int) { return 0; })
      .set_task([](int) {});
}

void dependency_missing(World& world) {
  TaskGraph<int> graph(world, "sweep");
  set_functions(graph, 2);
  if (world.rank() == 1) graph.fulfill(7);
  world.wait();
}

void indegree_zero(World& world) {
  TaskGraph<int> graph(world, "roots");
  set_functions(graph, 0);
  if (world.rank() == 1) graph.fulfill(3);
  world.wait();
}

void fulfilled_too_often(World& world) {
  TaskGraph<int> graph(world, "cells");
  set_functions(graph, 2);
  if (world.rank() == 1) {
    for (int i = 0; i < 3; ++i) graph.fulfill(7);
  }
  world.wait();
}

void wait_forgotten(World& world) {
  TaskGraph<int> graph(world, "tree");
  set_functions(graph, 2);
  if (world.rank() == 1) graph.fulfill(42);
}

void rank_too_large(World& world) {
  TaskGraph<int> graph(world, "blocks");
  graph.set_rank([&](int k) { return Rank(k); });
  set_functions(graph, 1);
  if (world.rank() == 0) graph.fulfill(world.size());
  world.wait();
}

void task_unset(World& world) {
  TaskGraph<int> graph(world, "bare");
  graph.set_indegree([](int) { return 1; }).set_mapping([](int) { return 0; });
  if (world.rank() == 1) graph.fulfill(0);
  world.wait();
}

void worker_too_large(World& world) {
  TaskGraph<int> graph(world, "rows");
  set_functions(graph, 1);
  graph.set_mapping([](int k) { return k; });
  if (world.rank() == 1) graph.fulfill(8);
  world.wait();
}

void priority_too_large(World& world) {
  TaskGraph<int> graph(world, "paths");
  set_functions(graph, 1);
  graph.set_priority([](int k) { return (1L << 40) + k; });
  if (world.rank() == 1) graph.fulfill(5);
  world.wait();
}

void key_too_large(World& world) {
  TaskGraph<int> graph(world, "ids");
  set_functions(graph, 1);
  if (world.rank() == 1) graph.fulfill((1L << 32) + 7);
  world.wait();
}

void argument_too_large(World& world) {
  const auto am = world.make_am([](int) {}, {.name = "size"});
  if (world.rank() == 1) am.send(Rank(0), 5'000'000'000L);
  world.wait();
}

int half(int size) { return size / 2; }
void argument_of_call_too_large(World& world) {
  if (world.rank() == 1) (void)world.call(Rank(0), shoal::am<half>, 5'000'000'000L).get();
  world.wait();
}

void slot_too_large(World& world) {
  TaskGraph<int> graph(world, "sums");
  graph.set_rank([](int) { return Rank(1); })
      .set_mapping([](int) { return 0; })
      .set_task([](int, long) {});
  if (world.rank() == 0) graph.send(4, 1, 10L);
  world.wait();
}

void input_of_another_type(World& world) {
  TaskGraph<int> graph(world, "means");
  graph.set_rank([](int) { return Rank(1); })
      .set_mapping([](int) { return 0; })
      .set_task([](int, long) {});
  if (world.rank() == 0) graph.send(4, 0, 2.5);
  world.wait();
}

void input_sent_twice(World& world) {
  TaskGraph<int> graph(world, "halo");
  graph.set_rank([](int) { return Rank(1); })
      .set_mapping([](int) { return 0; })
      .set_task([](int, long, long) {});
  if (world.rank() == 0) {
    graph.send(9, 0, 1L);
    graph.send(9, 0, 2L);  // meant for slot 1
  }
  world.wait();
}

void task_throws(World& world) {
  TaskGraph<int> graph(world, "files");
  set_functions(graph, 1);
  graph.set_task([](int) { throw std::runtime_error("no such tile"); });
  if (world.rank() == 1) graph.fulfill(6);
  world.wait();
}

void handler_throws(World& world) {
  const auto am =
      world.make_am([](int) { throw std::runtime_error("bad fish"); }, {.name = "catch fish"});
  if (world.rank() == 0) am.send(Rank(1), 1);
  world.wait();
}

void handlers_swapped(World& world) {
  int a = 0;
  int b = 0;
  const auto make_a = [&] { return world.make_am([&](int x) { a += x; }, {.name = "add to a"}); };
  const auto make_b = [&] { return world.make_am([&](int x) { b += x; }, {.name = "add to b"}); };
  if (world.rank() == 0) {
    const auto am_a = make_a();
    const auto am_b = make_b();
    am_a.send(Rank(1), 1);
    world.wait();
  } else {
    const auto am_b = make_b();
    const auto am_a = make_a();
    world.wait();
  }
}

void handler_on_one_rank(World& world) {
  if (world.rank() == 0) {
    const auto am = world.make_am([](int) {}, {.name = "report"});
    am.send(Rank(1), 1);
    world.wait();
  } else {
    world.wait();
  }
}

void graph_on_one_rank(World& world) {
  if (world.rank() == 0) {
    TaskGraph<int> graph(world, "lonely");
    graph.set_rank([](int) { return Rank(1); });
    set_functions(graph, 1);
    graph.fulfill(1);
    world.wait();
  } else {
    world.wait();
  }
}

int answer() { return 42; }

void get_in_handler(World& world) {
  const auto am = world.make_am(
      [&](int) { (void)world.call(other(world), shoal::am<answer>).get(); }, {.name = "ask"});
  if (world.rank() == 0) am.send(Rank(1), 1);
  world.wait();
}

void promise_never_kept(World& world) {
  shoal::Promise<int> promise(world, "the pivot");
  auto pivot = promise.future();
  if (world.rank() == 1) (void)pivot.get();
  world.wait();
}

void promise_kept_twice(World& world) {
  shoal::Promise<int> promise(world, "the norm");
  promise.set_value(1);
  if (world.rank() == 1) promise.set_value(2);
  world.wait();
}

void future_dropped(World& world) {
  if (world.rank() == 1) {
    const auto loaded =
        world.async([] { throw std::runtime_error("no such tile"); }, {.name = "load"});
  }
  world.wait();
}

std::vector<shoal::Future<int>> kept_futures;
void future_kept(World& world) {  // beyond run()
  if (world.rank() == 1) {
    kept_futures.push_back(
        world.async([]() -> int { throw std::runtime_error("no such tile"); }, {.name = "load"}));
  }
  world.wait();
}

void promise_dropped(World& world) {
  auto promise = std::make_unique<shoal::Promise<int>>(world, "the shift");
  auto shift = promise->future();
  if (world.rank() == 1) {
    promise.reset();
    (void)shift.get();
  }
  world.wait();
}

void collectives_differ(World& world) {
  if (world.rank() == 0) {
    (void)world.allreduce(1, std::plus<>());
  } else {
    (void)world.allgather(1);
  }
  world.wait();
}

void operations_differ(World& world) {
  if (world.rank() == 0) {
    (void)world.reduce(2, std::plus<>(), Rank(0));
  } else {
    (void)world.reduce(2, std::multiplies<>(), Rank(0));
  }
  world.wait();
}

void collective_missing(World& world) {
  if (world.rank() == 0) world.barrier();
  world.wait();
}

void roots_differ(World& world) {  // each waits for the other's value
  (void)world.broadcast(1, Rank(1 - world.rank()));
  world.wait();
}

void root_too_large(World& world) {
  if (world.rank() == 1) (void)world.reduce(1, std::plus<>(), Rank(world.size()));
  world.wait();
}

void sizes_of_arrays_differ(World& world) {
  std::vector<double> sums(world.rank() == 0 ? 4 : 5);
  world.allreduce(std::span(sums), std::plus<>());
  world.wait();
}

void types_of_values_differ(World& world) {
  if (world.rank() == 0) {
    (void)world.reduce(1, std::plus<>(), Rank(0));
  } else {
    (void)world.reduce(1.0, std::plus<>(), Rank(0));
  }
  world.wait();
}

void count(int /*items*/) {}
int divide(int a, int b) {
  if (b == 0) throw std::runtime_error("division by zero");
  return a / b;
}

void message_to_no_rank(World& world) {
  const auto am = world.make_am([](int) {}, {.name = "halo"});
  if (world.rank() == 1) am.send(Rank(world.size()), 1);
  world.wait();
}

void function_to_no_rank(World& world) {
  if (world.rank() == 1) world.send(Rank(-1), shoal::am<count>, 1);
  world.wait();
}

void multicast_to_no_rank(World& world) {
  const auto am = world.make_am([](int) {}, {.name = "news"});
  if (world.rank() == 1) am.multicast({Rank(0), Rank(world.size())}, 1);
  world.wait();
}

void call_of_no_rank(World& world) {
  if (world.rank() == 1) (void)world.call(Rank(world.size()), shoal::am<divide>, 6, 3).get();
  world.wait();
}

void call_throws(World& world) {
  if (world.rank() == 0) (void)world.call(Rank(1), shoal::am<divide>, 6, 0).get();
  world.wait();
}

void called_function_throws(World& world) {
  const auto square_root = world.make_function(
      [](double x) {
        if (x < 0) throw std::runtime_error("no square root");
        return x;
      },
      {.name = "square root"});
  if (world.rank() == 0) (void)square_root.call(Rank(1), -4.0).get();
  world.wait();
}

void wait_in_task(World& world) {
  if (world.rank() == 1) world.spawn([&] { world.wait(); }, {.name = "impatient"});
  world.wait();
}

void handler_ends_early(World& world) {
  if (world.rank() == 1) {
    {
      const auto am = world.make_am([](int) {}, {.name = "short"});
    }
    world.wait();
  } else {
    const auto am = world.make_am([](int) {}, {.name = "short"});
    world.flush();
    am.send(Rank(1), 1);
    world.wait();
  }
}

void buffer_too_small(World& world) {
  std::vector<double> room(10);
  const auto big = world.make_large_am<double>([&](std::size_t) { return std::span(room); },
                                               [](std::span<double>) {}, [] {}, {.name = "panel"});
  const std::vector<double> payload(20);
  if (world.rank() == 0) big.send(Rank(1), payload);
  world.wait();
}

void output_without_value(World& world) {
  shoal::Outputs<int, long> outputs(world, "tiles");
  if (world.rank() == 1) (void)outputs.take(3);
  world.wait();
}

void output_not_read(World& world) {
  shoal::Outputs<int, long> outputs(world, "norms");
  if (world.rank() == 1) {
    outputs.put(3, 1L, 2);
    (void)outputs.take(3);
  }
  world.wait();
  outputs.check_all_read();
}

void reset_too_early(World& world) {
  TaskGraph<int> graph(world, "steps");
  set_functions(graph, 2);
  graph.set_dense(10, [](int k) { return k; });
  if (world.rank() == 1) {
    graph.fulfill(5);
    graph.reset();
  }
  world.wait();
}

void locks_in_a_cycle(World& world) {
  shoal::Mutex left(world, "left fork");
  shoal::Mutex right(world, "right fork");
  shoal::Latch both(world, 2, "both have one");
  if (world.rank() == 1) {
    const auto eat = [&](shoal::Mutex& first, shoal::Mutex& second) {
      first.lock();
      both.count_down();
      both.wait();
      second.lock();
      second.unlock();
      first.unlock();
    };
    world.spawn([&, eat] { eat(left, right); }, {.name = "Plato"});
    world.spawn([&, eat] { eat(right, left); }, {.name = "Kant"});
  }
  world.wait();
}

void poll_without_end(World& world) {
  const bool done = false;
  if (world.rank() == 1) {
    world.spawn(
        [&] {
          while (!done) shoal::yield();
        },
        {.name = "poller"});
  }
  world.wait();
}

void exit_in_main_function(World& world) {
  if (world.rank() == 1) std::exit(0);  // NOLINT(concurrency-mt-unsafe): it is the slip
  world.wait();
}

void exit_in_task(World& world) {
  if (world.rank() == 1) {
    world.spawn([] { std::exit(0); });  // NOLINT(concurrency-mt-unsafe): it is the slip
  }
  world.wait();
}

World* kept = nullptr;

void world_after_run(World& world) { kept = &world; }
void use_world() {
  kept->spawn([] {});
}

std::unique_ptr<TaskGraph<int>> kept_graph;

void graph_after_run(World& world) {
  if (world.rank() != 0) return;
  kept_graph = std::make_unique<TaskGraph<int>>(world, "late");
  set_functions(*kept_graph, 1);
  world.wait();
}
void use_graph() { kept_graph->fulfill(1); }

void hold_kept(World& world) {
  if (world.rank() != 1) return world.wait();
  const shoal::Hold hold = world.hold();
  world.wait();
}

void retried_task_waits(World& world) {
  if (world.rank() == 1) {
    world.spawn([&world] { static_cast<void>(world.call(other(world), [] { return 1; }).get()); },
                {.name = "ask", .retries = 3});
  }
  world.wait();
}

void retried_task_changes_its_input(World& world) {
  auto rows = std::make_unique<std::vector<int>>(3);
  if (world.rank() == 1) {
    world.spawn([rows = std::move(rows)]() mutable { rows.reset(); },
                {.name = "drop rows", .retries = 3});
  }
  world.wait();
}

void retries_run_out(World& world) {
  if (world.rank() == 1) {
    world.spawn([] { throw std::runtime_error("the disk is full"); },
                {.name = "write", .retries = 2});
  }
  world.wait();
}

}  // namespace

int main(int argc, char** argv) {
  return run_slip(argc, argv,
                  {{"hold_kept", hold_kept},
                   {"dependency_missing", dependency_missing},
                   {"indegree_zero", indegree_zero},
                   {"fulfilled_too_often", fulfilled_too_often},
                   {"wait_forgotten", wait_forgotten},
                   {"rank_too_large", rank_too_large},
                   {"task_unset", task_unset},
                   {"worker_too_large", worker_too_large},
                   {"priority_too_large", priority_too_large},
                   {"key_too_large", key_too_large},
                   {"argument_too_large", argument_too_large},
                   {"argument_of_call_too_large", argument_of_call_too_large},
                   {"slot_too_large", slot_too_large},
                   {"input_of_another_type", input_of_another_type},
                   {"input_sent_twice", input_sent_twice},
                   {"retried_task_waits", retried_task_waits},
                   {"retried_task_changes_its_input", retried_task_changes_its_input},
                   {"retries_run_out", retries_run_out},
                   {"task_throws", task_throws},
                   {"handler_throws", handler_throws},
                   {"handlers_swapped", handlers_swapped},
                   {"handler_on_one_rank", handler_on_one_rank},
                   {"graph_on_one_rank", graph_on_one_rank},
                   {"get_in_handler", get_in_handler},
                   {"promise_never_kept", promise_never_kept},
                   {"promise_kept_twice", promise_kept_twice},
                   {"future_dropped", future_dropped},
                   {"future_kept", future_kept},
                   {"promise_dropped", promise_dropped},
                   {"collectives_differ", collectives_differ},
                   {"operations_differ", operations_differ},
                   {"collective_missing", collective_missing},
                   {"roots_differ", roots_differ},
                   {"root_too_large", root_too_large},
                   {"sizes_of_arrays_differ", sizes_of_arrays_differ},
                   {"types_of_values_differ", types_of_values_differ},
                   {"message_to_no_rank", message_to_no_rank},
                   {"function_to_no_rank", function_to_no_rank},
                   {"multicast_to_no_rank", multicast_to_no_rank},
                   {"call_of_no_rank", call_of_no_rank},
                   {"call_throws", call_throws},
                   {"called_function_throws", called_function_throws},
                   {"wait_in_task", wait_in_task},
                   {"handler_ends_early", handler_ends_early},
                   {"buffer_too_small", buffer_too_small},
                   {"output_without_value", output_without_value},
                   {"output_not_read", output_not_read},
                   {"reset_too_early", reset_too_early},
                   {"locks_in_a_cycle", locks_in_a_cycle},
                   {"poll_without_end", poll_without_end},
                   {"exit_in_main_function", exit_in_main_function},
                   {"exit_in_task", exit_in_task},
                   {"world_after_run", world_after_run, use_world},
                   {"graph_after_run", graph_after_run, use_graph}});
}
