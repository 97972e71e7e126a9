#include "metg/work.hpp"

#include <algorithm>

namespace metg {

namespace {

constexpr std::size_t kLineWords = 8;

}  // namespace

Kernel::Kernel(Bound bound, int columns, std::size_t buffer_bytes) : bound_(bound) {
  if (bound != Bound::memory) return;
  const std::size_t lines = std::max<std::size_t>(1, buffer_bytes / 64);
  buffers_.assign(static_cast<std::size_t>(columns),
                  std::vector<std::uint64_t>(lines * kLineWords, 1));
}

bool Kernel::run(int step, int column, std::int64_t iterations) const {
  return bound_ == Bound::compute ? compute(iterations) : walk(step, column, iterations);
}

bool Kernel::compute(std::int64_t iterations) const {
  double x = start_;
  for (std::int64_t i = 0; i < iterations; ++i) x = x * factor_ + summand_;
  return x == start_;
}

bool Kernel::walk(int step, int column, std::int64_t iterations) const {
  const std::vector<std::uint64_t>& buffer = buffers_[static_cast<std::size_t>(column)];
  const std::size_t lines = buffer.size() / kLineWords;
  std::size_t line = static_cast<std::size_t>(step) * static_cast<std::size_t>(iterations) % lines;
  std::uint64_t sum = 0;
  for (std::int64_t i = 0; i < iterations; ++i) {
    const std::uint64_t* const words = &buffer[line * kLineWords];
    for (std::size_t k = 0; k < kLineWords; ++k) sum += words[k];
    if (++line == lines) line = 0;
  }
  return sum == static_cast<std::uint64_t>(iterations) * kLineWords;
}

Work::Work(const Graph& graph, const Kernel& kernel)
    : graph_(graph),
      kernel_(kernel),
      slots_(number(graph.steps(), 0)),
      right_(number(graph.steps(), 0)) {
  for (int step = 0; step < graph.steps(); ++step) {
    for (int column = 0; column < graph.width_at(step); ++column) {
      Value value = first_value(step, column);
      for (const int from : graph.dependencies(step, column)) {
        value = fold(value, right_[number(step - 1, from)]);
      }
      right_[number(step, column)] = value;
    }
  }
}

void Work::start(std::int64_t iterations) {
  iterations_ = iterations;
  for (Slot& slot : slots_) slot.value.store(0, std::memory_order_relaxed);
}

void Work::run_task(int step, int column) {
  Value result = first_value(step, column);
  for (const int from : graph_.dependencies(step, column)) {
    result = fold(result, value(step - 1, from));
  }
  const bool good = kernel_.run(step, column, iterations_);
  // release pairs with the acquire in wait_for()
  slot(step, column).store(good ? result : ~result, std::memory_order_release);
}

Value Work::wait_for(int step, int column) const {
  while (true) {
    // acquire pairs with the release in run_task()
    const Value found = slot(step, column).load(std::memory_order_acquire);
    if (found != 0) return found;
  }
}

bool Work::is_right(const Columns& columns) const {
  for (int step = 0; step < graph_.steps(); ++step) {
    for (int column = columns.first; column < std::min(columns.last, graph_.width_at(step));
         ++column) {
      if (value(step, column) != right_[number(step, column)]) return false;
    }
  }
  return true;
}

}  // namespace metg
