#include "common/run_meter.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace apps {
namespace {

constexpr double kSecondsPerNs = 1e-9;

}  // namespace

void RunMeter::start(std::uint64_t kernel_count) {
  bar_.start(kernel_count);
  busy_ns_.store(0, std::memory_order_relaxed);
  before_ = world_.statistics();
  world_.barrier();  // from here on other ranks' tiles may arrive
  begin_ns_ = world_.now_ns();
}

std::vector<RankCost> RunMeter::stop() {
  const std::uint64_t end_ns = world_.now_ns();
  const shoal::Statistics after = world_.statistics();
  bar_.finish();
  RankCost cost;
  cost.seconds = static_cast<double>(end_ns - begin_ns_) * kSecondsPerNs;
  cost.busy_seconds = static_cast<double>(busy_ns_.load()) * kSecondsPerNs;
  cost.tasks = after.tasks_run - before_.tasks_run;
  cost.messages = after.messages_sent - before_.messages_sent;
  cost.bytes = after.bytes_sent - before_.bytes_sent;
  return world_.gather(cost, shoal::Rank(0));
}

void TimedRuns::add(std::vector<RankCost> run) {
  costs = std::move(run);
  seconds.push_back(total(costs).seconds);
}

double simulated_seconds(const shoal::World& world, const shoal::Cost& cost) {
  const std::uint64_t begin_ns = world.now_ns();
  shoal::compute(cost, [] {});
  return static_cast<double>(world.now_ns() - begin_ns) * kSecondsPerNs;
}

RankCost total(const std::vector<RankCost>& costs) {
  RankCost sum;
  for (const RankCost& cost : costs) {
    sum.seconds = std::max(sum.seconds, cost.seconds);
    sum.busy_seconds += cost.busy_seconds;
    sum.tasks += cost.tasks;
    sum.messages += cost.messages;
    sum.bytes += cost.bytes;
  }
  return sum;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace apps
