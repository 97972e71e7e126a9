#pragma once
// Random programs of invocations, and a checker of their causal order (STAPL-RTS thesis,
// definition 6): the programs record what happened before what.

#include <shoal/object.hpp>
#include <shoal/shoal.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace shoal::testing {

/// Places of the invocations that led to one, behind the main function that began. A rank of the
/// world is a place, and so is each member of another team.
using Chain = std::vector<int>;

/// One invocation. Times are numbers of events, of all ranks: simulated worlds have one thread.
struct Record {
  Chain chain;  // of the context that it was invoked from
  int target = 0;
  int parent = -1;  // invocation that invoked it; -1: a main function
  int invoked = 0;
  int begun = -1;
  int ended = -1;
};

/// Time in which an invocation, or a main function, has run on a rank without waiting.
struct Stretch {
  int rank = 0;
  int begun = 0;
  int ended = 0;
};

class CausalLog {
 public:
  int invoke(const Chain& chain, int target, int parent) {
    records_.push_back({chain, target, parent, ++now_, -1, -1});
    return static_cast<int>(records_.size()) - 1;
  }
  void begin(int id) { at(id).begun = ++now_; }
  void end(int id) { at(id).ended = ++now_; }
  /// The code that runs begins a stretch, and ends it.
  [[nodiscard]] int go_on() { return ++now_; }
  void stand_still(int rank, int begun) { stretches_.push_back({rank, begun, ++now_}); }
  [[nodiscard]] std::size_t size() const { return records_.size(); }
  [[nodiscard]] const Chain& chain(int id) { return at(id).chain; }

  /// Lines about what the order forbids.
  [[nodiscard]] std::vector<std::string> violations() const {
    std::vector<std::string> lines;
    // The last one so far from each context to each rank: rule 1 is transitive along these.
    std::map<std::pair<Chain, int>, const Record*> last;
    for (const Record& one : records_) {  // in the order of invocation
      if (one.begun < 0 || one.ended < 0) lines.push_back("an invocation did not run");
      const Record*& before = last[{one.chain, one.target}];
      if (before != nullptr && before->ended > one.begun) lines.push_back("rule 1");
      before = &one;
      if (one.parent < 0) continue;
      if (records_[static_cast<std::size_t>(one.parent)].begun > one.begun)
        lines.push_back("rule 2");
    }
    add_overlaps(lines);
    return lines;
  }

 private:
  Record& at(int id) { return records_[static_cast<std::size_t>(id)]; }
  // On one rank, code runs only while all other code stands still.
  void add_overlaps(std::vector<std::string>& lines) const {
    std::vector<Stretch> by_begin = stretches_;
    std::ranges::sort(by_begin, {}, &Stretch::begun);
    std::map<int, int> ended;
    for (const Stretch& one : by_begin) {
      int& before = ended[one.rank];
      if (before > one.begun) lines.push_back("not atomic");
      before = std::max(before, one.ended);
    }
  }

  std::vector<Record> records_;
  std::vector<Stretch> stretches_;
  int now_ = 0;
};

/// Invokes itself, and walkers of other teams, on random ranks. `Unordered`: the planted bug.
class Walker : public DistributedObject<Walker> {
 public:
  static constexpr int kInnerPlaces = 1000;  // places of the inner team

  Walker(Team& team, CausalLog& log, std::uint64_t seed, bool unordered)
      : DistributedObject(team),
        log_(log),
        random_(seed * 31 + static_cast<std::uint64_t>(team.rank().value())),
        unordered_(unordered),
        place_(team.rank().value()) {}
  /// One of another team, on the same rank of the world. `place`: that rank.
  void set_other(const Walker& other, int place) {
    other_ = &other;
    place_ = place;
  }
  /// Tells the places of its team from those of the world.
  void set_first_place(int first) { first_place_ = first; }

  /// Some invocations from a main function (`parent` -1) or an invocation, which has run since
  /// `begun`. Some are so large that their sender waits for room, and keeps its turn.
  void invoke_some(const Chain& chain, int parent, int depth, int begun) {
    const int count = depth < 4 ? static_cast<int>(random_() % (depth == 0 ? 6 : 3)) : 0;
    for (int i = 0; i < count && log_.size() < 400; ++i) {
      const Walker& walker = other_ != nullptr && random_() % 3 == 0 ? *other_ : *this;
      const int target =
          static_cast<int>(random_() % static_cast<std::uint64_t>(walker.team().size()));
      const int id = log_.invoke(chain, walker.first_place_ + target, parent);
      const std::string ballast(random_() % 4 == 0 ? 900 : 0, '.');
      if (random_() % 3 == 0) {
        Future<void> done = walker.call<&Walker::step>(Rank(target), id, chain, depth + 1, ballast);
        log_.stand_still(place_, begun);
        done.get();
        begun = log_.go_on();
      } else if (unordered_) {
        walker.unordered().async<&Walker::step>(Rank(target), id, chain, depth + 1, ballast);
      } else {
        walker.async<&Walker::step>(Rank(target), id, chain, depth + 1, ballast);
      }
      if (random_() % 4 == 0 && parent < 0) {
        log_.stand_still(place_, begun);
        shoal::yield();
        begun = log_.go_on();
      }
    }
    log_.stand_still(place_, begun);
  }

  void step(int id, Chain chain, int depth, const std::string& /*ballast*/) {
    log_.begin(id);
    chain.push_back(first_place_ + rank());
    const int begun = log_.go_on();
    invoke_some(chain, id, depth, begun);
    log_.end(id);
  }

 private:
  CausalLog& log_;
  std::minstd_rand random_;
  bool unordered_;
  int place_;
  int first_place_ = 0;
  const Walker* other_ = nullptr;
};

/// By a member that has yet to make the walker's team.
inline void invoke_before(const Handle<Walker>& walker, World& world, CausalLog& log,
                          std::uint64_t seed, bool unordered) {
  std::minstd_rand random(seed + 7);
  const Chain chain{world.rank().value()};
  const int begun = log.go_on();
  for (std::uint64_t i = random() % 4; i > 0; --i) {
    const int target = static_cast<int>(random() % static_cast<std::uint64_t>(world.size()));
    const int id = log.invoke(chain, Walker::kInnerPlaces + target, -1);
    const std::string ballast(random() % 4 == 0 ? 900 : 0, '.');
    if (unordered) {
      walker.unordered().async<&Walker::step>(Rank(target), id, chain, 1, ballast);
    } else {
      walker.async<&Walker::step>(Rank(target), id, chain, 1, ballast);
    }
  }
  log.stand_still(world.rank().value(), begun);
}

/// Main function of such a program, on each rank.
inline void walk(World& world, CausalLog& log, std::uint64_t seed, bool unordered = false) {
  Walker first(world, log, seed, unordered);
  Walker second(world, log, seed + 1, unordered);
  // One rank comes to the inner team late, and uses a handle that the next one gives it.
  const Rank late(static_cast<int>(seed % static_cast<std::uint64_t>(world.size())));
  Promise<Handle<Walker>> made(world);
  Future<Handle<Walker>> made_there = made.future();
  const auto to_late = world.broadcast(world.publish(std::move(made)), late);
  const bool has_late = world.size() > 1 && seed % 3 != 0;
  if (has_late && world.rank() == late)
    invoke_before(made_there.get(), world, log, seed, unordered);
  const int last = world.size() - 1;
  const auto turned = [last](int rank) { return last - rank; };
  Team team(world, world.size(), turned, turned, "turned round");
  Walker inner(team, log, seed + 2, unordered);
  inner.set_first_place(Walker::kInnerPlaces);
  if (has_late && world.rank().value() == (late.value() + 1) % world.size())
    world.fulfill(to_late, inner.handle());
  inner.set_other(first, world.rank());
  second.set_other(inner, world.rank());
  const Chain chain{world.rank().value()};
  first.invoke_some(chain, -1, 0, log.go_on());
  second.invoke_some(chain, -1, 0, log.go_on());
  inner.invoke_some(chain, -1, 0, log.go_on());
  first.fence();
}

}  // namespace shoal::testing
