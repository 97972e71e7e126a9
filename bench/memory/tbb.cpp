// oneTBB with one thread: while it does not wait, no task runs.

#include <tbb/flow_graph.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "memory/kernels.hpp"

namespace {

using bench::memory::Batch;

class Live final : public Batch {
 public:
  void make(int count) override {
    group_.emplace();
    for (int i = 0; i < count; ++i) {
      group_->run([this] { ++ran_; });
    }
  }
  void finish() override { group_->wait(); }
  [[nodiscard]] std::uint64_t ran() const override { return ran_; }

 private:
  std::optional<tbb::task_group> group_;
  std::uint64_t ran_ = 0;
};

/// Nodes with one of two predecessors finished.
class Keys final : public Batch {
 public:
  void make(int count) override {
    graph_.emplace();
    for (int i = 0; i < count; ++i) {
      nodes_.emplace_back(*graph_, 2, [this](const Message&) { ++ran_; });
    }
    send_all();
  }
  void finish() override {
    send_all();
    graph_->wait_for_all();
    nodes_.clear();
    graph_.reset();
  }
  [[nodiscard]] std::uint64_t ran() const override { return ran_; }

 private:
  using Message = tbb::flow::continue_msg;

  void send_all() {
    for (Node& node : nodes_) node.try_put({});
  }

  using Node = tbb::flow::continue_node<Message>;
  std::optional<tbb::flow::graph> graph_;
  std::deque<Node> nodes_;  // they cannot be moved
  std::uint64_t ran_ = 0;
};

int run(const bench::memory::Options& options) {
  bench::limit_time(options.run);
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 1);
  tbb::task_arena arena(1);
  return arena.execute([&] {
    return bench::memory::measure(options, {.name = "tbb",
                                            .live = [] { return std::make_unique<Live>(); },
                                            .keys = [] { return std::make_unique<Keys>(); },
                                            .parked = {}});
  });
}

}  // namespace

int main(int argc, char** argv) {
  bench::memory::Options options;
  const bench::Program program{"memory_tbb", "Memory of tasks of oneTBB.",
                               [&](cli::App& app) { bench::memory::add_options(app, options); },
                               [&] { return run(options); }};
  return bench::run_program(program, {argv + 1, argv + argc}, true);
}
