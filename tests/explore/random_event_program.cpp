// A random program of events and of tasks that wait, for shoal-explore. All ranks draw the same
// plan from --sim-seed, and each compares its own course of events with the plan. Draws of a single
// rank, such as where it pauses, change no result.
//
//   random_event_program --sim --sim-seed N [--fails | --gets-stuck] [options of shoal]

#include <shoal/shoal.hpp>

#include "support/explored.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using shoal::EventDependency;
using shoal::EventList;
using shoal::Future;
using shoal::Rank;
using shoal::World;
using shoal::testing::Fate;

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  int below(int n) { return static_cast<int>(engine_() % static_cast<unsigned>(n)); }
  bool flip() { return below(2) == 0; }

 private:
  std::mt19937_64 engine_;
};

enum class JobKind {
  stream,    // numbered events from one rank, each to one rank or to all
  deposit,   // requests to a persistent task, which answers by remote promises
  calls,     // a tree of calls and futures over all ranks
  critical,  // tasks under a mutex, and with permits of a semaphore
};
constexpr int kJobKinds = 4;

struct Job {
  JobKind kind = JobKind::stream;
  int number = 0;              // among all jobs
  int source = 0;              // the rank that begins
  int target = 0;              // deposit: the rank of the account
  int count = 0;               // of requests, tasks; calls: the depth
  std::vector<int> targets{};  // stream: of each event

  static constexpr int kAll = -1;

  /// The numbers of the events of a stream that reach `rank`, in the order fired.
  [[nodiscard]] std::vector<int> expected_on(int rank) const {
    std::vector<int> numbers;
    for (int i = 0; i < static_cast<int>(targets.size()); ++i) {
      const int to = targets[static_cast<std::size_t>(i)];
      if (to == kAll || to == rank) numbers.push_back(i);
    }
    return numbers;
  }
  [[nodiscard]] int amount(int request) const { return 100 * number + request; }
};

/// Jobs between two calls of World::wait().
using Round = std::vector<Job>;

std::vector<Round> draw_plan(std::uint64_t seed, int ranks) {
  Random random(seed);
  std::vector<Round> plan(static_cast<std::size_t>(1 + random.below(3)));
  int job_count = 0;
  for (Round& round : plan) {
    for (int left = 1 + random.below(6); left > 0; --left) {
      Job& job = round.emplace_back();
      job.kind = static_cast<JobKind>(random.below(kJobKinds));
      job.number = job_count++;
      job.source = random.below(ranks);
      job.target = random.below(ranks);
      job.count = 1 + random.below(6);
      if (job.kind != JobKind::stream) continue;
      for (int event = random.below(12); event >= 0; --event) {
        job.targets.push_back(random.flip() ? Job::kAll : random.below(ranks));
      }
    }
  }
  return plan;
}

int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

/// The same by calls on other ranks and tasks on this one.
int fibonacci_by_calls(World& world, int n) {
  if (n < 2) return n;
  Future<int> there =
      world.call(Rank((world.rank() + n) % world.size()), shoal::am<&fibonacci_by_calls>, n - 1);
  Future<int> here = world.async([&world, n] { return fibonacci_by_calls(world, n - 2); });
  return here.get() + there.get();
}

void check_equal(std::string_view what, int number, int expected) {
  if (number == expected) return;
  throw std::runtime_error(fmt::format("{} is {} instead of {}", what, number, expected));
}

/// One rank's share of the plan.
class Actor {
 public:
  Actor(World& world, std::uint64_t seed, Fate fate);
  /// Throws what is not as planned, or what World::wait() throws as planned.
  void run();
  /// Number of its tasks that have begun and not ended.
  [[nodiscard]] int running() const { return running_; }

 private:
  static constexpr int kPermits = 2;
  struct Deposit {
    shoal::RemotePromise<int> receipt;
    int amount;
  };
  using Numbers = std::vector<int>;

  /// Marker on the stack of a running task.
  class Running {
   public:
    explicit Running(int& count) : count_(count) { ++count_; }
    ~Running() { --count_; }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    int& count_;
  };

  void run_round(const Round& round);
  void meet_fate();
  void check_round(const Round& round);

  void fire_stream(const Job& job);
  void consume_stream(const Job& job);
  void submit_tasks(const EventDependency& exact, Numbers& got);
  void submit_persistent(const EventDependency& exact, std::size_t count, Numbers& got);
  void wait_for_each(const EventDependency& exact, Numbers& got);
  EventDependency exact_or_any(const EventDependency& exact);
  static int number_of(const shoal::Event& event) { return event.get<Numbers>().front(); }

  void ask(int account, int amount);
  void serve(const EventList& events);
  void start_deposits(const Job& job);
  void start_critical(const Job& job);

  /// Other tasks may run here.
  void pause();
  /// The same, and the named locks are released meanwhile.
  void rest();
  /// Loses one if another task does so at the same time.
  void increment(int& sum) {
    const int before = sum;
    pause();
    sum = before + 1;
  }
  template <class F>
  void spawn(F function) {
    world_.spawn(
        [this, function = std::move(function)] {
          const Running running(running_);
          function();
        },
        {.priority = random_.below(3),
         .worker = shoal::WorkerId(random_.below(world_.worker_count())),
         .bound = random_.flip()});
  }

  World& world_;
  const Fate fate_;
  const std::vector<Round> plan_;
  Random random_;
  shoal::Events events_;
  shoal::Mutex mutex_;
  shoal::Semaphore permits_;
  std::map<int, Numbers> got_;  // of streams, by job
  int balance_ = 0;             // under the lock "account"
  int receipts_ = 0;            // under the lock "receipts"
  int entered_ = 0;             // under mutex_
  int inside_ = 0;              // tasks with a permit
  int rests_ = 0;
  int running_ = 0;
  int balance_expected_ = 0;
  int receipts_expected_ = 0;
  int entered_expected_ = 0;
};

Actor::Actor(World& world, std::uint64_t seed, Fate fate)
    : world_(world),
      fate_(fate),
      plan_(draw_plan(seed, world.size())),
      random_(seed * 1000 + static_cast<std::uint64_t>(world.rank().value())),
      events_(world, "random"),
      mutex_(world),
      permits_(world, kPermits) {}

void Actor::pause() {
  switch (random_.below(4)) {
    case 0:
      return shoal::compute(shoal::Cost::of_seconds(1e-6 * random_.below(20)), [] {});
    case 1:
      return shoal::yield();
    case 2:
      return shoal::sleep_for(std::chrono::microseconds(random_.below(10)));
    default:
      return;
  }
}

void Actor::rest() {
  const std::string name = fmt::format("rest {}", rests_++);
  if (random_.flip()) {
    events_.fire_after(std::chrono::microseconds(random_.below(10)), shoal::self, name);
  } else {
    spawn([this, name] {
      events_.lock("receipts");  // which the caller has
      events_.fire(shoal::self, name);
    });
  }
  static_cast<void>(events_.wait({{shoal::self, name}}));
}

// --- streams: the n-th event goes to the n-th dependency, whether that is on its source or on any

void Actor::fire_stream(const Job& job) {
  const auto fire = [this, &job] {
    for (int i = 0; i < static_cast<int>(job.targets.size()); ++i) {
      const int target = job.targets[static_cast<std::size_t>(i)];
      const Numbers value(static_cast<std::size_t>(1 + random_.below(60)), i);
      events_.fire(target == Job::kAll ? shoal::all : shoal::EventPeer(Rank(target)),
                   fmt::format("stream {}", job.number), value);
      if (random_.flip()) pause();
    }
  };
  if (random_.flip()) {
    fire();
  } else {
    spawn(fire);
  }
}

EventDependency Actor::exact_or_any(const EventDependency& exact) {
  return random_.flip() ? exact : EventDependency{shoal::any, exact.name};
}

void Actor::consume_stream(const Job& job) {
  const std::size_t count = job.expected_on(world_.rank()).size();
  const EventDependency exact{Rank(job.source), fmt::format("stream {}", job.number)};
  Numbers& got = got_[job.number];
  switch (random_.below(3)) {
    case 0:
      return submit_persistent(exact, count, got);
    case 1:
      got.resize(count);
      return submit_tasks(exact, got);
    default:
      got.resize(count);
      return spawn([this, exact, &got] { wait_for_each(exact, got); });
  }
}

void Actor::submit_tasks(const EventDependency& exact, Numbers& got) {
  for (auto next = got.begin(); next != got.end();) {
    const auto count = std::min<std::ptrdiff_t>(1 + random_.below(3), got.end() - next);
    std::vector<EventDependency> dependencies;
    for (auto left = count; left > 0; --left) dependencies.push_back(exact_or_any(exact));
    events_.submit(dependencies, [this, next](const EventList& events) {
      const Running running(running_);
      pause();
      std::ranges::transform(events, next, number_of);
    });
    next += count;
  }
}

// Its runs may overlap, but begin in the order of the events.
void Actor::submit_persistent(const EventDependency& exact, std::size_t count, Numbers& got) {
  got.reserve(count);
  events_.submit({exact_or_any(exact)},
                 [this, &got](const EventList& events) {
                   const Running running(running_);
                   got.push_back(number_of(events.front()));
                   pause();
                 },
                 {.persistent = true});
}

void Actor::wait_for_each(const EventDependency& exact, Numbers& got) {
  for (int& number : got) {
    number = number_of(events_.wait({exact_or_any(exact)}).front());
    pause();
  }
}

// --- deposits

void Actor::start_deposits(const Job& job) {
  for (int i = 0; i < job.count; ++i) {
    spawn([this, account = job.target, amount = job.amount(i)] { ask(account, amount); });
  }
}

void Actor::ask(int account, int amount) {
  shoal::Promise<int> promise(world_, "receipt");
  Future<int> receipt = promise.future();
  events_.lock("receipts");
  events_.fire(Rank(account), "deposit", Deposit{world_.publish(std::move(promise)), amount});
  if (random_.flip()) rest();
  if (random_.flip()) {
    events_.unlock("receipts");
    pause();
    check_equal("a receipt", receipt.get(), amount);
    events_.lock("receipts");
  } else {
    check_equal("a receipt", receipt.get(), amount);
  }
  increment(receipts_);  // and the lock is released at the end of the task
}

void Actor::serve(const EventList& events) {
  const Running running(running_);
  const auto deposit = events.front().get<Deposit>();
  events_.lock("account");
  static_cast<void>(events_.wait({{shoal::self, "permit"}}));
  const int before = balance_;
  pause();
  balance_ = before + deposit.amount;
  if (random_.flip()) events_.unlock("account");
  pause();
  world_.fulfill(deposit.receipt, deposit.amount);
}

// --- critical sections

void Actor::start_critical(const Job& job) {
  for (int i = 0; i < job.count; ++i) {
    spawn([this] {
      const std::scoped_lock lock(mutex_);
      increment(entered_);
    });
    spawn([this] {
      permits_.acquire();
      if (++inside_ > kPermits) throw std::runtime_error("more tasks inside than permits");
      pause();
      --inside_;
      permits_.release();
    });
  }
}

// --- rounds

// At least one task of the last round does not end well.
void Actor::meet_fate() {
  if (fate_ == Fate::good || (world_.rank() > 0 && random_.below(world_.size()) > 0)) return;
  spawn([this] {
    while (random_.below(4) > 0) pause();
    if (fate_ == Fate::fails) throw std::runtime_error("chosen");
    static_cast<void>(events_.wait({{shoal::self, "chosen"}}));
  });
}

void Actor::run_round(const Round& round) {
  const Rank me = world_.rank();
  for (const Job& job : round) {
    if (job.kind == JobKind::stream) consume_stream(job);
    if (me == job.source) {
      if (job.kind == JobKind::stream) fire_stream(job);
      if (job.kind == JobKind::deposit) start_deposits(job);
    }
    if (job.kind == JobKind::critical) start_critical(job);
    pause();
  }
  if (&round == &plan_.back()) meet_fate();
  // Last, because the main function waits: others may wait for what it begins.
  for (const Job& job : round) {
    if (job.kind != JobKind::calls || me != job.source) continue;
    check_equal("the calls' result", fibonacci_by_calls(world_, job.count), fibonacci(job.count));
  }
  world_.wait();
}

void Actor::check_round(const Round& round) {
  const int me = world_.rank();
  for (const Job& job : round) {
    if (job.kind == JobKind::stream && got_.at(job.number) != job.expected_on(me)) {
      throw std::runtime_error(fmt::format("stream {} came as [{}] instead of [{}]", job.number,
                                           fmt::join(got_.at(job.number), " "),
                                           fmt::join(job.expected_on(me), " ")));
    }
    if (job.kind == JobKind::critical) entered_expected_ += job.count;
    if (job.kind != JobKind::deposit) continue;
    if (me == job.source) receipts_expected_ += job.count;
    for (int i = 0; me == job.target && i < job.count; ++i) balance_expected_ += job.amount(i);
  }
  check_equal("the balance", balance_, balance_expected_);
  check_equal("the number of receipts", receipts_, receipts_expected_);
  check_equal("the number under the mutex", entered_, entered_expected_);
}

void Actor::run() {
  events_.submit({{shoal::any, "deposit"}}, [this](const EventList& events) { serve(events); },
                 {.name = "teller", .persistent = true});
  events_.fire_persistent(shoal::self, "permit");
  for (const Round& round : plan_) {
    run_round(round);
    check_round(round);
    world_.barrier();  // no rank begins the next round before all have looked
  }
}

/// The planned error has come, and not before all tasks of the rank have ended.
template <class E, class F>
void expect_failure(const Actor& actor, F run) {
  try {
    run();
  } catch (const E& error) {
    if (std::string_view(error.what()).find("chosen") == std::string_view::npos) throw;
    check_equal("the number of tasks that run after a failure", actor.running(), 0);
    return;
  }
  throw std::logic_error("the world did not fail");
}

void run_to_the_end(World& world, Actor& actor, Fate fate) {
  const auto run = [&actor] { actor.run(); };
  switch (fate) {
    case Fate::good:
      return run();
    case Fate::fails:
      return expect_failure<shoal::TaskError>(actor, run);
    case Fate::gets_stuck:
      expect_failure<shoal::StuckError>(actor, run);
      // The task that was stuck has ended by that: this cannot be repaired.
      return expect_failure<shoal::TaskError>(actor, [&world] { world.wait(); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::span<char*> arguments(argv, static_cast<std::size_t>(argc));
  const std::uint64_t seed = shoal::testing::seed_of(arguments);
  const Fate fate = shoal::testing::fate_of(arguments);
  return shoal::run(argc, argv, [seed, fate](World& world) {
    if (world.launch() != shoal::Launch::simulated) {
      throw shoal::ConfigError("random_event_program pauses without locks: run it with --sim");
    }
    Actor actor(world, seed, fate);
    run_to_the_end(world, actor, fate);
  });
}
