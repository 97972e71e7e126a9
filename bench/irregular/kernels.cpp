#include "irregular/kernels.hpp"

#include <bit>
#include <stdexcept>
#include "cli/command_line.hpp"

namespace irregular {

namespace {

Word weight(Word index) { return mix(index) | 1U; }

}  // namespace

void add_options(cli::App& app, Options& options) {
  add_run_options(app, options.run);
  app.add_option("kernel", options.kernel, "Kernel to measure")
      ->required()
      ->check(cli::one_of({"histogram", "index_gather"}));
  app.add_option("--table,--log-size", options.table_log2, "Logarithm of the words of the table")
      ->check(cli::range(10, 32));
  app.add_option("--count", options.count, "Updates or reads, of all ranks together")
      ->check(cli::range(std::int64_t{1}, std::int64_t{1} << 32));
  app.add_option("--packet", options.packet_bytes, "Bytes collected for a destination (MPI alone)")
      ->check(cli::range(64, 1 << 24));
}

Layout::Layout(const Options& options, int ranks)
    : block_log2_(static_cast<unsigned>(options.table_log2 -
                                        std::countr_zero(static_cast<unsigned>(ranks)))) {
  if (!std::has_single_bit(static_cast<unsigned>(ranks)) || ranks > 1024) {
    throw std::invalid_argument("the number of ranks is not a power of two up to 1024");
  }
}

Share::Share(const Options& options, int rank, int ranks)
    : options_(options),
      rank_(rank),
      layout_(options, ranks),
      count_(options.count * (rank + 1) / ranks - options.count * rank / ranks) {}

std::vector<Word> Share::make_counters() const { return std::vector<Word>(layout_.block_words()); }

Word Share::surplus(std::span<const Word> counters) const {
  Word sum = 0;
  for (Word i = 0; i < counters.size(); ++i)
    sum += counters[i] * weight(layout_.first_of(rank_) + i);
  Stream visits = stream();
  for (std::int64_t i = 0; i < count_; ++i) sum -= weight(visits.next());
  return sum;
}

std::vector<Word> Share::make_values() const {
  std::vector<Word> values = make_counters();
  for (Word i = 0; i < values.size(); ++i) values[i] = weight(layout_.first_of(rank_) + i);
  return values;
}

bool Share::is_found(std::span<const Word> found) const {
  Stream visits = stream();
  bool good = found.size() == static_cast<std::size_t>(count_);
  for (const Word value : found) good &= value == weight(visits.next());
  return good;
}

bench::Sample measure(const Options& options, const Side& side) {
  const auto& run = options.kernel == "histogram" ? side.histogram : side.index_gather;
  std::vector<bench::Sample> samples;
  for (int i = 0; i < options.run.repeat; ++i) samples.push_back(run());
  return bench::median(samples);
}

int finish(const Options& options, const std::string& side, const bench::Sample& sample,
           bench::Values config) {
  const bench::Values told{{"table_log2", options.table_log2},
                           {"count", options.count},
                           {"packet", options.packet_bytes},
                           {"repeat", options.run.repeat}};
  config.insert(config.end(), told.begin(), told.end());
  const double rate = static_cast<double>(options.count) / sample.seconds / 1e6;
  return bench::finish({options.kernel, side, {{"million_per_s", rate}}, config}, sample.verified);
}

}  // namespace irregular
