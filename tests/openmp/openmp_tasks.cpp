// Regions of OpenMP, and calls of a BLAS with threads, in tasks, as docs/waiting.md has them.
// TEST_CASE says which. Prints how many threads they start, on how many processors those may run,
// and what they have computed.

#include <shoal/shoal.hpp>

#include <cblas.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <latch>
#include <string_view>
#include <vector>

namespace {

using shoal::World;

int threads_of_process() {
  namespace fs = std::filesystem;
  return static_cast<int>(
      std::distance(fs::directory_iterator("/proc/self/task"), fs::directory_iterator()));
}

int processors_of_thread() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  sched_getaffinity(0, sizeof mask, &mask);
  return CPU_COUNT(&mask);
}

long sum_to(int n) {
  long sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (int i = 1; i <= n; ++i) sum += i;
  return sum;
}

/// An element of the product of two matrices of ones.
long product(int n) {
  const std::vector<double> ones(static_cast<std::size_t>(n) * static_cast<std::size_t>(n), 1.0);
  std::vector<double> c(ones.size());
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1.0, ones.data(), n, ones.data(),
              n, 0.0, c.data(), n);
  const auto [least, most] = std::minmax_element(c.begin(), c.end());
  return *least == *most ? std::lround(*most) : -1;
}

/// Calls `f` on all workers at the same time, for the threads that are started meanwhile.
template <class F>
void on_all_workers(World& world, F f) {
  const int workers = world.worker_count();
  std::latch begin(workers);  // block the workers, so that each has one task
  std::latch end(workers);
  const int before = threads_of_process();
  std::atomic<long> sum{0};
  for (int worker = 0; worker < workers; ++worker) {
    world.spawn([&] {
      begin.arrive_and_wait();
      sum += f();
      end.arrive_and_wait();
    });
  }
  world.wait();
  const int after = threads_of_process();
  std::printf("%d threads, %d more than before, sum %ld\n", after, after - before, sum.load());
}

void show_processors(World& world) {
  const int of_program = processors_of_thread();
  world.spawn([of_program] {
    int most = 0;
#pragma omp parallel reduction(max : most)
    most = processors_of_thread();
    std::printf("%s\n", most == 1 ? "one processor" : most == of_program ? "all" : "some");
  });
  world.wait();
}

void spawn_from_a_region(World& world) {
  std::atomic<int> ran{0};
  world.spawn([&] {
#pragma omp parallel
    world.spawn([&ran] { ++ran; });
  });
  world.wait();
  std::printf("%d tasks\n", ran.load());
}

// A value that was waited for before the region, in tasks that change their workers.
void wait_before_the_region(World& world) {
  std::atomic<long> sum{0};
  for (int task = 0; task < 8; ++task) {
    world.spawn([&] {
      auto value = world.async([] {
        shoal::sleep_for(std::chrono::milliseconds(2));
        return sum_to(1000);
      });
      const long n = value.get();
      sum += n + sum_to(1000);
    });
  }
  world.wait();
  std::printf("sum %ld\n", sum.load());
}

}  // namespace

int main(int argc, char** argv) {
  const char* const name = std::getenv("TEST_CASE");  // NOLINT(concurrency-mt-unsafe): one thread
  const std::string_view which = name == nullptr ? "" : name;
  return shoal::run(argc, argv, [&](World& world) {
    if (which == "regions") on_all_workers(world, [] { return sum_to(1000); });
    if (which == "blas") {
      on_all_workers(world, [] { return product(400); });
      if (openblas_get_parallel() == OPENBLAS_THREAD) std::printf("one set for all workers\n");
    }
    if (which == "processors") show_processors(world);
    if (which == "spawn") spawn_from_a_region(world);
    if (which == "wait") wait_before_the_region(world);
  });
}
