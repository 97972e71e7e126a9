#pragma once
// Reports of stalled runs: the part of each rank, and the text merged from all parts.

#include "runtime/rank_runtime.hpp"
#include "sched/worker_state.hpp"
#include "team/team_state.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shoal::runtime {

/// Wait of the main function of a rank of a shoal::Runtime, while no run() is under way.
inline constexpr const char* kNextCall = "the program's next call of shoal::Runtime";
/// Returns whether the main function of the rank is in that wait. **Caller**: any thread, also
/// where the worker of the main function does not answer.
[[nodiscard]] bool awaits_call(RankRuntime& rank);

/// The part of one rank.
struct RankPart {
  int rank = 0;
  std::uint64_t quiet_ns = 0;  // since anything began, parked or woke, or a message moved
  bool failed = false;         // the world has: quiet_ns is the time since fewer tasks were left
  std::string title;           // ranks with the same title and without lines share one
  std::string age;             // goes behind the title where it stands alone
  std::vector<std::string> lines;
  std::uint64_t left_out = 0;  // lines that were too many
  // Counts of its team.
  std::uint64_t created = 0;
  std::uint64_t finished = 0;
  std::uint64_t queued = 0;
  std::uint64_t processed = 0;
  std::vector<team::TeamCalls> teams;  // that have not failed
  bool has_more_teams = false;
  bool serves = false;  // it is one of a shoal::Runtime

  template <class Archive>
  void serialize(Archive& ar) {
    ar(rank, quiet_ns, failed, title, age, lines, left_out, created, finished, queued, processed,
       teams, has_more_teams, serves);
  }
};

/// Observations of a rank over time, for its report.
struct RankHistory {
  std::uint64_t now_ns = 0;
  std::optional<std::uint64_t> quiet_ns;  // see RankPart; none: unknown
  bool active = false;                    // something has happened since the last look
  bool failed = false;                    // see RankPart
  std::vector<std::uint64_t> busy_ns;     // by worker: how long what it runs has been seen there
};

/// `workers` are the states of the rank's workers. **Caller**: any thread but the rank's workers,
/// or the only thread there is.
RankPart describe_rank(RankRuntime& rank, const std::vector<sched::WorkerState>& workers,
                       const RankHistory& history);

/// Merges the parts into one text, in the order of ranks; ranks without news share lines. `missing`
/// are ranks that gave no part.
std::string merge_parts(std::vector<RankPart> parts, const std::vector<int>& missing);

/// "30.1 s", "12.5 ms", "3.0 us".
std::string show_time(std::uint64_t ns);
/// "0 to 3, 7".
std::string show_ranks(const std::vector<int>& ranks);

/// **Caller**: one thread.
class RankActivity {
 public:
  /// Makes an object for these ranks; both arguments outlive it.
  RankActivity(env::Env& env, const std::vector<std::unique_ptr<RankRuntime>>& ranks);

  /// Compares counters of tasks and messages with those of the last look; true if any has changed.
  /// Where the world has failed: true if fewer tasks are left than ever since, as tasks that ignore
  /// the failure may go on for ever.
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
    bool failed = false;
    std::uint64_t left = 0;       // tasks, once the world has failed
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
