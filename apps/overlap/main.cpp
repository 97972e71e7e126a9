// Memory-bound tasks of rank 0 beside large messages of rank 1: what --memory-bound-max and
// --buffer-node gain, on this machine or on one that --sim-memory describes (docs/contention.md).

#include <shoal/shoal.hpp>

#include "common/conclude.hpp"
#include "common/input_error.hpp"
#include "common/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace {

using shoal::Cost;
using shoal::Rank;

constexpr std::size_t kInFlight = 2;  // messages

struct Size {
  int tasks = 200;
  int task_mb = 10;  // of memory traffic
  int messages = 20;
  int message_mb = 20;
};

/// Arrays of a running task, larger than a core's share of the caches.
struct Arrays {
  static constexpr std::size_t kLength = std::size_t{1} << 21U;  // 16 MiB each
  std::vector<double> a = std::vector<double>(kLength, 0);
  std::vector<double> b = std::vector<double>(kLength, 1);
  std::vector<double> c = std::vector<double>(kLength, 2);

  /// STREAM triad on `traffic` bytes: 3 x 8 for each element.
  void triad(double traffic) {
    for (auto left = static_cast<std::size_t>(traffic / 24); left > 0;) {
      const std::size_t count = std::min(left, kLength);
      for (std::size_t i = 0; i < count; ++i) a[i] = b[i] + 3 * c[i];
      left -= count;
    }
  }
};

/// Arrays that no task uses right now.
class Pool {
 public:
  [[nodiscard]] std::unique_ptr<Arrays> take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return std::make_unique<Arrays>();
    std::unique_ptr<Arrays> arrays = std::move(free_.back());
    free_.pop_back();
    return arrays;
  }
  void give_back(std::unique_ptr<Arrays> arrays) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(arrays));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Arrays>> free_;
};

/// Times of rank 0 since the begin.
struct Result {
  double arrival_s = 0;  // of the last message
  double work_s = 0;     // end of the last task
  bool good = true;
};

class Overlap {
 public:
  Overlap(shoal::World& world, const Size& size) : world_(world), size_(size) {
    const auto bytes = static_cast<std::size_t>(size.message_mb) * 1'000'000;
    if (world.rank() == 0) {
      for (auto& place : places_) place.resize(bytes);
    } else {
      payload_.assign(bytes, 'x');
    }
  }

  Result run() {
    const auto message = world_.make_large_am<char>(
        [this](std::size_t count, std::size_t place) {
          return std::span(places_[place]).first(count);
        },
        [this](std::span<char> payload, std::size_t place) { arrived(payload, place); }, [] {});
    send_ = [&](std::size_t place) { message.send(Rank(0), payload_, place); };
    const auto next = world_.make_am([this](std::size_t place) { send_(place); });
    ask_ = [&](std::size_t place) { next.send(Rank(1), place); };
    world_.barrier();
    begin_ns_ = world_.now_ns();
    if (world_.rank() == 0) {
      for (std::size_t place = 0; place < kInFlight; ++place) ask_if_left(place);
      for (int i = 0; i < size_.tasks; ++i) {
        world_.spawn([this] { work(); }, {.name = "triad", .memory_bound = true});
      }
    }
    world_.wait();
    result_.work_s = work_s_;
    return result_;
  }

 private:
  [[nodiscard]] double now_s() const {
    return static_cast<double>(world_.now_ns() - begin_ns_) * 1e-9;
  }
  void ask_if_left(std::size_t place) {
    if (asked_++ < size_.messages) ask_(place);
  }
  void arrived(std::span<const char> payload, std::size_t place) {
    result_.arrival_s = now_s();
    const bool good = world_.is_dry() || (payload.front() == 'x' && payload.back() == 'x');
    result_.good = result_.good && good;
    ask_if_left(place);
  }
  void work() {
    const double traffic = size_.task_mb * 1e6;
    shoal::compute(Cost::of_traffic(traffic, traffic / 12), [&] {
      std::unique_ptr<Arrays> arrays = pool_.take();
      arrays->triad(traffic);
      pool_.give_back(std::move(arrays));
    });
    const double end_s = now_s();
    for (double seen = work_s_; end_s > seen && !work_s_.compare_exchange_weak(seen, end_s);) {
    }
  }

  shoal::World& world_;
  const Size size_;
  std::vector<char> payload_;
  std::vector<char> places_[kInFlight];
  Pool pool_;
  std::function<void(std::size_t)> send_;
  std::function<void(std::size_t)> ask_;
  std::uint64_t begin_ns_ = 0;
  std::atomic<int> asked_{0};
  Result result_;
  std::atomic<double> work_s_{0};
};

int run(shoal::World& world) {
  cli::App app("Memory-bound tasks beside large messages", "overlap");
  Size size;
  const cli::Check positive = cli::range(1, 1'000'000);
  app.add_option("--tasks", size.tasks, "of rank 0")->check(positive);
  app.add_option("--task-mb", size.task_mb, "memory traffic of each, in MB")->check(positive);
  app.add_option("--messages", size.messages, "from rank 1 to rank 0")->check(positive);
  app.add_option("--message-mb", size.message_mb, "size of each, in MB")
      ->check(cli::range(1, 2000));
  return apps::run_app(app, world, [&] {
    if (world.size() != 2) throw apps::InputError("there are 2 ranks: give --ranks 2");
    Overlap overlap(world, size);
    const Result result = overlap.run();
    return apps::conclude(
        world, result.good,
        fmt::format("overlap: {} tasks of {} MB on {} workers, {} messages of {} MB: messages "
                    "arrived after {:.4f} s, tasks ended after {:.4f} s",
                    size.tasks, size.task_mb, world.worker_count(), size.messages, size.message_mb,
                    result.arrival_s, result.work_s));
  });
}

}  // namespace

int main(int argc, char** argv) { return shoal::run(argc, argv, run); }
