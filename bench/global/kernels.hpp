#pragma once
// Kernels of one-sided access, shared by shoal and its peers.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "ranks/program.hpp"

namespace bench::global {

using Word = std::uint64_t;

/// A word: its rank, and its index among the words of that.
struct Place {
  int rank = 0;
  std::size_t index = 0;
};

struct Options {
  RunOptions run;
  // latency, rate, bandwidth, hit, miss, table, gups, gather, pairs, fan_out
  std::string kernel;
  std::string op = "get";  // get, put, add, exchange
  std::int64_t count = 100'000;
  std::int64_t in_flight = 1024;
  std::int64_t size_bytes = 1 << 20;
  int log_size = 20;  // of the table of gups and gather
  int threads = 2;    // or tasks, of pairs and fan_out
  int busy_ms = 0;    // for which the target computes meanwhile
};
void add_options(cli::App& app, Options& options);

/// A copy is found; it was invalidated, and is fetched; it is found in a std::unordered_map.
enum class Cached : std::uint8_t { hit, miss, table };

/// One side. Each function is called on all ranks. Rank 0 accesses words of the last rank; gups and
/// gather are done by all ranks.
struct Side {
  std::string name;
  /// Prepares `count` words of each rank, all zero. Collective.
  std::function<void(std::size_t count)> prepare;
  /// The operation on word 0, `count` times, each complete before the next; returns the last value
  /// read, or the number written at last.
  std::function<Word(std::int64_t count)> one_by_one;
  /// Operations on `in_flight` words, again and again, with that many in flight.
  std::function<Word(std::int64_t rounds)> together;
  /// `count` transfers of all words.
  std::function<Word(std::int64_t count)> transfers;
  /// Reads of word 0 through a cache. Empty: there is none.
  std::function<Word(std::int64_t count, Cached way)> cached;
  /// Exclusive-or of numbers into words anywhere. Completed by finish_updates().
  std::function<void(std::span<const Place> places, std::span<const Word> numbers)> update;
  std::function<void()> finish_updates;
  std::function<Word(std::size_t index)> local_word;
  /// Reads words anywhere, all at once.
  std::function<void(std::span<const Place> places, std::span<Word> values)> gather;
  /// Memory of `size_bytes` on each rank for each of the threads, all zero. Collective.
  std::function<void(int threads, std::size_t size_bytes)> prepare_threads;
  /// Puts by that many threads, or tasks, of rank 0 at once. Thread t writes to its memory on rank
  /// target(t), `count` times, each time complete before the next. The first and the last byte are
  /// the number of the put, from 1 on. Empty: this side has no threads.
  std::function<void(std::int64_t count, const std::function<int(int)>& target)> put_by_threads;
  /// First and last byte of a thread's memory on this rank.
  std::function<std::pair<std::byte, std::byte>(int thread)> ends_of_thread;
  std::function<void()> barrier;
  std::function<bool(bool)> all_hold;
  int rank = 0;
  int size = 1;
};

/// The side of an object whose functions have the names of these; it must outlive the side. Without
/// cached() or prepare_threads(), the side has no cache or no threads.
template <class Accesses>
Side side_of(Accesses& accesses) {
  Side side;
  side.prepare = [&](std::size_t count) { accesses.prepare(count); };
  side.one_by_one = [&](std::int64_t count) { return accesses.one_by_one(count); };
  side.together = [&](std::int64_t rounds) { return accesses.together(rounds); };
  side.transfers = [&](std::int64_t count) { return accesses.transfers(count); };
  if constexpr (requires { accesses.cached(1, Cached::hit); }) {
    side.cached = [&](std::int64_t count, Cached way) { return accesses.cached(count, way); };
  }
  side.update = [&](std::span<const Place> places, std::span<const Word> numbers) {
    accesses.update(places, numbers);
  };
  side.finish_updates = [&] { accesses.finish_updates(); };
  side.gather = [&](std::span<const Place> places, std::span<Word> values) {
    accesses.gather(places, values);
  };
  side.local_word = [&](std::size_t index) { return accesses.local_word(index); };
  if constexpr (requires { accesses.prepare_threads(1, 1); }) {
    side.prepare_threads = [&](int threads, std::size_t size_bytes) {
      accesses.prepare_threads(threads, size_bytes);
    };
    side.put_by_threads = [&](std::int64_t count, const std::function<int(int)>& target) {
      accesses.put_by_threads(count, target);
    };
    side.ends_of_thread = [&](int thread) { return accesses.ends_of_thread(thread); };
  }
  return side;
}

/// Runs the kernel, and prints the result on rank 0. Returns the exit code.
int measure(const Options& options, const Side& side);

}  // namespace bench::global
