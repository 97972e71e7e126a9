// Loops whose iterations the workers of a rank share, and what is built of them.

#include <shoal/loops.hpp>
#include <shoal/pipeline.hpp>
#include <shoal/shoal.hpp>
#include <shoal/static_graph.hpp>
#include <shoal/worker_local.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace {

// [recursion]
// Both parts at the same time; short ones without tasks.
void quicksort(std::span<int> values) {
  if (values.size() < 1000) {
    std::sort(values.begin(), values.end());
    return;
  }
  const int pivot = values[values.size() / 2];
  const auto middle = std::ranges::partition(values, [&](int v) { return v < pivot; }).begin();
  const auto end = std::partition(middle, values.end(), [&](int v) { return v == pivot; });
  const std::span less(values.begin(), middle);
  const std::span more(end, values.end());
  shoal::parallel_invoke([&] { quicksort(less); }, [&] { quicksort(more); });
}
// [/recursion]

}  // namespace

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World&) {
    const std::size_t n = 100'000;
    std::vector<double> x(n);
    std::vector<double> y(n);

    // [for]
    // Indices, elements, rows and columns. Returns when all iterations have ended.
    shoal::parallel_for(0, n, [&](std::size_t i) { x[i] = std::sqrt(i); });
    shoal::parallel_for(y, [](double& value) { value = 1; });
    std::vector<std::int64_t> grid(60'000);
    shoal::parallel_for(
        shoal::Range2D{.rows = {0, 300}, .columns = {0, 200}},
        [cells = grid.data()](std::int64_t i, std::int64_t j) { cells[i * 200 + j] = i * j; });

    // Functions, each once.
    double low = 0;
    double high = 0;
    shoal::parallel_invoke([&] { low = *std::min_element(x.begin(), x.end()); },
                           [&] { high = *std::max_element(x.begin(), x.end()); });
    // [/for]

    // [reduce]
    // [dot]
    // The same result for any number of workers, bit by bit.
    const double dot =
        shoal::parallel_reduce(0, n, 0.0, [&](std::size_t i) { return x[i] * y[i]; });
    // [/dot]
    const double largest = shoal::parallel_reduce(
        x, 0.0, [](double value) { return value; },
        [](double a, double b) { return std::max(a, b); });

    // Rows and columns.
    const std::int64_t trace = shoal::parallel_reduce(
        shoal::Range2D{.rows = {0, 300}, .columns = {0, 200}}, std::int64_t{0},
        [cells = grid.data()](std::int64_t i, std::int64_t j) {
          return i == j ? cells[i * 200 + j] : 0;
        });

    // Sums so far, in place.
    std::vector<long> sums(1000, 1);
    shoal::parallel_scan(sums.begin(), sums.end(), sums.begin());
    // [/reduce]

    // [sort]
    std::reverse(x.begin(), x.end());
    shoal::parallel_sort(x);
    shoal::parallel_sort(y, [](double a, double b) { return a > b; });
    // [/sort]

    // [local]
    // A value for each worker: here for each piece of the loop.
    shoal::WorkerLocal<std::vector<int>> counts(std::vector<int>(10));
    shoal::parallel_for(0, n, [&](std::size_t begin, std::size_t end) {
      const auto mine = counts.local();
      for (std::size_t i = begin; i < end; ++i) ++(*mine)[i % 10];
    });
    int total = 0;
    counts.for_each(
        [&](const std::vector<int>& one) { total += std::accumulate(one.begin(), one.end(), 0); });
    // [/local]

    // [feed]
    // Items that add items: the nodes of a tree.
    std::atomic<int> nodes = 0;
    const std::vector<int> roots = {1};
    shoal::parallel_for_each(roots, [&](int node, shoal::Feeder<int>& feeder) {
      ++nodes;
      if (2 * node < 1000) feeder.add(2 * node);
      if (2 * node + 1 < 1000) feeder.add(2 * node + 1);
    });
    // [/feed]

    // [options]
    // Named in traces and reports; iterations go where the last loop ran them.
    shoal::Affinity affinity;
    for (int step = 0; step < 10; ++step) {
      shoal::parallel_for(0, n, [&](std::size_t i) { y[i] += x[i]; },
                          {.name = "update", .affinity = &affinity});
    }
    // [/options]

    // [pipeline]
    int line = 0;
    std::string text;
    shoal::pipeline(
        {.tokens = 4},  // items under way at most
        [&]() -> std::optional<int> { return line < 100 ? std::optional(line++) : std::nullopt; },
        shoal::parallel([](int number) { return std::to_string(number); }),
        shoal::serial_in_order([&](const std::string& word) { text += word + "\n"; }));
    // [/pipeline]

    // [graph]
    shoal::StaticGraph graph("solver");
    int steps = 0;
    double error = 1;
    auto& sweep = graph.add([&] { error /= 2; }, "sweep");
    auto& begin = graph.add_condition([] { return 0; }, "begin");
    auto& converged =
        graph.add_condition([&] { return ++steps, error < 1e-3 ? 1 : 0; }, "converged?");
    auto& report = graph.add([&] { text += "done\n"; }, "report");
    begin.before(sweep);
    sweep.before(converged);
    converged.before(sweep, report);  // 0: again; 1: the end
    graph.run();
    // [/graph]

    std::vector<int> numbers(50'000);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = static_cast<int>(i * 7919 % 50'021);
    }
    quicksort(numbers);

    const bool good = low == 0 && high == largest && std::abs(dot - 2.1e7) < 1e6 &&
                      sums.back() == 1000 && std::is_sorted(x.begin(), x.end()) &&
                      std::is_sorted(numbers.begin(), numbers.end()) && total == 100'000 &&
                      nodes == 999 && text.ends_with("99\ndone\n") && steps == 10 &&
                      grid[2 * 200 + 3] == 6 && trace == 2'646'700;
    return good ? 0 : 1;
  });
}
