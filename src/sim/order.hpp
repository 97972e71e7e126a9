#pragma once
// In which order things happen that may happen in any: by stretching the time that each takes.

#include <cstdint>
#include <random>
#include <vector>

namespace shoal::sim {

/// How the seed disturbs a run. All keep the order of one lane between two ranks.
enum class OrderKind {
  time,        // nothing: things take as long as the models say; the seed decides ties
  uniform,     // steps and packets take up to 16 and 64 times as long, each its own time
  priorities,  // workers differ in speed by powers of two; three times one is set back far (PCT)
  slow_rank,   // one rank is 64 times as slow
  slow_link,   // packets from one rank to another one take 1000 times as long
  late,        // one packet in 8 takes 1000 times as long
};

/// Draws from the seed how long a step or a packet takes. "PCT": random priorities with few change
/// points (Burckhardt et al., "A Randomized Scheduler with Probabilistic Guarantees of Finding
/// Bugs", ASPLOS 2010), here as speeds, so that one agenda by time serves all orders.
class Order {
 public:
  Order(OrderKind kind, std::uint64_t seed, int ranks, int workers_per_rank);

  /// Virtual duration of a step of the worker, of which the model gives `cost_ns`.
  std::uint64_t step_ns(int rank, int worker, std::uint64_t cost_ns);
  /// Time between departure and arrival of a packet, of which the model gives `latency_ns`.
  std::uint64_t travel_ns(int source, int target, std::uint64_t latency_ns);
  /// Decides between things at the same time.
  std::uint64_t tie() { return random_(); }

 private:
  std::uint64_t draw(std::uint64_t bound) { return random_() % bound; }

  const OrderKind kind_;
  const int workers_per_rank_;
  std::mt19937_64 random_;
  int victim_ = 0;                            // the slow rank, or the source of the slow link
  int victim_target_ = 0;                     // its target
  std::vector<std::uint64_t> slowness_;       // of each worker
  std::vector<std::uint64_t> change_points_;  // numbers of steps
  std::uint64_t steps_ = 0;
};

}  // namespace shoal::sim
