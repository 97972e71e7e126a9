// Lower limit of the time of a broadcast in a process: a copy.

#include <algorithm>
#include <stdexcept>

#include "common/result.hpp"
#include "teams/kernels.hpp"

namespace {

int run(const teams::Options& options) {
  bench::limit_time(options.run);
  if (options.kernel != "broadcast") throw std::invalid_argument("there is broadcast only");
  std::vector<double> target(options.elements());
  const teams::Side side{.name = "copy",
                         .rank = 0,
                         .size = 2,
                         .barrier = [] {},
                         .sum = nullptr,
                         .sum_array = nullptr,
                         .broadcast =
                             [&](std::span<double> values) {
                               std::copy(values.begin(), values.end(), target.begin());
                             },
                         .reduce = nullptr,
                         .scan = nullptr,
                         .gather = nullptr,
                         .allgather = nullptr,
                         .alltoall = nullptr,
                         .reduce_scatter = nullptr,
                         .split = nullptr,
                         .list = nullptr};
  bench::Sample sample = teams::measure(options, side);
  sample.verified &= target.front() == target.back();
  return teams::finish(options, side.name, sample, {});
}

}  // namespace

int main(int argc, char** argv) {
  teams::Options options;
  const bench::Program program{"teams_limits", "Copies in the place of a broadcast.",
                               [&](cli::App& app) { teams::add_options(app, options); },
                               [&] { return run(options); }};
  return bench::run_program(program, {argv + 1, argv + argc}, true);
}
