#pragma once
// The message kernels: configuration and checks of all sides.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ranks/program.hpp"

namespace messages {

using Word = std::uint64_t;

struct Options {
  std::string kernel;
  std::string mode = "handler";  // what a ball of round_trip is thrown by; shoal only
  std::string from = "task";     // what sends in rate; shoal only
  int size_bytes = 8;
  std::int64_t count = 100'000;
  int senders = 1;
  int packet_bytes = 0;  // raw sides of rate: items are packed by hand into as much
  int window = 64;       // messages that are under way at once
  bench::RunOptions run;

  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(size_bytes); }
  [[nodiscard]] std::size_t words() const { return size() / sizeof(Word); }
};

void add_options(cli::App& app, Options& options);

/// Functions of one side; each measures one run.
struct Side {
  std::string name;
  std::function<bench::Sample()> round_trip;
  std::function<bench::Sample()> rate;
  std::function<bench::Sample()> bandwidth;
  std::function<bench::Sample()> start;  // from main() until all ranks have met
};

/// Measures the kernel that was asked for: the median of its runs.
bench::Sample measure(const Options& options, const Side& side);

/// Prints the result of all ranks; `config` is what the side adds to the options. Returns the exit
/// code.
int finish(const Options& options, const std::string& side, const bench::Sample& sample,
           bench::Values config);

/// Monotonic.
inline double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Words that a ball of round_trip carries behind the number of its hop.
std::vector<Word> make_ballast(std::size_t words);
[[nodiscard]] bool is_ballast(std::span<const Word> words);

/// Word of message `index` of rate: its first one and its last one.
inline Word item_word(std::int64_t index) {
  return static_cast<Word>(index) * 0x9e3779b97f4a7c15U + 1;
}
/// The sum of first and last words over the messages [0, count), modulo 2^64.
Word item_sum(std::int64_t count);

/// The part of `count` that sender `index` of several sends: [first, last).
struct Part {
  std::int64_t first;
  std::int64_t last;
};
Part part_of(std::int64_t count, int senders, int index);

}  // namespace messages
