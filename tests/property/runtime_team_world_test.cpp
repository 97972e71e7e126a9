// Random programs with nested teams, one thread and a seed each. wait() of a team must return
// exactly when all that was made in it, and in teams nested in it, has ended, whatever others do; a
// failure must reach only the members of its team.

#include <shoal/key.hpp>
#include <shoal/shoal.hpp>

#include "support/heap_meter.hpp"
#include "support/sizes.hpp"
#include "support/turn_world.hpp"
#include "team/team_state.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace runtime_team_world_test {

using shoal::Rank;
using shoal::RankSet;
using shoal::Team;
using shoal::World;
using shoal::testing::HeapMeter;
using shoal::testing::run_turns;
using shoal::testing::sized;
using shoal::testing::TurnOptions;
using shoal::testing::TurnResult;

/// State shared by all ranks; there is one thread. Things are counted by the place where they were
/// made: the path of the team, with the round of each team on it.
struct Truth {
  std::uint64_t seed = 0;
  bool may_fail = false;
  std::mt19937_64 random;
  std::map<std::string, int> alive;
  std::vector<std::shared_ptr<void>> members;  // of sections
  std::vector<std::string> mistakes;
  int teams = 0;
  int failures = 0;

  int below(int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }
  /// The same on all ranks.
  [[nodiscard]] std::uint64_t decide(const std::string& place, const char* what) const {
    const std::uint64_t mixed =
        std::hash<std::string>{}(place + what) ^ (seed * 0x9E3779B97F4A7C15);
    return shoal::detail::mix64(mixed);
  }
  [[nodiscard]] int alive_in(const std::string& place) const {
    int sum = 0;
    for (auto it = alive.lower_bound(place); it != alive.end(); ++it) {
      if (it->first.compare(0, place.size(), place) != 0) break;
      sum += it->second;
    }
    return sum;
  }
};

/// State of the running program, for functions without captures.
Truth*& running() {
  static Truth* truth = nullptr;
  return truth;
}

/// Lives as long as something that was made.
class Thing {
 public:
  Thing(Truth& truth, std::string place) : truth_(&truth), place_(std::move(place)) {
    ++truth_->alive[place_];
  }
  ~Thing() {
    if (truth_ != nullptr) --truth_->alive[place_];
  }
  Thing(Thing&& other) noexcept
      : truth_(std::exchange(other.truth_, nullptr)), place_(other.place_) {}
  Thing& operator=(Thing&&) = delete;

 private:
  Truth* truth_;
  std::string place_;
};

/// One member of a team, and those of the teams around it on the same rank.
class Member {
 public:
  Member(Truth& truth, Team& team, std::string path, Member* outer)
      : truth_(truth),
        team_(team),
        path_(std::move(path)),
        outer_(outer),
        hop_(std::in_place,
             team.make_am([this](const std::string& place, int fuel, const std::string& sender) {
               go_on(place, fuel);
               --truth_.alive[place];
               if (!sender.empty()) --truth_.alive[sender];
             })) {}
  void leave() { hop_.reset(); }

  void play(int depth) {
    const int rounds = 1 + static_cast<int>(truth_.decide(path_, "rounds") % 3);
    for (int round = 0; round < rounds; ++round) {
      place_ = path_ + "#" + std::to_string(round) + "/";
      for (int i = truth_.below(3); i > 0; --i) make(place_, 1 + truth_.below(6));
      if (truth_.may_fail && team_.rank() == 0 && truth_.decide(place_, "fail") % 12 == 0) {
        team_.spawn([this] {
          ++truth_.failures;
          throw std::runtime_error("planted");
        });
      }
      if (depth > 0 && truth_.decide(place_, "nest") % 3 != 0) nest(depth);
      if (depth > 0 && truth_.below(4) == 0) launch(depth);
      shoal::Future<int> pending;
      const bool sums = truth_.decide(place_, "pending") % 3 == 0;
      if (sums) pending = team_.allreduce_async(1, std::plus<>());
      team_.wait();
      if (const int left = truth_.alive_in(place_); left != 0 && !truth_.may_fail) {
        truth_.mistakes.push_back(place_ + " has " + std::to_string(left) + " things after wait()");
      }
      if (sums && pending.get() != team_.size()) truth_.mistakes.push_back(place_ + ": pending");
      if (truth_.decide(place_, "sum") % 2 == 0 &&
          team_.allreduce(1, std::plus<>()) != team_.size()) {
        truth_.mistakes.push_back(place_ + ": a wrong sum");
      }
    }
  }

 private:
  /// Things of this team or of one around it.
  void make(const std::string& place, int fuel, const std::string& sender = "") {
    switch (truth_.below(4)) {
      case 0:
        return team_.spawn([this, place, fuel, thing = Thing(truth_, place)] {
          if (fuel % 2 == 0) shoal::sleep_for(std::chrono::microseconds(fuel * 7));
          go_on(place, fuel);
        });
      case 1:
        if (outer_ == nullptr) return;
        // A message of a task or handler counts in its team as well, until it is handled.
        return outer_->make(outer_->place_, fuel - 1, is_mine() ? place : sender);
      default:
        if (!hop_.has_value()) return;
        ++truth_.alive[place];
        if (!sender.empty()) ++truth_.alive[sender];
        return hop_->send(Rank(truth_.below(team_.size())), place, fuel, sender);
    }
  }
  [[nodiscard]] bool is_mine() const {
    return shoal::sched::current_scope() == static_cast<shoal::sched::TaskScope*>(&team_.core());
  }
  void go_on(const std::string& place, int fuel) {
    if (fuel <= 0) return;
    make(place, fuel - 1);
    if (truth_.below(5) == 0) make(place, fuel / 2);
  }

  void nest(int depth) {
    const int colours = 1 + static_cast<int>(truth_.decide(place_, "colours") % 3);
    const auto colour = static_cast<int>(
        truth_.decide(place_ + std::to_string(team_.world_rank(team_.rank())), "colour") %
        static_cast<unsigned>(colours));
    try {
      Team inner = team_.split(colour, truth_.below(3));
      if (inner.rank() == 0) ++truth_.teams;
      const auto member =
          std::make_shared<Member>(truth_, inner, place_ + std::to_string(colour), this);
      // Tasks of the team that sleep may outlive what a failure ends here.
      truth_.members.push_back(member);
      const Leaving leaving{*member};
      member->play(depth - 1);
    } catch (const shoal::TaskError&) {
      if (!truth_.may_fail) throw;
    }
  }

  struct Leaving {
    ~Leaving() { member.leave(); }
    Member& member;
  };
  // A team that this rank makes alone.
  void launch(int depth) {
    const int first = truth_.below(team_.size());
    const int count = 1 + truth_.below(team_.size() - first);
    const std::string path = place_ + "L" + std::to_string(++truth_.teams) + ":";
    const auto section = [](Team& team, const std::string& path, int depth) {
      Truth& truth = *running();
      const auto member = std::make_shared<Member>(truth, team, path, nullptr);
      // A section is a task: others of its team may outlive one that a failure ends.
      truth.members.push_back(member);
      const Leaving leaving{*member};
      member->play(depth);
    };
    auto ended =
        team_.launch_team(shoal::RankSet::range(Rank(first), count), section, path, depth - 1);
    if (truth_.below(2) == 0) return;
    try {
      ended.get();
      if (!truth_.may_fail && truth_.alive_in(path) != 0) {
        truth_.mistakes.push_back(path + " has not ended");
      }
    } catch (const shoal::RemoteError&) {
      if (!truth_.may_fail) throw;
    }
  }

  Truth& truth_;
  Team& team_;
  const std::string path_;
  std::string place_;
  Member* const outer_;
  std::optional<const shoal::ActiveMessage<std::string, int, std::string>> hop_;
};

/// How many teams there were.
int run_program(std::uint64_t seed, bool may_fail) {
  Truth truth;
  truth.seed = seed;
  truth.may_fail = may_fail;
  truth.random.seed(seed);
  running() = &truth;
  TurnOptions options;
  options.seed = seed;
  options.ranks = 1 + static_cast<int>(seed % 7);
  options.workers = 1 + static_cast<int>(seed / 7 % 2);
  if (seed % 3 == 0) options.link = {512, 2048};
  const TurnResult result = run_turns(options, [&truth](World& world) {
    Member member(truth, world, "", nullptr);
    member.play(3);
    return 0;
  });
  EXPECT_THAT(truth.mistakes, testing::IsEmpty()) << "seed " << seed;
  for (const std::exception_ptr& error : result.errors) {
    const bool is_planted = error != nullptr && may_fail &&
                            shoal::describe(error).find("planted") != std::string::npos &&
                            truth.failures > 0;
    if (error != nullptr && !is_planted) {
      ADD_FAILURE() << "seed " << seed << ": " << shoal::describe(error);
    }
  }
  return truth.teams;
}

TEST(RandomTeams, WaitReturnsWhenTheTeamHasEnded) {
  const auto count = static_cast<std::uint64_t>(sized(6000, 20));
  const std::uint64_t base = std::random_device{}();
  RecordProperty("seed", std::to_string(base));
  int teams = 0;
  for (std::uint64_t i = 0; i < count && !HasFailure(); ++i) teams += run_program(base + i, false);
  EXPECT_GT(teams, static_cast<int>(count));
}

TEST(RandomTeams, AFailureReachesItsTeamOnly) {
  const auto count = static_cast<std::uint64_t>(sized(4000, 20));
  const std::uint64_t base = std::random_device{}();
  RecordProperty("seed", std::to_string(base));
  for (std::uint64_t i = 0; i < count && !HasFailure(); ++i) run_program(base + i, true);
}

void do_nothing(Team& /*team*/) {}

// Teams of all kinds: of one rank and several, made collectively, by tasks and by one rank.
void make_teams(World& world, int count) {
  const int last = world.size() - 1;
  for (int i = 0; i < count / 5; ++i) {
    {
      const Team all(world, {Rank(last), Rank(0)});
      const Team one(world, {Rank(i % world.size())});
      EXPECT_EQ(one.rank(), one.is_member() ? 0 : -1);
    }
    world.spawn([&world] {
      Team own(world, {world.rank()});
      own.spawn([] {});
      own.wait();
    });
    world.wait();
    if (world.rank() == i % world.size()) {
      auto pair = world.launch_team(RankSet::range(Rank(0), world.size()), shoal::am<do_nothing>);
      world.launch_team({Rank(last)}, shoal::am<do_nothing>).get();
      pair.get();
    }
    world.wait();
  }
}

TEST(Teams, OfAHundredThousand_NothingIsLeft) {
  constexpr int kTeams = sized(100'000, 2'000);
  std::size_t growth = 0;
  const TurnResult result = run_turns({.seed = 1, .ranks = 2, .workers = 1}, [&](World& world) {
    make_teams(world, 1000);
    const auto barrier = [&] { world.barrier(); };
    barrier();
    if (world.rank() == 0) HeapMeter::reset();
    barrier();
    make_teams(world, kTeams);
    EXPECT_EQ(world.core().state().teams.size(), 0U);
    barrier();
    if (world.rank() == 0) growth = HeapMeter::growth_bytes();
    return 0;
  });
  for (const std::exception_ptr& error : result.errors) EXPECT_EQ(error, nullptr);
  // Teams that exist at the same time, and no more.
  EXPECT_LT(growth, std::size_t{64} << 10U);  // nothing is counted under a sanitizer
}

// A rank keeps something of those others that it has heard from, not of all.
TEST(Memory, OfARankWithTwoNeighbours_IsTheSameInLargerWorlds) {
  const auto bytes_per_rank = [](int ranks) {
    HeapMeter::reset();
    const TurnResult result = run_turns({.seed = 12, .ranks = ranks}, [ranks](World& world) {
      int handled = 0;
      const auto message = world.make_am([&handled] { ++handled; });
      for (const int distance : {1, 7}) {
        message.send(Rank((world.rank().value() + distance) % ranks));
      }
      world.wait();
      EXPECT_EQ(handled, 2);
      return 0;
    });
    for (const std::exception_ptr& error : result.errors) EXPECT_EQ(error, nullptr);
    return HeapMeter::growth_bytes() / static_cast<std::size_t>(ranks);
  };
  // The first world fills the pools, which keep what they have for the next ones. Of the others, a
  // fiftieth: half a byte for each rank of the world.
  constexpr int kRanks = sized(4096, 1024);
  static_cast<void>(bytes_per_rank(kRanks));
  const std::size_t in_a_small_world = bytes_per_rank(256);
  EXPECT_LE(bytes_per_rank(kRanks), in_a_small_world + in_a_small_world / 50);
}

}  // namespace runtime_team_world_test
