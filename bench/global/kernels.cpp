#include "global/kernels.hpp"

#include <bit>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/command_line.hpp"
#include "common/stopwatch.hpp"

namespace bench::global {

namespace {

std::byte byte_of(std::int64_t put) { return static_cast<std::byte>(put); }

constexpr Word kFactor = 0x9E3779B97F4A7C15U;

Word random_number(Word index) {
  Word mixed = index * kFactor;
  mixed = (mixed ^ (mixed >> 31U)) * 0xBF58476D1CE4E5B9U;
  return mixed ^ (mixed >> 29U);
}

/// Result of `count` operations by rank 0 alone.
struct Timed {
  double seconds = 0;
  Word last = 0;
};
Timed time_on_first(const Options& options, const Side& side,
                    const std::function<Word(std::int64_t)>& run, std::int64_t count) {
  Timed timed;
  side.barrier();
  if (side.rank == side.size - 1 && options.busy_ms > 0) {
    const Stopwatch watch;
    while (watch.seconds() * 1e3 < options.busy_ms) continue;
  }
  if (side.rank == 0) {
    run(1);  // finds the way
    const Stopwatch watch;
    timed.last = run(count);
    timed.seconds = watch.seconds();
  }
  side.barrier();
  return timed;
}

/// Value that the last operation must have given: put and add write 1, 2, ... and so does exchange.
bool is_good(const Options& options, Word last, std::int64_t count) {
  return options.op == "get" ? last == 0 : last >= static_cast<Word>(count);
}

/// Words of a table that all ranks share.
class Table {
 public:
  Table(const Options& options, const Side& side)
      : ranks_(static_cast<Word>(side.size)),
        words_((Word{1} << static_cast<unsigned>(options.log_size)) / ranks_) {
    if (!std::has_single_bit(ranks_)) {
      throw std::invalid_argument("the number of ranks is not a power of two");
    }
    side.prepare(words_);
  }
  [[nodiscard]] std::size_t words_of_rank() const { return words_; }
  [[nodiscard]] Place place_of(Word number) const {
    return {static_cast<int>(number & (ranks_ - 1)), (number >> 8U) & (words_ - 1)};
  }

 private:
  const Word ranks_;
  const Word words_;
};

/// All ranks update the whole table, twice: it is zeros again. The first time is measured.
Timed gups(const Options& options, const Side& side, bool& good) {
  const Table table(options, side);
  std::vector<Place> places(static_cast<std::size_t>(options.in_flight));
  std::vector<Word> numbers(places.size());
  Timed timed;
  for (int pass = 0; pass < 2; ++pass) {
    side.barrier();
    const Stopwatch watch;
    Word next = static_cast<Word>(side.rank) << 40U;
    for (std::int64_t done = 0; done < options.count; done += options.in_flight) {
      for (std::size_t i = 0; i < places.size(); ++i) {
        numbers[i] = random_number(++next);
        places[i] = table.place_of(numbers[i]);
      }
      side.update(places, numbers);
    }
    side.finish_updates();
    side.barrier();
    if (pass == 0) {
      timed.seconds = watch.seconds();
      for (std::size_t i = 0; i < table.words_of_rank(); ++i) timed.last |= side.local_word(i);
    }
  }
  good = timed.last != 0;
  for (std::size_t i = 0; i < table.words_of_rank(); ++i) good = good && side.local_word(i) == 0;
  return timed;
}

/// Each rank reads words of the whole table at random, some at once (index gather).
Timed gather(const Options& options, const Side& side, bool& good) {
  const Table table(options, side);
  const auto value_of = [](Place place) {
    return random_number((static_cast<Word>(place.rank) << 40U) + place.index);
  };
  for (std::size_t i = 0; i < table.words_of_rank(); ++i) {
    const Place place{side.rank, i};
    const Word value = value_of(place);
    side.update({&place, 1}, {&value, 1});
  }
  side.finish_updates();
  std::vector<Place> places(static_cast<std::size_t>(options.in_flight));
  std::vector<Word> values(places.size());
  side.barrier();
  const Stopwatch watch;
  Word next = static_cast<Word>(side.rank) << 40U;
  for (std::int64_t done = 0; done < options.count; done += options.in_flight) {
    for (Place& place : places) place = table.place_of(random_number(++next));
    side.gather(places, values);
    for (std::size_t i = 0; i < places.size(); ++i) {
      good = good && values[i] == value_of(places[i]);
    }
  }
  side.barrier();
  return {watch.seconds(), 0};
}

/// The micro-benchmarks of the ppl paper, section 5.1: threads of rank 0 put to their partners on
/// rank 1 (pairs), or to one rank each (fan_out).
Timed puts_by_threads(const Options& options, const Side& side, bool& good) {
  if (!side.put_by_threads) throw std::invalid_argument("this side has no threads");
  const auto target = [&](int thread) {
    return options.kernel == "pairs" ? 1 : 1 + thread % (side.size - 1);
  };
  side.prepare_threads(options.threads, static_cast<std::size_t>(options.size_bytes));
  const auto run = [&](std::int64_t count) {
    side.put_by_threads(count, target);
    return Word{0};
  };
  const Timed timed = time_on_first(options, side, run, options.count);
  for (int thread = 0; thread < options.threads; ++thread) {
    const std::byte last = target(thread) == side.rank ? byte_of(options.count) : std::byte{0};
    good = good && side.ends_of_thread(thread) == std::pair(last, last);
  }
  return timed;
}

std::optional<Cached> cached_way(const std::string& kernel) {
  if (kernel == "hit") return Cached::hit;
  if (kernel == "miss") return Cached::miss;
  if (kernel == "table") return Cached::table;
  return std::nullopt;
}

}  // namespace

void add_options(cli::App& app, Options& options) {
  add_run_options(app, options.run);
  app.add_option("kernel", options.kernel, "Kernel to measure")
      ->required()
      ->check(cli::one_of({"latency", "rate", "bandwidth", "hit", "miss", "table", "gups", "gather",
                           "pairs", "fan_out"}));
  app.add_option("--op", options.op, "Operation on words")
      ->check(cli::one_of({"get", "put", "add", "exchange"}));
  app.add_option("--count", options.count, "Operations, of gups and gather: of each rank")
      ->check(cli::range(std::int64_t{1}, std::int64_t{1} << 40));
  app.add_option("--in-flight", options.in_flight, "Operations in flight, of rate, gups and gather")
      ->check(cli::range(1, 1 << 20));
  app.add_option("--size", options.size_bytes, "Bytes of a transfer, of bandwidth and threads")
      ->check(cli::range(1, 1 << 30));
  app.add_option("--threads", options.threads, "Threads or tasks, of pairs and fan_out")
      ->check(cli::range(1, 1000));
  app.add_option("--log-size", options.log_size,
                 "Binary logarithm of the words of the table of gups and gather")
      ->check(cli::range(4, 32));
  app.add_option("--busy-ms", options.busy_ms,
                 "Time for which the last rank calls nothing meanwhile")
      ->check(cli::range(0, 100'000));
}

int measure(const Options& options, const Side& side) {
  const bool by_threads = options.kernel == "pairs" || options.kernel == "fan_out";
  const bool by_all = options.kernel == "gups" || options.kernel == "gather";
  if (side.size < 2 && (by_threads || by_all)) {
    throw std::invalid_argument("start 2 ranks");
  }
  std::vector<Sample> samples;
  std::int64_t operations = options.count;
  for (int i = 0; i < options.run.repeat; ++i) {
    Timed timed;
    bool good = true;
    if (by_all) {
      timed = (options.kernel == "gups" ? gups : gather)(options, side, good);
      const std::int64_t rounds = (options.count + options.in_flight - 1) / options.in_flight;
      operations = rounds * options.in_flight * side.size;
    } else if (by_threads) {
      timed = puts_by_threads(options, side, good);
    } else if (options.kernel == "latency") {
      side.prepare(1);
      timed = time_on_first(options, side, side.one_by_one, options.count);
      good = side.rank != 0 || is_good(options, timed.last, options.count);
    } else if (const std::optional<Cached> way = cached_way(options.kernel)) {
      if (!side.cached) throw std::invalid_argument("this side has no cache");
      side.prepare(1);
      const auto read = [&](std::int64_t count) { return side.cached(count, *way); };
      timed = time_on_first(options, side, read, options.count);
      good = timed.last == 0;
    } else if (options.kernel == "rate") {
      side.prepare(static_cast<std::size_t>(options.in_flight));
      const std::int64_t rounds = (options.count + options.in_flight - 1) / options.in_flight;
      operations = rounds * options.in_flight;
      timed = time_on_first(options, side, side.together, rounds);
      good = side.rank != 0 || is_good(options, timed.last, rounds);
    } else {
      side.prepare(static_cast<std::size_t>(options.size_bytes) / sizeof(Word));
      timed = time_on_first(options, side, side.transfers, options.count);
      good = side.rank != 0 || options.op == "put" || timed.last == 0;
    }
    samples.push_back({timed.seconds, side.all_hold(good)});
  }
  if (side.rank != 0) return 0;
  const Sample sample = median(samples);
  const double count = static_cast<double>(operations);
  const double us = sample.seconds / count * 1e6;
  Values values{{"us", us}, {"each_ns", us * 1e3}, {"million_per_s", 1 / us}};
  if (by_threads) values.emplace_back("put_us", us);
  if (options.kernel == "latency") values.emplace_back("round_trip_us", us);
  if (options.kernel == "bandwidth") {
    values.emplace_back("gb_per_s", static_cast<double>(options.size_bytes) / us * 1e-3);
  }
  return finish({options.kernel,
                 side.name,
                 values,
                 {{"op", options.op}, {"count", operations}, {"ranks", side.size}}},
                sample.verified);
}

}  // namespace bench::global
