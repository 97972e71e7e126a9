#include "runtime/rank_activity.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "sched/inspector.hpp"
#include "team/message_report.hpp"

namespace shoal::runtime {

RankActivity::RankActivity(env::Env& env, const std::vector<std::unique_ptr<RankRuntime>>& ranks)
    : env_(env), ranks_(ranks), watched_(ranks.size()) {
  for (Watched& watched : watched_) watched.active_ns = env_.now_ns();
}

bool RankActivity::look() {
  const std::uint64_t now_ns = env_.now_ns();
  bool any = false;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    any = look(watched_[i], *ranks_[i], now_ns) || any;
  }
  return any;
}

bool RankActivity::look(Watched& watched, RankRuntime& rank, std::uint64_t now_ns) {
  const messaging::MessageStatistics statistics = messaging::statistics_of(rank.messenger());
  const std::vector<std::uint64_t> begun = rank.scheduler().inspector().begun();
  const sched::TaskScope::Totals totals = rank.scope().all_totals();
  const std::uint64_t activity = std::accumulate(begun.begin(), begun.end(), std::uint64_t{0}) +
                                 totals.created + totals.finished + statistics.messages_sent +
                                 statistics.messages_received;
  watched.active = activity != std::exchange(watched.activity, activity);
  if (watched.active) watched.active_ns = now_ns;
  watched.workers.resize(begun.size(), {0, watched.active_ns});
  for (std::size_t worker = 0; worker < begun.size(); ++worker) {
    Watched::Busy& busy = watched.workers[worker];
    if (begun[worker] != busy.begun) busy = {begun[worker], now_ns};
  }
  return watched.active;
}

void RankActivity::skip(std::uint64_t ns) {
  const std::uint64_t now_ns = env_.now_ns();
  for (Watched& watched : watched_) watched.active_ns = std::min(watched.active_ns + ns, now_ns);
}

std::uint64_t RankActivity::quiet_ns() const {
  const auto last = std::ranges::max_element(watched_, {}, &Watched::active_ns);
  const std::uint64_t now_ns = env_.now_ns();
  return now_ns - std::min(last->active_ns, now_ns);
}

RankHistory RankActivity::history(std::size_t rank, std::uint64_t now_ns) const {
  const Watched& watched = watched_[rank];
  RankHistory history;
  history.now_ns = now_ns;
  history.quiet_ns = now_ns - watched.active_ns;
  history.active = watched.active;
  for (const Watched::Busy& busy : watched.workers) {
    history.busy_ns.push_back(now_ns - busy.since_ns);
  }
  return history;
}

}  // namespace shoal::runtime
