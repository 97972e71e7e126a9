// A ring of messages and a task graph: needs every layer of the library to link.

#include <shoal/shoal.hpp>

#include <atomic>

namespace {

constexpr int task_count = 8;

int ring(shoal::World& world) {
  std::atomic<int> sum = 0;
  std::atomic<int> tasks = 0;
  const auto token = world.make_am([&sum](int value) { sum += value; });
  shoal::TaskGraph<int> chain(world, "chain");
  chain.set_indegree([](int) { return 1; })
      .set_mapping([&world](int k) { return k % world.worker_count(); })
      .set_task([&chain, &tasks](int k) {
        ++tasks;
        if (k + 1 < task_count) chain.fulfill(k + 1);
      });
  chain.fulfill(0);
  token.send(shoal::Rank((world.rank() + 1) % world.size()), 42);
  world.wait();
  return sum == 42 && tasks == task_count ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return shoal::run(argc, argv, ring); }
