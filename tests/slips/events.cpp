// Slips with events.

#include <shoal/shoal.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>

#include "slips.hpp"

namespace {

using shoal::EventList;
using shoal::Events;
using shoal::Rank;
using shoal::World;

void event_never_fired(World& world) {
  Events events(world, "weather");
  if (world.rank() == 1) {
    events.submit({{shoal::any, "rain"}}, [] {}, {.name = "umbrella"});
  }
  world.wait();
}

void event_nobody_takes(World& world) {
  Events events(world, "mail");
  if (world.rank() == 0) events.fire(Rank(1), "letter", 7);
  world.wait();
}

void one_event_too_many(World& world) {
  Events events(world, "counts");
  if (world.rank() == 1) events.submit({{Rank(0), "count"}}, [] {}, {.name = "count once"});
  if (world.rank() == 0) {
    events.fire(Rank(1), "count", 1);
    events.fire(Rank(1), "count", 2);
  }
  world.wait();
}

void name_misspelt(World& world) {
  Events events(world, "halo");
  if (world.rank() == 1) events.submit({{Rank(0), "ghost_cells"}}, [] {}, {.name = "advance"});
  if (world.rank() == 0) events.fire(Rank(1), "ghost_cell", 1.5);
  world.wait();
}

void another_source(World& world) {
  Events events(world, "sums");
  if (world.rank() == 1) events.submit({{Rank(1), "part"}}, [] {}, {.name = "add"});
  if (world.rank() == 0) events.fire(Rank(1), "part", 1.5);
  world.wait();
}

void another_type(World& world) {
  Events events(world, "values");
  if (world.rank() == 1) {
    events.submit({{Rank(0), "value"}}, [](EventList& list) { (void)list[0].get<double>(); },
                  {.name = "read a double"});
  }
  if (world.rank() == 0) events.fire(Rank(1), "value", 1);
  world.wait();
}

void no_value(World& world) {
  Events events(world, "signals");
  if (world.rank() == 1) {
    events.submit({{Rank(0), "go"}}, [](EventList& list) { (void)list[0].get<int>(); },
                  {.name = "starter"});
  }
  if (world.rank() == 0) events.fire(Rank(1), "go");
  world.wait();
}

void source_too_large(World& world) {
  Events events(world, "ring");
  events.submit({{Rank(world.rank() + 1), "token"}}, [] {}, {.name = "pass on"});
  world.wait();
}

void target_too_large(World& world) {
  Events events(world, "ring");
  if (world.rank() == 1) events.fire(Rank(world.rank() + 1), "token");
  world.wait();
}

void fired_to_any(World& world) {
  Events events(world, "work");
  if (world.rank() == 1) events.fire(shoal::any, "item", 1);
  world.wait();
}

void greedy_once(World& world) {
  Events events(world, "stacks");
  if (world.rank() == 1) {
    events.submit({{shoal::any, "page"}}, [] {}, {.name = "collect", .greedy = true});
  }
  world.wait();
}

void persistent_on_nothing(World& world) {
  Events events(world, "loops");
  if (world.rank() == 1) events.submit({}, [] {}, {.name = "for ever", .persistent = true});
  world.wait();
}

void function_empty(World& world) {
  Events events(world, "actions");
  const std::function<void()> action;
  if (world.rank() == 1) events.submit({{shoal::any, "act"}}, action, {.name = "unset"});
  world.wait();
}

void address_to_another_rank(World& world) {
  Events events(world, "shared");
  int here = 0;
  if (world.rank() == 1) events.fire_address(Rank(0), "place", &here);
  world.wait();
}

void wait_forgotten(World& world) {
  Events events(world, "orders");
  if (world.rank() == 1) events.submit({{Rank(0), "order"}}, [] {}, {.name = "deliver"});
}

void wait_forgotten_under_way(World& world) {  // a barrier does not wait for events
  const Rank next((world.rank().value() + 1) % world.size());
  Events events(world, "ring");
  events.submit({{shoal::any, "token"}}, [&] { events.fire(next, "token"); },
                {.name = "pass on", .persistent = true});
  events.fire(shoal::self, "token");
  world.barrier();
}

void lost_between_two(World& world) {
  Events events(world, "shared");
  if (world.rank() != 1) return world.wait();
  events.submit({{shoal::self, "a"}, {shoal::self, "b"}}, [] {},
                {.name = "first", .persistent = true});
  events.submit({{shoal::self, "a"}, {shoal::self, "c"}}, [] {},
                {.name = "second", .persistent = true});
  for (const char* name : {"a", "a", "b", "c"}) events.fire(shoal::self, name);
  world.wait();
}

void task_throws(World& world) {
  Events events(world, "files");
  if (world.rank() == 1) {
    events.submit({{Rank(0), "line"}}, [] { throw std::runtime_error("line 3 is torn"); },
                  {.name = "parse"});
  }
  if (world.rank() == 0) events.fire(Rank(1), "line");
  world.wait();
}

void names_differ(World& world) {
  Events events(world, world.rank() == 0 ? "temperatures" : "pressures");
  if (world.rank() == 1) events.submit({{Rank(0), "x"}}, [] {}, {.name = "read"});
  if (world.rank() == 0) events.fire(Rank(1), "x", 1.0);
  world.wait();
}

void made_on_one_rank(World& world) {
  if (world.rank() != 0) return world.wait();
  Events events(world, "private");
  events.fire(Rank(1), "x", 1.0);
  world.wait();
}

void wait_in_handler(World& world) {
  Events events(world, "answers");
  const auto am = world.make_am(
      [&](int) {
        (void)events.wait({{shoal::any, "answer"}});
      },
      {.name = "ask"});
  if (world.rank() == 0) am.send(Rank(1), 1);
  world.wait();
}

void wait_never_ends(World& world) {
  Events events(world, "results");
  if (world.rank() == 1) {
    world.spawn([&] { (void)events.wait({{Rank(0), "result"}}); }, {.name = "collector"});
  }
  world.wait();
}

void event_beyond_the_list(World& world) {
  Events events(world, "pairs");
  if (world.rank() == 1) {
    events.submit({{Rank(0), "left"}, {Rank(0), "right"}},
                  [](EventList& list) { (void)list.at(2).get<int>(); }, {.name = "join"});
  }
  if (world.rank() == 0) {
    events.fire(Rank(1), "left", 1);
    events.fire(Rank(1), "right", 2);
  }
  world.wait();
}

void lock_kept(World& world) {  // the holder waits for an event that nobody fires
  Events events(world, "tables");
  shoal::Mutex mutex(world, "ledger");
  if (world.rank() == 1) {
    events.submit({{shoal::self, "open"}}, [&] { const std::unique_lock lock(mutex); },
                  {.name = "clerk"});
    world.spawn(
        [&] {
          const std::unique_lock lock(mutex);
          events.fire(shoal::self, "open");
          (void)events.wait({{Rank(0), "closing time"}});
        },
        {.name = "keeper"});
  }
  world.wait();
}

void unlocked_by_nobody(World& world) {
  Events events(world, "tables");
  if (world.rank() == 1) events.submit({}, [&] { events.unlock("table"); }, {.name = "opener"});
  world.wait();
}

void locked_twice(World& world) {
  Events events(world, "tables");
  if (world.rank() == 1) {
    events.submit({},
                  [&] {
                    events.lock("table");
                    events.lock("table");
                  },
                  {.name = "forgetful"});
  }
  world.wait();
}

void locks_in_a_cycle(World& world) {
  Events events(world, "forks");
  shoal::Latch both(world, 2, "both have one");
  if (world.rank() == 1) {
    const auto eat = [&](const char* first, const char* second) {
      events.lock(first);
      both.count_down();
      both.wait();
      events.lock(second);
    };
    events.submit({}, [eat] { eat("left", "right"); }, {.name = "Plato"});
    events.submit({}, [eat] { eat("right", "left"); }, {.name = "Kant"});
  }
  world.wait();
}

void poll_without_end(World& world) {
  Events events(world, "inbox");
  if (world.rank() == 1) {
    world.spawn(
        [&] {
          while (events.retrieve_any({{shoal::any, "letter"}}).empty()) shoal::yield();
        },
        {.name = "poller"});
  }
  world.wait();
}

void two_names_for_two_ranks(World& world) {  // rank 1 makes them in the other order
  const bool first = world.rank() == 0;
  Events a(world, first ? "left" : "right");
  Events b(world, first ? "right" : "left");
  if (world.rank() == 1) b.submit({{Rank(0), "x"}}, [] {}, {.name = "read left"});
  if (world.rank() == 0) a.fire(Rank(1), "x");
  world.wait();
}

void persistent_half_done(World& world) {
  Events events(world, "rounds");
  if (world.rank() == 1) {
    events.submit({{Rank(0), "left"}, {Rank(0), "right"}}, [] {},
                  {.name = "join", .persistent = true});
  }
  if (world.rank() == 0) {
    for (int round = 0; round < 3; ++round) events.fire(Rank(1), "left", round);
    events.fire(Rank(1), "right", 0);
  }
  world.wait();
}

std::unique_ptr<Events> kept;
void after_run(World& world) {
  if (world.rank() == 0) kept = std::make_unique<Events>(world, "late");
  world.wait();
}
void fire_late() { kept->fire(shoal::self, "x"); }

}  // namespace

int main(int argc, char** argv) {
  return run_slip(argc, argv,
                  {{"event_never_fired", event_never_fired},
                   {"event_nobody_takes", event_nobody_takes},
                   {"one_event_too_many", one_event_too_many},
                   {"name_misspelt", name_misspelt},
                   {"another_source", another_source},
                   {"another_type", another_type},
                   {"no_value", no_value},
                   {"source_too_large", source_too_large},
                   {"target_too_large", target_too_large},
                   {"fired_to_any", fired_to_any},
                   {"greedy_once", greedy_once},
                   {"persistent_on_nothing", persistent_on_nothing},
                   {"function_empty", function_empty},
                   {"address_to_another_rank", address_to_another_rank},
                   {"wait_forgotten", wait_forgotten},
                   {"wait_forgotten_under_way", wait_forgotten_under_way},
                   {"lost_between_two", lost_between_two},
                   {"task_throws", task_throws},
                   {"names_differ", names_differ},
                   {"made_on_one_rank", made_on_one_rank},
                   {"wait_in_handler", wait_in_handler},
                   {"wait_never_ends", wait_never_ends},
                   {"event_beyond_the_list", event_beyond_the_list},
                   {"lock_kept", lock_kept},
                   {"unlocked_by_nobody", unlocked_by_nobody},
                   {"locked_twice", locked_twice},
                   {"locks_in_a_cycle", locks_in_a_cycle},
                   {"poll_without_end", poll_without_end},
                   {"two_names_for_two_ranks", two_names_for_two_ranks},
                   {"persistent_half_done", persistent_half_done},
                   {"after_run", after_run, fire_late}});
}
