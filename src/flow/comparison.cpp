#include "flow/comparison.hpp"

#include "flow/core.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace shoal::flow {

Comparison::Comparison(Core& core)
    : core_(core),
      expected_(core.rank() == 0 ? core.size() - 1 : 1),
      all_ended_(core.scheduler(), fmt::format("the end of flow '{}' on all ranks", core.name())),
      end_(all_ended_.future()),
      report_(
          core.team(),
          [this](int rank, std::uint32_t first, std::vector<State> states, bool last) {
            on_report({rank, first, std::move(states), last});
          },
          team::model_options(fmt::format("flow '{}', fingerprint", core.name())), core.place()),
      question_(
          core.team(),
          [this](int rank, std::uint32_t sequence, const State& state, bool certain) {
            on_question({rank, sequence, state, certain});
          },
          team::model_options(fmt::format("flow '{}', question", core.name())), core.place()),
      answer_(
          core.team(),
          [this](int rank, std::uint32_t sequence, std::uint64_t first,
                 const std::vector<Digest>& digests) { on_answer(rank, sequence, first, digests); },
          team::model_options(fmt::format("flow '{}', comparison", core.name())), core.place()),
      difference_(
          core.team(),
          [this](std::uint32_t sequence, std::uint64_t number, bool is_first_digest,
                 const std::pair<std::string, std::string>& theirs,
                 const std::vector<Digest>& digests) {
            on_difference(sequence, number, is_first_digest, theirs, digests);
          },
          team::model_options(fmt::format("flow '{}', difference", core.name())), core.place()),
      goodbye_(
          core.team(), [this](int /*rank*/) { on_goodbye(); },
          team::model_options(fmt::format("flow '{}', end", core.name())), core.place()) {}

ProgramLog& Comparison::add_log(const std::string& name) {
  const sync::Lock lock(mutex_);
  reported_.push_back(0);
  return logs_.emplace_back(name, static_cast<std::uint32_t>(logs_.size()));
}

const ProgramLog* Comparison::find_log(std::uint32_t sequence) const {
  return sequence < logs_.size() ? &logs_[sequence] : nullptr;
}

const ProgramLog* Comparison::log_of(std::uint32_t sequence) const {
  const sync::Lock lock(mutex_);
  return find_log(sequence);
}

void Comparison::report(const ProgramLog& log) {
  const State state = log.state();
  {
    const sync::Lock lock(mutex_);
    if (std::exchange(reported_[log.index()], state.count) == state.count) return;
    if (core_.rank() == 0) ++comparing_;
  }
  if (core_.rank() == 0) {
    compare();
  } else {
    report_.send(Rank(0), core_.rank(), log.index(), std::vector<State>{state}, false);
  }
}

void Comparison::on_report(Report report) {
  {
    const sync::Lock lock(mutex_);
    reports_.push_back(std::move(report));
    ++comparing_;
  }
  compare();
}

Comparison::Outcome Comparison::compare_one(Report& report, std::vector<Question>& questions) {
  // After this message the flow may end on that rank: no other thread sends anything to it.
  if (report.last && (!ended_ || comparing_ > 1)) return Outcome::waits;
  std::uint32_t sequence = report.first;
  for (const State& theirs : report.states) {
    const ProgramLog* const log = find_log(sequence);
    const State mine = log != nullptr ? log->state() : State();
    Question question{report.rank, sequence, mine};
    if (theirs.count > mine.count && !ended_) {
      const bool waits_here = mine.count > 0 && reported_[sequence] == mine.count;
      if (waits_here && std::exchange(report.asked, mine.count) != mine.count) {
        questions.push_back(question);
      }
      return Outcome::waits;
    }
    const auto here = log != nullptr ? log->find(theirs.count) : std::nullopt;
    if (theirs.count > mine.count || (report.last && theirs.count != mine.count) ||
        (here.has_value() && here->fingerprint != theirs.fingerprint)) {
      question.certain = true;
      questions.push_back(question);
      return Outcome::differs;
    }
    ++sequence;
  }
  return Outcome::agrees;
}

void Comparison::compare() {
  for (;;) {
    if (compare_all()) return;
    const sync::Lock lock(mutex_);
    // Last reports have waited for the end of other comparisons.
    const bool again = comparing_ == 1 && ended_ && std::ranges::any_of(reports_, &Report::last);
    if (again) continue;
    --comparing_;
    return;
  }
}

// The last report of a rank is compared with the last of this one: then the counts must agree.
bool Comparison::compare_all() {
  std::vector<int> ended;
  std::vector<Question> questions;
  bool all = false;
  {
    const sync::Lock lock(mutex_);
    std::erase_if(reports_, [&](Report& report) SHOAL_REQUIRES(mutex_) {
      const Outcome outcome = compare_one(report, questions);
      if (outcome == Outcome::agrees && report.last) ended.push_back(report.rank);
      return outcome != Outcome::waits;
    });
    for (std::size_t i = 0; i < ended.size(); ++i) all = --expected_ == 0;
  }
  for (const Question& one : questions) {
    question_.send(Rank(one.rank), 0, one.sequence, one.state, one.certain);
  }
  for (const int rank : ended) goodbye_.send(Rank(rank), 0);
  if (all) all_ended_.set_value();  // the flow may be gone
  return all;
}

void Comparison::on_question(const Question& question) {
  const ProgramLog* const log = log_of(question.sequence);
  if (!question.certain) {
    const auto mine = log->find(question.state.count);
    if (!mine.has_value() || mine->fingerprint == question.state.fingerprint) return;
  }
  auto [first, digests] = log->all();
  answer_.send(Rank(0), core_.rank(), question.sequence, first, std::move(digests));
}

std::string Comparison::text_of(const Digest* digest) const {
  if (digest == nullptr) return "nothing";
  std::string text = core_.codelets().text_of(digest->codelet);
  if (digest->datum != Digest::kNoDatum)
    text += fmt::format(" of '{}'", core_.handles().name_of(digest->datum));
  if (digest->rank >= 0) text += fmt::format(" at rank {}", digest->rank);
  return text;
}

std::string Comparison::detail_of(const Digest* digest) const {
  if (digest == nullptr || digest->datum == Digest::kNoDatum) return "";
  return digest->codelet == wire::fnv1a("register") ? core_.handles().type_of(digest->datum)
                                                    : Handles::number_of(digest->datum);
}

void Comparison::on_answer(int rank, std::uint32_t sequence, std::uint64_t first,
                           const std::vector<Digest>& digests) {
  const ProgramLog* const log = log_of(sequence);
  const std::uint64_t first_here = log != nullptr ? log->first() : 1;
  std::uint64_t number = std::max(first, first_here);
  std::optional<Digest> here;
  const Digest* other = nullptr;
  for (;; ++number) {
    here = log != nullptr ? log->find(number) : std::nullopt;
    other = number - first < digests.size() ? &digests[number - first] : nullptr;
    if (!here || other == nullptr || here->fingerprint != other->fingerprint) break;
  }
  const bool is_first_digest = number > 1 && number == std::max(first, first_here);
  std::vector<Digest> theirs;
  if (other != nullptr) theirs.push_back(*other);
  const Digest* const mine = here ? &*here : nullptr;
  difference_.send(Rank(rank), sequence, number, is_first_digest,
                   std::pair(text_of(mine), detail_of(mine)), std::move(theirs));
}

// Only the rank that has inserted it knows the names of a codelet and a datum.
void Comparison::on_difference(std::uint32_t sequence, std::uint64_t number, bool is_first_digest,
                               const std::pair<std::string, std::string>& theirs,
                               const std::vector<Digest>& digests) const {
  const Digest* const digest = digests.empty() ? nullptr : &digests.front();
  std::string mine = text_of(digest);
  std::string there = theirs.first;
  if (mine == there) {
    const std::string detail = detail_of(digest);
    const bool differs = detail != theirs.second;
    if (differs) there += fmt::format(" ({})", theirs.second);
    mine += differs ? fmt::format(" ({})", detail) : " with other data, or other modes of access,";
  }
  throw CheckError(fmt::format(
      "flow '{}': the ranks insert different programs: insertion {}{} is {} on rank 0, and {} on "
      "rank {}; all ranks must insert the same tasks in the same order, with the same data, types "
      "and sizes (or make the flow with FlowOptions::pruned)",
      log_of(sequence)->name(), number, is_first_digest ? ", or one before," : "", there, mine,
      core_.rank()));
}

void Comparison::on_goodbye() { all_ended_.set_value(); }

void Comparison::end() {
  std::vector<State> states;
  {
    const sync::Lock lock(mutex_);
    for (const ProgramLog& log : logs_) states.push_back(log.state());
    ended_ = true;
    if (core_.rank() == 0) ++comparing_;
  }
  if (core_.rank() == 0) {
    compare();
  } else {
    report_.send(Rank(0), core_.rank(), 0U, std::move(states), true);
  }
  await(core_.team(), end_);
}

}  // namespace shoal::flow
