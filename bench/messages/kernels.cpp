#include "messages/kernels.hpp"

#include <algorithm>
#include "cli/command_line.hpp"

namespace messages {

void add_options(cli::App& app, Options& options) {
  add_run_options(app, options.run);
  app.add_option("kernel", options.kernel, "Kernel to measure")
      ->required()
      ->check(cli::one_of({"round_trip", "rate", "bandwidth", "start"}));
  app.add_option("--mode", options.mode, "Code that returns the ball (shoal)")
      ->check(cli::one_of(
          {"handler", "task", "event", "large", "moved", "copied", "immutable", "text"}));
  app.add_option("--from", options.from, "Code that sends the items of rate (shoal)")
      ->check(cli::one_of({"task", "thread"}));
  app.add_option("--size", options.size_bytes, "Bytes of a message: a multiple of 8")
      ->check(cli::range(8, 1 << 30));
  app.add_option("--count", options.count, "Round trips, or messages")
      ->check(cli::range(std::int64_t{1}, std::int64_t{1} << 40));
  app.add_option("--senders", options.senders, "Tasks or threads that send in rate")
      ->check(cli::range(1, 64));
  app.add_option("--packet", options.packet_bytes, "Bytes of packets filled by hand; 0: none")
      ->check(cli::range(0, 1 << 20));
  app.add_option("--window", options.window, "Messages under way at once")
      ->check(cli::range(1, 1 << 20));
}

bench::Sample measure(const Options& options, const Side& side) {
  const auto& run = options.kernel == "round_trip" ? side.round_trip
                    : options.kernel == "rate"     ? side.rate
                    : options.kernel == "start"    ? side.start
                                                   : side.bandwidth;
  std::vector<bench::Sample> samples;
  for (int i = 0; i < options.run.repeat; ++i) samples.push_back(run());
  return bench::median(samples);
}

int finish(const Options& options, const std::string& side, const bench::Sample& sample,
           bench::Values config) {
  const auto count = static_cast<double>(options.count);
  bench::Values values;
  if (options.kernel == "round_trip") {
    values = {{"round_trip_us", sample.seconds * 1e6 / count}};
  } else if (options.kernel == "start") {
    values = {{"start_ms", sample.seconds * 1e3}};
  } else if (options.kernel == "rate") {
    values = {{"million_per_s", count / sample.seconds / 1e6}};
  } else {
    values = {{"gb_per_s", count * options.size_bytes / sample.seconds / 1e9}};
  }
  const bench::Values told{{"mode", options.mode},       {"from", options.from},
                           {"size", options.size_bytes}, {"count", options.count},
                           {"senders", options.senders}, {"packet", options.packet_bytes},
                           {"window", options.window},   {"repeat", options.run.repeat}};
  config.insert(config.end(), told.begin(), told.end());
  return bench::finish({options.kernel, side, values, config}, sample.verified);
}

std::vector<Word> make_ballast(std::size_t words) {
  std::vector<Word> ballast(words);
  for (std::size_t i = 0; i < words; ++i) ballast[i] = item_word(static_cast<std::int64_t>(i));
  return ballast;
}

bool is_ballast(std::span<const Word> words) {
  return std::ranges::equal(words, make_ballast(words.size()));
}

Word item_sum(std::int64_t count) {
  Word sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += 2 * item_word(i);
  return sum;
}

Part part_of(std::int64_t count, int senders, int index) {
  return {count * index / senders, count * (index + 1) / senders};
}

}  // namespace messages
