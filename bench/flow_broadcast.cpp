// Broadcast micro-benchmarks of the runtime-communication-interactions thesis, section 4.4.1: how
// long it takes until all ranks have a value of rank 0, and until they may write to it. For real
// between the processes of one host or of several (flow_broadcast_openmpi), and in simulated worlds
// of any size (`--sim --ranks 1024`).
//
//   flow_broadcast [--bytes N] [--repeat N] [--only NAME] [--by-rank] [--burst N] [--json FILE]
//                  [options of shoal]
//
// --only one kind of those below, by its name; --by-rank: the times of each rank, too; --burst N:
// each measurement is of N broadcasts at once, until the last has arrived.
//
// Prints microseconds for: sends one by one; multicasts along each tree; a flow whose tasks read
// the value, with priorities: the most urgent task reads it on the last rank. "reads": from when on
// a rank may read the value; "may write": when it has passed the value on, too (in the flow: a task
// that writes it begins). Exit code 1: a value was wrong.

#include <shoal/shoal.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "common/rank_clock.hpp"

namespace {

using shoal::Rank;
using shoal::TreeShape;
using Bytes = std::vector<std::byte>;

constexpr const char* kKinds[] = {"sends",    "flat",     "chain", "binary",
                                  "binomial", "delegate", "flow"};

struct Options {
  std::size_t bytes = 8;
  int repeat = 5;
  int burst = 1;
  bool by_rank = false;
  std::string only;  // empty: all
  std::string json;  // a file; empty: none; -: standard output, and the table to standard error
};

int positive(const std::string& name, const std::string& text) {
  const int value = std::atoi(text.c_str());
  if (value < 1) throw std::invalid_argument(name + " " + text + ": it must be 1 or more");
  return value;
}

Options parse(const shoal::World& world) {
  Options options;
  const auto args = world.args();
  for (std::size_t i = 1; i < args.size(); ++i) {
    const std::string& name = args[i];
    if (name == "--by-rank") {
      options.by_rank = true;
      continue;
    }
    if (i + 1 == args.size()) throw std::invalid_argument(name + ": no such option, or no value");
    const std::string& value = args[++i];
    if (name == "--bytes") {
      options.bytes = static_cast<std::size_t>(positive(name, value));
    } else if (name == "--burst") {
      options.burst = positive(name, value);
    } else if (name == "--repeat") {
      options.repeat = positive(name, value);
    } else if (name == "--json") {
      options.json = value;
    } else if (name == "--only" && std::ranges::count(kKinds, value) == 1) {
      options.only = value;
    } else {
      throw std::invalid_argument(name + " " + value + ": no such option, or no such value of it");
    }
  }
  return options;
}

/// Times of one broadcast in nanoseconds, from its beginning; on rank 0.
struct Times {
  std::int64_t all = 0;                           // until the last rank has the value
  std::int64_t mean = 0;                          // of the ranks
  std::int64_t first = 0;                         // of the most urgent rank, the last one
  std::int64_t writes = 0;                        // until the most urgent rank may write to it
  std::vector<std::int64_t> reads_of, writes_of;  // of each rank, with --by-rank
};

class Bench {
 public:
  Bench(shoal::World& world, const Options& options)
      : world_(world),
        options_(options),
        clock_(world),
        last_(world.size() - 1),
        value_(options.bytes),
        room_(options.bytes),
        small_(world.make_am([this](const Bytes& bytes) {
          arrived(bytes);
          writes_ns_ = reads_ns_;  // it was passed on before
        })),
        large_(world.make_large_am<std::byte>(
            [this](std::size_t) { return std::span(room_); },
            shoal::read_only([this](std::span<const std::byte> bytes) { arrived(bytes); },
                             [this](std::span<std::byte>) { passed_on(); }),
            [] {})) {
    for (int rank = world.size() - 1; rank > 0; --rank) others_.emplace_back(rank);
  }

  Times sends() {
    renew();
    return measure([this] {
      for (int i = 0; i < options_.burst; ++i) {
        for (const Rank rank : others_) {
          if (is_large()) large_.send(rank, std::span<const std::byte>(value_));
          if (!is_large()) small_.send(rank, value_);
        }
      }
    });
  }
  Times multicast(const shoal::MulticastTree& tree) {
    renew();
    return measure([this, &tree] {
      const shoal::Recipients to(others_, tree);
      for (int i = 0; i < options_.burst; ++i) {
        if (is_large()) large_.multicast(to, std::span<const std::byte>(value_));
        if (!is_large()) small_.multicast(to, value_);
      }
    });
  }
  Times flow() {
    renew();
    shoal::Flow flow(world_);
    std::vector<shoal::Data<std::span<std::byte>>> values;
    for (int i = 0; i < options_.burst; ++i) {
      values.push_back(flow.vector<std::byte>(nullptr, options_.bytes));
    }
    std::vector<shoal::Data<int>> done;
    for (int rank = 0; rank < world_.size(); ++rank) {
      done.push_back(flow.data(0, {.owner = Rank(rank)}));
    }
    std::vector<decltype(flow.acquire(read_write(values.front())))> held;
    for (const auto& value : values) {
      held.push_back(flow.acquire(read_write(value)));
      if (held.back().here()) std::ranges::copy(value_, held.back().get().begin());
      for (int rank = 1; rank < world_.size(); ++rank) {
        flow.insert([this](std::span<const std::byte> bytes, int&) { arrived(bytes); }, read(value),
                    write(done[static_cast<std::size_t>(rank)]), shoal::with_priority(rank));
      }
      if (last_ > 0) {
        flow.insert([this](std::span<std::byte>) { passed_on(); }, read_write(value),
                    on_rank(Rank(last_)));
      }
    }
    world_.barrier();  // all have inserted: what is measured is the transfer
    return measure([&held] {
      for (auto& value : held) value.release();
    });
  }

  /// Whether all values so far have arrived, and were right. Collective.
  [[nodiscard]] bool verified() { return world_.allreduce(wrong_, std::plus<>()) == 0; }
  /// Bound of the error of the ranks' clocks. Collective.
  [[nodiscard]] std::uint64_t clock_error_ns() {
    return world_.allreduce(clock_.error_ns(), [](auto a, auto b) { return std::max(a, b); });
  }

 private:
  [[nodiscard]] bool is_large() const { return value_.size() >= shoal::kLargeMessageBytes; }

  /// Begins a measurement with another value than that of the last one. Collective, while no task
  /// waits.
  void renew() {
    clock_.compare();
    mark_ = static_cast<std::byte>(std::to_integer<int>(mark_) % 100 + 1);
    std::ranges::fill(value_, mark_);
    reads_ns_ = writes_ns_ = 0;
    received_ = 0;
  }
  void arrived(std::span<const std::byte> bytes) {
    constexpr std::size_t kStep = 4096;
    reads_ns_ = clock_.now_ns();
    ++received_;
    if (bytes.size() != options_.bytes || bytes.back() != mark_) ++wrong_;
    for (std::size_t i = 0; i < bytes.size(); i += kStep) wrong_ += bytes[i] == mark_ ? 0 : 1;
  }
  void passed_on() { writes_ns_ = clock_.now_ns(); }

  Times measure(const std::function<void()>& begin) {
    world_.barrier();
    const std::int64_t start_ns = clock_.now_ns();
    if (world_.rank() == 0) begin();
    world_.wait();
    const bool is_recipient = world_.rank() != 0;
    if (is_recipient && received_ != options_.burst) ++wrong_;
    if (is_recipient && world_.rank() == last_ && writes_ns_ == 0) ++wrong_;
    const std::int64_t from_ns = world_.broadcast(start_ns, Rank(0));
    // The clocks of several hosts differ a little: a value may seem to arrive before it was sent.
    const auto since = [&](std::int64_t ns) {
      return is_recipient ? std::max<std::int64_t>(ns - from_ns, 0) : 0;
    };
    const std::int64_t reads = since(reads_ns_);
    const std::int64_t writes = since(writes_ns_);
    const auto larger = [](std::int64_t a, std::int64_t b) { return std::max(a, b); };
    const std::int64_t sum = world_.allreduce(reads, std::plus<>());
    Times times{world_.allreduce(reads, larger),
                sum / std::max(last_, 1),
                world_.broadcast(reads, Rank(last_)),
                world_.broadcast(writes, Rank(last_)),
                {},
                {}};
    if (options_.by_rank) {
      times.reads_of = of_all(reads);
      times.writes_of = of_all(writes);
    }
    return times;
  }
  std::vector<std::int64_t> of_all(std::int64_t mine) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(world_.size()));
    all[static_cast<std::size_t>(world_.rank().value())] = mine;
    world_.allreduce(std::span(all), std::plus<>());
    return all;
  }

  shoal::World& world_;
  const Options& options_;
  bench::RankClock clock_;
  const int last_;
  std::byte mark_{0};
  Bytes value_;
  Bytes room_;
  std::vector<Rank> others_;  // the most urgent first
  std::int64_t reads_ns_ = 0;
  std::int64_t writes_ns_ = 0;
  int received_ = 0;
  int wrong_ = 0;
  shoal::ActiveMessage<Bytes> small_;
  shoal::LargeMessage<std::byte> large_;
};

using Results = std::vector<std::pair<std::string, Times>>;

double us(std::int64_t ns) { return static_cast<double>(ns) / 1000; }

void print(std::FILE* table, const std::string& name, const Times& times) {
  std::fprintf(table, "%-10s %12.2f %12.2f %12.2f %12.2f\n", name.c_str(), us(times.all),
               us(times.mean), us(times.first), us(times.writes));
  for (std::size_t rank = 1; rank < times.reads_of.size(); ++rank) {
    std::fprintf(table, "  rank %5zu %38.2f", rank, us(times.reads_of[rank]));
    if (times.writes_of[rank] > 0) std::fprintf(table, " %12.2f", us(times.writes_of[rank]));
    std::fprintf(table, "\n");
  }
}

/// Returns whether it could be written.
bool write_json(const Options& options, int recipients, const Results& results) {
  const bool to_stdout = options.json == "-";
  std::FILE* const file = to_stdout ? stdout : std::fopen(options.json.c_str(), "w");
  if (file == nullptr) return false;
  std::fprintf(file, "{\"bytes\": %zu, \"recipients\": %d", options.bytes, recipients);
  for (const auto& [name, times] : results) {
    std::fprintf(file,
                 ",\n \"%s\": {\"all_us\": %.3f, \"mean_us\": %.3f, \"urgent_us\": %.3f, "
                 "\"urgent_writes_us\": %.3f}",
                 name.c_str(), us(times.all), us(times.mean), us(times.first), us(times.writes));
  }
  std::fprintf(file, "}\n");
  return (to_stdout ? std::fflush(file) : std::fclose(file)) == 0;
}

Times run_kind(Bench& bench, const std::string& kind) {
  if (kind == "sends") return bench.sends();
  if (kind == "flow") return bench.flow();
  if (kind == "flat") return bench.multicast({TreeShape::flat});
  if (kind == "chain") return bench.multicast({TreeShape::chain});
  if (kind == "binary") return bench.multicast({TreeShape::k_ary, 2});
  if (kind == "binomial") return bench.multicast({TreeShape::binomial});
  return bench.multicast({TreeShape::delegate});
}

int run(shoal::World& world) {
  const Options options = parse(world);
  const bool is_root = world.rank() == 0;
  std::FILE* const table = options.json == "-" ? stderr : stdout;
  if (is_root) {
    std::fprintf(table, "%d recipients, %zu bytes, microseconds\n%-10s %12s %12s %12s %12s\n",
                 world.size() - 1, options.bytes, "", "all read", "mean", "most urgent",
                 "may write");
  }
  Bench bench(world, options);
  Results results;
  for (const std::string kind : kKinds) {
    if (!options.only.empty() && options.only != kind) continue;
    std::vector<Times> times;
    for (int i = 0; i < options.repeat; ++i) times.push_back(run_kind(bench, kind));
    std::ranges::sort(times, {}, &Times::all);
    results.emplace_back(kind, times[times.size() / 2]);
    if (is_root) print(table, kind, results.back().second);
  }
  const bool good = bench.verified();
  const std::uint64_t error_ns = bench.clock_error_ns();
  if (!is_root) return good ? 0 : 1;
  if (error_ns > 0) {
    std::fprintf(table, "clocks of several hosts: within %.2f\n",
                 us(static_cast<std::int64_t>(error_ns)));
  }
  std::fprintf(table, "%s\n",
               good ? "all values are right" : "WRONG: a value has not arrived, or another");
  if (!options.json.empty() && !write_json(options, world.size() - 1, results)) {
    std::fprintf(stderr, "cannot write to %s\n", options.json.c_str());
    return 1;
  }
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return shoal::run(argc, argv, run); }
