#pragma once
// Whether all ranks have inserted the same program.

#include <shoal/detail/sync/mutex.hpp>
#include <shoal/future.hpp>
#include <shoal/message.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shoal::flow {

/// One insertion.
struct Digest {
  static constexpr std::uint64_t kNoDatum = ~std::uint64_t{0};

  std::uint64_t fingerprint = 0;   // of this and all before it; given to add(): of the rest of this
  std::uint64_t datum = kNoDatum;  // the last of its arguments
  std::uint32_t codelet = 0;       // hash of the name
  std::int32_t rank = -1;          // that runs the task, or owns the datum
};

/// The last insertions of one sequence. **Caller**: any thread; one at a time adds.
class ProgramLog {
 public:
  /// Number of insertions, and the fingerprint of all.
  struct State {
    std::uint64_t count = 0;
    std::uint64_t fingerprint = 0;
  };

  ProgramLog(std::string name, std::uint32_t index) : name_(std::move(name)), index_(index) {}

  void add(Digest digest) {
    const sync::Lock lock(mutex_);
    const std::uint64_t id = digest.datum * 31 + digest.codelet;
    const std::uint64_t rest =
        digest.fingerprint * 31 + static_cast<std::uint64_t>(digest.rank + 1);
    std::uint64_t hash =
        (state_.fingerprint ^ (rest * 0xC2B2AE3D27D4EB4FU + id)) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 29U;
    digest.fingerprint = state_.fingerprint = hash;
    if (digests_.size() < kDigestsMax) {
      digests_.push_back(digest);
    } else {
      digests_[state_.count % kDigestsMax] = digest;
    }
    ++state_.count;
  }
  [[nodiscard]] State state() const {
    const sync::Lock lock(mutex_);
    return state_;
  }
  /// Returns insertion `number`, from 1; nothing if it is not kept any more, or does not exist yet.
  [[nodiscard]] std::optional<Digest> find(std::uint64_t number) const {
    const sync::Lock lock(mutex_);
    if (number < first_digest() || number > state_.count) return std::nullopt;
    return digests_[(number - 1) % kDigestsMax];
  }
  /// Returns the number of the first insertion that is kept.
  [[nodiscard]] std::uint64_t first() const {
    const sync::Lock lock(mutex_);
    return first_digest();
  }
  /// Returns all insertions that are kept, and the number of the first one.
  [[nodiscard]] std::pair<std::uint64_t, std::vector<Digest>> all() const {
    const sync::Lock lock(mutex_);
    std::vector<Digest> digests;
    for (std::uint64_t number = first_digest(); number <= state_.count; ++number) {
      digests.push_back(digests_[(number - 1) % kDigestsMax]);
    }
    return {first_digest(), std::move(digests)};
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  /// Number of its sequence in the flow.
  [[nodiscard]] std::uint32_t index() const { return index_; }

 private:
  static constexpr std::size_t kDigestsMax = 1U << 15U;
  [[nodiscard]] std::uint64_t first_digest() const SHOAL_REQUIRES(mutex_) {
    return state_.count > kDigestsMax ? state_.count - kDigestsMax + 1 : 1;
  }

  const std::string name_;
  const std::uint32_t index_;
  mutable sync::Mutex mutex_;
  State state_ SHOAL_GUARDED_BY(mutex_);
  std::vector<Digest> digests_
      SHOAL_GUARDED_BY(mutex_);  // number n stands at (n - 1) % kDigestsMax
};

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
  void on_difference(std::uint32_t sequence, std::uint64_t number, bool is_first_digest,
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
