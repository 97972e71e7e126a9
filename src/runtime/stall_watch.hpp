#pragma once
// Has one report written when nothing moves any more, or on a signal.

#include "env/alarm.hpp"
#include "runtime/rank_report.hpp"

#include <shoal/detail/base/function.hpp>
#include <shoal/detail/net/transport.hpp>
#include <shoal/detail/sync/mutex.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace shoal::runtime {

/// Asks another process to collect a report.
struct StallAsk {
  std::uint64_t number = 0;     // of the asks of its process
  bool signalled = false;       // a user asked for it, whether anything moves or not
  std::vector<RankPart> parts;  // of the ranks of the process that asks

  template <class Archive>
  void serialize(Archive& ar) {
    ar(number, signalled, parts);
  }
};

/// Answer of a process to the request of another one's round.
struct StallAnswer {
  std::uint64_t round = 0;
  std::vector<RankPart> parts;

  template <class Archive>
  void serialize(Archive& ar) {
    ar(round, parts);
  }
};

/// A report that a process collects.
struct StallRound {
  bool signalled = false;
  bool may_end_run = false;  // it waits so long for answers that none means that nothing moves
  std::uint64_t deadline_ns = 0;
  std::map<int, std::vector<RankPart>> parts;  // by process
  std::set<int> answered;                      // processes
};

/// One per process, with a thread of its own from construction to destruction.
///
/// The process that notices a stall asks process 0, with the parts of its own ranks; a process that
/// is asked requests the parts of all others and writes what it gets within a few seconds. A
/// process that does not react is passed over: the next one is asked, and so on, in the end the
/// noticing one itself. All of it are uncounted messages on the control lane, which completion
/// detection does not see; late ones are ignored. docs/design/decisions.md says why.
///
/// With `abort_ns`, a process that writes a report also ends the run if no rank that answered has
/// moved for so long: it tells all other processes, and then each process ends itself.
class StallWatch {
 public:
  struct Options {
    std::uint64_t stall_ns = 0;                // 0: reports on the signal only
    std::uint64_t abort_ns = 0;                // 0: never ends the run
    std::uint64_t answer_ns = 1'000'000'000;   // what workers have time to answer
    std::uint64_t request_ns = 4'000'000'000;  // what other processes have
    Function<void(const std::string&)> write;  // takes a whole report
    Function<void()> on_turn;                  // called after each look, every second or so
    Function<bool()> is_idle;  // nothing is expected, so nothing is a stall; may be empty
    /// Ends the process. The text is empty if another process has written why. Does not return.
    Function<void(const std::string&)> give_up;
  };

  /// The ranks are those of this process. All outlive this. Caller: before the workers start.
  StallWatch(env::Env& env, const net::Layout& layout,
             const std::vector<std::unique_ptr<RankRuntime>>& ranks, Options options);
  /// Called after the workers have stopped.
  ~StallWatch();
  StallWatch(const StallWatch&) = delete;
  StallWatch& operator=(const StallWatch&) = delete;

  // Called by handlers of control messages. Never block.
  void on_ask(const team::Message& message, StallAsk ask);
  void on_request(const team::Message& message, std::uint64_t round);
  void on_answer(const team::Message& message, StallAnswer answer);
  void on_end(const team::Message& message);

 private:
  /// A request of this process without an answer.
  struct Request {
    bool signalled = false;
    int candidate = 0;  // the process that was asked
    std::uint64_t deadline_ns = 0;
  };
  /// Parts of this process's ranks, and the ranks that can answer for them.
  struct Gathered {
    std::vector<RankPart> parts;
    RankRuntime* speaker = nullptr;  // a worker of it came by; nullptr: of no rank
  };

  void run();
  void turn();
  void sleep(std::uint64_t timeout_ns);
  void wait_for(std::uint64_t ns, FunctionRef<bool()> condition);
  [[nodiscard]] std::uint64_t until_next_ns() const;
  void look();
  void check_quiet();
  [[nodiscard]] bool ends_after(std::uint64_t quiet_ns) const;
  [[nodiscard]] std::uint64_t report_after_ns() const;
  Gathered gather();
  void notice(bool signalled);
  void ask(int candidate, bool signalled);
  void take_mail();
  void answer_request(int process, Rank asker, std::uint64_t round);
  void take_ask(int process, const StallAsk& ask);
  void begin_round(bool signalled, Gathered mine);
  void end_round();
  [[nodiscard]] std::vector<int> missing_ranks(const StallRound& round) const;
  void end_run(std::uint64_t quiet_ns);
  void write(bool signalled, const std::string& note, std::vector<RankPart> parts,
             const std::vector<int>& missing);
  template <class T>
  void send(const team::StaticHandler& handler, RankRuntime& from, int process, const T& value,
            bool to_all_ranks);

  env::Env& env_;
  const net::Layout layout_;
  const std::vector<std::unique_ptr<RankRuntime>>& ranks_;
  const Options options_;
  env::Alarm alarm_;
  const env::AlarmOnSignal on_signal_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> told_to_end_{false};  // by another process

  sync::Mutex mutex_;
  std::vector<std::pair<Rank, StallAsk>> asks_ SHOAL_GUARDED_BY(mutex_);
  std::vector<std::pair<Rank, std::uint64_t>> requests_ SHOAL_GUARDED_BY(mutex_);
  std::vector<std::pair<Rank, StallAnswer>> answers_ SHOAL_GUARDED_BY(mutex_);

  // The thread's own.
  bool signalled_ = false;
  RankActivity activity_;
  std::uint64_t due_ns_ = 0;        // how long it must be quiet for the next report
  std::uint64_t abort_due_ns_ = 0;  // how long it must be quiet for the next attempt to end the run
  int stalls_ = 0;                  // how often it was, since anything happened
  int deaf_reports_for_ = 1;        // stalls_ at the last report of this process alone
  std::optional<StallRound> round_;
  std::uint64_t rounds_ = 0;
  std::optional<Request> request_;
  std::uint64_t asks_sent_ = 0;
  std::map<int, std::uint64_t> asks_seen_;                     // by process: the last number
  std::map<int, std::pair<Rank, std::uint64_t>> rounds_seen_;  // by process: the last answered
  std::optional<std::uint64_t> collected_ns_;                  // when another process last did
  std::optional<std::uint64_t> written_ns_;                    // the last report of a round

  std::unique_ptr<env::Thread> thread_;
};

}  // namespace shoal::runtime
