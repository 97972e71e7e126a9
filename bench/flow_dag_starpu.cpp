// The other side of flow_dag: the same graph inserted into the sequential task flow of StarPU.
//
//   flow_dag_starpu [--tiles N] [--repeat N] [--workers N]
//
// Prints nanoseconds per task for inserting, and for inserting and running.

#include <starpu.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "common/starpu.hpp"
#include "common/stopwatch.hpp"

namespace {

// Counts the tasks that wrote the last buffer.
template <int kLast>
void count_task(void* buffers[], void* /*argument*/) {
  ++*reinterpret_cast<int*>(STARPU_VARIABLE_GET_PTR(buffers[kLast]));
}

starpu_codelet make_codelet(const char* name, starpu_cpu_func_t run,
                            std::vector<starpu_data_access_mode> modes) {
  starpu_codelet codelet{};
  starpu_codelet_init(&codelet);
  codelet.cpu_funcs[0] = run;
  codelet.name = name;
  codelet.nbuffers = static_cast<int>(modes.size());
  for (std::size_t i = 0; i < modes.size(); ++i) codelet.modes[i] = modes[i];
  return codelet;
}

class Dag {
 public:
  explicit Dag(int tiles) : n_(tiles), values_(static_cast<std::size_t>(tiles * tiles)) {
    for (int& value : values_) {
      starpu_variable_data_register(&data_.emplace_back(), STARPU_MAIN_RAM,
                                    reinterpret_cast<std::uintptr_t>(&value), sizeof value);
    }
  }
  ~Dag() {
    for (starpu_data_handle_t handle : data_) starpu_data_unregister(handle);
  }
  Dag(const Dag&) = delete;
  Dag& operator=(const Dag&) = delete;

  std::uint64_t insert() {
    std::uint64_t count = 0;
    for (int k = 0; k < n_; ++k) {
      insert_task(one_, STARPU_RW, at(k, k));
      for (int i = k + 1; i < n_; ++i) insert_task(two_, STARPU_R, at(k, k), STARPU_RW, at(i, k));
      for (int j = k + 1; j < n_; ++j) {
        insert_task(two_, STARPU_R, at(j, k), STARPU_RW, at(j, j));
        for (int i = j + 1; i < n_; ++i) {
          insert_task(three_, STARPU_R, at(i, k), STARPU_R, at(j, k), STARPU_RW, at(i, j));
          ++count;
        }
        count += 2;
      }
      ++count;
    }
    return count;
  }
  /// Tile (i, j) was written by j + 1 tasks of each run.
  bool verify(int runs) {
    bool right = true;
    for (int i = 0; i < n_; ++i) {
      for (int j = 0; j <= i; ++j) {
        starpu_data_acquire(at(i, j), STARPU_R);
        right = right && values_[static_cast<std::size_t>(i * n_ + j)] == (j + 1) * runs;
        starpu_data_release(at(i, j));
      }
    }
    return right;
  }

 private:
  template <class... Args>
  static void insert_task(starpu_codelet& codelet, Args... args) {
    bench::require(starpu_task_insert(&codelet, args..., 0), "starpu_task_insert()");
  }
  [[nodiscard]] starpu_data_handle_t at(int i, int j) const {
    return data_[static_cast<std::size_t>(i * n_ + j)];
  }

  const int n_;
  std::vector<int> values_;
  std::vector<starpu_data_handle_t> data_;
  starpu_codelet one_ = make_codelet("potrf", &count_task<0>, {STARPU_RW});
  starpu_codelet two_ = make_codelet("trsm", &count_task<1>, {STARPU_R, STARPU_RW});
  starpu_codelet three_ = make_codelet("gemm", &count_task<2>, {STARPU_R, STARPU_R, STARPU_RW});
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
  int tiles = 40;
  int repeat = 5;
  int workers = 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    if (name == "--tiles") tiles = std::atoi(argv[i + 1]);
    if (name == "--repeat") repeat = std::atoi(argv[i + 1]);
    if (name == "--workers") workers = std::atoi(argv[i + 1]);
  }
  const bench::StarPuRun run(workers);
  Dag dag(tiles);
  std::vector<double> inserting;
  std::vector<double> total;
  for (int round = 0; round < repeat; ++round) {
    const bench::Stopwatch watch;
    const auto tasks = static_cast<double>(dag.insert());
    inserting.push_back(watch.seconds() * 1e9 / tasks);
    starpu_task_wait_for_all();
    total.push_back(watch.seconds() * 1e9 / tasks);
  }
  const bool verified = dag.verify(repeat);
  std::printf(
      "{\"kernel\": \"flow_dag\", \"side\": \"starpu\", \"values\": {\"insert_ns_per_task\": %.1f, "
      "\"ns_per_task\": %.1f, \"peak_mib\": %.1f}, \"config\": {\"tiles\": %d}, \"verified\": "
      "%s}\n",
      median(inserting), median(total), peak_mib(), tiles, verified ? "true" : "false");
  return verified ? 0 : 1;
}
