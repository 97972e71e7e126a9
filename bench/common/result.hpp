#pragma once
// Output of a kernel program: one JSON object, as tools/shoal-bench reads it.

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace bench {

/// Names and what they stand for, in the order in which they are printed.
using Value = std::variant<bool, std::int64_t, std::uint64_t, double, std::string>;
using Values = std::vector<std::pair<std::string, Value>>;

struct Result {
  std::string kernel;
  std::string side;
  Values values;
  Values config;
};

/// Prints a result whose answer was checked.
void print(const Result& result);

/// Calls `measure`, which fills the result, and prints it; writes an error of it to stderr. Returns
/// the exit code of the program.
int report(const Result& result, const std::function<void()>& measure);

/// Median of what `repeat` calls of `run` return.
[[nodiscard]] double median_of(int repeat, const std::function<double()>& run);
/// Median of at least one value.
[[nodiscard]] double median(std::vector<double> values);

}  // namespace bench
