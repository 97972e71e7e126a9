#include "flow/comparison.hpp"

#include "flow/core.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace shoal::flow {

Comparison::Comparison(Core& core)
    : core_(core),
      expected_(core.rank() == 0 ? core.size() - 1 : 1),
      all_ended_(core.scheduler(), fmt::format("the end of flow '{}' on all ranks", core.name())),
      end_(all_ended_.future()),
      report_(
          core.scope().channel(),
          [this](int rank, std::uint64_t count, std::uint64_t fingerprint, bool last) {
            on_report({rank, count, fingerprint, last});
          },
          AmOptions{.name = fmt::format("flow '{}', fingerprint", core.name())}),
      question_(
          core.scope().channel(), [this](std::uint64_t count) { on_question(count); },
          AmOptions{.name = fmt::format("flow '{}', question", core.name())}),
      answer_(
          core.scope().channel(),
          [this](int rank, std::uint64_t first, const std::vector<Digest>& digests) {
            on_answer(rank, first, digests);
          },
          AmOptions{.name = fmt::format("flow '{}', comparison", core.name())}),
      goodbye_(
          core.scope().channel(), [this](int /*rank*/) { on_goodbye(); },
          AmOptions{.name = fmt::format("flow '{}', end", core.name())}) {}

void Comparison::note(const Digest& digest) {
  const sync::Lock lock(mutex_);
  if (kept_.size() < kKept) {
    kept_.push_back(digest);
  } else {
    kept_[count_ % kKept] = digest;
  }
  ++count_;
}

const Comparison::Digest* Comparison::find(std::uint64_t number) const {
  if (number == 0 || number > count_ || number + kKept <= count_) return nullptr;
  return &kept_[(number - 1) % kKept];
}

void Comparison::send_report(bool last) {
  Report report{.rank = core_.rank(), .last = last};
  {
    const sync::Lock lock(mutex_);
    report.count = count_;
    if (const Digest* const newest = find(count_); newest != nullptr) {
      report.fingerprint = newest->fingerprint;
    }
    ended_ = last;
  }
  if (core_.rank() == 0) {
    compare();
  } else {
    report_.send(Rank(0), report.rank, report.count, report.fingerprint, report.last);
  }
}

void Comparison::on_report(const Report& report) {
  {
    const sync::Lock lock(mutex_);
    reports_.push_back(report);
  }
  compare();
}

// The last report of a rank is compared with the last of this one: then the counts must agree.
void Comparison::compare() {
  std::vector<Report> equal;
  std::vector<Report> different;
  {
    const sync::Lock lock(mutex_);
    std::erase_if(reports_, [&](const Report& report) SHOAL_REQUIRES(mutex_) {
      if (report.last ? !ended_ : report.count > count_ && !ended_) return false;
      const Digest* const mine = find(report.count);
      const bool fits = report.count <= count_ && (!report.last || report.count == count_) &&
                        (mine == nullptr || mine->fingerprint == report.fingerprint);
      (fits ? equal : different).push_back(report);
      return true;
    });
  }
  bool all = false;
  for (const Report& report : equal) {
    if (!report.last) continue;
    goodbye_.send(Rank(report.rank), 0);
    const sync::Lock lock(mutex_);
    all = --expected_ == 0;
  }
  for (const Report& report : different) question_.send(Rank(report.rank), report.count);
  if (all) all_ended_.set_value();
}

void Comparison::on_question(std::uint64_t count) {
  std::vector<Digest> digests;
  std::uint64_t first = 0;
  {
    const sync::Lock lock(mutex_);
    first = count_ > kKept ? count_ - kKept + 1 : 1;
    for (std::uint64_t number = first; number <= count_; ++number) digests.push_back(*find(number));
  }
  static_cast<void>(count);
  answer_.send(Rank(0), core_.rank(), first, std::move(digests));
}

std::string Comparison::text_of(const Digest* digest) const {
  if (digest == nullptr) return "nothing";
  std::string text = core_.codelets().text_of(digest->codelet);
  if (digest->has_datum != 0)
    text += fmt::format(" of '{}'", core_.handles().name_of(digest->datum));
  return text;
}

void Comparison::on_answer(int rank, std::uint64_t first, const std::vector<Digest>& digests) {
  std::optional<Digest> mine;
  const Digest* other = nullptr;
  std::uint64_t number = first;
  {
    const sync::Lock lock(mutex_);
    while (number + kKept <= count_) ++number;
    for (;; ++number) {
      const Digest* const here = find(number);
      other = number - first < digests.size() ? &digests[number - first] : nullptr;
      if (here != nullptr && other != nullptr && here->fingerprint == other->fingerprint) continue;
      if (here != nullptr) mine = *here;
      break;
    }
  }
  throw CheckError(fmt::format(
      "flow '{}': the ranks insert different programs: insertion {} is {} on rank 0, and {} on "
      "rank "
      "{}; all ranks must insert the same tasks in the same order (or make the flow with "
      "FlowOptions::pruned)",
      core_.name(), number, text_of(mine ? &*mine : nullptr), text_of(other), rank));
}

void Comparison::on_goodbye() { all_ended_.set_value(); }

void Comparison::end() {
  send_report(true);
  end_.get();
}

}  // namespace shoal::flow
