#include "runtime/status_page.hpp"

#include "env/host.hpp"
#include "env/machine_watch.hpp"
#include "runtime/service_call.hpp"
#include "sched/inspector.hpp"
#include "team/message_report.hpp"
#include "team/messenger.hpp"

#include <shoal/error.hpp>
#include <shoal/trace.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace shoal::runtime {

namespace {

// They register themselves.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
struct StatusMessages {
  using Handler = team::StaticHandler;
  static inline Handler request{"shoal::status_request", 5, Delivery::inlined,
                                call_service<&StatusPage::on_request>};
  static inline Handler answer{"shoal::status_answer", 6, Delivery::inlined,
                               call_service<&StatusPage::on_answer>};
};
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

constexpr std::uint64_t kUpdateNs = 100'000'000;   // least time between two
constexpr std::uint64_t kAskedNs = 3'000'000'000;  // a reader looks for so long after each request

std::string program_text(const Config& config) {
  std::string text;
  for (const std::string& argument : config.args) {
    const std::string_view part =
        text.empty() ? std::string_view(argument).substr(argument.rfind('/') + 1) : argument;
    text += fmt::format("{}{}", text.empty() ? "" : " ", part);
  }
  return text;
}

double rate(std::uint64_t now, std::uint64_t before, std::uint64_t period_ns) {
  if (period_ns == 0 || now < before) return 0;
  return static_cast<double>(now - before) * 1e9 / static_cast<double>(period_ns);
}

top::WorkerState state_of(const sched::WorkerGlance& worker) {
  if (worker.in_handler) return top::WorkerState::handler;
  if (worker.in_task) return top::WorkerState::task;
  return worker.asleep ? top::WorkerState::asleep : top::WorkerState::looking;
}

void add_windows(const std::vector<net::LinkState>& links, top::RankFigures& figures) {
  for (const net::LinkState& link : links) {
    figures.window_bytes = link.window_bytes;
    figures.waiting_senders += link.waiting_senders;
    if (link.in_flight_bytes <= figures.in_flight_bytes) continue;
    figures.in_flight_bytes = link.in_flight_bytes;
    figures.fullest_window = link.target.value();
  }
}

}  // namespace

top::Facts page_facts(const Config& config, const net::Layout& layout,
                      const std::vector<ProcessInfo>& all) {
  top::Facts facts;
  facts.world_size = layout.world_size;
  facts.first_rank = layout.first_local();
  facts.rank_count = layout.ranks_per_process;
  for (const ProcessInfo& process : all) {
    facts.workers = std::max(facts.workers, process.workers / std::max(process.ranks, 1));
  }
  facts.pid = all[static_cast<std::size_t>(layout.process)].pid;
  const ProcessInfo& first = all.front();
  facts.job =
      top::Text<96>(fmt::format("{}:{}-{:04x}", first.pid, first.host, first.salt & 0xffffU));
  facts.program = top::Text<256>(program_text(config));
  return facts;
}

StatusPage::StatusPage(env::Env& env, const top::Facts& facts,
                       const std::vector<std::unique_ptr<RankRuntime>>& ranks)
    : env_(env), facts_(facts), host_(env::host_name()), ranks_(ranks), last_(ranks.size()) {
  for (Last& last : last_) last.sampled_ns = env_.now_ns();
  for (const auto& rank : ranks_) rank->messenger().services().provide(*this);
}

StatusPage::~StatusPage() {
  for (const auto& rank : ranks_) rank->messenger().services().withdraw<StatusPage>();
}

void StatusPage::update() {
  const std::uint64_t now_ns = env_.now_ns();
  if (refused_ || (updated_ns_ != 0 && now_ns - updated_ns_ < kUpdateNs)) return;
  updated_ns_ = now_ns;
  bool is_watched = false;
  try {
    sync::locked(mutex_, [&]() SHOAL_REQUIRES(mutex_) {
      if (page_ == nullptr) page_ = std::make_unique<top::Page>(facts_);
      is_watched = page_->is_watched();
    });
  } catch (const Error&) {  // the run goes on without
    refused_ = true;
    return;
  }
  // relaxed: a hint
  const std::uint64_t asked_ns = asked_ns_.load(std::memory_order_relaxed);
  const bool is_asked = asked_ns != 0 && now_ns - std::min(asked_ns, now_ns) < kAskedNs;
  const std::uint64_t resident_bytes = env::resident_bytes();
  if (trace::on<trace::Category::memory>()) {
    trace::memory_counter(trace::intern("resident memory"), static_cast<double>(resident_bytes));
  }
  std::vector<top::Sample> samples;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    samples.push_back(sample(*ranks_[i], last_[i], is_watched || is_asked));
    samples.back().rank.resident_bytes = resident_bytes;
  }
  write(std::move(samples));
  if (is_watched) ask_others();
}

top::Sample StatusPage::sample(RankRuntime& rank, Last& last, bool with_names) const {
  top::Sample result;
  top::RankFigures& figures = result.rank;
  figures.rank = rank.rank().value();
  figures.pid = facts_.pid;
  figures.process = figures.rank / facts_.rank_count;
  figures.host = host_;
  figures.sampled_ns = figures.received_ns = env_.now_ns();
  Last now;
  now.sampled_ns = figures.sampled_ns;
  for (const sched::WorkerGlance& worker : sched::glance_at(rank.scheduler(), with_names)) {
    result.workers.push_back({state_of(worker), top::Text<31>(worker.task)});
    now.tasks += worker.tasks_run;
    now.slept_ns += worker.slept_ns;
    if (worker.asleep_since_ns != 0 && worker.asleep_since_ns < now.sampled_ns) {
      now.slept_ns += now.sampled_ns - worker.asleep_since_ns;
    }
    figures.ready += worker.ready;
    figures.parked += worker.parked;
  }
  const team::MessageStatistics messages = team::statistics_of(rank.messenger());
  now.sent = figures.messages_sent = messages.messages_sent;
  now.received = figures.messages_received = messages.messages_received;
  now.bytes = figures.bytes_sent = messages.bytes_sent;
  figures.tasks_run = now.tasks;
  add_windows(rank.messenger().fabric().link_states(rank.rank()), figures);
  const std::uint64_t period_ns = now.sampled_ns - last.sampled_ns;
  figures.tasks_per_s = rate(now.tasks, last.tasks, period_ns);
  figures.messages_sent_per_s = rate(now.sent, last.sent, period_ns);
  figures.messages_received_per_s = rate(now.received, last.received, period_ns);
  figures.bytes_sent_per_s = rate(now.bytes, last.bytes, period_ns);
  const double asleep = rate(now.slept_ns, last.slept_ns, period_ns) / 1e9;
  const auto workers = static_cast<double>(std::max<std::size_t>(result.workers.size(), 1));
  figures.busy = std::clamp(1 - asleep / workers, 0.0, 1.0);
  last = now;
  return result;
}

void StatusPage::write(std::vector<top::Sample> samples) {
  const sync::Lock lock(mutex_);
  for (const top::Sample& sample : samples) page_->write(sample.rank.rank, to_bytes(sample));
  samples_ = std::move(samples);
}

// A process with busy workers answers late: its earlier answer stays on the page, with its age.
void StatusPage::ask_others() {
  const int processes = facts_.world_size / facts_.rank_count;
  for (int process = 0; process < processes; ++process) {
    const int first = process * facts_.rank_count;
    if (first == facts_.first_rank) continue;
    ranks_.front()->messenger().send_control(StatusMessages::request, Rank(first), {});
  }
}

// --- from the workers' threads

void StatusPage::on_request(const team::Message& message) {
  asked_ns_.store(env_.now_ns(), std::memory_order_relaxed);  // a hint
  std::vector<top::Sample> samples;
  {
    const sync::Lock lock(mutex_);
    samples = samples_;
  }
  for (const top::Sample& sample : samples) {
    message.core->messenger().send_control(StatusMessages::answer, message.source,
                                           to_bytes(sample));
  }
}

void StatusPage::on_answer(const team::Message& message) {
  top::Sample sample;
  if (!top::from_bytes(message.arguments, sample)) return;
  sample.rank.received_ns = env_.now_ns();
  const sync::Lock lock(mutex_);
  if (page_ != nullptr) page_->write(sample.rank.rank, to_bytes(sample));
}

}  // namespace shoal::runtime
