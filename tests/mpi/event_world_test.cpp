// Events between processes: their order, values of all kinds, payloads of several sizes, and stuck
// worlds.

#include <shoal/event.hpp>
#include <shoal/shoal.hpp>

#include "mpi/mpi_launch.hpp"
#include "support/event_plan.hpp"
#include "support/joined_program.hpp"
#include "support/sizes.hpp"

#include <string>
#include <vector>

namespace event_world_test {

using shoal::EventList;
using shoal::Events;
using shoal::Rank;
using shoal::World;
using shoal::testing::EventPlan;
using shoal::testing::EventPlanRun;
using shoal::testing::require;
using shoal::testing::run_on_launch;

void order(World& world) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const EventPlan plan(seed, world.size(), 60);
    EventPlanRun(world, plan, static_cast<EventPlanRun::From>(seed % 3)).run();
  }
}

/// A reduction and a barrier with payloads from none to beyond a packet and a window.
void payloads(World& world) {
  Events events(world);
  int count = 0;
  const std::vector<std::size_t> sizes{0, 1, 1000, 300'000};
  for (const std::size_t size : sizes) {
    const std::string name = "of " + std::to_string(size);
    events.submit({{shoal::all, name}}, [&, size](EventList& list) {
      for (std::size_t i = 0; i < list.size(); ++i) {
        const auto view = list[i].view<double>();
        require(view.size() == size, "{} elements instead of {}", view.size(), size);
        constexpr std::size_t kStep = shoal::testing::sized(1, 61);
        for (std::size_t k = 0; k < size; k += kStep) {
          require(view[k] == static_cast<double>(i), "a payload differs");
        }
        require(size == 0 || view[size - 1] == static_cast<double>(i), "the end differs");
      }
      ++count;
    });
    events.fire(shoal::all, name, std::vector<double>(size, world.rank()));
  }
  events.submit({{shoal::all, "text"}}, [&](EventList& list) {
    for (const shoal::Event& event : list) {
      require(event.get<std::vector<std::string>>() ==
                  std::vector<std::string>{"a", std::to_string(event.source())},
              "text differs");
    }
    ++count;
  });
  events.fire(shoal::all, "text", std::vector<std::string>{"a", std::to_string(world.rank())});
  world.wait();
  require(count == 5, "{} tasks ran", count);
}

void stuck(World& world) {
  Events events(world);
  events.submit({{shoal::all, "step"}}, [] {}, {.name = "barrier"});
  if (world.rank() != 0) events.fire(shoal::all, "step");
  std::string error;
  try {
    world.wait();
  } catch (const shoal::StuckError& stuck) {
    error = stuck.what();
  }
  require(error.find("barrier has") != std::string::npos, "no report: {}", error);
  require(error.find("\"step\" from rank 0") != std::string::npos, "another report: {}", error);
  if (world.rank() == 0) events.fire(shoal::all, "step");
  world.wait();
}

void battery(World& world) {
  order(world);
  payloads(world);
  stuck(world);
}

int program(int argc, char** argv) {
  return shoal::testing::report_with_mpi(argc, argv, [] {  // several worlds in a row
    for (const std::string progress : {"worker", "thread"}) {
      for (const std::string ranks_per_process : {"1", "3"}) {
        const int code = run_on_launch(
            {"--ranks-per-process", ranks_per_process, "--progress", progress, "--workers", "2"},
            [](World& world) { battery(world); });
        require(code == 0, "{} ranks per process, --progress {}: ended with {}", ranks_per_process,
                progress, code);
      }
    }
  });
}

const shoal::testing::JoinedProgram kProgram("event_world_test", &program);

}  // namespace event_world_test
