#pragma once
// Whether all ranks have inserted the same program.

#include <shoal/am/active_message.hpp>
#include <shoal/sched/future.hpp>
#include <shoal/sync/mutex.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shoal::flow {

class Core;

/// Keeps the last insertions of this rank; rank 0 compares the others' fingerprints with its own
/// whenever they wait, and names the first task that differs.
class Comparison {
 public:
  /// Description of one insertion.
  struct Digest {
    std::uint64_t fingerprint = 0;  // of this and all before it
    std::uint64_t datum = 0;        // the last of its arguments, if it has one
    std::uint32_t codelet = 0;      // hash of the name
    std::uint32_t has_datum = 0;
  };

  explicit Comparison(Core& core);

  // The inserter.
  void note(const Digest& digest);
  /// Starts a comparison of the insertions so far. Returns at once.
  void report() { send_report(false); }
  /// Collective: returns when rank 0 has compared all.
  void end();

 private:
  static constexpr std::size_t kKept = 1U << 15U;
  struct Report {
    int rank = 0;
    std::uint64_t count = 0;
    std::uint64_t fingerprint = 0;
    bool last = false;
  };

  void send_report(bool last);
  void on_report(const Report& report);
  void on_question(std::uint64_t count);
  void on_answer(int rank, std::uint64_t first, const std::vector<Digest>& digests);
  void on_goodbye();
  /// Compares the reports that can be compared by now.
  void compare();
  [[nodiscard]] const Digest* find(std::uint64_t number) const SHOAL_REQUIRES(mutex_);
  [[nodiscard]] std::string text_of(const Digest* digest) const;

  Core& core_;
  mutable sync::Mutex mutex_;
  std::uint64_t count_ SHOAL_GUARDED_BY(mutex_) = 0;
  std::vector<Digest> kept_ SHOAL_GUARDED_BY(mutex_);  // task number n stands at (n - 1) % kKept
  std::vector<Report> reports_ SHOAL_GUARDED_BY(mutex_);
  bool ended_ SHOAL_GUARDED_BY(mutex_) = false;
  int expected_ SHOAL_GUARDED_BY(mutex_);  // ranks that have not ended; elsewhere: goodbyes
  Promise<void> all_ended_;
  Future<void> end_;

  const ActiveMessage<int, std::uint64_t, std::uint64_t, bool> report_;
  const ActiveMessage<std::uint64_t> question_;
  const ActiveMessage<int, std::uint64_t, std::vector<Digest>> answer_;
  const ActiveMessage<int> goodbye_;
};

}  // namespace shoal::flow
