#include "team/detector.hpp"

#include <shoal/detail/trace/probes.hpp>

#include <algorithm>

namespace shoal::team {

Counts& Counts::operator+=(const Counts& other) {
  queued += other.queued;
  processed += other.processed;
  unsatisfied += other.unsatisfied;
  all_final = all_final && other.all_final;
  failed = failed && other.failed;
  return *this;
}

std::vector<Rank> Tree::children() const {
  std::vector<Rank> result;
  const int first = rank * kArity + 1;
  for (int child = first; child < std::min(first + kArity, size); ++child) {
    result.emplace_back(child);
  }
  return result;
}

Detector::Detector(Tree tree, DetectorHost& host) : tree_(tree), host_(host) {
  for (const Rank child : tree.children()) children_.push_back({child, 0, 0, {}});
}

bool Detector::all_children_reported() const {
  return std::all_of(children_.begin(), children_.end(),
                     [this](const Child& child) { return child.epoch == epoch_; });
}

Counts Detector::subtree() const {
  Counts sum = reported_.counts;
  for (const Child& child : children_) sum += child.counts;
  return sum;
}

bool Detector::on_idle() {
  const std::optional<Snapshot> now = host_.snapshot();
  if (!now || !all_children_reported()) return false;
  if (!must_report_ && *now == reported_) return false;
  reported_ = *now;
  must_report_ = false;
  return report();
}

DetectionState Detector::state() const {
  DetectionState state;
  state.epoch = epoch_;
  state.version = version_;
  for (const Child& child : children_) {
    if (child.epoch != epoch_) state.children_missing.push_back(child.rank);
  }
  state.wave_open = wave_ > 0 && confirmations_missing_ > 0 && wave_version_ == version_;
  state.is_root = tree_.is_root();
  const Counts sum = subtree();
  state.queued = sum.queued;
  state.processed = sum.processed;
  return state;
}

bool Detector::report() {
  ++version_;
  const Counts sum = subtree();
  if (!tree_.is_root()) {
    host_.send_report(tree_.parent(), {epoch_, version_, sum});
    return true;
  }
  // Ends the current wave: its second look would be at this report, not at the one that it asks
  // about.
  ++wave_;
  if (sum.queued != sum.processed) return false;  // some child will report a change
  start_wave(wave_);
  return true;
}

void Detector::on_report(Rank child, const Report& report) {
  Child& entry = children_[tree_.child_index(child)];
  entry.epoch = report.epoch;
  entry.version = report.version;
  entry.counts = report.counts;
  must_report_ = true;  // taken up by the next on_idle()
}

void Detector::start_wave(std::uint64_t wave) {
  trace::wave(epoch_, wave);
  wave_ = wave;
  wave_version_ = version_;
  confirmations_missing_ = children_.size();
  for (const Child& child : children_) {
    host_.send_request(child.rank, {epoch_, wave, child.version});
  }
  if (confirmations_missing_ == 0) wave_confirmed();
}

// A request that is not confirmed here is followed by a report: the one sent since `version`, or,
// as must_report_ is set, the one that the next on_idle() sends. So the root tries again.
void Detector::on_request(const Request& request) {
  if (request.epoch != epoch_ || request.version != version_ || must_report_) return;
  if (host_.snapshot() != reported_) {
    must_report_ = true;
    return;
  }
  confirmed_ = reported_;
  start_wave(request.wave);
}

void Detector::on_confirmation(const Confirmation& confirmation) {
  if (confirmation.epoch != epoch_ || confirmation.wave != wave_) return;  // of an earlier try
  if (--confirmations_missing_ == 0) wave_confirmed();
}

void Detector::wave_confirmed() {
  if (!tree_.is_root()) {
    host_.send_confirmation(tree_.parent(), {epoch_, wave_});
    return;
  }
  // Second look of the root itself; the first one was before the wave began.
  if (must_report_) return;
  if (host_.snapshot() != reported_) {
    must_report_ = true;
    return;
  }
  confirmed_ = reported_;
  host_.completed(subtree());
}

void Detector::begin_epoch() {
  ++epoch_;
  must_report_ = true;
}

}  // namespace shoal::team
