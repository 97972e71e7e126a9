#pragma once
// Completion detection: the protocol alone, without threads or messages. docs/design/completion.md
// has the invariant and the proof.

#include <shoal/rank.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace shoal::team {

/// Counts of one rank at a moment when it was idle, or sums of such counts.
struct Counts {
  std::uint64_t queued = 0;  // messages
  std::uint64_t processed = 0;
  std::uint64_t unsatisfied = 0;  // things that wait for something: keys, held messages, mains
  bool all_final = true;          // every main function has ended
  bool failed = true;             // every rank has heard that the team has failed
  bool operator==(const Counts&) const = default;
  Counts& operator+=(const Counts& other);
};

/// Snapshot of one rank: its counts, and the other values that must not change while the other
/// ranks are asked.
struct Snapshot {
  Counts counts;
  std::uint64_t tasks = 0;  // created and finished
  std::uint64_t parks = 0;  // how often the main function was parked
  bool operator==(const Snapshot&) const = default;
};

/// Message from a rank to its parent: sums over its subtree.
struct Report {
  std::uint64_t epoch = 0;
  std::uint64_t version = 0;  // counts the reports of this rank
  Counts counts;
};

/// Message that asks a child whether its last report, `version`, still holds.
struct Request {
  std::uint64_t epoch = 0;
  std::uint64_t wave = 0;
  std::uint64_t version = 0;
};

struct Confirmation {
  std::uint64_t epoch = 0;
  std::uint64_t wave = 0;
};

/// Place of each rank in the tree: rank 0 is the root.
struct Tree {
  static constexpr int kArity = 4;
  Rank rank;
  int size = 1;

  [[nodiscard]] bool is_root() const { return rank == 0; }
  [[nodiscard]] Rank parent() const { return Rank((rank - 1) / kArity); }
  [[nodiscard]] std::vector<Rank> children() const;
  /// Returns the index of `child` in children().
  [[nodiscard]] std::size_t child_index(Rank child) const {
    return static_cast<std::size_t>(child - (rank * kArity + 1));
  }
};

/// Progress of the detection on one rank, for reports.
struct DetectionState {
  std::uint64_t epoch = 0;             // completions so far, and one
  std::uint64_t version = 0;           // reports so far
  std::vector<Rank> children_missing;  // have not reported in this epoch: they are not idle
  bool wave_open = false;              // children were asked to confirm, and some have not
  bool is_root = false;
  // Totals of all ranks, as last reported. Root only, when no child is missing.
  std::uint64_t queued = 0;
  std::uint64_t processed = 0;
};

/// Services that the protocol needs.
class DetectorHost {
 public:
  virtual ~DetectorHost() = default;
  /// Returns the rank's counts if it is idle now: its main function is parked and every task has
  /// finished.
  virtual std::optional<Snapshot> snapshot() = 0;
  virtual void send_report(Rank parent, const Report& report) = 0;
  virtual void send_request(Rank child, const Request& request) = 0;
  virtual void send_confirmation(Rank parent, const Confirmation& confirmation) = 0;
  /// Called on the root when no task runs and no message is in flight on any rank.
  virtual void completed(const Counts& total) = 0;
};

/// One rank's part of the protocol. Not thread-safe: the owner calls under one lock.
///
/// A rank that is idle reports the sums of its subtree to its parent when they have changed. When
/// the sums at the root are equal (queued == processed), the root sends a confirming wave down; a
/// rank confirms if nothing of what it reported has changed. Nothing is sent while nothing changes.
class Detector {
 public:
  Detector(Tree tree, DetectorHost& host);

  /// Called when the rank may have become idle, or its counts may have changed. Returns whether it
  /// has sent a message.
  bool on_idle();
  void on_report(Rank child, const Report& report);
  void on_request(const Request& request);
  void on_confirmation(const Confirmation& confirmation);
  /// Called when the team was found complete: later work counts for the next round.
  void begin_epoch();
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }
  /// Returns this rank's snapshot in the wave that it confirmed last.
  [[nodiscard]] const Snapshot& confirmed() const { return confirmed_; }
  [[nodiscard]] DetectionState state() const;

 private:
  struct Child {
    Rank rank;
    std::uint64_t epoch = 0;  // of the last report
    std::uint64_t version = 0;
    Counts counts;
  };

  [[nodiscard]] bool all_children_reported() const;
  [[nodiscard]] Counts subtree() const;
  bool report();
  void start_wave(std::uint64_t wave);
  void wave_confirmed();

  const Tree tree_;
  DetectorHost& host_;
  std::vector<Child> children_;
  std::uint64_t epoch_ = 1;
  std::uint64_t version_ = 0;  // of the last report
  Snapshot reported_;          // this rank's own part of it
  Snapshot confirmed_;
  bool must_report_ = true;  // something changed since, or a request was not confirmed
  std::uint64_t wave_ = 0;   // the one last taken part in (root: one for each report)
  std::size_t confirmations_missing_ = 0;
  std::uint64_t wave_version_ = 0;  // the version that the wave asks about; for state()
};

}  // namespace shoal::team
