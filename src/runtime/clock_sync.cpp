#include "runtime/clock_sync.hpp"

#include <shoal/detail/team/handler.hpp>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "team/messenger.hpp"

namespace shoal::runtime {

namespace {

constexpr int kArity = 4;          // of the tree
constexpr std::size_t kTrips = 8;  // of a round
constexpr std::uint64_t kPeriodNs = 2'000'000'000;

int parent_of(int process) { return (process - 1) / kArity; }

/// Control messages. They register themselves.
struct ClockMessages {
  using Message = messaging::Message;
  using Handler = messaging::StaticHandler;

  template <class F>
  static void with_sync(const Message& message, F function) {
    ClockQuestion content;
    if (message.arguments.size() < sizeof content) return;
    std::memcpy(&content, message.arguments.data(), sizeof content);
    ClockSync* const sync = message.channel->messenger().services().find<ClockSync>();
    if (sync != nullptr) function(*sync, content);
  }
  static void on_question(void*, const Message& message) {
    with_sync(message, [&](ClockSync& sync, const ClockQuestion& question) {
      sync.on_question(message.source, question, message.channel->messenger());
    });
  }
  static void on_answer(void*, const Message& message) {
    with_sync(message,
              [](ClockSync& sync, const ClockQuestion& answer) { sync.on_answer(answer); });
  }

  // NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
  static inline Handler question{"shoal::clock_question", 7, Delivery::inlined,
                                 &messaging::invoke_each<&on_question>};
  static inline Handler answer{"shoal::clock_answer", 8, Delivery::inlined,
                               &messaging::invoke_each<&on_answer>};
  // NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)
};

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

void ClockSync::ask(messaging::Messenger& messenger, std::uint64_t round) {
  const ClockQuestion question{round, recorder_.now_ticks(), 0};
  const Rank parent(parent_of(layout_.process) * layout_.ranks_per_process);
  messenger.send_control(ClockMessages::question, parent, std::as_bytes(std::span(&question, 1)));
}

// --- from the workers' threads

void ClockSync::on_question(Rank source, ClockQuestion question, messaging::Messenger& messenger) {
  question.remote_ticks = recorder_.now_ticks();
  messenger.send_control(ClockMessages::answer, source, std::as_bytes(std::span(&question, 1)));
}

void ClockSync::on_answer(const ClockQuestion& answer) {
  const std::uint64_t end_ticks = recorder_.now_ticks();
  {
    const sync::Lock lock(mutex_);
    if (answer.round != round_ || end_ticks < answer.start_ticks) return;
    trips_.push_back({answer.start_ticks, answer.remote_ticks, end_ticks});
    if (trips_.size() >= kTrips) return;
  }
  ask(ranks_.front()->messenger(), answer.round);
}

}  // namespace shoal::runtime
