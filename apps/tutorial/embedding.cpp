// A program with a main loop of its own, which gives work to shoal: a service with two clients.

#include <shoal/loops.hpp>
#include <shoal/runtime.hpp>
#include <shoal/shoal.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

long sum_of_squares(int from, int to) {
  long sum = 0;
  for (int i = from; i < to; ++i) sum += static_cast<long>(i) * i;
  return sum;
}

}  // namespace

int main() {
  // Options in code; what is not given comes from SHOAL_* variables, as for run().
  shoal::Runtime runtime({.ranks = 2, .workers = 2, .name = "service"});

  // [async]
  // Any thread gives work, and may wait for it. What a task throws comes out of its future.
  std::vector<long> sums(2);
  std::vector<std::jthread> clients;
  for (int client = 0; client < 2; ++client) {
    clients.emplace_back([&, client] {
      auto first = runtime.async([] { return sum_of_squares(0, 500); });
      auto second = runtime.async(shoal::Rank(1), [] { return sum_of_squares(500, 1000); });
      sums[static_cast<std::size_t>(client)] = first.get() + second.get();
    });
  }
  clients.clear();
  bool is_told = false;
  try {
    runtime.async([] { throw std::runtime_error("no such record"); }).get();
  } catch (const std::runtime_error&) {
    is_told = true;  // the runtime goes on
  }
  // [/async]

  // [run]
  // Loops and recursive work are called in a task, and run on all workers of its rank.
  std::vector<int> records = {5, 3, 4, 1, 2};
  runtime.async([&] { shoal::parallel_sort(records); }).get();

  // A job that a thread of the program may stop: its loops skip the iterations that have not begun,
  // and what waits in it ends.
  std::stop_source button;
  auto job = runtime.async([token = button.get_token()] {
    shoal::TaskGroup group("job");
    const std::stop_callback on_stop(token, [&] { group.cancel(); });
    group.spawn([] { shoal::parallel_for(0, 1000, [](int) { shoal::sleep_for(1ms); }); });
    group.wait();
    return group.is_cancelled();
  });
  button.request_stop();
  const bool is_stopped = job.get();

  // All ranks together, with every model: the function is a main function of shoal::run().
  const long total = runtime.run([](shoal::World& world) {
    const int begin = 1000 * world.rank() / world.size();
    const int end = 1000 * (world.rank() + 1) / world.size();
    return world.allreduce(sum_of_squares(begin, end), std::plus<>());
  });
  // [/run]

  // Ends when all work has. Another runtime may follow, or may have been there meanwhile.
  runtime.stop();
  std::printf("sums %ld and %ld, total %ld\n", sums[0], sums[1], total);
  const bool is_sorted = std::is_sorted(records.begin(), records.end());
  return is_told && is_sorted && is_stopped && sums[0] == total && sums[1] == total ? 0 : 1;
}
