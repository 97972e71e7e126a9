#include <shoal/base/check.hpp>

#include "object/turn.hpp"

#include <algorithm>
#include <functional>

namespace shoal::object {

// --- Caller

Caller::~Caller() {
  if (!is_away_) release_all();
}

void Caller::release_all() {
  for (const std::shared_ptr<Turn>& turn : turns_) turn->release();
}

// In one order for all tasks, so that none waits for a turn of another that waits for its own.
void Caller::acquire_all() {
  is_coming_ = true;
  for (const std::shared_ptr<Turn>& turn : turns_) turn->acquire();
  is_coming_ = false;
}

void Caller::begin_runner(const std::shared_ptr<Turn>& turn, Runner& runner) {
  is_runner_ = true;
  runner_ = &runner;
  turns_.assign(1, turn);
}

void Caller::enter(const std::shared_ptr<Turn>& turn) {
  if (std::find(turns_.begin(), turns_.end(), turn) != turns_.end()) return;
  parks();
  const auto is_closed = [](const std::shared_ptr<Turn>& one) { return one->is_closed(); };
  turns_.erase(std::remove_if(turns_.begin(), turns_.end(), is_closed), turns_.end());
  turns_.insert(std::upper_bound(turns_.begin(), turns_.end(), turn, std::less<>()), turn);
  goes_on();
}

void Caller::parks() {
  if (std::exchange(is_away_, true)) return;
  if (runner_ != nullptr) turns_.front()->put_back(*runner_);
  release_all();
}

void Caller::goes_on() {
  if (!is_away_ || is_coming_) return;
  acquire_all();
  is_away_ = false;
}

// --- Runner

Runner::Runner(std::shared_ptr<Turn> turn, sched::TaskScope& in) : turn_(std::move(turn)) {
  scope = &in;
  kind = sched::TaskKind::delivered;
  auto caller = std::make_unique<Caller>(0);
  caller_ = caller.get();
  add_local(std::move(caller));
}

// A task of a scope that has failed is dropped without running.
Runner::~Runner() {
  if (!has_run_) turn_->drop();
}

void Runner::run() {
  has_run_ = true;
  caller_->begin_runner(turn_, *this);
  turn_->serve(*this);
  caller_->end_runner();
}

}  // namespace shoal::object
