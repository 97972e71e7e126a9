#include "runtime/clock_sync.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "runtime/process_info.hpp"
#include "runtime/service_call.hpp"
#include "trace/clocks.hpp"

namespace shoal::runtime {

namespace {

constexpr int kArity = 4;          // of the tree
constexpr std::size_t kTrips = 8;  // of a round
constexpr std::uint64_t kPeriodNs = 2'000'000'000;

int parent_of(int process) { return (process - 1) / kArity; }

// They register themselves.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
struct ClockMessages {
  using Handler = team::StaticHandler;
  static inline Handler question{"shoal::clock_question", 7, Delivery::inlined,
                                 call_service<&ClockSync::on_question>};
  static inline Handler answer{"shoal::clock_answer", 8, Delivery::inlined,
                               call_service<&ClockSync::on_answer>};
};
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

}  // namespace

ClockSync::ClockSync(env::Env& env, trace::Recorder& recorder, const net::Layout& layout,
                     const std::vector<std::unique_ptr<RankRuntime>>& ranks)
    : env_(env),
      recorder_(recorder),
      layout_(layout),
      ranks_(ranks),
      due_ns_(env.now_ns() + kPeriodNs) {
  for (const auto& rank : ranks_) rank->messenger().services().provide(*this);
}

ClockSync::~ClockSync() {
  for (const auto& rank : ranks_) rank->messenger().services().withdraw<ClockSync>();
}

void ClockSync::turn() {
  if (layout_.process == 0 || env_.now_ns() < due_ns_) return;
  due_ns_ = env_.now_ns() + kPeriodNs;
  std::vector<trace::PingPong> trips;
  std::uint64_t round = 0;
  {
    const sync::Lock lock(mutex_);
    trips.swap(trips_);
    round = ++round_;  // answers that come later are ignored
  }
  if (!trips.empty()) {
    trace::SyncPoint point =
        trace::best_of(trips, static_cast<std::uint32_t>(parent_of(layout_.process)));
    std::swap(point.local_ticks, point.reference_ticks);  // this process has started them
    point.uncertainty_ticks *= 2;  // in its ticks; those of the parent may be twice as fast
    recorder_.add_sync({&point, 1});
  }
  ask(ranks_.front()->messenger(), round);
}

void ClockSync::ask(team::Messenger& messenger, std::uint64_t round) {
  const ClockQuestion question{round, recorder_.now_ticks(), 0};
  const Rank parent(parent_of(layout_.process) * layout_.ranks_per_process);
  messenger.send_control(ClockMessages::question, parent, encoded(question));
}

// --- from the workers' threads

void ClockSync::on_question(const team::Message& message, ClockQuestion question) {
  question.remote_ticks = recorder_.now_ticks();
  message.core->messenger().send_control(ClockMessages::answer, message.source, encoded(question));
}

void ClockSync::on_answer(const team::Message& /*message*/, ClockQuestion answer) {
  const std::uint64_t end_ticks = recorder_.now_ticks();
  {
    const sync::Lock lock(mutex_);
    if (answer.round != round_ || end_ticks < answer.start_ticks) return;
    trips_.push_back({answer.start_ticks, answer.remote_ticks, end_ticks});
    if (trips_.size() >= kTrips) return;
  }
  ask(ranks_.front()->messenger(), answer.round);
}

namespace {

constexpr double kFirstWindowNs = 1e6;
constexpr int kRoundsMax = 9;  // the last one 256 times as long

/// Processes from the one below the root down to `process`.
std::vector<std::size_t> path_to(std::size_t process, const std::vector<ComparedClock>& clocks) {
  std::vector<std::size_t> path;
  for (std::size_t at = process; at != 0; at = static_cast<std::size_t>(clocks[at].parent)) {
    path.push_back(at);
  }
  std::reverse(path.begin(), path.end());
  return path;
}

std::uint64_t on_clock_of(std::size_t process, const std::vector<ComparedClock>& clocks,
                          std::uint64_t root_ticks) {
  std::uint64_t ticks = root_ticks;
  std::size_t parent = 0;
  for (const std::size_t child : path_to(process, clocks)) {
    const double ratio = clocks[child].ticks_per_ns / clocks[parent].ticks_per_ns;
    ticks = trace::WindowBarrier::local_deadline(clocks[child].point, ratio, ticks);
    parent = child;
  }
  return ticks;
}

}  // namespace

std::optional<std::uint64_t> leave_together(net::MpiTransport& transport, int process,
                                            const ComparedClock& mine, const net::ReadClock& read) {
  const std::vector<ComparedClock> clocks = exchange_all(transport, mine);
  trace::WindowBarrier barrier(
      static_cast<std::uint64_t>(kFirstWindowNs * clocks.front().ticks_per_ns));
  while (barrier.rounds() < kRoundsMax) {
    const std::uint64_t chosen = process == 0 ? barrier.choose(read()) : 0;
    const std::uint64_t deadline = on_clock_of(static_cast<std::size_t>(process), clocks,
                                               exchange_all(transport, chosen).front());
    const bool missed = trace::WindowBarrier::missed(read(), deadline);
    while (read() < deadline) {
    }
    const std::vector<int> late = exchange_all(transport, missed ? 1 : 0);
    if (barrier.end_round(std::accumulate(late.begin(), late.end(), 0))) return deadline;
  }
  return std::nullopt;
}

}  // namespace shoal::runtime
