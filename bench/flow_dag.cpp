// Cost of a task of a sequential flow: the graph of a Cholesky factorization with kernels that
// count the tasks of their tile.
//
//   flow_dag [--tiles N] [--repeat N] [--paused] [--throttled] [options of shoal]
//
// Prints nanoseconds per task for inserting, and for inserting and running. With --paused no task
// runs before all are inserted, with --throttled insertion waits as it does by default; else it
// never waits. The peak is that of the memory of the process.

#include <shoal/shoal.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

namespace {

using shoal::Codelet;
using shoal::Data;
using shoal::read;
using shoal::read_write;

struct Options {
  int tiles = 40;
  int repeat = 5;
  bool paused = false;
  bool throttled = false;
};

Options parse(const shoal::World& world) {
  Options options;
  const auto args = world.args();
  for (std::size_t i = 1; i < args.size(); ++i) {
    if (args[i] == "--paused") {
      options.paused = true;
    } else if (args[i] == "--throttled") {
      options.throttled = true;
    } else if (i + 1 < args.size() && args[i] == "--tiles") {
      options.tiles = std::atoi(args[++i].c_str());
    } else if (i + 1 < args.size() && args[i] == "--repeat") {
      options.repeat = std::atoi(args[++i].c_str());
    }
  }
  return options;
}

class Dag {
 public:
  Dag(shoal::World& world, const Options& options)
      : flow_(world, "dag", flow_options(options)), n_(options.tiles) {
    for (int i = 0; i < n_ * n_; ++i) {
      data_.push_back(flow_.data(0, {.owner = shoal::Rank(i % world.size())}));
    }
  }

  std::uint64_t insert() {
    std::uint64_t count = 0;
    for (int k = 0; k < n_; ++k) {
      flow_.insert(one_, read_write(at(k, k)));
      for (int i = k + 1; i < n_; ++i) flow_.insert(two_, read(at(k, k)), read_write(at(i, k)));
      for (int j = k + 1; j < n_; ++j) {
        flow_.insert(two_, read(at(j, k)), read_write(at(j, j)));
        for (int i = j + 1; i < n_; ++i) {
          flow_.insert(three_, read(at(i, k)), read(at(j, k)), read_write(at(i, j)));
          ++count;
        }
        count += 2;
      }
      ++count;
    }
    return count;
  }
  /// Holds the first tile back, on which all depends.
  auto pause() { return flow_.acquire(read_write(at(0, 0))); }
  void wait() { flow_.wait(); }
  /// Tile (i, j) was written by j + 1 tasks of each run. Looks at the tiles of this rank.
  bool verify(int runs) {
    bool right = true;
    for (int i = 0; i < n_; ++i) {
      for (int j = 0; j <= i; ++j) {
        const auto tile = flow_.acquire(read(at(i, j)));
        right = right && (!tile.here() || *tile == (j + 1) * runs);
      }
    }
    return right;
  }

 private:
  static shoal::FlowOptions flow_options(const Options& options) {
    if (options.throttled) return {};
    return {.tasks_max = 1U << 20U};
  }
  Data<int> at(int i, int j) const { return data_[static_cast<std::size_t>(i * n_ + j)]; }

  shoal::Flow flow_;
  const int n_;
  std::vector<Data<int>> data_;
  Codelet<shoal::TypeList<int&>> one_{"potrf", [](int& a) { ++a; }};
  Codelet<shoal::TypeList<const int&, int&>> two_{"trsm", [](const int&, int& a) { ++a; }};
  Codelet<shoal::TypeList<const int&, const int&, int&>> three_{
      "gemm", [](const int&, const int&, int& a) { ++a; }};
};

double peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    const Options options = parse(world);
    Dag dag(world, options);
    std::vector<double> inserting;
    std::vector<double> total;
    for (int run = 0; run < options.repeat; ++run) {
      auto held = options.paused ? std::optional(dag.pause()) : std::nullopt;
      const std::uint64_t begin_ns = world.now_ns();
      const std::uint64_t tasks = dag.insert();
      const std::uint64_t inserted_ns = world.now_ns();
      held.reset();
      dag.wait();
      const std::uint64_t end_ns = world.now_ns();
      inserting.push_back(static_cast<double>(inserted_ns - begin_ns) / static_cast<double>(tasks));
      total.push_back(static_cast<double>(end_ns - begin_ns) / static_cast<double>(tasks));
    }
    const bool verified = dag.verify(options.repeat);
    if (world.rank() == 0) {
      std::printf(
          "{\"kernel\": \"flow_dag\", \"side\": \"shoal\", \"values\": {\"insert_ns_per_task\": "
          "%.1f, "
          "\"ns_per_task\": %.1f, \"peak_mib\": %.1f}, \"config\": {\"tiles\": %d}, \"verified\": "
          "%s}\n",
          median(inserting), median(total), peak_mib(), options.tiles, verified ? "true" : "false");
    }
    return verified ? 0 : 1;
  });
}
