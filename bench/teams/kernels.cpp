#include "teams/kernels.hpp"

#include <algorithm>
#include <functional>
#include "cli/command_line.hpp"

#include "common/stopwatch.hpp"

namespace teams {

namespace {

// The first and the last element of round `i` from rank 0, or summed over `ranks`.
double expected(std::int64_t i, int ranks) {
  return static_cast<double>(i % 1000) * ranks + static_cast<double>(ranks) * (ranks - 1) / 2;
}

bool array_round(const Side& side, std::span<double> values, std::int64_t i, bool sums) {
  const double mine = static_cast<double>(i % 1000) + side.rank;
  if (sums || side.rank == 0) values.front() = values.back() = mine;
  if (sums) {
    side.sum_array(values);
  } else {
    side.broadcast(values);
  }
  const double want = sums ? expected(i, side.size) : expected(i, 1);
  return values.front() == want && values.back() == want;
}

/// Kernels on the array of a rank, and one that has parts of all ranks.
class Arrays {
 public:
  Arrays(const Options& options, const Side& side)
      : side_(side), kernel_(options.kernel), mine_(options.elements(), 1.0) {
    const auto ranks = static_cast<std::size_t>(side.size);
    if (kernel_ == "gather" || kernel_ == "allgather") all_.resize(mine_.size() * ranks);
    if (kernel_ == "alltoall") theirs_.resize(mine_.size());
    if (kernel_ == "reduce_scatter") theirs_.resize(mine_.size() / ranks);
    mine_.resize(mine_.size() / ranks * ranks);
    theirs_.resize(theirs_.size() / ranks * ranks);
  }

  /// Returns whether the first and the last element are right.
  bool round(std::int64_t i) {
    const auto value = static_cast<double>(i % 1000);
    const int ranks = side_.size;
    mine_.front() = mine_.back() = value + side_.rank;
    const bool is_root = side_.rank == 0;
    if (kernel_ == "reduce") {
      side_.reduce(mine_);
      return !is_root || ends_are(mine_, expected(i, ranks), expected(i, ranks));
    }
    if (kernel_ == "scan") {
      side_.scan(mine_);
      const double upto = value * (side_.rank + 1) + side_.rank * (side_.rank + 1) / 2.0;
      return ends_are(mine_, upto, upto);
    }
    if (kernel_ == "gather" || kernel_ == "allgather") {
      (kernel_ == "gather" ? side_.gather : side_.allgather)(mine_, all_);
      const bool has_all = is_root || kernel_ == "allgather";
      return !has_all || ends_are(all_, value, value + ranks - 1);
    }
    if (kernel_ == "alltoall") {
      side_.alltoall(mine_, theirs_);
      const bool is_last = side_.rank == ranks - 1;
      return (!is_root || theirs_.front() == value) &&
             (!is_last || theirs_.back() == value + ranks - 1);
    }
    side_.reduce_scatter(mine_, theirs_);
    return !is_root || theirs_.front() == expected(i, ranks);
  }

 private:
  static bool ends_are(std::span<const double> values, double first, double last) {
    return values.front() == first && values.back() == last;
  }

  const Side& side_;
  const std::string kernel_;
  std::vector<double> mine_;
  std::vector<double> all_;
  std::vector<double> theirs_;
};

using Round = std::function<bool(std::int64_t)>;

/// Round `i` of the kernel that was asked for; returns whether its results are right.
Round round_of(const Options& options, const Side& side) {
  const std::string& kernel = options.kernel;
  const auto always_right = [](const std::function<void()>& operation) {
    return [&operation](std::int64_t /*i*/) { return operation(), true; };
  };
  if (kernel == "barrier") return always_right(side.barrier);
  if (kernel == "split") return always_right(side.split);
  if (kernel == "list") return always_right(side.list);
  if (kernel == "allreduce") {
    return [&side](std::int64_t i) {
      const std::int64_t ranks = side.size;
      return side.sum(i + side.rank) == i * ranks + ranks * (ranks - 1) / 2;
    };
  }
  if (kernel == "broadcast" || kernel == "multicast" || kernel == "allreduce_array") {
    return [&side, values = std::vector<double>(options.elements(), 1.0),
            sums = kernel == "allreduce_array"](std::int64_t i) mutable {
      return array_round(side, values, i, sums);
    };
  }
  return [arrays = Arrays(options, side)](std::int64_t i) mutable { return arrays.round(i); };
}

bench::Sample run_once(const Options& options, const Side& side) {
  const Round round = round_of(options, side);
  bench::Sample sample;
  for (std::int64_t i = 0; i < std::min<std::int64_t>(options.count, 10); ++i) {
    sample.verified &= round(i);
  }
  side.barrier();
  const bench::Stopwatch watch;
  for (std::int64_t i = 0; i < options.count; ++i) sample.verified &= round(i);
  side.barrier();
  sample.seconds = watch.seconds();
  return sample;
}

}  // namespace

void add_options(cli::App& app, Options& options) {
  add_run_options(app, options.run);
  app.add_option("kernel", options.kernel, "Kernel to measure")
      ->required()
      ->check(cli::one_of({"barrier", "allreduce", "allreduce_array", "broadcast", "multicast",
                           "reduce", "scan", "gather", "allgather", "alltoall", "reduce_scatter",
                           "split", "list"}));
  app.add_option("--size", options.size_bytes, "Bytes of an array: a multiple of 8")
      ->check(cli::range(std::size_t{8}, std::size_t{1} << 30U));
  app.add_option("--count", options.count, "Operations, one after the other")
      ->check(cli::range(std::int64_t{1}, std::int64_t{1} << 40));
}

bench::Sample measure(const Options& options, const Side& side) {
  std::vector<bench::Sample> samples;
  for (int i = 0; i < options.run.repeat; ++i) samples.push_back(run_once(options, side));
  return bench::median(samples);
}

int finish(const Options& options, const std::string& side, const bench::Sample& sample,
           bench::Values config) {
  config.emplace_back("size", static_cast<std::uint64_t>(options.size_bytes));
  config.emplace_back("count", options.count);
  const double each_us = sample.seconds * 1e6 / static_cast<double>(options.count);
  return bench::finish({options.kernel, side, {{"each_us", each_us}}, config}, sample.verified);
}

}  // namespace teams
