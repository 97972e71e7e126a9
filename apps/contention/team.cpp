#include "contention/team.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>

#include "common/input_error.hpp"
#include "contention/kernels.hpp"

namespace contention {

/// One pass of a thread.
struct Pass {
  Clock::time_point begin;
  Clock::time_point end;
  double amount = 0;
};

struct Team::Shared {
  explicit Shared(int threads) : missing(threads) {}
  std::atomic<int> missing;         // threads that are not ready yet
  std::atomic<bool> begins{false};  // release: `end` is set; acquire: a thread reads it
  Clock::time_point end;
  alignas(64) std::atomic<bool> polled{false};  // the lock of Kernel::poll
};

struct Team::Worker {
  std::vector<Pass> passes;  // the thread writes, finish() reads after join()
  std::optional<double> core_mhz;
  std::jthread thread;
};

Team::Team(const Host& host, std::size_t memory_bytes) : host_(host), memory_bytes_(memory_bytes) {}

Team::~Team() = default;

Clock::time_point Team::start(const Point& point, Clock::duration duration) {
  if (memory_node_ != point.computation_node) memory_.clear();
  memory_node_ = point.computation_node;
  while (static_cast<int>(memory_.size()) < point.cores) {
    memory_.push_back(host_.allocate(memory_bytes_, memory_node_));
  }
  shared_ = std::make_unique<Shared>(point.cores);
  for (int core = 0; core < point.cores; ++core) {
    workers_.push_back(std::make_unique<Worker>());
    Worker& worker = *workers_.back();
    const auto compute = [this, &worker, core, point] {
      static_cast<void>(host_.bind_thread(core));
      const std::span<std::byte> memory = memory_[static_cast<std::size_t>(core)].bytes();
      static_cast<void>(run_pass(point, memory, 0, shared_->polled));
      shared_->missing.fetch_sub(1, std::memory_order_relaxed);  // a count; `begins` orders
      while (!shared_->begins.load(std::memory_order_acquire)) std::this_thread::yield();
      Pass pass;
      do {
        pass.begin = Clock::now();
        pass.amount = run_pass(point, memory, worker.passes.size() + 1, shared_->polled);
        pass.end = Clock::now();
        worker.passes.push_back(pass);
      } while (pass.end < shared_->end);
      if (core == 0) worker.core_mhz = host_.core_mhz(0);
    };
    try {
      worker.thread = std::jthread(compute);
    } catch (const std::system_error& error) {
      // The others wait for the beginning: they get it, and end after one pass.
      workers_.pop_back();
      shared_->begins.store(true, std::memory_order_release);
      workers_.clear();
      throw apps::InputError(
          fmt::format("thread {} of {} cannot be started: {}", core, point.cores, error.what()));
    }
  }
  while (shared_->missing.load(std::memory_order_relaxed) > 0) std::this_thread::yield();
  shared_->end = Clock::now() + duration;
  shared_->begins.store(true, std::memory_order_release);
  return shared_->end;
}

TeamResult Team::finish() {
  for (const auto& worker : workers_) worker->thread.join();
  // All threads compute between these two.
  Clock::time_point first = Clock::time_point::min();
  Clock::time_point last = Clock::time_point::max();
  for (const auto& worker : workers_) {
    first = std::max(first, worker->passes.front().begin);
    last = std::min(last, worker->passes.back().end);
  }
  TeamResult result;
  for (const auto& worker : workers_) {
    const auto rate_of = [&worker](auto counts) {
      double amount = 0;
      std::chrono::duration<double, std::micro> time{};
      for (const Pass& pass : worker->passes) {
        if (!counts(pass)) continue;
        amount += pass.amount;
        time += pass.end - pass.begin;
      }
      return time.count() > 0 ? amount / time.count() : 0.0;  // MB/s: bytes per microsecond
    };
    const double steady =
        rate_of([&](const Pass& pass) { return pass.begin >= first && pass.end <= last; });
    result.rate += steady > 0 ? steady : rate_of([](const Pass&) { return true; });
  }
  result.core_mhz = workers_.front()->core_mhz;
  workers_.clear();
  return result;
}

}  // namespace contention
