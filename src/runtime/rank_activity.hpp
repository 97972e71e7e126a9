#pragma once
// Progress of the ranks of a process, as seen by one that looks at them from time to time.

#include "runtime/rank_report.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace shoal::runtime {

/// **Caller**: one thread.
class RankActivity {
 public:
  /// Makes an object for these ranks; both arguments outlive it.
  RankActivity(env::Env& env, const std::vector<std::unique_ptr<RankRuntime>>& ranks);

  /// Compares counters of tasks and messages with those of the last look; true if any has changed.
  bool look();
  /// Leaves out a time in which nothing can have happened, since the process was stopped.
  void skip(std::uint64_t ns);
  /// Time since any rank was last active.
  [[nodiscard]] std::uint64_t quiet_ns() const;
  [[nodiscard]] RankHistory history(std::size_t rank, std::uint64_t now_ns) const;

 private:
  /// Observations of one rank.
  struct Watched {
    std::uint64_t activity = 0;
    std::uint64_t active_ns = 0;  // when it was last seen to have changed
    bool active = false;          // it had, when last looked at
    struct Busy {
      std::uint64_t begun = 0;
      std::uint64_t since_ns = 0;
    };
    std::vector<Busy> workers;
  };
  static bool look(Watched& watched, RankRuntime& rank, std::uint64_t now_ns);

  env::Env& env_;
  const std::vector<std::unique_ptr<RankRuntime>>& ranks_;
  std::vector<Watched> watched_;  // by rank of this process
};

}  // namespace shoal::runtime
