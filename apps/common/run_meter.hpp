#pragma once
// Costs of one timed run of an application, on each rank.

#include <shoal/shoal.hpp>

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/kernel_costs.hpp"
#include "common/progress_bar.hpp"

namespace apps {

/// The cost of a run on one rank.
struct RankCost {
  double seconds = 0;       // from the common start until the rank knew that all is done
  double busy_seconds = 0;  // in kernels, over all its workers
  std::uint64_t tasks = 0;
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
};

/// Measures runs, and shows how far they are: start(), the work with kernels in timed(), stop().
class RunMeter {
 public:
  /// `title` stands before the progress bar, if that is wanted: see ProgressBar.
  RunMeter(shoal::World& world, std::string title, bool bar_wanted, KernelCosts costs = {})
      : world_(world), bar_(world, std::move(title), bar_wanted), costs_(std::move(costs)) {}

  /// Costs of kernels in a simulated run.
  [[nodiscard]] const KernelCosts& costs() const { return costs_; }

  /// Collective: all ranks start together. `kernel_count` calls of timed() follow on this rank.
  void start(std::uint64_t kernel_count);
  /// Runs `work`, which takes `cost` in a simulated run, and adds its time to the busy time.
  /// Caller: any task.
  template <class Work>
  void timed(const shoal::Cost& cost, Work work) {
    const std::uint64_t begin_ns = world_.now_ns();
    shoal::compute(cost, work);
    // Relaxed: a counter, read after wait().
    busy_ns_.fetch_add(world_.now_ns() - begin_ns, std::memory_order_relaxed);
    bar_.advance();
  }
  /// To be called after wait(). Collective: the costs of all ranks on rank 0, nothing elsewhere.
  std::vector<RankCost> stop();

 private:
  shoal::World& world_;
  ProgressBar bar_;
  const KernelCosts costs_;
  std::uint64_t begin_ns_ = 0;
  shoal::Statistics before_;
  std::atomic<std::uint64_t> busy_ns_ = 0;
};

/// The runs of a program, as rank 0 reports them.
struct TimedRuns {
  std::vector<double> seconds;  // of each run, the slowest rank's
  std::vector<RankCost> costs;  // of the last run
  double gflop = 0;             // 10^9 operations of one run

  /// Adds a run.
  void add(std::vector<RankCost> run);
};

/// How long work of this cost takes in the simulated world. Caller: main functions.
double simulated_seconds(const shoal::World& world, const shoal::Cost& cost);

/// The sum over ranks, but the longest time of any.
RankCost total(const std::vector<RankCost>& costs);

/// Middle of the sorted values (the lower one of two); at least one value.
double median(std::vector<double> values);

}  // namespace apps
