#pragma once
// Random programs of invocations that fill the windows of links. None of them hangs where windows
// have no limit: a section waits for sections of lower ranks only, and for nothing behind an
// invocation that may wait for a higher one. docs/design/windows.pml searches small ones.

#include <shoal/object.hpp>
#include <shoal/shoal.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace shoal::testing {

/// Invocations of all ranks: simulated worlds have one thread.
struct WindowTally {
  int invoked = 0;
  int ran = 0;
};

/// Runs invocations, some of which invoke on another rank and wait for the end.
class Station : public DistributedObject<Station> {
 public:
  Station(Team& team, WindowTally& tally) : DistributedObject(team), tally_(tally) {}

  /// Invokes on one of the first `ranks` ranks of the team, `depth` times one from the other.
  void pass(std::uint32_t dice, int depth, int ranks, const std::string& /*ballast*/) {
    if (depth > 0) {
      const Rank to(static_cast<int>(dice % static_cast<std::uint32_t>(ranks)));
      ++tally_.invoked;
      sync<&Station::pass>(to, dice / 7, depth - 1, ranks, std::string());
    }
    ++tally_.ran;
  }
  [[nodiscard]] WindowTally& tally() const { return tally_; }

 private:
  WindowTally& tally_;
};

/// Program of one rank: its section, and a task that invokes beside it.
class WindowProgram {
 public:
  WindowProgram(World& world, WindowTally& tally, std::uint64_t seed)
      : world_(world),
        tally_(tally),
        random_(static_cast<std::uint32_t>(seed * 37 + static_cast<std::uint64_t>(world.rank()))),
        signals_(static_cast<std::size_t>(world.size())) {}

  void run() {
    for (Promise<void>& one : signals_) futures_.push_back(one.future());
    const auto signal =
        world_.make_am([this](int from) { signals_[static_cast<std::size_t>(from)].set_value(); });
    const int last = world_.size() - 1;
    const auto turned = [last](int rank) { return last - rank; };
    Team team(world_, world_.size(), turned, turned, "turned round");
    Station station(world_, tally_);
    Station inner(team, tally_);
    std::optional<Station> late;
    for (int steps = 4 + roll(8); steps > 0; --steps) {
      const int what = roll(9);
      if (what == 0 && !late) late.emplace(world_, tally_);
      if (what == 1) roll(2) == 0 ? advance(station, epoch_) : advance(inner, inner_epoch_);
      if (what == 2) shoal::yield();
      if (what == 3) wait_for_signal();
      if (what == 4) ask(station, inner);
      if (what == 5) spawn(station);
      if (what > 5) flood(roll(3) == 0 ? inner : late && roll(2) == 0 ? *late : station);
    }
    for (int to = world_.rank() + 1; to < world_.size(); ++to)
      signal.send(Rank(to), world_.rank().value());
    if (!late) late.emplace(world_, tally_);
    while (epoch_ < kEpochs) advance(station, epoch_);
    while (inner_epoch_ < kEpochs) advance(inner, inner_epoch_);
    inner.fence();
    station.fence();
  }

 private:
  static constexpr int kEpochs = 12;  // in the end, on all ranks; more than a program has steps
  static constexpr int kFlood = 6;    // more than a window has room for

  int roll(int sides) { return static_cast<int>(random_() % static_cast<std::uint32_t>(sides)); }

  static void advance(Station& station, int& epoch) {
    station.advance_epoch();
    ++epoch;
  }

  void flood(const Station& station) {
    const Rank to(roll(world_.size()));
    const bool ordered = roll(3) > 0;
    for (int i = 0; i < kFlood; ++i) invoke(station, to, ordered, roll(4) == 0 ? 1 + roll(2) : 0);
  }

  void invoke(const Station& station, Rank to, bool ordered, int depth) {
    const auto dice = static_cast<std::uint32_t>(random_());
    const std::string ballast(static_cast<std::size_t>(roll(4)) * 200, '.');
    ++tally_.invoked;
    if (ordered) {
      station.async<&Station::pass>(to, dice, depth, world_.size(), ballast);
    } else {
      station.unordered().async<&Station::pass>(to, dice, depth, world_.size(), ballast);
    }
  }

  /// Its task has the epoch of the section, and keeps no turn.
  void spawn(const Station& station) {
    const Rank to(roll(world_.size()));
    world_.spawn([this, &station, to] {
      for (int i = 0; i < kFlood; ++i) invoke(station, to, true, 0);
    });
  }

  /// Waits for an invocation on a lower rank, which has its epoch in time.
  void ask(const Station& station, const Station& inner) {
    if (world_.rank() == 0) return;
    const int below = world_.rank().value();
    const int to = roll(below);
    const auto dice = static_cast<std::uint32_t>(random_());
    ++tally_.invoked;
    if (roll(3) == 0) {
      inner.unordered().call<&Station::pass>(Rank(world_.size() - 1 - to), dice, 0, 1, "").get();
    } else {
      station.unordered().call<&Station::pass>(Rank(to), dice, roll(2), below, "").get();
    }
  }

  void wait_for_signal() {
    if (world_.rank() == 0) return;
    Future<void>& one = futures_[static_cast<std::size_t>(roll(world_.rank().value()))];
    if (one.valid()) std::exchange(one, {}).get();
  }

  World& world_;
  WindowTally& tally_;
  std::minstd_rand random_;
  int epoch_ = 0;  // times that it was advanced
  int inner_epoch_ = 0;
  std::vector<Promise<void>> signals_;
  std::vector<Future<void>> futures_;
};

}  // namespace shoal::testing
