#pragma once
// Whether all ranks have inserted the same program.

#include "flow/program_log.hpp"

#include <shoal/detail/sync/mutex.hpp>
#include <shoal/future.hpp>
#include <shoal/message.hpp>

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace shoal::flow {

class Core;

/// Rank 0 compares the others' fingerprints with its own whenever they wait, one sequence at a
/// time, and names the first task that differs.
///
/// A rank that waits before it has inserted as much as another one may wait for ever because of a
/// difference before: rank 0 then sends what it has to the other one, which looks.
///
/// **Caller**: any thread.
class Comparison {
 public:
  explicit Comparison(Core& core);

  /// Adds the log of a new sequence. Sequences are made in the same order on all ranks.
  [[nodiscard]] ProgramLog& add_log(const std::string& name);
  /// Starts a comparison of the insertions so far, if there are new ones. **Blocks**: never.
  void report(const ProgramLog& log);
  /// Returns when rank 0 has compared all insertions. Collective.
  void end();

  /// Appends the numbers of its handlers.
  void add_handlers(std::vector<std::uint32_t>& numbers) const {
    for (const std::uint32_t number : {report_.number(), question_.number(), answer_.number(),
                                       difference_.number(), goodbye_.number()}) {
      numbers.push_back(number);
    }
  }

 private:
  using State = ProgramLog::State;
  struct Report {
    int rank = 0;
    std::uint32_t first = 0;    // sequence of states[0]
    std::vector<State> states;  // of one sequence; in the last report of all
    bool last = false;
    std::uint64_t asked = 0;  // insertions of rank 0 that the other one was asked to compare
  };
  /// Question to a rank that has inserted more than `state`, or another program if that is certain.
  struct Question {
    int rank = 0;
    std::uint32_t sequence = 0;
    State state;
    bool certain = false;
  };
  enum class Outcome { waits, differs, agrees };

  void on_report(Report report);
  void on_question(const Question& question);
  void on_answer(int rank, std::uint32_t sequence, std::uint64_t first,
                 const std::vector<Digest>& digests);
  /// Rank 0 has inserted `theirs`, by its text and detail, as insertion `number`, and this rank
  /// what the digest says, or nothing. **Errors**: CheckError, always.
  void on_difference(std::uint32_t sequence, std::uint64_t number, bool is_first_kept,
                     const std::pair<std::string, std::string>& theirs,
                     const std::vector<Digest>& digests) const;
  void on_goodbye();
  /// Compares the reports that can be compared now. The caller has raised comparing_.
  void compare();
  /// Returns whether all ranks have ended.
  [[nodiscard]] bool compare_all();
  [[nodiscard]] Outcome compare_one(Report& report, std::vector<Question>& questions)
      SHOAL_REQUIRES(mutex_);
  [[nodiscard]] const ProgramLog* find_log(std::uint32_t sequence) const SHOAL_REQUIRES(mutex_);
  /// Returns the log that find_log() finds, for a caller that does not hold the lock.
  [[nodiscard]] const ProgramLog* log_of(std::uint32_t sequence) const;
  [[nodiscard]] std::string text_of(const Digest* digest) const;
  /// The number of a datum, or the type of one that is registered; text_of() leaves them out.
  [[nodiscard]] std::string detail_of(const Digest* digest) const;

  Core& core_;
  mutable sync::Mutex mutex_;
  std::deque<ProgramLog> logs_ SHOAL_GUARDED_BY(mutex_);
  std::vector<std::uint64_t> reported_ SHOAL_GUARDED_BY(mutex_);  // insertions of each sequence
  std::vector<Report> reports_ SHOAL_GUARDED_BY(mutex_);
  bool ended_ SHOAL_GUARDED_BY(mutex_) = false;
  int comparing_ SHOAL_GUARDED_BY(mutex_) = 0;  // calls of compare()
  int expected_ SHOAL_GUARDED_BY(mutex_);       // ranks that have not ended; elsewhere: goodbyes
  Promise<void> all_ended_;
  Future<void> end_;

  const ActiveMessage<int, std::uint32_t, std::vector<State>, bool> report_;
  const ActiveMessage<int, std::uint32_t, State, bool> question_;
  const ActiveMessage<int, std::uint32_t, std::uint64_t, std::vector<Digest>> answer_;
  const ActiveMessage<std::uint32_t, std::uint64_t, bool, std::pair<std::string, std::string>,
                      std::vector<Digest>>
      difference_;
  const ActiveMessage<int> goodbye_;
};

}  // namespace shoal::flow
