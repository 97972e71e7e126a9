// Advice that a colleague would give: hints in the order in which they are told, and where the
// timeline shows what they are about.

#include "trace_tool/advice.hpp"

#include <fmt/format.h>

namespace shoal::trace_tool {

namespace {

/// Other programs had the processors, of this machine or of the host of a virtual one, or the
/// system had put workers together. This may also hide a cause: that of a run without a hint.
void disturbed(Advice& advice) {
  constexpr double kMuch = 0.1;
  constexpr double kStolenStepNs = 1e7;
  if (advice.has_hint("more-workers-than-cores") || advice.has_hint("narrow-mask")) return;
  const Disturbance& found = advice.disturbance;
  // A step of 10 ms more or less: that of a short run proves nothing.
  const double stolen = found.stolen - kStolenStepNs / std::max(1.0, number(advice.model.whole));
  const bool may_hide =
      found.share >= (advice.has_hints() ? kMuch : kNoticeable) || stolen >= 2 * kMuch;
  if (advice.left_out().empty() && !may_hide) return;
  std::string text = fmt::format(
      "disturbed by other programs{}: workers were ready to run, and waited for a processor, for "
      "{} of the run, one of them for {}",
      found.may_be_placement ? " or by placement" : "", share_text(found.share, 1),
      share_text(found.most, 1));
  if (found.stolen > 0) {
    text += fmt::format("; the host of this virtual machine held processors for {} of it",
                        share_text(found.stolen, 1));
  }
  text += ". Record it again on a machine that runs nothing else";
  if (found.may_be_placement) {
    text +=
        ", with --pin core: the system may put two workers on one processor, and leave another "
        "idle";
  }
  if (!advice.left_out().empty()) {
    std::string all;
    for (const std::string& kind : advice.left_out()) all += (all.empty() ? "" : ", ") + kind;
    text += fmt::format(" (it may explain what looks like {})", all);
  }
  advice.add({"disturbed", std::max(found.share, found.stolen), "", -1}, std::move(text));
}

void lost_events(Advice& advice) {
  std::uint64_t dropped = 0;
  for (const auto& [category, count] : advice.model.input().drops().items()) {
    if (count.is_number_unsigned()) dropped += count.get<std::uint64_t>();
  }
  if (dropped == 0) return;
  advice.add(
      {"events-lost", 0, "", -1},
      fmt::format("{} events were dropped because buffers were full, so this report has gaps. "
                  "Record fewer categories, a region of interest, or with larger buffers",
                  dropped));
}

/// The longest stretch of the subject's tasks, handlers or messages, on its rank: on the critical
/// path, if one is there.
class Places {
 public:
  Places(const Model& model, const Analysis& analysis) : model_(model), analysis_(analysis) {}

  void find(Hint& hint) const {
    for (const PathStep& step : analysis_.path) {
      const bool has_track = step.what == PathStep::What::task && step.index != kNone;
      if (!has_track) continue;
      offer(hint, model_.segments[step.index].track, step.name, step.begin, step.end);
    }
    if (hint.track != kNone) return;
    for (std::uint32_t track = 0; track < model_.busy.size(); ++track) {
      for (const Stretch& one : model_.busy[track]) {
        offer(hint, track, model_.name_of(one), one.begin, one.end);
      }
    }
  }

 private:
  void offer(Hint& hint, std::uint32_t track, NameId name, std::int64_t begin,
             std::int64_t end) const {
    if (hint.rank >= 0 && model_.rank_of(track) != hint.rank) return;
    if (!hint.name.empty() && model_.input().name(name) != hint.name) return;
    if (hint.track != kNone && end - begin <= hint.end - hint.begin) return;
    hint.track = track;
    hint.begin = begin;
    hint.end = end;
  }

  const Model& model_;
  const Analysis& analysis_;
};

}  // namespace

Remarks remarks_on(const Model& model, const Analysis& analysis) {
  Advice advice(model, analysis);
  // Missing events would be taken for idleness, and for imbalance.
  if (model.has(Category::task) && !model.has_losses()) {
    add_worker_hints(advice);
    add_rank_hints(advice);
    if (model.has(Category::message) && model.knows_idleness()) add_message_hints(advice);
    disturbed(advice);
  }
  lost_events(advice);
  Remarks all{advice.take(), advice.take_notes()};
  const Places places(model, analysis);
  for (Hint& hint : all.hints) places.find(hint);
  return all;
}

}  // namespace shoal::trace_tool
