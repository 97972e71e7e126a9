#include "runtime/rank_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/config_options.hpp"
#include "runtime/count.hpp"
#include "sched/inspector.hpp"
#include "sched/memory_bound.hpp"
#include "sched/parked.hpp"
#include "team/arrivals.hpp"
#include "team/message_report.hpp"
#include "team/messenger.hpp"
#include "team/team_state.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>

namespace shoal::runtime {

namespace {

constexpr std::size_t kLinesMax = 40;     // of one rank
constexpr std::size_t kPeersMax = 8;      // of one rank, each way
constexpr std::size_t kParkedMax = 16;    // tasks of one rank
constexpr std::size_t kDetailedMax = 64;  // ranks with lines of their own
constexpr std::size_t kTeamsMax = 64;     // of one rank
constexpr std::size_t kCallsMax = 16;     // collective operations that ranks have not called

/// Collects the report of one rank.
class RankWriter {
 public:
  RankWriter(RankRuntime& rank, const std::vector<sched::WorkerState>& workers,
             const RankHistory& history)
      : rank_(rank), workers_(workers), history_(history), state_(rank.core().state()) {}

  RankPart write() {
    part_.rank = rank_.rank().value();
    part_.quiet_ns = history_.quiet_ns.value_or(0);
    part_.failed = history_.failed;
    part_.serves = rank_.serves();
    part_.created = state_.tasks.created;
    part_.finished = state_.tasks.ended;
    part_.queued = state_.totals.queued;
    part_.processed = state_.totals.processed;
    for (const auto& worker : workers_) write_worker(worker);
    write_queues();
    write_parked();
    for (const std::string& line : state_.waiting) add(line);
    for (const team::TeamState& team : state_.teams) write_team(team);
    add_calls();
    if (!state_.failure.empty()) add("has failed, and drops tasks and messages: " + state_.failure);
    limit_quiet();
    write_tasks();
    const bool has_news =
        !part_.lines.empty() || moves_ || (main_is_lost() && !waits_for_next_call_);
    write_links(has_news);
    if (has_news || !part_.lines.empty()) {
      write_arrivals();
      if (!waits_for_next_call_) write_detection();
    }
    write_title();
    return std::move(part_);
  }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> text, Args&&... args) {
    add(fmt::format(text, std::forward<Args>(args)...));
  }
  void add(const std::string& line) {
    if (part_.lines.size() < kLinesMax) {
      part_.lines.push_back(line);
    } else {
      ++part_.left_out;
    }
  }
  [[nodiscard]] std::string since(std::uint64_t then_ns) const {
    return show_time(history_.now_ns - std::min(then_ns, history_.now_ns));
  }
  // How long a wait with a deadline takes at most from now on; "" without one.
  [[nodiscard]] std::string until(std::uint64_t due_ns) const {
    if (due_ns == 0) return "";
    return fmt::format(", at most {} longer",
                       show_time(due_ns - std::min(due_ns, history_.now_ns)));
  }
  [[nodiscard]] bool main_is_lost() const { return state_.main_in.empty(); }

  // A worker that did not answer in time is in code of the program, or its thread has not been
  // scheduled.
  void write_worker(const sched::WorkerState& worker) {
    if (worker.throttled) {
      add("worker {}: begins no further task, because too many of its tasks wait in send()",
          worker.worker.value());
    }
    std::vector<std::string> runs;
    if (!worker.task.empty()) {
      runs.push_back((!worker.attempt.empty() ? worker.attempt
                      : worker.task == "the main function"
                          ? "the " + main_
                          : fmt::format("the task '{}'", worker.task)) +
                     worker.place);
    }
    if (!worker.handler.empty()) {
      runs.push_back(fmt::format("the handler '{}'", worker.handler));
    }
    if (worker.answered) {
      if (!runs.empty()) {
        add("worker {}: runs {}", worker.worker.value(), fmt::join(runs, ", and in it "));
      }
      return;
    }
    const auto index = static_cast<std::size_t>(worker.worker.value());
    const std::string time =
        index < history_.busy_ns.size() ? show_time(history_.busy_ns[index]) : "an unknown time";
    if (runs.empty()) {
      add("worker {}: did not answer, and nothing is known to run there", worker.worker.value());
    } else {
      add("worker {}: runs {} for {} and has not returned from it", worker.worker.value(),
          fmt::join(runs, ", and in it "), time);
    }
  }

  void write_queues() {
    sched::QueueLengths sum;
    for (const auto& worker : workers_) {
      sum.resumed += worker.queues.resumed;
      sum.delivered += worker.queues.delivered;
      sum.ready += worker.queues.ready;
      sum.own += worker.queues.own;
      if (worker.queues.bound > 0) {
        add("queued: {} bound to worker {}", count(worker.queues.bound, "task"),
            worker.worker.value());
      }
    }
    std::vector<std::string> items;
    if (sum.ready + sum.own > 0) items.push_back(count(sum.ready + sum.own, "ready task"));
    if (sum.delivered > 0) items.push_back(count(sum.delivered, "task") + " made from messages");
    if (sum.resumed > 0) items.push_back(count(sum.resumed, "resumed task"));
    if (rank_.messenger().looks_busy()) items.emplace_back("messages that have arrived");
    if (!items.empty()) add("queued: {}", fmt::join(items, ", "));
    write_held();
  }

  void write_held() {
    const sched::Scheduler& scheduler = rank_.scheduler();
    if (scheduler.memory_bound_limit() == nullptr) return;
    const auto state = scheduler.memory_bound_limit()->state(scheduler);
    if (state.held == 0) return;
    add("held back: {}, since {} of this process run beside {} (--memory-bound-max {})",
        count(state.held, "memory-bound task"), state.running,
        count(static_cast<std::uint64_t>(state.transfers), "large transfer"), state.most);
  }

  struct ParkedGroup {
    std::uint64_t count = 0;
    std::uint64_t since_ns = 0;  // of the first
    std::uint64_t due_ns = 0;    // of the last; 0: they have no deadlines
  };
  // Tasks parked in the same call share a line, those with a deadline one of their own.
  void write_parked() {
    std::map<std::tuple<std::string, std::string, bool>, ParkedGroup> groups;
    for (const auto& worker : workers_) {
      for (const sched::ParkedTask& task : worker.parked) {
        if (task.is_main && !state_.main_in.empty()) {  // stands in the title
          main_place_ = task.place;
          continue;
        }
        if (task.is_main) {
          main_parked_ = task.where;
          main_since_ns_ = task.since_ns;
          main_due_ns_ = task.due_ns;
          continue;
        }
        ParkedGroup& group = groups[{task.name, task.where, task.due_ns != 0}];
        group.since_ns =
            group.count++ == 0 ? task.since_ns : std::min(group.since_ns, task.since_ns);
        group.due_ns = std::max(group.due_ns, task.due_ns);
      }
    }
    std::size_t written = 0;
    for (const auto& [key, group] : groups) {
      if (++written > kParkedMax) continue;
      add("parked: {}'{}' in {} for {}{}",
          group.count == 1 ? "" : fmt::format("{} times ", group.count), std::get<0>(key),
          std::get<1>(key), since(group.since_ns), until(group.due_ns));
    }
    if (written > kParkedMax) {
      add("parked: and tasks of {} more kinds", written - kParkedMax);
    }
  }

  // Parking counts as progress, although no counter changes; not that of a task that polls, nor
  // once the world has failed.
  void limit_quiet() {
    if (history_.failed) return;
    const auto limit = [this](std::uint64_t since_ns) {
      if (since_ns == 0 || since_ns > history_.now_ns) return;
      part_.quiet_ns = std::min(part_.quiet_ns, history_.now_ns - since_ns);
    };
    limit(state_.main_since_ns);
    for (const auto& worker : workers_) {
      for (const sched::ParkedTask& task : worker.parked) {
        if (!task.polls) limit(task.since_ns);
      }
    }
  }

  void write_team(const team::TeamState& team) {
    std::string line = fmt::format("{} (rank {} of {}): ", team.name, team.rank.value(), team.size);
    line += team.waits_in.empty()
                ? "no member waits in it"
                : fmt::format("a member in {} for {}", team.waits_in, since(team.since_ns));
    line += fmt::format("; {} not finished, {} sent and {} handled here",
                        count(team.tasks.open(), "task"), count(team.totals.queued, "message"),
                        team.totals.processed);
    if (team.failed) line += "; it has failed";
    add(line);
    write_holds(team.name, team.waits_in, team.holds);
  }

  void add_calls() {
    const auto add_one = [this](const team::TeamCalls& one) {
      if (part_.teams.size() == kTeamsMax) {
        part_.has_more_teams = true;
        return;
      }
      part_.teams.push_back(one);
    };
    if (!state_.failure.empty()) return;
    add_one(state_.calls);
    for (const team::TeamState& team : state_.teams) {
      if (!team.failed) add_one(team.calls);
    }
  }

  // A Hold that a main function keeps while it waits is one that never ends.
  void write_holds(const std::string& team, const std::string& waits_in,
                   const std::vector<team::HoldsMade>& holds) {
    for (const team::HoldsMade& one : holds) {
      add("Hold of {}: {} made by {}; {}", team, one.count, one.maker.text,
          one.maker.is_main && !waits_in.empty()
              ? fmt::format("the {} is in {}, which does not return before these have ended: end "
                            "them first, or move them to the thread that still works",
                            main_, waits_in)
              : fmt::format("{} before these have ended: their owner ends them after its last task "
                            "or message",
                            rank_.serves() ? "run() and stop() of the shoal::Runtime do not return"
                                           : "wait() does not return"));
    }
  }

  void write_tasks() {
    if (part_.created == part_.finished) return;
    std::string line =
        fmt::format("{} of {} not finished", state_.tasks.open(), count(part_.created, "task"));
    if (state_.holds > 0) {
      line += fmt::format("; {} of them {} that the program still keeps", state_.holds,
                          state_.holds == 1 ? "is a Hold" : "are Holds");
    }
    add(line);
    write_holds("the world", state_.main_in, state_.holds_made);
  }

  void write_links(bool all) {
    std::vector<net::LinkState> links = rank_.messenger().fabric().link_states(rank_.rank());
    if (!all) {
      std::erase_if(links, [](const net::LinkState& link) { return link.in_flight_bytes == 0; });
    }
    std::stable_sort(links.begin(), links.end(), [](const auto& a, const auto& b) {
      return std::pair(a.in_flight_bytes, a.message_count) >
             std::pair(b.in_flight_bytes, b.message_count);
    });
    for (std::size_t i = 0; i < std::min(links.size(), kPeersMax); ++i) write_link(links[i]);
    if (links.size() > kPeersMax) add("to {} more ranks: fewer", links.size() - kPeersMax);
  }

  void write_link(const net::LinkState& link) {
    const int target = link.target.value();
    std::string line =
        fmt::format("to rank {}: {}, the last '{}'", target, count(link.message_count, "message"),
                    team::handler_name(rank_.messenger(), link.last_handler));
    if (link.in_flight_bytes > 0) {
      line += fmt::format("; {} bytes in flight", link.in_flight_bytes);
      line += rank_.messenger().fabric().layout().is_local(link.target) && link.untaken
                  ? fmt::format(", some not yet received by rank {}", target)
                  : fmt::format(", not yet consumed by rank {}", target);
    }
    if (link.waiting_senders > 0) {
      line += fmt::format(
          "; {} in send() until half of the window of {} (--window-bytes) is free again",
          link.waiting_senders == 1 ? "1 sender waits"
                                    : fmt::format("{} senders wait", link.waiting_senders),
          show_size(link.window_bytes));
    }
    add(line);
  }

  void write_arrivals() {
    std::vector<team::Arrivals> arrivals = rank_.messenger().arrivals().all();
    std::stable_sort(arrivals.begin(), arrivals.end(), [](const auto& a, const auto& b) {
      return a.message_count > b.message_count;
    });
    for (std::size_t i = 0; i < std::min(arrivals.size(), kPeersMax); ++i) {
      add("from rank {}: {} handled, the last '{}'", arrivals[i].source.value(),
          count(arrivals[i].message_count, "message"),
          team::handler_name(rank_.messenger(), arrivals[i].last_handler));
    }
    if (arrivals.size() > kPeersMax) add("from {} more ranks: fewer", arrivals.size() - kPeersMax);
  }

  void write_detection() {
    const team::DetectionState& state = state_.detection;
    std::vector<std::string> reasons;
    if (main_is_lost()) {
      reasons.emplace_back(rank_.serves() ? "its function on this rank to end"
                                          : "the main function of this rank to call wait()");
    }
    if (state_.totals.created != state_.totals.finished) reasons.emplace_back("its tasks");
    if (!state.children_missing.empty()) {
      std::vector<int> missing(state.children_missing.begin(), state.children_missing.end());
      reasons.push_back(fmt::format("the subtree{} of rank{} {} to become idle",
                                    missing.size() == 1 ? "" : "s", missing.size() == 1 ? "" : "s",
                                    show_ranks(missing)));
    } else if (state.is_root && state.queued != state.processed) {
      reasons.push_back(fmt::format("messages under way: {} sent, {} handled when last reported",
                                    state.queued, state.processed));
    }
    if (state.wave_open) reasons.emplace_back("confirmations");
    const std::string waited = !rank_.serves()     ? fmt::format("wait() number {}", state.epoch)
                               : state_.main_final ? "stop()"
                                                   : "run()";
    add("{} here, after {}: waits for {}", waited, count(state.version, "report"),
        reasons.empty() ? "other ranks" : fmt::format("{}", fmt::join(reasons, ", ")));
  }

  void write_title() {
    if (waits_for_next_call_) {
      part_.title = "no run() is under way";
    } else if (state_.main_final) {
      part_.title = rank_.serves() ? "in stop()" : "main function: ended";
    } else if (!state_.main_in.empty()) {
      const bool may_have_ended = rank_.serves() && state_.main_in == "wait()";
      part_.title = fmt::format("{}: in {}{}{}", main_, state_.main_in, main_place_,
                                may_have_ended ? ", or ended" : "");
      part_.age = fmt::format(" for {}", since(state_.main_since_ns));
    } else if (!main_parked_.empty()) {
      part_.title = fmt::format("{}: in {}", main_, main_parked_);
      part_.age = fmt::format(" for {}{}", since(main_since_ns_), until(main_due_ns_));
    } else {
      part_.title = main_ + ": running";
    }
    if (history_.quiet_ns.has_value()) {
      part_.age += history_.active
                       ? "; tasks run or messages move right now"
                       : fmt::format("; {} for {}",
                                     history_.failed ? "it has failed, and no task has ended"
                                                     : "nothing has happened",
                                     show_time(part_.quiet_ns));
    }
  }

  RankRuntime& rank_;
  const std::vector<sched::WorkerState>& workers_;
  const RankHistory& history_;
  const team::TeamTreeState state_;
  const bool moves_ = history_.active;
  const std::string main_ = rank_.serves() ? "function of run()" : "main function";
  const bool waits_for_next_call_ = awaits_call(rank_);
  std::string main_parked_;  // elsewhere than the team knows of
  std::string main_place_;   // in the source, where the team knows of its wait
  std::uint64_t main_since_ns_ = 0;
  std::uint64_t main_due_ns_ = 0;
  RankPart part_;
};

/// Members of a team of which the parts are known.
class TeamMembers {
 public:
  using Wait = team::TeamCalls::Wait;

  void add(const RankPart& rank, const team::TeamCalls& calls) {
    all_.emplace_back(rank.rank, &calls);
    serves_ = rank.serves;
  }

  /// Lines about the operations that some members have called, and others have not. `unknown`:
  /// ranks of which no part is known.
  void describe(const std::vector<int>& unknown, bool are_all_known,
                std::vector<std::string>& lines) const {
    const std::vector<int> absent = are_all_known ? find_absent(unknown) : std::vector<int>();
    std::map<std::uint64_t, std::string> open;
    for (const auto& [rank, calls] : all_) open.insert(calls->open.begin(), calls->open.end());
    for (const auto& [number, text] : open) {
      std::vector<int> callers;
      std::vector<int> others = absent;
      for (const auto& [rank, calls] : all_) {
        if (calls->wait == Wait::left) continue;
        (calls->begun >= number ? callers : others).push_back(rank);
      }
      if (add_line(text, "called", callers, others, lines))
        break;  // nor have they called the later ones
    }
    describe_waits(absent, lines);
  }

 private:
  // Ranks that have not made the team.
  [[nodiscard]] std::vector<int> find_absent(const std::vector<int>& unknown) const {
    std::vector<int> absent = all_.front().second->members;
    std::erase_if(absent, [&](int rank) {
      return std::ranges::find(unknown, rank) != unknown.end() ||
             std::ranges::any_of(all_, [rank](const auto& one) { return one.first == rank; });
    });
    return absent;
  }
  // A member that has not heard of the end of a wait is about to go on. One that is absent may have
  // left before the others, but not before their wait().
  void describe_waits(const std::vector<int>& absent, std::vector<std::string>& lines) const {
    std::vector<int> callers;
    std::uint64_t epoch = 0;
    bool is_wait = false;
    for (const auto& [rank, calls] : all_) {
      if (calls->wait != Wait::in_wait && calls->wait != Wait::at_end) continue;
      callers.push_back(rank);
      epoch = std::max(epoch, calls->epoch);
      is_wait = is_wait || calls->wait == Wait::in_wait;
    }
    std::vector<int> others = is_wait ? absent : std::vector<int>();
    for (const auto& [rank, calls] : all_) {
      if (calls->wait == Wait::none && calls->epoch >= epoch) others.push_back(rank);
    }
    const bool is_world = all_.front().second->team == 0;
    if (is_wait && is_world && serves_) {  // run() waits when its function has returned
      add_line("wait() or the end of run()", "reached", callers, others, lines);
    } else if (is_wait) {
      add_line("wait()", "called", callers, others, lines);
    } else if (!is_world) {  // main functions that run are named elsewhere
      add_line("the end", "reached", callers, others, lines);
    }
  }
  bool add_line(const std::string& operation, const char* done, const std::vector<int>& callers,
                std::vector<int> others, std::vector<std::string>& lines) const {
    if (callers.empty() || others.empty()) return false;
    std::ranges::sort(others);
    lines.push_back(fmt::format("{} of {}: {} by {}, not by {}", operation,
                                all_.front().second->name, done, name_ranks(callers),
                                name_ranks(others)));
    return true;
  }
  static std::string name_ranks(const std::vector<int>& ranks) {
    return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", show_ranks(ranks));
  }

  std::vector<std::pair<int, const team::TeamCalls*>> all_;  // in the order of ranks
  bool serves_ = false;
};

/// Lines about collective operations that not every member has called.
std::vector<std::string> describe_calls(const std::vector<RankPart>& parts,
                                        const std::vector<int>& unknown) {
  std::map<std::uint64_t, TeamMembers> teams;
  bool are_all_known = true;
  for (const RankPart& rank : parts) {
    are_all_known = are_all_known && !rank.has_more_teams;
    for (const team::TeamCalls& calls : rank.teams) teams[calls.team].add(rank, calls);
  }
  std::vector<std::string> lines;
  for (const auto& [id, members] : teams) members.describe(unknown, are_all_known, lines);
  if (lines.size() > kCallsMax) {
    lines.resize(kCallsMax);
    lines.emplace_back("and more operations that not every member has called");
  }
  return lines;
}

}  // namespace

bool awaits_call(RankRuntime& rank) {
  if (!rank.serves()) return false;
  bool awaits = false;
  for (const sched::ParkedList* const list : rank.scheduler().waiting().all()) {
    list->for_each([&](const sched::Parked& one) {
      awaits = awaits || (one.is_main() && one.where() == kNextCall);
    });
  }
  return awaits;
}

RankPart describe_rank(RankRuntime& rank, const std::vector<sched::WorkerState>& workers,
                       const RankHistory& history) {
  return RankWriter(rank, workers, history).write();
}

std::string merge_parts(std::vector<RankPart> parts, const std::vector<int>& missing) {
  std::sort(parts.begin(), parts.end(),
            [](const RankPart& a, const RankPart& b) { return a.rank < b.rank; });
  RankPart sum;
  std::map<std::string, std::vector<int>> plain;  // by title
  std::vector<int> unwritten;
  std::string details;
  std::size_t detailed = 0;
  for (const RankPart& part : parts) {
    sum.created += part.created;
    sum.finished += part.finished;
    sum.queued += part.queued;
    sum.processed += part.processed;
    if (part.lines.empty()) {
      plain[part.title].push_back(part.rank);
    } else if (++detailed > kDetailedMax) {
      unwritten.push_back(part.rank);
    } else {
      details += fmt::format("\n  rank {}: {}{}\n    {}", part.rank, part.title, part.age,
                             fmt::join(part.lines, "\n    "));
      if (part.left_out > 0) details += fmt::format("\n    and {} more lines", part.left_out);
    }
  }
  std::string text = fmt::format("  tasks: {} created, {} finished; messages: {} sent, {} handled",
                                 sum.created, sum.finished, sum.queued, sum.processed);
  if (!missing.empty()) {
    text += fmt::format(
        "\n  {} {} not answer: {} workers have not returned from their tasks, or {} ended or "
        "cannot "
        "be reached",
        show_ranks(missing).insert(0, missing.size() == 1 ? "rank " : "ranks "),
        missing.size() == 1 ? "does" : "do", missing.size() == 1 ? "its" : "their",
        missing.size() == 1 ? "it has" : "they have");
  }
  for (const std::string& line : describe_calls(parts, missing)) text += "\n  " + line;
  text += details;
  if (!unwritten.empty()) {
    text += fmt::format("\n  more of the same from ranks {}", show_ranks(unwritten));
  }
  for (const auto& [title, ranks] : plain) {
    text += fmt::format("\n  {}{}: {}; nothing runs, waits or is queued there",
                        ranks.size() == 1 ? "rank " : "ranks ", show_ranks(ranks), title);
  }
  return text;
}

std::string show_time(std::uint64_t ns) {
  const auto value = static_cast<double>(ns);
  if (ns >= 1'000'000'000) return fmt::format("{:.1f} s", value / 1e9);
  if (ns >= 1'000'000) return fmt::format("{:.1f} ms", value / 1e6);
  return fmt::format("{:.1f} us", value / 1e3);
}

std::string show_ranks(const std::vector<int>& ranks) {
  std::vector<std::string> runs;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    runs.push_back(end - i == 1   ? fmt::format("{}", ranks[i])
                   : end - i == 2 ? fmt::format("{}, {}", ranks[i], ranks[i + 1])
                                  : fmt::format("{} to {}", ranks[i], ranks[end - 1]));
    i = end;
  }
  return fmt::format("{}", fmt::join(runs, ", "));
}

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
  const team::MessageStatistics statistics = team::statistics_of(rank.messenger());
  const std::vector<std::uint64_t> begun = rank.scheduler().inspector().begun();
  const sched::TaskScope::Totals totals = rank.core().all_totals();
  const std::uint64_t activity = std::accumulate(begun.begin(), begun.end(), std::uint64_t{0}) +
                                 totals.created + totals.finished + statistics.messages_sent +
                                 statistics.messages_received;
  watched.active = activity != std::exchange(watched.activity, activity);
  if (rank.core().failed()) {
    const std::uint64_t left = totals.created - totals.finished;
    watched.active = !std::exchange(watched.failed, true) || left < watched.left;
    if (watched.active) watched.left = left;
  }
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
  history.failed = watched.failed;
  for (const Watched::Busy& busy : watched.workers) {
    history.busy_ns.push_back(now_ns - busy.since_ns);
  }
  return history;
}

}  // namespace shoal::runtime
