#pragma once
// Values on their way between ranks.

#include <shoal/detail/base/function.hpp>
#include <shoal/detail/sync/mutex.hpp>
#include <shoal/detail/team/core.hpp>
#include <shoal/future.hpp>
#include <shoal/message.hpp>
#include <shoal/recipients.hpp>

#include "flow/transfer_tasks.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace shoal::flow {

class Core;

/// The ranks of a pruned flow do not compare their programs. A rank that leaves out a task that
/// writes a datum goes on reading its old copy, and the owner sends it a value that it does not
/// expect. When all ranks end the flow, rank 0 adds up the values sent to each. A rank waits until
/// so many have arrived; those that no task has received are an error.
///
/// Rejected: a check in each wait(). That waits for the own rank only, so a value that no task
/// receives yet may belong to a task that the rank inserts later.
class PrunedEnd {
 public:
  explicit PrunedEnd(Core& core);

  /// Collective, when nothing of the flow is under way on this rank. **Errors**: CheckError that
  /// names a datum, and the rank that has sent its value.
  void end();
  /// Appends the numbers of its handlers.
  void add_handlers(std::vector<std::uint32_t>& numbers) const {
    numbers.push_back(sent_.number());
    numbers.push_back(total_.number());
  }

 private:
  /// Numbers of values sent by one rank: counts[i] to ranks[i].
  void on_sent(const std::vector<int>& ranks, const std::vector<std::uint64_t>& counts);

  Core& core_;
  sync::Mutex mutex_;
  // On rank 0.
  std::vector<std::uint64_t> totals_ SHOAL_GUARDED_BY(mutex_);  // by receiver
  int expected_ SHOAL_GUARDED_BY(mutex_);                       // ranks that have not ended
  Promise<void> all_arrived_;
  Future<void> end_;

  // The last members: their handlers use the others.
  const ActiveMessage<std::vector<int>, std::vector<std::uint64_t>> sent_;
  const ActiveMessage<std::uint64_t> total_;
};

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

/// State of a recipient that forwards a value to others. It ends when the value may be changed.
struct Forwarding {
  std::shared_ptr<const void> keeps;  // destroyed at the end
};
using SharedForwarding = std::shared_ptr<Forwarding>;

/// A LargeMessage of bytes; its recipients may read the value while they forward it.
class ValueMessage {
 public:
  /// Functions of a recipient, in handlers.
  struct Functions {
    /// Returns memory for a value of this size.
    Function<std::span<std::byte>(std::size_t size_bytes, const TransferId& id, bool report)>
        buffer;
    /// Called when the value is there. If there is `forwarding`, the bytes must not change before
    /// that ends.
    Function<void(const TransferId& id, SharedForwarding forwarding)> arrived;
  };

  ValueMessage(TeamCore& team, const std::string& name, Functions functions,
               const std::source_location& place);
  ~ValueMessage();
  ValueMessage(const ValueMessage&) = delete;
  ValueMessage& operator=(const ValueMessage&) = delete;

  /// Sends a value; `release` runs on this rank, in a handler, when the bytes may be changed.
  /// **Caller**, **Blocks**: as ActiveMessage::send().
  void send(Rank target, std::span<const std::byte> bytes, const TransferId& id, bool report,
            Function<void()> release) const;
  void multicast(const Recipients& recipients, std::span<const std::byte> bytes,
                 const TransferId& id, bool report, Function<void()> release) const;

  /// Number of the handler.
  [[nodiscard]] std::uint32_t number() const { return index_; }

 private:
  struct Receiver;
  /// With its flag bits.
  [[nodiscard]] std::uint32_t handler() const;

  TeamCore& team_;
  std::shared_ptr<Receiver> receiver_;
  std::uint32_t index_ = 0;
};

}  // namespace shoal::flow

namespace shoal {

struct FlowOptions;
}

namespace shoal::flow {

class Core;
class Instance;
class Sequence;

/// Sends and receives of one flow on one rank. A value is sent eagerly while the receiver has room
/// for it; else it is announced, and sent when the receiver has inserted its receive.
///
/// **Caller**: any thread.
class Transfers {
 public:
  Transfers(Core& core, const FlowOptions& options);
  ~Transfers();
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  /// Statistics; relaxed.
  struct Counts {
    std::atomic<std::uint64_t> broadcasts{0};  // values that left for several ranks at once
    std::atomic<std::uint64_t> recipients{0};  // of those
    std::atomic<std::uint64_t> missed{0};      // sends of values that had left before
    std::atomic<std::uint64_t> missed_bytes{0};
    std::atomic<std::uint64_t> missed_bytes_most{0};
    std::atomic<std::uint64_t> announced{0};  // values that had to be asked for
    std::atomic<std::uint64_t> early_bytes_most{0};
    std::atomic<std::uint64_t> broadcast_bytes{0};  // of values that left for several ranks
    std::atomic<std::uint64_t> broadcast_bytes_most{0};

    void add_broadcast(std::uint64_t bytes, std::uint64_t to) {
      broadcasts.fetch_add(1, std::memory_order_relaxed);
      recipients.fetch_add(to, std::memory_order_relaxed);
      broadcast_bytes.fetch_add(bytes, std::memory_order_relaxed);
      raise(broadcast_bytes_most, bytes);
    }
    void add_missed(std::uint64_t bytes) {
      missed.fetch_add(1, std::memory_order_relaxed);
      missed_bytes.fetch_add(bytes, std::memory_order_relaxed);
      raise(missed_bytes_most, bytes);
    }
    static void raise(std::atomic<std::uint64_t>& most, std::uint64_t bytes) {
      std::uint64_t before = most.load(std::memory_order_relaxed);
      while (before < bytes &&
             !most.compare_exchange_weak(before, bytes, std::memory_order_relaxed)) {
      }
    }
  };
  [[nodiscard]] Counts& counts() { return counts_; }

  /// Sends the value of the instance, which the caller's read access holds; gives the access back
  /// when all of it has left. `is_late`: the value has left for other ranks before.
  void send(Instance& instance, Sequence& sequence, std::span<const Destination> to, bool is_late);
  /// Registers `task`, which waits for its value.
  void expect(ReceiveTask& task);

  // --- the end of a pruned flow, when nothing of it is under way on this rank

  /// Returns the ranks to which values were sent or announced, and the number of values to each.
  [[nodiscard]] std::pair<std::vector<int>, std::vector<std::uint64_t>> sent_counts() const;
  /// Fulfils the promise when `total` values have arrived or were announced on this rank.
  void await(std::uint64_t total, Promise<void>& all_arrived);
  /// Throws CheckError that names values without a receive, if there are any.
  void check_all_received() const;

  /// Returns the number of receives without a value, and of values without a receive.
  [[nodiscard]] std::uint64_t unmatched_count() const;
  void describe_unmatched(const std::string& flow, FunctionRef<void(std::string)> add) const;
  /// Appends the numbers of its handlers.
  void add_handlers(std::vector<std::uint32_t>& numbers) const {
    for (const std::uint32_t number : {small_.number(), large_.number(), announcement_.number(),
                                       question_.number(), taken_.number()}) {
      numbers.push_back(number);
    }
  }
  /// The tasks that wait here, when nothing runs any more.
  void add_waiting_tasks(std::vector<FlowTask*>& tasks) const;

 private:
  struct IdHash {
    std::size_t operator()(const TransferId& id) const {
      return (id.handle * 0x9E3779B97F4A7C15U) ^
             ((static_cast<std::uint64_t>(id.rank) << 32U | id.number) * 0xC2B2AE3D27D4EB4FU);
    }
  };
  template <class T>
  using ById = std::unordered_map<TransferId, T, IdHash>;
  /// Transfer of which one side has arrived: the value, or the receive.
  struct Match {
    ReceiveTask* task = nullptr;
    std::vector<std::byte> bytes;  // unless they go to their place
    bool announced = false;        // the sender has it, and waits to be asked
    bool asked = false;
    bool early = false;                     // came before its receive
    bool report = false;                    // the sender wants to know when it is taken
    bool in_place = false;                  // is just being written to its place
    bool complete = false;                  // the bytes are all there
    std::uint64_t message = 0;              // that has brought them, in traces
    SharedForwarding forwarding = nullptr;  // others still get them from here, perhaps
  };
  class Release;

  /// Sends the value to ranks that have room for it or have requested it.
  void transmit(const std::shared_ptr<Release>& release, std::span<const std::byte> payload,
                const std::shared_ptr<const std::vector<std::byte>>& encoded,
                std::span<const Destination> to, bool report);
  void announce(const std::shared_ptr<Release>& release, std::span<const Destination> to);
  void on_announcement(const TransferId& id);
  void on_question(const TransferId& id);
  void ask(const TransferId& id);

  void on_value(const TransferId& id, bool report, std::span<const std::byte> bytes);
  std::span<std::byte> buffer_for(std::size_t size_bytes, const TransferId& id, bool report);
  void on_large_value(const TransferId& id, SharedForwarding forwarding);
  /// Gives a value that is complete to its task.
  void hand_over(ReceiveTask& task, Match& match);
  void note_early(Match& match, std::size_t bytes) SHOAL_REQUIRES(mutex_);
  /// Promise to fulfil without the lock, now that a value has come before its receive, or nullptr.
  [[nodiscard]] Promise<void>* arrived_unclaimed() const SHOAL_REQUIRES(mutex_);
  [[nodiscard]] std::uint64_t arrived_count() const SHOAL_REQUIRES(mutex_);
  /// Called when a value has met its receive. Returns the number of bytes to report to the sender,
  /// or 0.
  [[nodiscard]] std::uint64_t take(const TransferId& id, const Match& match, std::size_t bytes)
      SHOAL_REQUIRES(mutex_);
  void tell_taken(int rank, std::uint64_t taken);

  Core& core_;
  const MulticastTree tree_;
  /// Flag that the flow has ended, for objects that outlive a flow that failed.
  const std::shared_ptr<std::atomic<bool>> ended_ = std::make_shared<std::atomic<bool>>(false);
  Counts counts_;
  mutable sync::Mutex mutex_;
  ById<Match> matches_ SHOAL_GUARDED_BY(mutex_);                       // by source
  ById<std::shared_ptr<Release>> announced_ SHOAL_GUARDED_BY(mutex_);  // by destination
  EarlyWindow window_ SHOAL_GUARDED_BY(mutex_);
  std::unordered_map<int, int> priorities_ SHOAL_GUARDED_BY(mutex_);  // of the last value, by rank
  std::uint64_t early_bytes_ SHOAL_GUARDED_BY(mutex_) = 0;
  std::uint64_t taken_count_ SHOAL_GUARDED_BY(mutex_) = 0;  // values that have met their receive
  std::uint64_t awaited_ SHOAL_GUARDED_BY(mutex_) = 0;      // see await()
  Promise<void>* all_arrived_ SHOAL_GUARDED_BY(mutex_) = nullptr;

  // The last members: their handlers use the others.
  const ActiveMessage<TransferId, bool, std::span<const std::byte>> small_;
  const ValueMessage large_;
  const ActiveMessage<TransferId> announcement_;
  const ActiveMessage<TransferId> question_;  // names the rank that asks
  const ActiveMessage<int, std::uint64_t> taken_;
};

}  // namespace shoal::flow
