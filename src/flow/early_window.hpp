#pragma once
// Limit on the bytes that a rank sends to others before they expect them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace shoal::flow {

/// Counts of one rank, as a sender and as a receiver. For each pair of ranks:
/// sent - taken <= max(share of the pair, one value), where `taken` counts what the receiver has
/// matched with its receive. The sender asks for a report on it with one value in each quarter of
/// the share, so that both know how many reports there are.
///
/// **Caller**: one at a time.
class EarlyWindow {
 public:
  /// Bytes that a value takes beside its own, while it waits.
  static constexpr std::size_t kValueOverhead = 128;

  EarlyWindow(std::size_t bytes_max, int ranks)
      : share_(bytes_max / static_cast<std::size_t>(std::max(ranks - 1, 1))) {}

  enum class Answer {
    no,      // the rank has to ask for it
    yes,     // it may leave now
    report,  // likewise, and it is time for a report
  };
  /// Returns whether a value of this size may be sent to `rank`.
  [[nodiscard]] Answer admit(int rank, std::size_t bytes) {
    Sent& link = sent_[rank];
    ++link.count;
    const std::uint64_t out = link.sent - link.taken;
    if (out != 0 && out + bytes + kValueOverhead > share_) return Answer::no;
    link.sent += bytes + kValueOverhead;
    if (link.sent - link.reported <= share_ / 4) return Answer::yes;
    link.reported = link.sent;
    return Answer::report;
  }
  /// Calls f(rank, count) for each rank that admit() was called for, with the number of calls.
  template <class F>
  void for_each_count(F f) const {
    for (const auto& [rank, link] : sent_) f(rank, link.count);
  }
  /// Records the number of bytes that `rank` has taken since the start.
  void set_taken(int rank, std::uint64_t taken) {
    Sent& link = sent_[rank];
    link.taken = std::max(link.taken, taken);
  }

  /// Called when a value from `rank` that was not requested has met its receive. Returns the number
  /// of bytes taken since the start.
  std::uint64_t take(int rank, std::size_t bytes) { return taken_[rank] += bytes + kValueOverhead; }

 private:
  struct Sent {
    std::uint64_t sent = 0;
    std::uint64_t taken = 0;
    std::uint64_t reported = 0;  // value of `sent` when a report was asked for
    std::uint64_t count = 0;     // of values, those that must be asked for included
  };

  const std::size_t share_;
  std::unordered_map<int, Sent> sent_;            // by destination
  std::unordered_map<int, std::uint64_t> taken_;  // by source
};

}  // namespace shoal::flow
