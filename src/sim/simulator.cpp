#include "sim/simulator.hpp"

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/sync/strand.hpp>

#include "sim/memory.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace shoal::sim {

namespace {

// Minimum duration that is stretched: an operation that takes no time could not be delayed
// otherwise.
constexpr std::uint64_t kStretchedMinNs = 100;
constexpr std::uint64_t kSlowestDoublings = 5;  // of a worker's steps, to begin with
// Delays of one worker do not add up: otherwise it would exceed any time limit.
constexpr std::uint64_t kSlownessMax = 256ULL << kSlowestDoublings;

}  // namespace

Order::Order(OrderKind kind, std::uint64_t seed, int ranks, int workers_per_rank)
    : kind_(kind), workers_per_rank_(workers_per_rank), random_(seed) {
  const auto rank_count = static_cast<std::uint64_t>(ranks);
  victim_ = static_cast<int>(draw(rank_count));
  victim_target_ = static_cast<int>(draw(rank_count));
  if (kind_ != OrderKind::priorities) return;
  for (int i = 0; i < ranks * workers_per_rank; ++i)
    slowness_.push_back(1ULL << draw(kSlowestDoublings + 1));
  // Small programs take hundreds of steps, large ones many more: any scale may be the right one.
  for (int i = 0; i < 3; ++i) change_points_.push_back(draw(1ULL << (4 + draw(13))));
}

std::uint64_t Order::step_ns(int rank, int worker, std::uint64_t cost_ns) {
  ++steps_;
  const std::uint64_t stretched = std::max(cost_ns, kStretchedMinNs);
  switch (kind_) {
    case OrderKind::uniform:
      return stretched * (1 + draw(16));
    case OrderKind::priorities: {
      const auto actor =
          static_cast<std::size_t>(rank) * static_cast<std::size_t>(workers_per_rank_) +
          static_cast<std::size_t>(worker);
      std::uint64_t& slowness = slowness_[actor];
      const bool set_back = std::ranges::find(change_points_, steps_) != change_points_.end();
      if (set_back) slowness = std::min(slowness * 256, kSlownessMax);
      const std::uint64_t result = stretched * slowness;
      if (!set_back && slowness > 64) slowness /= 2;  // so that every step comes in the end
      return result;
    }
    case OrderKind::slow_rank:
      return stretched * (rank == victim_ ? 64 : 1 + draw(2));
    case OrderKind::time:
    case OrderKind::slow_link:
    case OrderKind::late:
      return cost_ns;
  }
  return cost_ns;
}

std::uint64_t Order::travel_ns(int source, int target, std::uint64_t latency_ns) {
  constexpr std::uint64_t kFar = 1000;
  const std::uint64_t stretched = std::max(latency_ns, kStretchedMinNs);
  switch (kind_) {
    case OrderKind::uniform:
      return stretched * (1 + draw(64));
    case OrderKind::slow_link:
      return source == victim_ && target == victim_target_ ? stretched * kFar : latency_ns;
    case OrderKind::late:
      return draw(8) == 0 ? stretched * kFar : latency_ns;
    case OrderKind::time:
    case OrderKind::priorities:
    case OrderKind::slow_rank:
      return latency_ns;
  }
  return latency_ns;
}

/// A steppable and its place in virtual time.
struct Simulator::Actor {
  env::Steppable* steppable = nullptr;
  int rank = 0;
  int worker = 0;
  std::uint64_t version = 0;  // counts what was decided about its next step
  std::uint64_t free_ns = 0;  // when its last step has ended
  bool asleep = false;
  bool permit = false;           // was unparked while awake
  bool wants_sleep = false;      // called park() in this step
  std::uint64_t timeout_ns = 0;  // of that park(); 0: none
};

/// Belongs to the actor that first parks on it.
class Simulator::SimParker final : public env::Parker {
 public:
  explicit SimParker(Simulator& simulator) : simulator_(simulator) {}

  // Only records the request: the actor sleeps once its step has ended.
  void park(std::uint64_t timeout_ns) override {
    actor_ = simulator_.current_;
    if (std::exchange(actor_->permit, false)) return;
    actor_->wants_sleep = true;
    actor_->timeout_ns = timeout_ns;
  }
  void unpark() override {
    const sync::Quiet quiet;
    if (actor_ != nullptr) simulator_.wake(*actor_);
  }

 private:
  Simulator& simulator_;
  Actor* actor_ = nullptr;  // a worker that has never been asleep is not unparked
};

bool Simulator::Entry::operator>(const Entry& other) const {
  return std::tie(time_ns, tie, number) > std::tie(other.time_ns, other.tie, other.number);
}

Simulator::Simulator(const SimulatorOptions& options, const Shape& shape)
    : options_(options),
      shape_(shape),
      order_(options.order, options.seed, shape.ranks, shape.workers_per_rank),
      work_ns_(static_cast<std::size_t>(shape.ranks)),
      paused_until_ns_(static_cast<std::size_t>(shape.ranks)) {
  if (options.costs == CostKind::measured) host_ = env::make_thread_env();
}

Simulator::~Simulator() = default;

std::unique_ptr<env::Parker> Simulator::make_parker() { return std::make_unique<SimParker>(*this); }

void Simulator::push(std::uint64_t time_ns, Actor* actor, std::size_t action) {
  agenda_.push({std::max(time_ns, now_ns()), order_.tie(), entries_++, actor,
                actor != nullptr ? ++actor->version : 0, action});
}

void Simulator::observe(env::Happening what, const std::string& name) {
  const sync::Quiet quiet;
  if (current_ != nullptr) log_.add(now_ns(), current_->rank, current_->worker, what, name);
}

bool Simulator::charge(const Cost& cost) {
  const sync::Quiet quiet;
  const double ns = (cost.seconds + cost.flops / options_.flops_per_second) * 1e9;
  constexpr double kMax_ns = 1e15;  // so that no order stretches it beyond what a clock can count
  constexpr double kMaxBytes = 1e18;
  SHOAL_CHECK(
      ns <= kMax_ns && cost.seconds >= 0 && cost.flops >= 0 && cost.bytes >= 0 &&
          cost.bytes <= kMaxBytes,
      "a cost of {} seconds, {} flops and {} bytes: at least 0, and at most 10^6 seconds and "
      "10^18 bytes",
      cost.seconds, cost.flops, cost.bytes);
  // With measured cost, the time of the whole step counts.
  if (host_ == nullptr) {
    charged_ns_ += static_cast<std::uint64_t>(std::llround(ns));
    if (memory_ != nullptr) charged_bytes_ += cost.bytes;
  }
  return options_.costs != CostKind::dry;
}

// Time that the running step has taken so far.
std::uint64_t Simulator::spent_ns() {
  if (host_ == nullptr || current_ == nullptr) return charged_ns_;
  return host_->now_ns() - step_begin_ns_;
}

void Simulator::at(std::uint64_t time_ns, std::function<void()> action) {
  const sync::Quiet quiet;
  std::size_t index = actions_.size();
  if (free_actions_.empty()) {
    actions_.push_back(std::move(action));
  } else {
    index = free_actions_.back();
    free_actions_.pop_back();
    actions_[index] = std::move(action);
  }
  push(time_ns, nullptr, index);
}

void Simulator::run_action(std::size_t index) {
  const std::function<void()> action = std::exchange(actions_[index], nullptr);
  free_actions_.push_back(index);
  action();
}

void Simulator::drive(const std::vector<env::Steppable*>& all) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto actor = std::make_unique<Actor>();
    actor->steppable = all[i];
    actor->rank = static_cast<int>(i) / shape_.workers_per_rank;
    actor->worker = static_cast<int>(i) % shape_.workers_per_rank;
    push(0, actor.get(), 0);
    actors_.push_back(std::move(actor));
  }
  live_ = all.size();
  const std::uint64_t entries_per_look = std::max(kEntriesPerLook, kEntriesOfActor * all.size());
  while (live_ > 0) {
    if (agenda_.empty()) throw env::NoProgress();
    const Entry entry = agenda_.top();
    agenda_.pop();
    if (entry.actor != nullptr && entry.version != entry.actor->version) continue;
    now_ns_ = entry.time_ns;
    if (options_.limit_ns > 0 && now_ns_ >= options_.limit_ns) throw TimeLimit();
    if (entry.actor != nullptr) {
      step(*entry.actor);
    } else {
      run_action(entry.action);
    }
    if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
    if (entries_ - entries_looked_at_ >= entries_per_look) look_for_movement();
  }
  trace_.finish();
}

// A look counts when everything that was on the agenda at the look before has happened, timers and
// packets included. If enough looks find that nothing has moved, workers poll for an event that
// will not come. One look does not suffice: a task that sleeps a few times may still do something.
void Simulator::look_for_movement() {
  entries_looked_at_ = entries_;
  if (!has_moved_) return;
  if (has_moved_()) {
    moved_ns_ = now_ns_;
    looks_ = 0;
  } else {
    if (now_ns_ <= horizon_ns_) return;
    if (++looks_ == kLooksMax) throw PollsForEver(moved_ns_);
  }
  horizon_ns_ = now_ns_;
  for (const Entry& entry : agenda_.all()) {
    const bool is_void = entry.actor != nullptr && entry.version != entry.actor->version;
    if (!is_void) horizon_ns_ = std::max(horizon_ns_, entry.time_ns);
  }
}

void Simulator::pause(int rank, std::uint64_t until_ns) {
  std::uint64_t& paused = paused_until_ns_[static_cast<std::size_t>(rank)];
  paused = std::max(paused, until_ns);
}

void Simulator::step(Actor& actor) {
  const std::uint64_t paused_until = paused_until_ns_[static_cast<std::size_t>(actor.rank)];
  if (paused_until == kForever) return;
  if (paused_until > now_ns_) {
    push(paused_until, &actor, 0);
    return;
  }
  actor.asleep = false;
  current_ = &actor;
  if (host_ != nullptr) step_begin_ns_ = host_->now_ns();
  const env::StepResult result = actor.steppable->step();
  const std::uint64_t spent = spent_ns();
  current_ = nullptr;
  charged_ns_ = 0;
  const double bytes = std::exchange(charged_bytes_, 0);
  trace_.add({now_ns_, EventKind::step, static_cast<std::uint32_t>(actor.rank),
              static_cast<std::uint32_t>(actor.worker), 0,
              result == env::StepResult::idle ? 0U : 1U});
  if (result == env::StepResult::stopped) {
    --live_;
    return;
  }
  if (bytes > 0) {
    use_memory(actor, spent, bytes);
    return;
  }
  if (result == env::StepResult::worked) work_ns_[static_cast<std::size_t>(actor.rank)] += spent;
  const std::uint64_t cost = spent > 0 ? spent : options_.step_ns;
  actor.free_ns = now_ns_ + order_.step_ns(actor.rank, actor.worker, cost);
  go_on(actor);
}

// The memory model determines when the work ends. Until then the actor is neither asleep nor on the
// agenda.
void Simulator::use_memory(Actor& actor, std::uint64_t spent_ns, double bytes) {
  const auto compute_ns = static_cast<double>(spent_ns);
  const double alone_ns = std::max(memory_->alone_ns(compute_ns, bytes), 1.0);
  const auto rounded_ns = static_cast<std::uint64_t>(std::llround(alone_ns));
  const double stretch =
      static_cast<double>(order_.step_ns(actor.rank, actor.worker, rounded_ns)) / alone_ns;
  memory_->begin_work(actor.rank, compute_ns * stretch, bytes * stretch,
                      [this, &actor, begin_ns = now_ns_] {
                        actor.free_ns = now_ns_;
                        work_ns_[static_cast<std::size_t>(actor.rank)] += now_ns_ - begin_ns;
                        go_on(actor);
                      });
}

// Called when the step has ended, or ends at free_ns.
void Simulator::go_on(Actor& actor) {
  if (std::exchange(actor.wants_sleep, false)) {
    fall_asleep(actor);
  } else {
    push(actor.free_ns, &actor, 0);
  }
}

void Simulator::fall_asleep(Actor& actor) {
  if (std::exchange(actor.permit, false)) {  // unparked in the very step, by itself
    push(actor.free_ns, &actor, 0);
    return;
  }
  actor.asleep = true;
  ++actor.version;
  if (actor.timeout_ns > 0) push(actor.free_ns + actor.timeout_ns, &actor, 0);
}

void Simulator::wake(Actor& actor) {
  if (!std::exchange(actor.asleep, false)) {
    actor.permit = true;
    return;
  }
  push(actor.free_ns, &actor, 0);
}

}  // namespace shoal::sim
