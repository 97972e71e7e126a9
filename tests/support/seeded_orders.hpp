#pragma once
// Programs whose last rank makes two things of one kind in another order than the others, which
// then use one of them. Each is the main function of all ranks.

#include <shoal/memory.hpp>
#include <shoal/object.hpp>
#include <shoal/shoal.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace shoal::testing {

inline Rank last_rank(const World& world) { return Rank(world.size() - 1); }

template <class A, class B>
struct Both {
  std::unique_ptr<A> first;
  std::unique_ptr<B> second;
};

/// Makes a first thing and a second one, on the last rank the second one first.
template <class First, class Second>
auto made_in_another_order(const World& world, First first, Second second) {
  using A = std::invoke_result_t<First>;
  using B = std::invoke_result_t<Second>;
  const bool swapped = world.rank() == last_rank(world);
  Both<A, B> both;
  if (swapped) both.second.reset(new B(second()));
  both.first.reset(new A(first()));
  if (!swapped) both.second.reset(new B(second()));
  return both;
}

inline void order_of_handlers(World& world) {
  const auto both = made_in_another_order(
      world, [&] { return world.make_am([](int) {}, {.name = "take_row"}); },
      [&] { return world.make_am([](const std::string&) {}, {.name = "take_name"}); });
  if (world.rank() == 0) both.first->send(last_rank(world), 5);
  world.wait();
}

/// With equal parameters and without names: their types and places differ.
inline void order_of_closures(World& world) {
  int rows = 0;
  int columns = 0;
  const auto both = made_in_another_order(
      world, [&] { return world.make_am([&](int row) { rows += row; }); },
      [&] { return world.make_am([&](int column) { columns += column; }); });
  if (world.rank() == 0) both.second->send(last_rank(world), 5);
  world.wait();
}

/// Of one type, from one place: their names differ.
inline void order_of_names(World& world) {
  const auto make = [&](const char* name) { return world.make_am([](int) {}, {.name = name}); };
  const auto both = made_in_another_order(
      world, [&] { return make("rows"); }, [&] { return make("columns"); });
  if (world.rank() == 0) both.first->multicast(Recipients({last_rank(world)}), 5);
  world.wait();
}

inline void order_of_functions(World& world) {
  const auto both = made_in_another_order(
      world, [&] { return world.make_function([](int k) { return k + 1; }); },
      [&] { return world.make_function([](int k) { return k - 1; }); });
  if (world.rank() == 0) static_cast<void>(both.first->call(last_rank(world), 5));
  world.wait();
}

inline void order_of_large_messages(World& world) {
  std::vector<int> into(10'000);
  const auto buffer = [&](std::size_t) { return std::span(into); };
  const auto both = made_in_another_order(
      world, [&] { return world.make_large_am<int>(buffer, [](std::span<int>) {}); },
      [&] { return world.make_large_am<int>(buffer, [](std::span<int>) {}); });
  const std::vector<int> from(into.size(), 1);
  if (world.rank() == 0) both.second->send(last_rank(world), from);
  world.wait();
}

inline void order_of_graphs(World& world) {
  const auto set_up = [&](TaskGraph<int>& graph) {
    graph.set_rank([last = last_rank(world)](int) { return last; })
        .set_mapping([](int) { return 0; })
        .set_task([](int /*k*/, double /*x*/) {});
  };
  const auto both = made_in_another_order(
      world,
      [&] {
        auto graph = std::make_unique<TaskGraph<int>>(world, "rows");
        set_up(*graph);
        return graph;
      },
      [&] {
        auto graph = std::make_unique<TaskGraph<int>>(world, "columns");
        set_up(*graph);
        return graph;
      });
  if (world.rank() == 0) (*both.first)->send(1, 0, 2.5);
  world.wait();
}

inline void order_of_unnamed_graphs(World& world) {
  const auto set_up = [&](TaskGraph<int>& graph) {
    graph.set_rank([last = last_rank(world)](int) { return last; })
        .set_mapping([](int) { return 0; })
        .set_indegree([](int) { return 1; })
        .set_task([](int) {});
  };
  const auto both = made_in_another_order(
      world,
      [&] {
        std::unique_ptr<TaskGraph<int>> graph(new TaskGraph<int>(world));
        set_up(*graph);
        return graph;
      },
      [&] {
        std::unique_ptr<TaskGraph<int>> graph(new TaskGraph<int>(world));
        set_up(*graph);
        return graph;
      });
  if (world.rank() == 0) (*both.second)->fulfill(1);
  world.wait();
}

inline void order_of_events(World& world) {
  const auto both = made_in_another_order(
      world, [&] { return std::unique_ptr<Events>(new Events(world)); },
      [&] { return std::unique_ptr<Events>(new Events(world)); });
  if (world.rank() == last_rank(world)) (*both.first)->submit({{any, "x"}}, [] {});
  if (world.rank() == 0) (*both.first)->fire(last_rank(world), "x");
  world.wait();
}

inline void order_of_flows(World& world, const FlowOptions& options) {
  const auto both = made_in_another_order(
      world, [&] { return std::make_unique<Flow>(world, "rows", options); },
      [&] { return std::make_unique<Flow>(world, "columns", options); });
  Flow& rows = **both.first;
  const auto datum = rows.data(1, {.owner = Rank(0)});
  rows.insert([](const int&) {}, read(datum), on_rank(last_rank(world)));
  rows.wait();
  world.wait();
}
inline void order_of_flows(World& world) { order_of_flows(world, {}); }
inline void order_of_pruned_flows(World& world) { order_of_flows(world, {.pruned = true}); }

inline GlobalMemoryOptions small_memory(const char* name) {
  constexpr std::size_t kBytes = std::size_t{1} << 20U;
  return {.name = name, .heap_bytes = kBytes, .local_heap_bytes = kBytes};
}

inline void order_of_memories(World& world) {
  const auto both = made_in_another_order(
      world, [&] { return GlobalMemory(world, small_memory("rows")); },
      [&] { return GlobalMemory(world, small_memory("columns")); });
  if (world.rank() == 0) static_cast<void>(both.first->allocate_on<long>(last_rank(world)));
  world.wait();
}

/// The pointer of one is refused by the other, although that has its number.
inline void order_of_memories_with_a_pointer(World& world) {
  const auto both = made_in_another_order(
      world, [&] { return GlobalMemory(world, small_memory("memory")); },
      [&] { return GlobalMemory(world, small_memory("memory")); });
  GlobalMemory& memory = world.rank() == last_rank(world) ? *both.second : *both.first;
  const auto pointer =
      world.broadcast(world.rank() == 0 ? memory.allocate<long>() : GlobalPtr<long>(), Rank(0));
  if (world.rank() == last_rank(world)) static_cast<void>(memory.put(pointer, 5L));
  world.wait();
}

inline void order_of_vectors(World& world) {
  GlobalMemory memory(world, small_memory("memory"));
  const auto both = made_in_another_order(
      world, [&] { return std::unique_ptr<GlobalVector<int>>(new GlobalVector<int>(memory, 8)); },
      [&] { return std::unique_ptr<GlobalVector<int>>(new GlobalVector<int>(memory, 8)); });
  world.wait();
}

inline void order_of_caches(World& world) {
  GlobalMemory memory(world, small_memory("memory"));
  using Cache = ObjectCache<std::string>;  // which travels by messages
  const auto both = made_in_another_order(
      world, [&] { return std::make_unique<Cache>(memory, KeepAll(), "rows"); },
      [&] { return std::make_unique<Cache>(memory, KeepAll(), "columns"); });
  const auto object =
      world.broadcast(world.rank() == last_rank(world) ? memory.create<std::string>("an apple")
                                                       : GlobalPtr<std::string>(),
                      last_rank(world));
  if (world.rank() == 0) static_cast<void>((*both.second)->get(object));
  world.wait();
}

struct Apples : DistributedObject<Apples> {
  explicit Apples(Team& team) : DistributedObject(team) {}
  void write(long x) {
    for (long& value : values) value = x;
  }
  long values[64] = {};  // NOLINT(modernize-avoid-c-arrays)
};
struct Pears : DistributedObject<Pears> {
  explicit Pears(Team& team) : DistributedObject(team) {}
  std::string text = "intact";
};

inline void order_of_objects(World& world) {
  const auto both = made_in_another_order(
      world, [&] { return std::make_unique<Apples>(world); },
      [&] { return std::make_unique<Pears>(world); });
  if (world.rank() == 0) {
    for (int i = 0; i < 3; ++i) (*both.first)->async<&Apples::write>(last_rank(world), i);
  }
  world.wait();
}

inline void order_of_objects_with_a_result(World& world) {
  const auto both = made_in_another_order(
      world, [&] { return std::make_unique<Apples>(world); },
      [&] { return std::make_unique<Pears>(world); });
  if (world.rank() == 0) (*both.first)->sync<&Apples::write>(last_rank(world), 5);
  world.wait();
}

/// An object that is an argument.
inline void order_of_objects_with_a_handle(World& world) {
  const auto both = made_in_another_order(
      world, [&] { return std::make_unique<Apples>(world); },
      [&] { return std::make_unique<Pears>(world); });
  world.barrier();
  if (world.rank() == 0) {
    world.send(
        last_rank(world), [](Handle<Apples> apples) { apples.get().write(5); },
        (*both.first)->handle());
  }
  world.wait();
}

inline void order_of_teams(World& world) {
  std::vector<Rank> all;
  for (int rank = 0; rank < world.size(); ++rank) all.emplace_back(rank);
  const auto both = made_in_another_order(
      world, [&] { return std::make_unique<Team>(world, all, "rows"); },
      [&] { return std::make_unique<Team>(world, all, "columns"); });
  Team& rows = **both.first;
  static_cast<void>(rows.broadcast(rows.rank() == 0 ? 5 : 0, Rank(0)));
}

// --- made on one rank only

inline void graph_of_one_rank(World& world) {
  std::unique_ptr<TaskGraph<int>> graph;
  if (world.rank() == 0) {
    graph = std::make_unique<TaskGraph<int>>(world, "rows");
    graph->set_rank([last = last_rank(world)](int) { return last; })
        .set_mapping([](int) { return 0; })
        .set_indegree([](int) { return 1; })
        .set_task([](int) {});
    graph->fulfill(1);
  }
  world.wait();
}

inline void events_of_one_rank(World& world) {
  std::unique_ptr<Events> events;
  if (world.rank() == 0) {
    events = std::make_unique<Events>(world, "news");
    events->fire(last_rank(world), "x");
  }
  world.wait();
}

/// A program that ends by itself, with an explanation.
struct SeededBug {
  std::string name;
  void (*program)(World&);
  std::vector<std::string> named;  // in the explanation, on two ranks
  int told = 0;                    // rank whose main function gets that
};

inline std::vector<SeededBug> seeded_orders() {
  const std::string met = "a message of rank 0 met another handler on rank 1";
  const std::string made = ", made at seeded_orders.hpp:";
  const std::string pears =
      "object 1 of the world on rank 1 is a shoal::testing::Pears, and a "
      "shoal::testing::Apples on the rank that uses it here";
  return {
      {"order_of_handlers",
       order_of_handlers,
       {met, "is take_row, made at seeded_orders.hpp:", "and take_name, made at seeded_orders.hpp:",
        "in the same order"}},
      {"order_of_closures", order_of_closures, {met, made, "active message 1 (lambda "}},
      {"order_of_names", order_of_names, {met, "is rows, made at", "and columns, made at"}},
      {"order_of_functions", order_of_functions, {met, made}},
      {"order_of_large_messages", order_of_large_messages, {met, made}},
      {"order_of_graphs",
       order_of_graphs,
       {met, "task graph 'rows': input 0, made at", "task graph 'columns': input 0, made at"}},
      {"order_of_unnamed_graphs",
       order_of_unnamed_graphs,
       {met, "task graph 'graph': fulfill(), made at seeded_orders.hpp:"}},
      {"order_of_events", order_of_events, {met, "events 'events', made at seeded_orders.hpp:"}},
      {"order_of_flows", order_of_flows, {"met another handler", "flow 'rows'", "flow 'columns'"}},
      {"order_of_pruned_flows",
       order_of_pruned_flows,
       {"met another handler", "flow 'rows'", "flow 'columns'"}},
      {"order_of_memories",
       order_of_memories,
       {met, "memory 'rows': allocate, made at", "memory 'columns': allocate, made at"}},
      {"order_of_memories_with_a_pointer",
       order_of_memories_with_a_pointer,
       {"through a pointer that belongs to another memory"},
       1},
      {"order_of_vectors",
       order_of_vectors,
       {"memory 'memory': collective allocation 1 is of 16 bytes at",
        "on rank 1, made at seeded_orders.hpp:", "on rank 0, made at seeded_orders.hpp:"}},
      {"order_of_caches",
       order_of_caches,
       {met, "cache 'columns': a request, made", "cache 'rows': a request, made"}},
      {"order_of_teams",
       order_of_teams,
       {"a team that was never made here: all members make their teams in the same order"},
       1},
      {"graph_of_one_rank",
       graph_of_one_rank,
       {"rank 1: messages from rank 0 are for task graph 'rows': fulfill(), which was never made "
        "here"}},
      {"events_of_one_rank",
       events_of_one_rank,
       {"rank 1: messages from rank 0 are for events 'news', which was never made here"}},
      {"order_of_objects", order_of_objects, {pears}},
      {"order_of_objects_with_a_result", order_of_objects_with_a_result, {pears}},
      {"order_of_objects_with_a_handle", order_of_objects_with_a_handle, {pears}},
  };
}

}  // namespace shoal::testing
