// Completion detection on simulated ranks: any order of happenings that keeps the order of each
// link. The simulation knows the truth, so it knows when the protocol may say "complete".

#include "support/sizes.hpp"
#include "team/detector.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace team_detector_test {

using shoal::Rank;
using shoal::team::Confirmation;
using shoal::team::Counts;
using shoal::team::Detector;
using shoal::team::DetectorHost;
using shoal::team::Report;
using shoal::team::Request;
using shoal::team::Snapshot;
using shoal::team::Tree;

/// Defect of a host, to show that the simulation notices it.
enum class Defect {
  none,
  no_second_look,     // confirms with what it reported, whatever has happened since
  counts_on_arrival,  // counts a message as queued when it arrives, not when it is sent
  forgets_tasks,      // calls itself idle while tasks run
  forgets_main,       // calls itself idle while the main function runs
};

class Simulation;

class SimulatedRank final : public DetectorHost {
 public:
  SimulatedRank(Simulation& all, Rank rank, int size, int waits)
      : all_(all), tree_{rank, size}, waits_left_(waits), detector(tree_, *this) {}

  std::optional<Snapshot> snapshot() override;
  void send_report(Rank parent, const Report& report) override;
  void send_request(Rank child, const Request& request) override;
  void send_confirmation(Rank parent, const Confirmation& confirmation) override;
  void completed(const Counts& total) override;

  bool on_idle();
  /// Begins the next epoch here and in the subtree; the main function goes on.
  void on_done(bool all_final);
  void park();
  /// A collective operation, in which the main function stood, has ended.
  void leave_collective();

  [[nodiscard]] bool quiet() const { return parked && created == finished && handling == 0; }

 private:
  Simulation& all_;
  const Tree tree_;
  int waits_left_;  // until the main function ends
  std::optional<Snapshot> last_;
  bool first_look_ = false;

 public:
  Detector detector;
  Counts counts;
  std::uint64_t created = 0;
  std::uint64_t finished = 0;
  std::uint64_t parks = 0;
  std::uint64_t done_count = 0;
  int handling = 0;  // handlers that have begun and not ended
  bool parked = false;
  bool ended = false;
};

class Simulation {
 public:
  static constexpr const char* kTooEarly = "complete while something runs or travels";

  Simulation(std::uint64_t seed, Defect defect);

  /// Until the main functions of all ranks have ended. False: the protocol was wrong.
  bool run();

  [[nodiscard]] int size() const { return static_cast<int>(ranks_.size()); }
  [[nodiscard]] Defect defect() const { return defect_; }
  [[nodiscard]] const std::string& mistake() const { return mistake_; }
  void control(Rank from, Rank to, std::function<void(SimulatedRank&)> action);
  void check_completion(const Counts& total);

 private:
  using Link = std::pair<int, int>;

  void happen();
  void act(SimulatedRank& rank);
  void main_steps(SimulatedRank& rank);
  void task_ends(SimulatedRank& rank);
  void message_arrives();
  void handler_ends(SimulatedRank& rank);
  void deliver_control();
  void settle();
  void fail(const std::string& text) {
    if (mistake_.empty()) mistake_ = text;
  }
  [[nodiscard]] bool quiet() const;
  [[nodiscard]] std::uint64_t settle_messages_max() const;
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  SimulatedRank& any_rank() { return *ranks_[below(ranks_.size())]; }

  std::mt19937_64 random_;
  const Defect defect_;
  std::vector<std::unique_ptr<SimulatedRank>> ranks_;
  std::map<Link, std::deque<std::function<void(SimulatedRank&)>>> control_;  // none is empty
  std::map<Link, int> messages_;                                             // none is 0
  std::uint64_t control_sent_ = 0;
  std::uint64_t completions_ = 0;
  std::uint64_t completions_expected_ = 0;
  int actions_left_ = 0;  // sends and tasks that may still happen in this epoch
  bool all_ended_ = false;
  std::string mistake_;
};

std::optional<Snapshot> SimulatedRank::snapshot() {
  if (all_.defect() == Defect::no_second_look && !first_look_) return last_;
  if (!parked && all_.defect() != Defect::forgets_main) return std::nullopt;
  if (created != finished && all_.defect() != Defect::forgets_tasks) return std::nullopt;
  last_ = Snapshot{counts, created, parks};
  return last_;
}

bool SimulatedRank::on_idle() {
  first_look_ = true;
  const bool sent = detector.on_idle();
  first_look_ = false;
  return sent;
}

void SimulatedRank::send_report(Rank parent, const Report& report) {
  all_.control(tree_.rank, parent, [child = tree_.rank, report](SimulatedRank& rank) {
    rank.detector.on_report(child, report);
  });
}

void SimulatedRank::send_request(Rank child, const Request& request) {
  all_.control(tree_.rank, child,
               [request](SimulatedRank& rank) { rank.detector.on_request(request); });
}

void SimulatedRank::send_confirmation(Rank parent, const Confirmation& confirmation) {
  all_.control(tree_.rank, parent, [confirmation](SimulatedRank& rank) {
    rank.detector.on_confirmation(confirmation);
  });
}

void SimulatedRank::completed(const Counts& total) {
  all_.check_completion(total);
  on_done(total.all_final);
}

void SimulatedRank::on_done(bool all_final) {
  for (const Rank child : tree_.children()) {
    all_.control(tree_.rank, child, [all_final](SimulatedRank& rank) { rank.on_done(all_final); });
  }
  detector.begin_epoch();
  ++done_count;
  ended = all_final;
  parked = false;
}

void SimulatedRank::park() {
  counts.all_final = waits_left_ == 0;
  waits_left_ = std::max(waits_left_ - 1, 0);
  parked = true;
  ++parks;
}

void SimulatedRank::leave_collective() {
  if (!parked || counts.all_final) return;
  parked = false;
  ++waits_left_;  // that was no wait()
}

Simulation::Simulation(std::uint64_t seed, Defect defect) : random_(seed), defect_(defect) {
  const int size = 1 + static_cast<int>(below(1 + below(40)));
  for (int rank = 0; rank < size; ++rank) {
    const auto waits = static_cast<int>(below(4));  // unequal: the others take part nevertheless
    completions_expected_ = std::max(completions_expected_, static_cast<std::uint64_t>(waits) + 1);
    ranks_.push_back(std::make_unique<SimulatedRank>(*this, Rank(rank), size, waits));
  }
  actions_left_ = static_cast<int>(below(200));
}

void Simulation::control(Rank from, Rank to, std::function<void(SimulatedRank&)> action) {
  ++control_sent_;
  control_[{from, to}].push_back(std::move(action));
}

bool Simulation::quiet() const {
  return messages_.empty() && std::all_of(ranks_.begin(), ranks_.end(), [this](const auto& rank) {
           return rank->quiet() && rank->done_count == completions_;
         });
}

void Simulation::check_completion(const Counts& total) {
  if (!quiet()) fail(kTooEarly);
  Counts expected;
  for (const auto& rank : ranks_) expected += rank->counts;
  if (total != expected) fail("the sums differ from the counts");
  if (total.queued != total.processed) fail("complete with unequal sums");
  ++completions_;
  actions_left_ = static_cast<int>(below(200));
  all_ended_ = total.all_final;
}

/// A send or a new task.
void Simulation::act(SimulatedRank& rank) {
  if (actions_left_ == 0) return;
  --actions_left_;
  if (below(3) == 0) {
    ++rank.created;
    return;
  }
  const auto from = std::find_if(ranks_.begin(), ranks_.end(),
                                 [&rank](const auto& one) { return one.get() == &rank; });
  const int source = static_cast<int>(from - ranks_.begin());
  ++messages_[{source, static_cast<int>(below(ranks_.size()))}];
  if (defect_ != Defect::counts_on_arrival) ++rank.counts.queued;
}

void Simulation::main_steps(SimulatedRank& rank) {
  if (rank.parked || rank.ended) return;
  if (below(4) == 0) {
    rank.park();
  } else {
    act(rank);
  }
}

void Simulation::task_ends(SimulatedRank& rank) {
  if (rank.created == rank.finished) return;
  while (below(2) == 0) act(rank);
  if (below(4) == 0) rank.counts.unsatisfied = below(3);
  ++rank.finished;
}

void Simulation::message_arrives() {
  if (messages_.empty()) return;
  auto it = messages_.begin();
  std::advance(it, below(messages_.size()));
  SimulatedRank& rank = *ranks_[static_cast<std::size_t>(it->first.second)];
  if (--it->second == 0) messages_.erase(it);
  if (defect_ == Defect::counts_on_arrival) ++rank.counts.queued;
  ++rank.handling;
  while (below(2) == 0) act(rank);
  if (below(8) == 0 && rank.done_count == completions_) rank.leave_collective();
}

void Simulation::handler_ends(SimulatedRank& rank) {
  if (rank.handling == 0) return;
  --rank.handling;
  ++rank.counts.processed;
}

void Simulation::deliver_control() {
  if (control_.empty()) return;
  auto it = control_.begin();
  std::advance(it, below(control_.size()));
  const int target = it->first.second;
  const auto action = std::move(it->second.front());
  it->second.pop_front();
  if (it->second.empty()) control_.erase(it);
  action(*ranks_[static_cast<std::size_t>(target)]);
}

void Simulation::happen() {
  switch (below(16)) {
    case 0:
      return main_steps(any_rank());
    case 1:
      return task_ends(any_rank());
    case 2:
      return message_arrives();
    case 3:
      return handler_ends(any_rank());
    case 4:
    case 5:
    case 6:
    case 7:
      static_cast<void>(any_rank().on_idle());
      return;
    default:
      deliver_control();
  }
}

// Each rank's own counts stand still: it tells them once, and passes on what each rank below it
// tells. The root starts a wave at most once for each report that reaches it.
std::uint64_t Simulation::settle_messages_max() const {
  const auto ranks = static_cast<std::uint64_t>(size());
  std::uint64_t depth = 0;
  for (int rank = size() - 1; rank > 0; rank = (rank - 1) / Tree::kArity) ++depth;
  return 3 * ranks * (depth + 1);
}

/// Lets the protocol alone go on until it sends nothing any more; nothing else happens.
void Simulation::settle() {
  const std::uint64_t completions_before = completions_;
  const bool was_quiet = quiet();
  const std::uint64_t sent_before = control_sent_;
  bool sent = true;
  while (sent && completions_ == completions_before && mistake_.empty()) {
    while (!control_.empty() && completions_ == completions_before) {
      deliver_control();
      if (below(3) == 0) any_rank().on_idle();
    }
    sent = false;
    for (const auto& rank : ranks_) sent = rank->on_idle() || sent;
    if (control_sent_ - sent_before > settle_messages_max()) return fail("too many messages");
  }
  if (was_quiet && completions_ == completions_before) fail("quiet, and not found complete");
  const std::uint64_t sent_then = control_sent_;
  for (const auto& rank : ranks_) rank->on_idle();
  if (completions_ == completions_before && control_sent_ != sent_then) {
    fail("messages while nothing changes");
  }
}

bool Simulation::run() {
  while (!all_ended_ && mistake_.empty()) {
    for (std::uint64_t n = 1 + below(1000); n > 0 && !all_ended_; --n) happen();
    if (!all_ended_) settle();
  }
  if (mistake_.empty() && completions_ != completions_expected_) {
    fail("found complete " + std::to_string(completions_) + " times, not " +
         std::to_string(completions_expected_));
  }
  return mistake_.empty();
}

TEST(DetectorProperty, AnyOrderOfHappenings_CompletesExactlyWhenNothingRunsOrTravels) {
  constexpr auto kSeeds = static_cast<std::uint64_t>(shoal::testing::sized(1000, 100));
  const std::uint64_t base = std::random_device{}();
  std::printf("seeds: 0 to %llu and %llu to %llu\n", static_cast<unsigned long long>(kSeeds - 1),
              static_cast<unsigned long long>(base),
              static_cast<unsigned long long>(base + kSeeds - 1));
  for (const std::uint64_t first : {std::uint64_t{0}, base}) {
    for (std::uint64_t seed = first; seed < first + kSeeds; ++seed) {
      Simulation simulation(seed, Defect::none);
      ASSERT_TRUE(simulation.run()) << "seed " << seed << ": " << simulation.mistake();
    }
  }
}

class BrokenDetector : public testing::TestWithParam<Defect> {};

TEST_P(BrokenDetector, IsCaughtByTheSimulation) {
  int caught = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Simulation simulation(seed, GetParam());
    simulation.run();
    if (simulation.mistake() == Simulation::kTooEarly) ++caught;
  }
  EXPECT_GE(caught, 5) << "of 200 seeds";
}

INSTANTIATE_TEST_SUITE_P(Defects, BrokenDetector,
                         testing::Values(Defect::no_second_look, Defect::counts_on_arrival,
                                         Defect::forgets_tasks, Defect::forgets_main));

}  // namespace team_detector_test
