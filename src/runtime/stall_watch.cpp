#include "runtime/stall_watch.hpp"

#include "env/host.hpp"
#include "runtime/count.hpp"
#include "runtime/service_call.hpp"
#include "sched/inspector.hpp"
#include "team/messenger.hpp"

#include <shoal/archive.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

namespace shoal::runtime {

namespace {

// Signals of one `kill` of a launcher reach the processes one after the other.
constexpr std::uint64_t kSameSignalNs = 500'000'000;

// Time for control messages to leave before the process ends, and time that a process told to end
// gives its launcher.
constexpr std::uint64_t kLastWordsNs = 500'000'000;
constexpr std::uint64_t kLauncherNs = 2'000'000'000;

// A sleep that takes so much longer than it should: the process was stopped.
constexpr std::uint64_t kStoppedNs = 1'000'000'000;

// A process that receives nothing cannot know whether others move: it waits longer.
constexpr std::uint64_t kDeafFactor = 4;

// Time between the two looks that decide whether anything moves.
constexpr std::uint64_t kLookNs = 20'000'000;

/// "nothing has happened for 30.1 s", or what it is once the world has failed.
std::string describe_quiet(std::uint64_t quiet_ns, bool failed) {
  return fmt::format("{} for {}",
                     failed ? "the run has failed, and has not ended" : "nothing has happened",
                     show_time(quiet_ns));
}

std::uint64_t least_quiet_ns(const std::vector<RankPart>& parts) {
  std::uint64_t least = ~std::uint64_t{0};
  for (const RankPart& part : parts) least = std::min(least, part.quiet_ns);
  return least;
}

// They register themselves.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
struct StallMessages {
  using Handler = team::StaticHandler;
  static inline Handler ask{"shoal::stall_ask", 1, Delivery::inlined,
                            call_service<&StallWatch::on_ask>};
  static inline Handler request{"shoal::stall_request", 2, Delivery::inlined,
                                call_service<&StallWatch::on_request>};
  static inline Handler answer{"shoal::stall_answer", 3, Delivery::inlined,
                               call_service<&StallWatch::on_answer>};
  static inline Handler end{"shoal::stall_end", 4, Delivery::inlined,
                            call_service<&StallWatch::on_end>};
};
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

}  // namespace

StallWatch::StallWatch(env::Env& env, const net::Layout& layout,
                       const std::vector<std::unique_ptr<RankRuntime>>& ranks, Options options)
    : env_(env),
      layout_(layout),
      ranks_(ranks),
      options_(std::move(options)),
      on_signal_(SIGUSR1, alarm_),
      activity_(env, ranks),
      due_ns_(options_.stall_ns),
      abort_due_ns_(options_.abort_ns) {
  thread_ = std::make_unique<env::Thread>("shoal watch", "the watch of --stall-report",
                                          [this] { run(); });
  for (const auto& rank : ranks_) rank->messenger().services().provide(*this);
}

StallWatch::~StallWatch() {
  stop_.store(true, std::memory_order_seq_cst);
  alarm_.ring();
  thread_.reset();
  for (const auto& rank : ranks_) rank->messenger().services().withdraw<StallWatch>();
}

// --- from the workers' threads

void StallWatch::on_ask(const team::Message& message, StallAsk ask) {
  sync::locked(
      mutex_, [&]() SHOAL_REQUIRES(mutex_) { asks_.emplace_back(message.source, std::move(ask)); });
  alarm_.ring();
}

void StallWatch::on_request(const team::Message& message, std::uint64_t round) {
  sync::locked(mutex_,
               [&]() SHOAL_REQUIRES(mutex_) { requests_.emplace_back(message.source, round); });
  alarm_.ring();
}

void StallWatch::on_answer(const team::Message& message, StallAnswer answer) {
  sync::locked(mutex_, [&]() SHOAL_REQUIRES(mutex_) {
    answers_.emplace_back(message.source, std::move(answer));
  });
  alarm_.ring();
}

void StallWatch::on_end(const team::Message& /*message*/) {
  told_to_end_.store(true, std::memory_order_seq_cst);
  alarm_.ring();
}

// --- the thread

void StallWatch::run() {
  while (!stop_.load(std::memory_order_seq_cst)) {
    sleep(until_next_ns());
    try {
      turn();
    } catch (const std::exception& error) {  // the program is not to end by this; takes no memory
      env::write_to_standard_error({"shoal: warning: no report was made: ", error.what(), "\n"});
    }
  }
}

void StallWatch::turn() {
  look();
  if (options_.on_turn) options_.on_turn();
  take_mail();
  if (std::exchange(signalled_, false)) notice(true);
  check_quiet();
  const std::uint64_t now_ns = env_.now_ns();
  if (round_.has_value() && (static_cast<int>(round_->answered.size()) == layout_.process_count() ||
                             now_ns >= round_->deadline_ns)) {
    end_round();
  }
  if (request_.has_value() && now_ns >= request_->deadline_ns) {
    // The candidates are 0, 1, 2, 4, ..., so that a few steps leave a whole node behind that has
    // failed.
    const int next = std::max(1, 2 * request_->candidate);
    ask(std::min(next, layout_.process), request_->signalled);
  }
  if (told_to_end_.load(std::memory_order_seq_cst)) {
    wait_for(kLauncherNs, [] { return false; });
    options_.give_up("");
  }
}

void StallWatch::check_quiet() {
  const std::uint64_t quiet = activity_.quiet_ns();
  if (options_.is_idle && options_.is_idle()) {
    activity_.skip(quiet);
    return;
  }
  bool due = false;
  if (options_.stall_ns > 0 && quiet >= due_ns_) {
    // The next report is due after twice that time, or when something has happened meanwhile.
    due_ns_ = quiet + (options_.stall_ns << std::min(stalls_ + 1, 16));
    ++stalls_;
    due = true;
  }
  if (options_.abort_ns > 0 && quiet >= abort_due_ns_ + options_.abort_ns / 8) {
    // An eighth later than configured, because ranks become quiet at slightly different times.
    abort_due_ns_ = quiet + options_.abort_ns / 8;
    due = true;
  }
  if (due) notice(false);
}

bool StallWatch::ends_after(std::uint64_t quiet_ns) const {
  return options_.abort_ns > 0 && quiet_ns >= options_.abort_ns;
}

std::uint64_t StallWatch::report_after_ns() const {
  return options_.abort_ns > 0 ? std::min(options_.stall_ns, options_.abort_ns) : options_.stall_ns;
}

void StallWatch::sleep(std::uint64_t timeout_ns) {
  if (stop_.load(std::memory_order_seq_cst)) return;
  const std::uint64_t begin_ns = env_.now_ns();
  if (alarm_.wait(timeout_ns).by_signal) signalled_ = true;
  const std::uint64_t slept_ns = env_.now_ns() - begin_ns;
  if (slept_ns > timeout_ns + kStoppedNs) activity_.skip(slept_ns - timeout_ns);
}

void StallWatch::wait_for(std::uint64_t ns, FunctionRef<bool()> condition) {
  const std::uint64_t deadline_ns = env_.now_ns() + ns;
  while (!stop_.load(std::memory_order_seq_cst) && !condition() && env_.now_ns() < deadline_ns) {
    sleep(1'000'000);
  }
}

std::uint64_t StallWatch::until_next_ns() const {
  constexpr std::uint64_t kLongestNs = 1'000'000'000;
  constexpr std::uint64_t kShortestNs = 1'000'000;
  std::uint64_t ns = kLongestNs;
  if (options_.stall_ns > 0) ns = std::clamp(report_after_ns() / 8, kShortestNs, kLongestNs);
  const std::uint64_t now_ns = env_.now_ns();
  for (const auto deadline_ns : {round_.has_value() ? round_->deadline_ns : now_ns + ns,
                                 request_.has_value() ? request_->deadline_ns : now_ns + ns}) {
    ns = std::min(ns, deadline_ns > now_ns ? deadline_ns - now_ns : 0);
  }
  return ns;
}

void StallWatch::look() {
  if (!activity_.look()) return;
  stalls_ = 0;
  deaf_reports_for_ = 1;
  due_ns_ = options_.stall_ns;
  abort_due_ns_ = options_.abort_ns;
}

// Workers that do not answer in time are in code of the program; this thread can see which.
StallWatch::Gathered StallWatch::gather() {
  for (const auto& rank : ranks_) rank->scheduler().inspector().ask();
  const auto all_answered = [this] {
    return std::all_of(ranks_.begin(), ranks_.end(), [](const auto& rank) {
      return rank->scheduler().inspector().all_answered();
    });
  };
  wait_for(options_.answer_ns, all_answered);
  look();
  wait_for(kLookNs, [] { return false; });
  look();
  Gathered result;
  const std::uint64_t now_ns = env_.now_ns();  // for all ages in the report
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const std::vector<sched::WorkerState> workers = ranks_[i]->scheduler().inspector().states();
    const RankHistory history = activity_.history(i, now_ns);
    result.parts.push_back(describe_rank(*ranks_[i], workers, history));
    const bool speaks = std::any_of(workers.begin(), workers.end(),
                                    [](const auto& worker) { return worker.answered; });
    if (speaks && result.speaker == nullptr) result.speaker = ranks_[i].get();
  }
  return result;
}

// --- requests for parts, sent and received

void StallWatch::notice(bool signalled) {
  // Another process has just reported the same stall, or is about to.
  const std::uint64_t same_ns = ends_after(activity_.quiet_ns())
                                    ? std::max(options_.request_ns, options_.abort_ns / 2)
                                    : options_.stall_ns;
  if (!signalled && collected_ns_.has_value() && env_.now_ns() - *collected_ns_ < same_ns) return;
  if (round_.has_value()) {
    round_->signalled = round_->signalled || signalled;
    return;
  }
  if (request_.has_value()) {
    request_->signalled = request_->signalled || signalled;
    return;
  }
  ask(0, signalled);
}

// A process without free workers receives nothing: it sends its part to another process, and writes
// the part itself if a signal asked for it, or if this state has lasted for long. The only process
// of a world receives nothing anyway.
void StallWatch::ask(int candidate, bool signalled) {
  request_.reset();
  Gathered mine = gather();
  if (stop_.load(std::memory_order_seq_cst)) return;
  const bool deaf = mine.speaker == nullptr;
  if (layout_.process_count() == 1 || (candidate == layout_.process && !deaf)) {
    begin_round(signalled, std::move(mine));
    return;
  }
  if (candidate == layout_.process) candidate = layout_.process == 0 ? 1 : 0;
  RankRuntime& speaker = deaf ? *ranks_.front() : *mine.speaker;
  send(StallMessages::ask, speaker, candidate, StallAsk{++asks_sent_, signalled, mine.parts}, true);
  if (!deaf) {
    request_ = Request{signalled, candidate, env_.now_ns() + options_.request_ns};
    return;
  }
  const bool ends = ends_after(activity_.quiet_ns() / kDeafFactor);
  if (signalled || ends || stalls_ > deaf_reports_for_) {
    deaf_reports_for_ = std::max(stalls_, 1);
    write(signalled,
          fmt::format(
              "\n  only of process {}: all of its workers are busy, so it receives no parts of "
              "other processes",
              layout_.process),
          std::move(mine.parts), {});
  }
  if (ends) end_run(activity_.quiet_ns());
}

void StallWatch::take_mail() {
  std::vector<std::pair<Rank, StallAsk>> asks;
  std::vector<std::pair<Rank, std::uint64_t>> requests;
  std::vector<std::pair<Rank, StallAnswer>> answers;
  {
    const sync::Lock lock(mutex_);
    asks.swap(asks_);
    requests.swap(requests_);
    answers.swap(answers_);
  }
  for (auto& [source, answer] : answers) {
    if (!round_.has_value() || answer.round != rounds_) continue;  // too late
    const int process = layout_.process_of(source);
    round_->answered.insert(process);
    round_->parts[process] = std::move(answer.parts);
  }
  for (const auto& [source, round] : requests) {
    answer_request(layout_.process_of(source), source, round);
  }
  for (const auto& [source, ask] : asks) take_ask(layout_.process_of(source), ask);
}

// Each rank of a process may receive the same request: one answer is enough.
void StallWatch::answer_request(int process, Rank asker, std::uint64_t round) {
  const auto [seen, is_new] = rounds_seen_.try_emplace(process, asker, round);
  request_.reset();  // another thread collects, or has just written
  collected_ns_ = env_.now_ns();
  if (!is_new && seen->second.second >= round) return;
  seen->second = {asker, round};
  const Gathered mine = gather();
  RankRuntime& speaker = mine.speaker != nullptr ? *mine.speaker : *ranks_.front();
  send(StallMessages::answer, speaker, asker.value(), StallAnswer{round, mine.parts}, false);
}

void StallWatch::take_ask(int process, const StallAsk& ask) {
  std::uint64_t& last = asks_seen_[process];
  if (ask.number <= last) return;  // heard by another rank of this process
  last = ask.number;
  const std::uint64_t now_ns = env_.now_ns();
  const std::uint64_t same_ns = ask.signalled ? kSameSignalNs : report_after_ns();
  const bool is_over = written_ns_.has_value() && now_ns - *written_ns_ < same_ns;
  if (round_.has_value() || is_over) {
    // Tells the requesting process that it need not ask another one.
    send(StallMessages::request, *ranks_.front(), process, rounds_, true);
    if (!round_.has_value()) return;
  } else {
    Gathered mine = gather();
    if (stop_.load(std::memory_order_seq_cst)) return;
    begin_round(ask.signalled, std::move(mine));
  }
  round_->signalled = round_->signalled || ask.signalled;
  round_->parts.try_emplace(process, ask.parts);  // in case that it does not answer
}

void StallWatch::begin_round(bool signalled, Gathered mine) {
  round_.emplace();
  ++rounds_;
  round_->signalled = signalled;
  // A process answers between two tasks, and a task may take as long as the stall of the others.
  round_->may_end_run = ends_after(activity_.quiet_ns());
  const std::uint64_t patience_ns = round_->may_end_run ? options_.abort_ns : 0;
  round_->deadline_ns =
      env_.now_ns() + std::max(options_.request_ns - options_.request_ns / 4, patience_ns);
  round_->answered.insert(layout_.process);
  round_->parts[layout_.process] = std::move(mine.parts);
  RankRuntime& speaker = mine.speaker != nullptr ? *mine.speaker : *ranks_.front();
  for (int process = 0; process < layout_.process_count(); ++process) {
    if (process != layout_.process) send(StallMessages::request, speaker, process, rounds_, true);
  }
}

void StallWatch::end_round() {
  const StallRound round = std::move(*round_);
  round_.reset();
  std::vector<RankPart> parts;
  for (const auto& [process, some] : round.parts) {
    parts.insert(parts.end(), some.begin(), some.end());
  }
  const std::uint64_t quiet_ns = least_quiet_ns(parts);
  if (!round.signalled && quiet_ns < report_after_ns()) return;  // the world moves, elsewhere
  written_ns_ = env_.now_ns();
  const std::vector<int> missing = missing_ranks(round);
  write(round.signalled, "", std::move(parts), missing);
  if (ends_after(quiet_ns) && (round.may_end_run || missing.empty())) end_run(quiet_ns);
}

std::vector<int> StallWatch::missing_ranks(const StallRound& round) const {
  std::vector<int> missing;
  for (int rank = 0; rank < layout_.world_size; ++rank) {
    if (!round.answered.contains(layout_.process_of(Rank(rank)))) missing.push_back(rank);
  }
  return missing;
}

void StallWatch::end_run(std::uint64_t quiet_ns) {
  for (int process = 0; process < layout_.process_count(); ++process) {
    if (process != layout_.process) {
      send(StallMessages::end, *ranks_.front(), process, std::uint64_t{0}, true);
    }
  }
  if (layout_.process_count() > 1) wait_for(kLastWordsNs, [] { return false; });
  const bool failed =
      std::ranges::any_of(ranks_, [](const auto& rank) { return rank->core().failed(); });
  options_.give_up(
      fmt::format("{}: the run is given up (--stall-abort)", describe_quiet(quiet_ns, failed)));
}

void StallWatch::write(bool signalled, const std::string& note, std::vector<RankPart> parts,
                       const std::vector<int>& missing) {
  const std::uint64_t quiet_ns = least_quiet_ns(parts);
  const bool failed = std::ranges::any_of(parts, &RankPart::failed);
  const std::string cause =
      signalled ? "requested by SIGUSR1"
                : fmt::format("{} (--stall-report)", describe_quiet(quiet_ns, failed));
  options_.write(fmt::format("shoal: report of {}: {}{}\n{}\n", count(layout_.world_size, "rank"),
                             cause, note, merge_parts(std::move(parts), missing)));
}

// Sends to a process, or, if only one rank is meant, to the rank `process`.
template <class T>
void StallWatch::send(const team::StaticHandler& handler, RankRuntime& from, int process,
                      const T& value, bool to_all_ranks) {
  const std::vector<std::byte> bytes = encoded(value);
  if (!to_all_ranks) {
    from.messenger().send_control(handler, Rank(process), bytes);
    return;
  }
  for (int i = 0; i < layout_.ranks_per_process; ++i) {
    from.messenger().send_control(handler, Rank(process * layout_.ranks_per_process + i), bytes);
  }
}

}  // namespace shoal::runtime
