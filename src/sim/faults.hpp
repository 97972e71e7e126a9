#pragma once
// Faults of a simulated run, according to a plan.

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace shoal::sim {

enum class FaultKind {
  // Faults of single packets and payloads.
  delay,      // arrives later; the lane keeps its order
  reorder,    // a packet is overtaken by those behind it in its lane: no network that shoal runs on
              // does that
  duplicate,  // a packet arrives twice
  drop,       // never arrives
  corrupt,    // arrives with a bit turned over
  // At a time.
  clog,   // nothing leaves one rank for another for a while
  pause,  // a rank's workers stand still for a while
  die,    // a rank's process ends
};

/// One line of a plan. Fields that a kind does not use keep their defaults.
struct Fault {
  FaultKind kind = FaultKind::delay;
  std::optional<double> probability;  // of each packet; or
  std::optional<std::uint64_t> nth;   // of those that match, this one only; the first is 0
  std::optional<int> from;            // ranks; no value: any
  std::optional<int> to;
  int rank = 0;
  std::uint64_t at_ns = 0;
  std::uint64_t for_ns = 0;
  std::uint64_t by_ns = 0;  // delay; also how far behind a packet is that is overtaken
};

/// "KIND:key=value,...;KIND:...", for example "delay:p=0.1,by=50us;pause:rank=2,at=1ms,for=5ms", or
/// "@FILE" with one fault per line and # before comments.
///
///   delay      p= or n=, by=; from=, to=      corrupt, drop, duplicate, reorder  p= or n=; from=,
///   clog       from=, to=, at=, for=          to=
///   pause      rank=, at=, for=               die   rank=, at=
///
/// Errors: ConfigError that says which part is wrong and what is allowed.
std::vector<Fault> parse_fault_plan(const std::string& text);

/// "drop:n=3": as written in a plan, without unset values.
std::string describe(const Fault& fault);

/// Fate of one packet or payload.
struct Mishap {
  std::uint64_t delay_ns = 0;
  std::uint64_t overtaken_ns = 0;  // if not 0: arrives later, and others go before it
  bool duplicate = false;
  bool drop = false;
  bool corrupt = false;

  [[nodiscard]] bool any() const {
    return delay_ns > 0 || overtaken_ns > 0 || duplicate || drop || corrupt;
  }
};

/// Decides on faults, by the plan and the seed.
class Faults {
 public:
  /// Errors: ConfigError when a rank is out of range.
  Faults(std::vector<Fault> plan, std::uint64_t seed, int ranks);

  [[nodiscard]] const std::vector<Fault>& plan() const { return plan_; }
  /// For a packet, or a payload, that is about to leave `source` for `target`.
  Mishap draw(int source, int target, bool is_payload);
  /// Time at which a packet that is due at `time_ns` may leave.
  [[nodiscard]] std::uint64_t clogged_until(int source, int target, std::uint64_t time_ns) const;
  /// Any number, for a choice that the plan leaves open.
  std::uint64_t any() { return random_(); }

 private:
  const std::vector<Fault> plan_;
  std::vector<std::uint64_t> matches_;  // so far, of each fault
  std::mt19937_64 random_;
};

}  // namespace shoal::sim
