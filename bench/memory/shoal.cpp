// The side of shoal, in one process with one worker: while the main function does not wait, no
// task runs.

#include <shoal/shoal.hpp>

#include <memory>
#include <optional>

#include "memory/kernels.hpp"

namespace {

using bench::memory::Batch;

class Live final : public Batch {
 public:
  explicit Live(shoal::World& world) : world_(world) {}

  void make(int count) override {
    for (int i = 0; i < count; ++i) world_.spawn([this] { ++ran_; });
  }
  void finish() override { world_.wait(); }
  [[nodiscard]] std::uint64_t ran() const override { return ran_; }

 private:
  shoal::World& world_;
  std::uint64_t ran_ = 0;
};

/// Batches of hash-keyed keys share one graph, which forgets a batch when it has run. Keys of a
/// dense graph run once, so each batch gets a graph of its own.
class Keys final : public Batch {
 public:
  Keys(shoal::World& world, bool dense) : world_(world), dense_(dense) {}

  void make(int count) override {
    first_ += count_;
    count_ = count;
    if (dense_ || !graph_) make_graph();
    fulfill_all();
  }
  void finish() override {
    fulfill_all();
    world_.wait();
  }
  [[nodiscard]] std::uint64_t ran() const override { return ran_; }

 private:
  void make_graph() {
    graph_.emplace(world_, "keys");
    graph_->set_indegree([](int) { return 2; })
        .set_mapping([](int) { return 0; })
        .set_task([this](int) { ++ran_; });
    if (!dense_) return;
    graph_->set_dense(static_cast<std::size_t>(count_),
                      [first = first_](int key) { return static_cast<std::size_t>(key - first); });
  }
  void fulfill_all() {
    for (int i = 0; i < count_; ++i) graph_->fulfill(first_ + i);
  }

  shoal::World& world_;
  const bool dense_;
  std::optional<shoal::TaskGraph<int>> graph_;
  int first_ = 0;
  int count_ = 0;
  std::uint64_t ran_ = 0;
};

class Parked final : public Batch {
 public:
  explicit Parked(shoal::World& world) : world_(world), wake_(0, "wake") {}

  void make(int count) override {
    count_ = count;
    for (int i = 0; i < count; ++i) {
      world_.spawn([this] {
        ++parked_;
        wake_.acquire();
        ++ran_;
      });
    }
    while (parked_ < ran_ + static_cast<std::uint64_t>(count)) shoal::yield();
  }
  void finish() override {
    for (int i = 0; i < count_; ++i) wake_.release();
    world_.wait();
  }
  [[nodiscard]] std::uint64_t ran() const override { return ran_; }

 private:
  shoal::World& world_;
  shoal::Semaphore wake_;
  int count_ = 0;
  std::uint64_t parked_ = 0;
  std::uint64_t ran_ = 0;
};

int run(shoal::World& world, const bench::memory::Options& options) {
  bench::limit_time(options.run);
  if (world.size() * world.worker_count() != 1) {
    throw std::invalid_argument("give --ranks 1 --workers 1");
  }
  const bool dense = options.form == "dense";
  return bench::memory::measure(options,
                                {.name = "shoal",
                                 .live = [&] { return std::make_unique<Live>(world); },
                                 .keys = [&] { return std::make_unique<Keys>(world, dense); },
                                 .parked = [&] { return std::make_unique<Parked>(world); },
                                 .form = dense ? "dense" : "hash"});
}

}  // namespace

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    bench::memory::Options options;
    const bench::Program program{"memory_shoal", "Memory of tasks of shoal.",
                                 [&](cli::App& app) { bench::memory::add_options(app, options); },
                                 [&] { return run(world, options); }};
    return bench::run_program(program, {world.args().begin() + 1, world.args().end()}, true);
  });
}
