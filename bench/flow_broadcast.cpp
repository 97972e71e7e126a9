// Broadcast micro-benchmarks of the runtime-communication-interactions thesis, section 4.4.1: how
// long it takes until all ranks have a value of rank 0. For real within a process or between those
// of one host (flow_broadcast_openmpi), and in simulated worlds of any size (`--sim --ranks 1024`),
// as these have one clock.
//
//   flow_broadcast [--bytes N] [--repeat N] [--only NAME] [--burst N] [options of shoal]
//
// --burst N: each measurement is of N broadcasts at once, until the last has arrived; --only one
// kind of those below, by its name. Both are for counting instructions.
//
// Prints microseconds for: sends one by one; multicasts along each tree; a flow whose tasks read
// the value, with priorities: the most urgent task reads it on the last rank.

#include <shoal/shoal.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace {

using shoal::Rank;
using shoal::TreeShape;

struct Options {
  std::size_t bytes = 8;
  int repeat = 5;
  int burst = 1;
  std::string only;  // empty: all
};

Options parse(const shoal::World& world) {
  Options options;
  const auto args = world.args();
  for (std::size_t i = 1; i + 1 < args.size(); ++i) {
    if (args[i] == "--bytes") options.bytes = std::strtoull(args[++i].c_str(), nullptr, 10);
    if (args[i] == "--burst") options.burst = std::atoi(args[++i].c_str());
    if (args[i] == "--only") options.only = args[++i];
    if (args[i] == "--repeat") options.repeat = std::atoi(args[++i].c_str());
  }
  return options;
}

/// Times of one broadcast in nanoseconds, from its beginning; on rank 0.
struct Times {
  std::uint64_t all = 0;    // until the last rank has the value
  std::uint64_t mean = 0;   // of the ranks
  std::uint64_t first = 0;  // of the most urgent rank
};

class Bench {
 public:
  Bench(shoal::World& world, const Options& options)
      : world_(world),
        burst_(options.burst),
        value_(options.bytes, std::byte{1}),
        room_(options.bytes),
        small_(world.make_am([this](const std::vector<std::byte>&) { arrived(); })),
        large_(world.make_large_am<std::byte>([this](std::size_t) { return std::span(room_); },
                                              [this](std::span<std::byte>) { arrived(); }, [] {})) {
    for (int rank = world.size() - 1; rank > 0; --rank) others_.emplace_back(rank);
  }

  Times sends() {
    return measure([this] {
      for (int i = 0; i < burst_; ++i) {
        for (const Rank rank : others_) {
          if (is_large()) large_.send(rank, std::span<const std::byte>(value_));
          if (!is_large()) small_.send(rank, value_);
        }
      }
    });
  }
  Times multicast(const shoal::MulticastTree& tree) {
    return measure([this, &tree] {
      const shoal::Recipients to(others_, tree);
      for (int i = 0; i < burst_; ++i) {
        if (is_large()) large_.multicast(to, std::span<const std::byte>(value_));
        if (!is_large()) small_.multicast(to, value_);
      }
    });
  }
  Times flow() {
    shoal::Flow flow(world_);
    std::vector<shoal::Data<std::vector<std::byte>>> values;
    for (int i = 0; i < burst_; ++i) values.push_back(flow.data(value_));
    std::vector<shoal::Data<int>> done;
    for (int rank = 0; rank < world_.size(); ++rank) {
      done.push_back(flow.data(0, {.owner = Rank(rank)}));
    }
    std::vector<decltype(flow.acquire(read_write(values.front())))> held;
    for (const auto& value : values) {
      held.push_back(flow.acquire(read_write(value)));
      for (int rank = 1; rank < world_.size(); ++rank) {
        flow.insert([this](const std::vector<std::byte>&, int&) { arrived(); }, read(value),
                    write(done[static_cast<std::size_t>(rank)]), shoal::with_priority(rank));
      }
    }
    world_.barrier();  // all have inserted: what is measured is the transfer
    return measure([&held] {
      for (auto& value : held) value.release();
    });
  }

 private:
  [[nodiscard]] bool is_large() const { return value_.size() >= shoal::kLargeMessageBytes; }
  void arrived() { arrived_ns_ = world_.now_ns(); }

  Times measure(const std::function<void()>& begin) {
    arrived_ns_ = 0;
    world_.barrier();
    const std::uint64_t start_ns = world_.now_ns();
    if (world_.rank() == 0) begin();
    world_.wait();
    const std::uint64_t from_ns = world_.broadcast(start_ns, Rank(0));
    const std::uint64_t mine = world_.rank() == 0 ? 0 : arrived_ns_ - from_ns;
    const auto larger = [](std::uint64_t a, std::uint64_t b) { return std::max(a, b); };
    const std::uint64_t sum = world_.allreduce(mine, std::plus<>());
    const auto others = static_cast<std::uint64_t>(std::max(world_.size() - 1, 1));
    return {world_.allreduce(mine, larger), sum / others,
            world_.broadcast(mine, Rank(world_.size() - 1))};
  }

  shoal::World& world_;
  const int burst_;
  std::vector<std::byte> value_;
  std::vector<std::byte> room_;
  std::vector<Rank> others_;  // the most urgent first
  std::uint64_t arrived_ns_ = 0;
  shoal::ActiveMessage<std::vector<std::byte>> small_;
  shoal::LargeMessage<std::byte> large_;
};

void report(const shoal::World& world, const char* name, const Options& options,
            const std::function<Times()>& run) {
  if (!options.only.empty() && options.only != name) return;
  std::vector<Times> times;
  for (int i = 0; i < options.repeat; ++i) times.push_back(run());
  std::ranges::sort(times, {}, &Times::all);
  const Times& median = times[times.size() / 2];
  if (world.rank() != 0) return;
  const auto us = [](std::uint64_t ns) { return static_cast<double>(ns) / 1000; };
  std::printf("%-10s %12.2f %12.2f %12.2f\n", name, us(median.all), us(median.mean),
              us(median.first));
}

int run(shoal::World& world) {
  const Options options = parse(world);
  if (world.rank() == 0) {
    std::printf("%d recipients, %zu bytes, microseconds\n%-10s %12s %12s %12s\n", world.size() - 1,
                options.bytes, "", "all", "mean", "most urgent");
  }
  Bench bench(world, options);
  report(world, "sends", options, [&] { return bench.sends(); });
  using Named = std::pair<const char*, shoal::MulticastTree>;
  for (const auto& [name, tree] :
       {Named{"flat", {TreeShape::flat}}, Named{"chain", {TreeShape::chain}},
        Named{"binary", {TreeShape::k_ary, 2}}, Named{"binomial", {TreeShape::binomial}},
        Named{"delegate", {TreeShape::delegate}}}) {
    report(world, name, options, [&, &shape = tree] { return bench.multicast(shape); });
  }
  report(world, "flow", options, [&] { return bench.flow(); });
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return shoal::run(argc, argv, run); }
