#pragma once
// Publishes figures of the ranks of this process for shoal-top.

#include "runtime/config.hpp"
#include "runtime/process_info.hpp"
#include "runtime/rank_runtime.hpp"
#include "top/page.hpp"

#include <shoal/detail/sync/mutex.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace shoal::runtime {

/// Facts of this process for its page.
top::Facts page_facts(const Config& config, const net::Layout& layout,
                      const std::vector<ProcessInfo>& all);

/// Samples counters that the workers keep anyway, from the thread that calls update(): the workers
/// do nothing for it. While a reader looks at the page, it also names the tasks that run and asks
/// the other processes for their figures, once for each update, by uncounted messages on the
/// control lane. A process that is asked answers with its last sample.
class StatusPage {
 public:
  /// The ranks are those of this process. Caller: before the workers start.
  StatusPage(env::Env& env, const top::Facts& facts,
             const std::vector<std::unique_ptr<RankRuntime>>& ranks);
  /// Called after the workers have stopped.
  ~StatusPage();
  StatusPage(const StatusPage&) = delete;
  StatusPage& operator=(const StatusPage&) = delete;

  /// Makes the page if there is none, and writes the ranks of this process. Calls that follow each
  /// other closely do nothing. Where the system refuses the memory, there is no page.
  /// **Caller**: one thread.
  void update();

  // Called by handlers of control messages. Never block.
  void on_request(const team::Message& message);
  void on_answer(const team::Message& message);

 private:
  /// Counts of a rank at its last sample.
  struct Last {
    std::uint64_t sampled_ns = 0;
    std::uint64_t tasks = 0;
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    std::uint64_t bytes = 0;
    std::uint64_t slept_ns = 0;
  };
  top::Sample sample(RankRuntime& rank, Last& last, bool with_names) const;
  void write(std::vector<top::Sample> samples);
  void ask_others();

  env::Env& env_;
  const top::Facts facts_;
  const top::Text<64> host_;
  const std::vector<std::unique_ptr<RankRuntime>>& ranks_;
  std::atomic<std::uint64_t> asked_ns_{0};  // when another process last asked

  // The thread's own.
  std::vector<Last> last_;
  std::uint64_t updated_ns_ = 0;
  bool refused_ = false;  // the system gives no memory

  sync::Mutex mutex_;
  std::unique_ptr<top::Page> page_ SHOAL_GUARDED_BY(mutex_);
  std::vector<top::Sample> samples_ SHOAL_GUARDED_BY(mutex_);  // the last ones
};

}  // namespace shoal::runtime
