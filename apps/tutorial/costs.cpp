// Predicts how long a program takes on another machine: declare the cost of work, and simulate.
//
//   tutorial_costs --sim --ranks 64                      in virtual time, with the work done
//   tutorial_costs --sim-dry --ranks 4096 --sim-net loggp:1us,300ns,100ns,80ps,8192

#include <shoal/shoal.hpp>

#include <cstdio>

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    constexpr int kSteps = 20;
    const shoal::Rank left((world.rank() + world.size() - 1) % world.size());
    const shoal::Rank right((world.rank() + 1) % world.size());
    double cells = 1;  // stands for the part of a field that this rank has

    // A step waits for the one before it, here and on both neighbours.
    shoal::TaskGraph<int> step(world, "step");
    const auto neighbour_done = world.make_am([&](int k) { step.fulfill(k + 1); });
    step.set_indegree([](int k) { return k == 0 ? 1 : 3; })
        .set_mapping([](int /*k*/) { return 0; })
        .set_task([&](int k) {
          // In a simulated world this takes 50 microseconds; others go on meanwhile.
          shoal::compute(shoal::Cost::of_seconds(50e-6), [&] { cells *= 1.01; });
          if (k + 1 == kSteps) return;
          step.fulfill(k + 1);
          neighbour_done.send(left, k);
          neighbour_done.send(right, k);
        });

    world.barrier();
    const auto begin_ns = world.now_ns();  // virtual in a simulated world
    step.fulfill(0);
    world.wait();
    if (world.rank() == 0) {
      std::printf("%d steps on %d ranks: %.1f us\n", kSteps, world.size(),
                  static_cast<double>(world.now_ns() - begin_ns) / 1000);
    }
    return world.is_dry() || cells > 1.2 ? 0 : 1;
  });
}
