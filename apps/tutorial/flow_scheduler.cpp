// A scheduler of one's own: among the ready tasks of a flow, the one that uses most data runs
// first.

#include <shoal/shoal.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace {

// [scheduler]
class LargestFirst final : public shoal::FlowScheduler {
 public:
  int push(const shoal::ReadyTask& task) override {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(task);
    std::ranges::push_heap(tasks_, {}, &shoal::ReadyTask::size_bytes);
    return kAnyWorker;
  }
  shoal::ReadyTask pop(int /*worker*/, std::uint64_t /*now_ns*/) override {
    const std::lock_guard lock(mutex_);
    std::ranges::pop_heap(tasks_, {}, &shoal::ReadyTask::size_bytes);
    const shoal::ReadyTask task = tasks_.back();
    tasks_.pop_back();
    return task;
  }

 private:
  std::mutex mutex_;  // workers push and pop at the same time
  std::vector<shoal::ReadyTask> tasks_;
};
// [/scheduler]

int program(shoal::World& world) {
  // [use]
  shoal::Flow flow(world, "sums", {.scheduler = std::make_shared<LargestFirst>()});
  // [/use]
  const auto gate = flow.data(0);
  auto held = flow.acquire(write(gate));  // until all tasks are inserted
  std::mutex mutex;
  std::vector<std::size_t> order;
  for (const std::size_t size : {30U, 10U, 50U, 20U, 40U}) {
    const auto note = [&](const int&, std::span<int> block) {
      const std::lock_guard lock(mutex);
      order.push_back(block.size());
    };
    flow.insert(note, read(gate), write(flow.vector<int>(nullptr, size)));
  }
  held.release();
  flow.wait();
  if (world.worker_count() > 1) return 0;  // several run at once: any order
  return std::ranges::is_sorted(order, std::ranges::greater()) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return shoal::run(argc, argv, program); }
