#include "trace_tool/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

namespace shoal::trace_tool {

namespace {

/// How a verdict tells of a hint: `what` follows "is bound by ...: ".
struct Story {
  std::string_view kind;
  std::string_view bound;
  std::string_view what;
  std::string_view remedy;
  bool prolongs = false;  // tasks: their work and chains would be shorter without it
};
constexpr std::array kStories = std::to_array<Story>({
    {"bound-to-one-worker", "imbalance", "tasks are bound to one worker while others idle",
     "leave these tasks unbound, or spread them over the workers"},
    {"bound-by-python", "imbalance", "tasks wait for the worker where Python keeps them",
     "make more and shorter tasks, or start more ranks with fewer workers each"},
    {"work-in-handlers", "imbalance", "work is in handlers, of which a rank runs one at a time",
     "make the handler a task (Delivery::task)"},
    {"wait-per-step", "waiting", "the main function waits for the last task of each step",
     "make one graph of all steps, in which tasks wait for those that they need"},
    {"slow-insertion", "insertion", "tasks are made more slowly than the workers run them",
     "compute less between two tasks, let several tasks make the others, or let each do more"},
    {"contended-lock", "waiting", "tasks wait for one lock",
     "use several locks, hold it for less, or let each worker have data of its own"},
    {"missing-priority", "chain", "tasks of the critical path wait behind others",
     "give these tasks a higher priority"},
    {"overloaded-rank", "imbalance", "tasks wait on one rank while others idle",
     "distribute the work differently"},
    {"slow-rank", "imbalance", "all tasks take longer on one rank",
     "look at the clock of its cores and the placement of its memory, or give it less to do", true},
    {"outlier", "imbalance", "few tasks take much longer than all others of their name",
     "look at these tasks, and split them", true},
    {"short-tasks", "work", "tasks are shorter than 20 times their overhead", "let a task do more"},
    {"memory-bound", "work", "tasks slow each other by their traffic to memory",
     "use data again while it is in the cache, or mix these tasks with others", true},
    {"narrow-mask", "processors", "the mask of the processes leaves processors unused",
     "look at taskset, at the cpuset, and at how the launcher binds processes", true},
    {"more-workers-than-cores", "processors", "workers take turns on the processors",
     "start fewer ranks, or give --workers", true},
    {"busy-receiver", "messages", "messages wait until tasks of their rank let it look for them",
     "make these tasks shorter, call yield() in them, or give --progress thread"},
    {"window-full", "messages", "senders wait for room in a window",
     "send less to that rank, in larger messages, or enlarge --window-bytes"},
    {"hot-link", "messages", "one pair of ranks exchanges most of the bytes",
     "distribute their common data differently"},
    {"slow-link", "messages", "messages take longer between two ranks than between others",
     "look at the network between their nodes, or place these ranks on one node"},
    {"disturbed", "processors", "workers waited for processors that others had",
     "record it again on a machine that runs nothing else, with --pin core", true},
    {"events-lost", "unknown", "the trace has lost events",
     "record fewer categories, a region of interest, or with larger buffers"},
});

const Story* story_of(std::string_view kind) {
  const auto found = std::find_if(kStories.begin(), kStories.end(),
                                  [kind](const Story& one) { return one.kind == kind; });
  return found == kStories.end() ? nullptr : &*found;
}

/// Where the tasks or handlers of a name come from, the first place of several; "" if that was not
/// recorded.
std::string place_of(const Model& model, const std::string& name) {
  const auto found = model.places.find(name);
  return found == model.places.end() ? "" : found->second.front();
}

std::string in_brackets(const std::string& name, const std::string& place) {
  if (name.empty()) return "";
  return place.empty() ? fmt::format(" ('{}')", name) : fmt::format(" ('{}', {})", name, place);
}

constexpr std::int64_t kWorthNaming = 20;  // a part of a chain that is less is not named

std::int64_t least_of(const Analysis& analysis) {
  return std::max(analysis.bounds.area, analysis.bounds.chain);
}

/// Name of the longest chain.
std::string_view chain_text(const Analysis& analysis) {
  return analysis.bounds.serial >= analysis.bounds.chain / kWorthNaming
             ? "its longest chain of serial code and tasks"
             : "its longest chain of tasks";
}

std::string floor_text(const Analysis& analysis) {
  return fmt::format("its work alone needs {} on all workers, and {} {}",
                     time_text(number(analysis.bounds.area)), chain_text(analysis),
                     time_text(number(analysis.bounds.chain)));
}

bool prolongs_tasks(const Hint& hint) {
  const Story* const story = story_of(hint.kind);
  return story != nullptr && story->prolongs;
}

/// In brackets; "" where the bounds are longer by the cause itself.
std::string floor_text(const Analysis& analysis, const Hint& hint) {
  return prolongs_tasks(hint) ? "" : fmt::format(" ({})", floor_text(analysis));
}

Verdict of_hint(const Model& model, const Analysis& analysis, const Hint& hint) {
  const Story* const story = story_of(hint.kind);
  Verdict verdict;
  verdict.cause = hint.kind;
  verdict.bound = story == nullptr ? "unknown" : story->bound;
  verdict.share = std::min(hint.share, 1.0);
  verdict.place = place_of(model, hint.name);
  const double whole = std::max(number(analysis.duration), 1.0);
  const bool has_floor = !prolongs_tasks(hint);
  verdict.without_ns = static_cast<std::int64_t>(whole * (1 - verdict.share));
  if (has_floor && verdict.without_ns < least_of(analysis)) {
    verdict.without_ns = least_of(analysis);
    verdict.share = 1 - number(verdict.without_ns) / whole;
  }
  verdict.sentences[0] = fmt::format(
      "The run takes {} and is bound by {}: {}{}.", time_text(number(analysis.duration)),
      verdict.bound == "unknown" ? "something that was not recorded" : verdict.bound,
      story == nullptr ? hint.text : story->what,
      hint.rank < 0 ? "" : fmt::format(" (rank {})", hint.rank));
  verdict.sentences[1] = fmt::format(
      "That costs {} of it: without it, it would take about {}{}.", share_text(verdict.share, 1),
      time_text(number(verdict.without_ns)), floor_text(analysis, hint));
  verdict.sentences[2] =
      fmt::format("To change: {}{}.", story == nullptr ? "see the hint" : story->remedy,
                  in_brackets(hint.name, verdict.place));
  return verdict;
}

/// The kind and name with the largest part of the critical path.
struct Part {
  std::string name;
  std::int64_t ns = 0;
};
Part largest_on_path(const Analysis& analysis, PathStep::What what) {
  std::map<std::string, std::int64_t> sums;
  for (const PathShare& one : analysis.path_shares) {
    if (one.what == what && one.name != kMainName) sums[one.name] += one.ns;
  }
  Part part;
  for (const auto& [name, ns] : sums) {
    if (ns > part.ns) part = {name, ns};
  }
  return part;
}

std::int64_t sum_on_path(const Analysis& analysis, PathStep::What what) {
  std::int64_t sum = 0;
  for (const PathShare& one : analysis.path_shares) {
    if (one.what == what) sum += one.ns;
  }
  return sum;
}

Part busiest_rank(const Analysis& analysis) {
  Part part;
  for (const auto& [rank, load] : analysis.loads) {
    const std::int64_t ns = load.workers > 0 ? load.busy / load.workers : 0;
    if (ns > part.ns) part = {std::to_string(rank), ns};
  }
  return part;
}

Verdict of_work(const Model& model, const Analysis& analysis) {
  Verdict verdict;
  verdict.bound = "work";
  verdict.share = number(analysis.bounds.area) / std::max(number(analysis.duration), 1.0);
  verdict.without_ns = analysis.bounds.chain;
  verdict.sentences[0] =
      fmt::format("The run takes {} and is bound by work: the workers are busy for {} of it.",
                  time_text(number(analysis.duration)), share_text(verdict.share, 1));
  constexpr std::int64_t kUnknown = 100;  // a part of the run that is less says nothing
  if (!model.calls.empty() && analysis.bounds.chain < analysis.duration / kUnknown) {
    verdict.sentences[1] =
        "How long it would take with any number of workers is not known: no chain of tasks and no "
        "iteration of a loop that takes a hundredth of the run was recorded.";
  } else {
    verdict.sentences[1] =
        fmt::format("With any number of workers it would take {} at least, {}{}.",
                    time_text(number(analysis.bounds.chain)), chain_text(analysis),
                    model.calls.empty() ? "" : ", in which a loop counts as one of its iterations");
  }
  const auto most = std::find_if(analysis.names.begin(), analysis.names.end(),
                                 [](const NameStatistics& one) { return one.name != kMainName; });
  const std::string name = most == analysis.names.end() ? "" : most->name;
  verdict.place = place_of(model, name);
  std::int64_t busy = 0;
  for (const auto& [rank, load] : analysis.loads) busy += load.busy;
  const std::int64_t total = most == analysis.names.end() ? 0 : most->total;
  verdict.sentences[2] = "To change: more workers, or quicker code of the main function.";
  if (name.empty()) return verdict;
  verdict.sentences[2] = fmt::format(
      "To change: more workers, or quicker tasks; {} of the work is in those that take most{}.",
      share_text(number(total), number(std::max<std::int64_t>(busy, 1))),
      in_brackets(name, verdict.place));
  return verdict;
}

/// Most of the longest chain is code of a main function.
Verdict of_serial_code(const Analysis& analysis) {
  Verdict verdict;
  verdict.bound = "chain";
  const double whole = std::max(number(analysis.duration), 1.0);
  verdict.share = number(analysis.bounds.serial) / whole;
  verdict.without_ns = analysis.bounds.area;
  verdict.sentences[0] = fmt::format(
      "The run takes {} and is bound by one chain: {} of it are serial code of the main function, "
      "outside of loops and tasks.",
      time_text(whole), time_text(number(analysis.bounds.serial)));
  verdict.sentences[1] = fmt::format(
      "With any number of workers it would take {} at least, and {} if all its work were evenly on "
      "the workers that it has.",
      time_text(number(analysis.bounds.chain)), time_text(number(analysis.bounds.area)));
  verdict.sentences[2] = fmt::format(
      "To change: share the work of the main function with the workers, by loops or tasks, or do "
      "it while they work; it is {} of the run.",
      share_text(number(analysis.bounds.serial), whole));
  return verdict;
}

Verdict of_chain(const Model& model, const Analysis& analysis) {
  if (2 * analysis.bounds.serial >= analysis.bounds.chain) return of_serial_code(analysis);
  Verdict verdict;
  verdict.bound = "chain";
  verdict.share = number(analysis.bounds.chain) / std::max(number(analysis.duration), 1.0);
  verdict.without_ns = analysis.bounds.area;
  verdict.sentences[0] = fmt::format(
      "The run takes {} and is bound by one chain: tasks of {} in all, each of which "
      "needs the one before it.",
      time_text(number(analysis.duration)), time_text(number(analysis.bounds.chain)));
  verdict.sentences[1] =
      fmt::format("Without the chain it would take {}, all its work evenly on all workers.",
                  time_text(number(analysis.bounds.area)));
  const Part part = largest_on_path(analysis, PathStep::What::task);
  verdict.place = place_of(model, part.name);
  verdict.sentences[2] = fmt::format(
      "To change: shorter tasks on the chain, or fewer of them; {} of the critical path is in "
      "those that take most{}.",
      share_text(number(part.ns), std::max(number(analysis.duration), 1.0)),
      in_brackets(part.name, verdict.place));
  return verdict;
}

Verdict of_messages(const Model& model, const Analysis& analysis) {
  const std::int64_t ns = sum_on_path(analysis, PathStep::What::message) +
                          sum_on_path(analysis, PathStep::What::blocked);
  Verdict verdict;
  verdict.bound = "messages";
  verdict.share = number(ns) / std::max(number(analysis.duration), 1.0);
  verdict.without_ns = std::max(analysis.duration - ns, least_of(analysis));
  verdict.sentences[0] =
      fmt::format("The run takes {} and is bound by messages: {} of its critical path.",
                  time_text(number(analysis.duration)), share_text(verdict.share, 1));
  verdict.sentences[1] = fmt::format("Without them it would take about {} ({}).",
                                     time_text(number(verdict.without_ns)), floor_text(analysis));
  const Part part = largest_on_path(analysis, PathStep::What::message);
  verdict.place = place_of(model, part.name);
  verdict.sentences[2] = fmt::format(
      "To change: send earlier, fewer messages one behind the other, or place ranks that exchange "
      "much on one node; {} is in those that take most{}.",
      time_text(number(part.ns)), in_brackets(part.name, verdict.place));
  return verdict;
}

/// Tasks or handlers in which a rank was for most of its time.
std::string busiest_name(const Model& model, const std::string& rank) {
  std::map<NameId, std::int64_t> sums;
  for (std::uint32_t track = 0; track < model.busy.size(); ++track) {
    if (std::to_string(model.rank_of(track)) != rank) continue;
    for (const Stretch& one : model.busy[track]) {
      if (model.input().name(model.name_of(one)) == kMainName) continue;
      sums[model.name_of(one)] += one.end - one.begin;
    }
  }
  const auto most = std::ranges::max_element(sums, std::less<>(),
                                             [](const auto& of_name) { return of_name.second; });
  return most == sums.end() ? "" : model.input().name(most->first);
}

Verdict of_imbalance(const Model& model, const Analysis& analysis, const Part& rank) {
  Verdict verdict;
  verdict.bound = "imbalance";
  verdict.share = number(rank.ns - analysis.bounds.area) / std::max(number(analysis.duration), 1.0);
  verdict.without_ns = least_of(analysis);
  verdict.sentences[0] = fmt::format(
      "The run takes {} and is bound by imbalance: rank {} is busy for {}, all ranks for {} on "
      "average.",
      time_text(number(analysis.duration)), rank.name, time_text(number(rank.ns)),
      time_text(number(analysis.bounds.area)));
  verdict.sentences[1] = fmt::format("With even ranks it would take {} at least ({}).",
                                     time_text(number(verdict.without_ns)), floor_text(analysis));
  const std::string name = busiest_name(model, rank.name);
  verdict.place = place_of(model, name);
  verdict.sentences[2] = fmt::format(
      "To change: distribute the work differently, as far as its chains of tasks allow. Start with "
      "what takes most time on rank {}{}.",
      rank.name, in_brackets(name, verdict.place));
  return verdict;
}

Verdict of_waiting(const Model& model, const Analysis& analysis) {
  Verdict verdict;
  verdict.bound = "waiting";
  verdict.without_ns = least_of(analysis);
  verdict.share =
      number(analysis.duration - verdict.without_ns) / std::max(number(analysis.duration), 1.0);
  verdict.sentences[0] = fmt::format(
      "The run takes {} and is bound by waiting: workers have no task, and neither work, a chain "
      "of tasks nor messages explain {} of it.",
      time_text(number(analysis.duration)), share_text(verdict.share, 1));
  verdict.sentences[1] = fmt::format("Without it, it would take {} at least ({}).",
                                     time_text(number(verdict.without_ns)), floor_text(analysis));
  const auto most = std::ranges::max_element(analysis.ranks, std::less<>(), &RankUsage::idle_ns);
  verdict.sentences[2] = "To change: look at what the workers wait for.";
  if (most == analysis.ranks.end() || most->idle.empty()) return verdict;
  const std::string& name = most->idle.front().name;
  verdict.place = place_of(model, name);
  verdict.sentences[2] =
      fmt::format("To change: look at what the workers wait for: {}{}.", idle_line(analysis, *most),
                  verdict.place.empty() ? "" : in_brackets(name, verdict.place));
  return verdict;
}

constexpr std::string_view kEventsLost = "events-lost";
constexpr std::string_view kWhole = "record the whole run again, with all its processes";

/// Nothing is known of what bounds the run.
Verdict unknown(const Analysis& analysis, std::string_view reason, std::string_view remedy) {
  Verdict verdict;
  verdict.bound = "unknown";
  verdict.without_ns = analysis.duration;
  verdict.sentences[0] =
      fmt::format("The trace covers {}; {}, so that nothing is known of what bounds the run.",
                  time_text(number(analysis.duration)), reason);
  verdict.sentences[1] = "What it would take without that is not known either.";
  verdict.sentences[2] = fmt::format("To change: {}.", remedy);
  return verdict;
}

/// Handlers are events of messages: without them, a worker that has no task may be idle or not.
Verdict of_unknown_idleness(const Model& model, const Analysis& analysis) {
  if (model.has_regions()) {
    return unknown(analysis,
                   "neither work nor a chain of tasks takes most of it, and workers may have "
                   "waited for what lies outside of the recorded regions",
                   "record the whole run");
  }
  return unknown(analysis,
                 "neither work nor a chain of tasks takes most of it, and handlers were "
                 "not recorded",
                 "record the category message as well");
}

/// Missing tasks and messages would be taken for idleness, and for shorter chains.
Verdict of_losses(const Analysis& analysis) {
  const bool has_drops = std::any_of(analysis.hints.begin(), analysis.hints.end(),
                                     [](const Hint& hint) { return hint.kind == kEventsLost; });
  Verdict verdict = unknown(analysis, "it has lost parts or events of its run",
                            has_drops ? story_of(kEventsLost)->remedy : kWhole);
  if (has_drops) verdict.cause = kEventsLost;
  return verdict;
}

Verdict verdict_on_recorded(const Model& model, const Analysis& analysis) {
  if (model.has_losses()) return of_losses(analysis);
  const Hint* most = nullptr;
  for (const Hint& hint : analysis.hints) {
    if (most == nullptr || hint.share > most->share) most = &hint;
  }
  if (most != nullptr) return of_hint(model, analysis, *most);
  if (!model.has(Category::task) || analysis.duration == 0) {
    return unknown(analysis, "tasks were not recorded", "record all categories");
  }
  constexpr double kNear = 0.75;
  constexpr double kUneven = 0.05;
  const double whole = number(analysis.duration);
  const double area = number(analysis.bounds.area) / whole;
  const double chain = number(analysis.bounds.chain) / whole;
  const double messages = number(sum_on_path(analysis, PathStep::What::message) +
                                 sum_on_path(analysis, PathStep::What::blocked)) /
                          whole;
  const Part rank = busiest_rank(analysis);
  const double imbalance = number(rank.ns) / whole;
  if (area >= kNear && area > chain) return of_work(model, analysis);
  if (chain >= kNear) return of_chain(model, analysis);
  // Ranks that look idle may run handlers.
  if (!model.knows_idleness()) return of_unknown_idleness(model, analysis);
  // Even ranks have no imbalance, however near to the bound they are.
  const bool is_uneven = imbalance - area >= kUneven && imbalance >= chain;
  if (imbalance >= kNear && is_uneven) return of_imbalance(model, analysis, rank);
  const double waiting = 1 - std::max({area, chain, messages});
  if (messages >= std::max({area, chain, waiting})) return of_messages(model, analysis);
  if (waiting > std::max(area, chain)) {
    if (model.has_regions()) return of_unknown_idleness(model, analysis);
    return of_waiting(model, analysis);
  }
  return area >= chain ? of_work(model, analysis) : of_chain(model, analysis);
}

}  // namespace

Verdict verdict_on(const Model& model, const Analysis& analysis) {
  constexpr std::string_view kRun = "The run";
  Verdict verdict = verdict_on_recorded(model, analysis);
  std::string& first = verdict.sentences[0];
  if (model.has_regions() && first.starts_with(kRun)) {
    first.replace(0, kRun.size(), "The recorded part of the run");
  }
  return verdict;
}

namespace {

/// A part of a difference in time.
struct Change {
  std::string bound;
  std::string what;
  std::string name;
  std::int64_t ns = 0;  // that it adds
};

/// Parts of the time of a run on one worker, as far as they are about one thing.
std::vector<Change> changes_between(const Analysis& a, const Analysis& b, bool has_messages) {
  std::vector<Change> all;
  all.push_back({"work", "its work takes longer", "", b.bounds.area - a.bounds.area});
  all.push_back(
      {"chain", "its longest chain of tasks is longer", "", b.bounds.chain - a.bounds.chain});
  const auto messages = [](const Analysis& of) {
    return sum_on_path(of, PathStep::What::message) + sum_on_path(of, PathStep::What::blocked);
  };
  if (has_messages) {
    all.push_back(
        {"messages", "more of its critical path is messages", "", messages(b) - messages(a)});
    all.push_back({"imbalance", "its busiest rank has more to do", "",
                   (busiest_rank(b).ns - b.bounds.area) - (busiest_rank(a).ns - a.bounds.area)});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Change& x, const Change& y) { return x.ns > y.ns; });
  return all;
}

/// The tasks whose total has grown most.
std::string grown_most(const Analysis& a, const Analysis& b) {
  std::map<std::string, std::int64_t> more;
  for (const NameStatistics& one : b.names) more[one.name] += one.total;
  for (const NameStatistics& one : a.names) more[one.name] -= one.total;
  std::string name;
  std::int64_t most = 0;
  for (const auto& [of, ns] : more) {
    if (ns > most && of != kMainName) {
      most = ns;
      name = of;
    }
  }
  return name;
}

/// No part of the run explains the difference that `head` names.
Verdict of_longer_waits(const std::string& head, const Model& model, const Analysis& slow,
                        bool has_messages) {
  Verdict verdict = has_messages ? of_waiting(model, slow) : of_unknown_idleness(model, slow);
  verdict.sentences[0] = fmt::format(
      "{}: {}.", head,
      has_messages
          ? "its workers wait longer, and neither work, a chain of tasks nor messages explain it"
          : "neither work nor a chain of tasks explain it, and handlers were not recorded in both");
  return verdict;
}

/// Why `slow`, called `name`, takes longer than `fast`.
Verdict why_slower(const std::string& name, const std::string& other, const Model& slow,
                   const Analysis& of_slow, const Model& fast, const Analysis& of_fast) {
  const bool has_messages = slow.knows_idleness() && fast.knows_idleness();
  const double more = number(of_slow.duration - of_fast.duration);
  const std::string head =
      fmt::format("{} takes {} longer than {} ({})", name, time_text(more), other,
                  share_text(more, std::max(number(of_fast.duration), 1.0)));
  const Hint* cause = nullptr;
  double most = 0;
  for (const Hint& hint : of_slow.hints) {
    double before = 0;
    for (const Hint& known : of_fast.hints) {
      if (known.kind == hint.kind) before = known.share;
    }
    const double cost = hint.share * number(of_slow.duration) - before * number(of_fast.duration);
    if (cost > most) {
      most = cost;
      cause = &hint;
    }
  }
  constexpr double kMuch = 0.25;
  if (cause != nullptr && most >= kMuch * more) {
    Verdict verdict = of_hint(slow, of_slow, *cause);
    const Story* const story = story_of(cause->kind);
    verdict.sentences[0] =
        fmt::format("{}: {}{}.", head, story == nullptr ? cause->text : story->what,
                    cause->rank < 0 ? "" : fmt::format(" (rank {})", cause->rank));
    verdict.sentences[1] =
        fmt::format("Without that it would take about {}{}.", time_text(number(verdict.without_ns)),
                    floor_text(of_slow, *cause));
    return verdict;
  }
  const Change change = changes_between(of_fast, of_slow, has_messages).front();
  Verdict verdict;
  if (number(change.ns) < kMuch * more) return of_longer_waits(head, slow, of_slow, has_messages);
  verdict.bound = change.bound;
  verdict.share = number(change.ns) / std::max(number(of_slow.duration), 1.0);
  verdict.without_ns = std::max<std::int64_t>(of_slow.duration - change.ns, 0);
  const std::string grown = grown_most(of_fast, of_slow);
  verdict.place = place_of(slow, grown);
  verdict.sentences[0] =
      fmt::format("{}: {}, by {}.", head, change.what, time_text(number(change.ns)));
  verdict.sentences[1] =
      fmt::format("Without that it would take about {}.", time_text(number(verdict.without_ns)));
  verdict.sentences[2] = grown.empty()
                             ? std::string("To change: see what differs above.")
                             : fmt::format("To change: look at the tasks that have grown most{}.",
                                           in_brackets(grown, verdict.place));
  return verdict;
}

/// Returns whether nothing can be said of the time that a run took.
bool is_unknown(const Model& model) {
  return model.has_losses() || model.has_regions() || !model.has(Category::task);
}

Verdict unknown_difference(const Model& a, const Analysis& of_a, const Model& b,
                           const Analysis& of_b) {
  Verdict verdict;
  verdict.bound = "unknown";
  verdict.without_ns = of_b.duration;
  verdict.sentences[0] = fmt::format(
      "The traces cover {} (A) and {} (B); {} not whole, so that nothing is known of what makes "
      "one run slower.",
      time_text(number(of_a.duration)), time_text(number(of_b.duration)),
      is_unknown(a) ? (is_unknown(b) ? "A and B are" : "A is") : "B is");
  verdict.sentences[1] = "What it would take without that is not known either.";
  verdict.sentences[2] = fmt::format("To change: {}, and all categories.", kWhole);
  return verdict;
}

}  // namespace

Verdict verdict_on_difference(const Model& a, const Analysis& of_a, const Model& b,
                              const Analysis& of_b) {
  if (is_unknown(a) || is_unknown(b)) return unknown_difference(a, of_a, b, of_b);
  constexpr double kAlike = 0.03;
  const double before = std::max(number(of_a.duration), 1.0);
  const double after = std::max(number(of_b.duration), 1.0);
  if (after - before >= kAlike * before) return why_slower("B", "A", b, of_b, a, of_a);
  if (before - after >= kAlike * after) return why_slower("A", "B", a, of_a, b, of_b);
  Verdict verdict;
  verdict.bound = "nothing";
  verdict.without_ns = of_b.duration;
  verdict.sentences[0] =
      fmt::format("B takes as long as A: {} and {}.", time_text(before), time_text(after));
  verdict.sentences[1] = "There is no difference to explain.";
  verdict.sentences[2] = fmt::format("What bounds B: {}", verdict_on(b, of_b).sentences[0]);
  return verdict;
}

std::string text_of(const Verdict& verdict) {
  std::string text;
  for (const std::string& sentence : verdict.sentences) text += sentence + '\n';
  return text;
}

std::string json_of(const Verdict& verdict, std::int64_t duration,
                    const std::vector<std::string>& gaps, const std::string& not_modelled) {
  using Json = nlohmann::ordered_json;
  Json all = {{"bound", verdict.bound},        {"cause", verdict.cause},
              {"place", verdict.place},        {"duration_ns", duration},
              {"share", verdict.share},        {"without_ns", verdict.without_ns},
              {"sentences", verdict.sentences}};
  if (!gaps.empty()) all["partial"] = gaps;
  if (!not_modelled.empty()) all["not_modelled"] = not_modelled;
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace shoal::trace_tool
