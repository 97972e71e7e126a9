#pragma once
// Random updates and random reads of a table that is distributed over the ranks (the kernels
// histogram and index gather of "bale"): configuration and checks of all sides.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ranks/program.hpp"

namespace irregular {

using Word = std::uint64_t;

struct Options {
  std::string kernel;
  int table_log2 = 22;             // words of the table
  std::int64_t count = 4'000'000;  // updates or reads, of all ranks together
  int packet_bytes = 4096;         // what the side of MPI alone collects for a destination
  bench::RunOptions run;
};

void add_options(cli::App& app, Options& options);

/// Spreads the bits of a number.
inline Word mix(Word x) {
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

/// The places of the table that one rank visits, in order. **Source**: splitmix64.
class Stream {
 public:
  Stream(const Options& options, int rank)
      : shift_(64U - static_cast<unsigned>(options.table_log2)),
        state_(mix(static_cast<Word>(rank) + 1)) {}
  Word next() { return mix(state_ += 0x9e3779b97f4a7c15U) >> shift_; }

 private:
  const unsigned shift_;
  Word state_;
};

/// The table in blocks, one for each rank: a power of two.
class Layout {
 public:
  /// **Errors**: std::invalid_argument for a number of ranks that is not a power of two.
  Layout(const Options& options, int ranks);

  [[nodiscard]] int owner(Word index) const { return static_cast<int>(index >> block_log2_); }
  [[nodiscard]] std::uint32_t place(Word index) const {
    return static_cast<std::uint32_t>(index & (block_words() - 1));
  }
  [[nodiscard]] Word block_words() const { return Word{1} << block_log2_; }
  [[nodiscard]] Word first_of(int rank) const { return static_cast<Word>(rank) << block_log2_; }

 private:
  unsigned block_log2_;
};

/// Share of one rank in a kernel: its visits, its block of the table, and the check of both.
class Share {
 public:
  Share(const Options& options, int rank, int ranks);

  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] Stream stream() const { return {options_, rank_}; }

  /// Counters of histogram: zeros.
  [[nodiscard]] std::vector<Word> make_counters() const;
  /// 0 in the sum over all ranks, modulo 2^64, if the counters hold exactly what was visited.
  [[nodiscard]] Word surplus(std::span<const Word> counters) const;

  /// Values of index gather: a word that belongs to each place.
  [[nodiscard]] std::vector<Word> make_values() const;
  /// Whether `found` has what belongs to each visited place.
  [[nodiscard]] bool is_found(std::span<const Word> found) const;

 private:
  const Options& options_;
  const int rank_;
  const Layout layout_;
  const std::int64_t count_;
};

/// Functions of one side; each measures one run.
struct Side {
  std::string name;
  std::function<bench::Sample()> histogram;
  std::function<bench::Sample()> index_gather;
};

bench::Sample measure(const Options& options, const Side& side);

/// Prints the result of all ranks; `config` is what the side adds to the options. Returns the exit
/// code.
int finish(const Options& options, const std::string& side, const bench::Sample& sample,
           bench::Values config);

}  // namespace irregular
