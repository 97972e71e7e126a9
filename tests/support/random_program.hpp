#pragma once
// Random programs for worlds of one thread: tasks, handlers, large messages and graphs make each
// other, tasks fail, graphs get stuck. They know what was made and has not ended, and so what
// wait() may do.

#include <shoal/shoal.hpp>

#include "support/explored.hpp"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace shoal::testing {

/// State shared by all ranks; there is one thread.
struct RandomProgram {
  RandomProgram(std::uint64_t seed, Fate how) : fate(how), random(seed) {
    epochs = 1 + below(12);
    bad_epoch = below(epochs);
    begin_epoch();
  }
  int below(int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }
  void begin_epoch() {
    fuel = below(3) == 0 ? below(300) : below(30);
    bombs = fate == Fate::fails && epoch == bad_epoch ? 1 + below(2) : 0;
  }
  void expect(bool right, const char* what) {
    if (!right) mistakes.emplace_back(what);
  }
  void note(int what) { trace = trace * 1099511628211U + static_cast<std::uint64_t>(what); }

  const Fate fate;
  std::mt19937_64 random;
  int epochs = 1;
  int bad_epoch = 0;
  int epoch = 0;                                // completed waits
  int fuel = 0;                                 // what may still be made before the next wait ends
  int bombs = 0;                                // of it, what may throw
  int alive = 0;                                // made and not ended
  int waiting = 0;                              // main functions in the present wait()
  int failures = 0;                             // thrown
  std::uint64_t trace = 14695981039346656037U;  // a hash of the order of happenings
  std::vector<std::string> errors;              // what the main functions caught
  std::vector<std::string> mistakes;            // of shoal
};

/// Lives as long as something that was made; copies stand for the same thing.
class Thing {
 public:
  explicit Thing(RandomProgram& program) : program_(&program) { ++program.alive; }
  ~Thing() {
    if (program_ != nullptr) --program_->alive;
  }
  Thing(Thing&& other) noexcept : program_(std::exchange(other.program_, nullptr)) {}
  Thing& operator=(Thing&&) = delete;

 private:
  RandomProgram* program_;
};

/// Something that was made ends with this.
struct Ended {
  RandomProgram& program;
  ~Ended() { --program.alive; }
};

/// One rank's main function: see run_random().
class RandomActor {
 public:
  RandomActor(RandomProgram& program, World& world);
  /// Throws what wait() throws.
  int run();

 private:
  void make_something();
  /// Messages to one rank, more than a packet holds.
  void send_many(Rank target);
  /// Takes some time, so that all kinds of things come first.
  void linger();
  /// Something that was made runs now.
  void happen(int what);
  void run_epoch(int epoch);
  void wait_and_check(int epoch);
  void send_large(Rank target);

  RandomProgram& program_;
  World& world_;
  shoal::TaskGraph<int> graph_;
  int next_key_ = 0;
  shoal::ActiveMessage<std::vector<int>> inlined_;
  shoal::ActiveMessage<int> delivered_;
  std::vector<double> payload_ = std::vector<double>(300, 1.5);
  std::vector<double> place_ = std::vector<double>(300);
  shoal::LargeMessage<double, std::string> large_;
};

inline RandomActor::RandomActor(RandomProgram& program, World& world)
    : program_(program),
      world_(world),
      graph_(world, "graph"),
      inlined_(world.make_am([this](const std::vector<int>&) {
        const Ended ended{program_};
        happen(1);
      })),
      delivered_(world.make_am(
          [this](int) {
            const Ended ended{program_};
            happen(2);
          },
          {.delivery = Delivery::task})),
      large_(world.make_large_am<double>(
          [this](std::size_t count, const std::string&) { return std::span(place_).first(count); },
          [this](std::span<double>, const std::string&) {
            const Ended ended{program_};
            happen(3);
          },
          [this](const std::string&) {
            const Ended ended{program_};
            happen(4);
          },
          {.delivery = program.below(2) == 0 ? Delivery::inlined : Delivery::task})) {
  graph_.set_indegree([](int) { return 2; })
      .set_mapping([this](int key) { return std::abs(key) % world_.worker_count(); })
      .set_task([this](int) {
        const Ended ended{program_};
        happen(5);
      });
}

inline void RandomActor::make_something() {
  if (program_.fuel == 0) return;
  --program_.fuel;
  const Rank target(program_.below(world_.size()));
  switch (program_.below(7)) {
    case 0:
      return world_.spawn([this, thing = Thing(program_)] { happen(0); },
                          {.priority = program_.below(3)});
    case 1:
      ++program_.alive;
      return inlined_.send(target, std::vector<int>(static_cast<std::size_t>(program_.below(50))));
    case 2:
      ++program_.alive;
      return delivered_.send(target, 7);
    case 3:
      program_.alive += 2;
      return large_.send(target, payload_, "a large one");
    case 4: {
      const int key = next_key_++;
      ++program_.alive;
      graph_.fulfill(key);
      return graph_.fulfill(key);
    }
    case 5:
      return send_many(target);
    default:
      return world_.spawn(
          [this, hold = world_.hold(), thing = std::make_shared<Thing>(program_)] { happen(6); },
          {.worker = WorkerId(program_.below(world_.worker_count())), .bound = true});
  }
}

inline void RandomActor::send_many(Rank target) {
  for (int left = program_.below(30); left > 0 && program_.fuel > 0; --left) {
    --program_.fuel;
    ++program_.alive;
    inlined_.send(target, std::vector<int>(5));
  }
}

inline void RandomActor::linger() {
  if (program_.below(4) > 0) return;
  compute(Cost::of_seconds(1e-6 * program_.below(50)), [] {});
}

inline void RandomActor::happen(int what) {
  program_.note(what * 100 + world_.rank());
  program_.expect(program_.epoch < program_.epochs, "something runs after the last wait()");
  if (program_.bombs > 0 && program_.below(10) == 0) {
    --program_.bombs;
    ++program_.failures;
    throw std::runtime_error("number " + std::to_string(program_.failures));
  }
  linger();
  while (program_.below(2) == 0) make_something();
}

inline void RandomActor::wait_and_check(int epoch) {
  ++program_.waiting;
  world_.wait();
  // The first to return finds everything ended, and fills up for the next epoch.
  if (program_.waiting == world_.size()) {
    program_.expect(program_.alive == 0, "wait() returned too early");
    program_.expect(program_.epoch == epoch, "wait() returned twice");
    ++program_.epoch;
    program_.begin_epoch();
  }
  --program_.waiting;
  world_.barrier();  // none waits again before all have returned
}

inline void RandomActor::run_epoch(int epoch) {
  linger();
  for (int i = program_.below(10); i > 0; --i) make_something();
  if (epoch % 2 == 1) {
    program_.expect(world_.allreduce(1, std::plus<>()) == world_.size(), "a wrong sum");
  }
  if (program_.fate == Fate::gets_stuck && epoch == program_.bad_epoch) {
    graph_.fulfill(-1 - epoch);
    ++program_.alive;
    ++program_.waiting;
    try {
      world_.wait();
      program_.expect(false, "wait() returned though a task waits on every rank");
    } catch (const StuckError& error) {
      program_.errors.emplace_back(error.what());
      program_.expect(program_.alive == world_.size(), "stuck while something runs");
    }
    --program_.waiting;
    world_.barrier();
    graph_.fulfill(-1 - epoch);
  }
  wait_and_check(epoch);
}

inline int RandomActor::run() {
  try {
    for (int epoch = 0; epoch < program_.epochs; ++epoch) run_epoch(epoch);
  } catch (const TaskError& error) {
    program_.errors.emplace_back(error.what());
    throw;
  }
  return 0;
}

/// The main function of every rank. Throws what wait() throws.
inline int run_random(RandomProgram& program, World& world) {
  // Messages may come before their handler is made.
  if (program.below(3) == 0) compute(Cost::of_seconds(1e-6 * program.below(200)), [] {});
  return RandomActor(program, world).run();
}

}  // namespace shoal::testing
