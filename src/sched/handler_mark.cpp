#include <shoal/detail/sched/handler_mark.hpp>

#include <shoal/detail/trace/probes.hpp>

#include "sched/worker.hpp"

namespace shoal::sched {

HandlerMark::HandlerMark(bool counts) {
  Worker* const worker = current_worker();
  if (worker == nullptr) return;
  WorkerActivity& activity = worker->activity;
  shown_ = &activity.running_handler;
  begun_ = counts ? &activity.begun : &activity.begun_uncounted;
  depth_ = &activity.handler_depth;
  outer_ = shown_->shown();
  if (worker->scheduler().env().observes()) observer_ = &worker->scheduler().env();
  is_watched_ = observer_ != nullptr || (counts && trace::on<trace::Category::message>());
  outer_id_ = activity.traced_message;
  scope_ = &activity.handler_scope;
  outer_scope_ = std::exchange(*scope_, nullptr);
  ++*depth_;
  ++t_handlers;
}

void HandlerMark::begin_watched() {
  if (observer_ != nullptr) observer_->observe(env::Happening::handles, *shown_->shown());
  if (next_id_ == 0 || !trace::on<trace::Category::message>()) return;
  if ((next_id_ & kReleaseBit) != 0) {
    current_worker()->activity.traced_release = std::exchange(next_id_, 0) & ~kReleaseBit;
    return;
  }
  current_worker()->activity.traced_release = 0;
  const bool follows = running_id_ != 0;
  running_id_ = next_id_++;
  current_worker()->activity.traced_message = running_id_;
  trace::message_handled(running_id_, trace::detail::name_of(*shown_->shown()), follows);
}

void HandlerMark::end_watched() {
  next_id_ = 0;
  if (running_id_ == 0) return;
  trace::message_done(std::exchange(running_id_, 0));
  current_worker()->activity.traced_message = outer_id_;
}

std::uint64_t traced_message() {
  const Worker* const worker = current_worker();
  return worker != nullptr ? worker->activity.traced_message : 0;
}

HandlerMark::~HandlerMark() {
  hide();
  if (depth_ == nullptr) return;
  --*depth_;
  --t_handlers;
  *scope_ = outer_scope_;
}

ParkedSenderMark::ParkedSenderMark() : worker_(current_worker()) {
  if (worker_ != nullptr) worker_->queues.add_parked_senders(1);
}

ParkedSenderMark::~ParkedSenderMark() {
  if (worker_ != nullptr) worker_->queues.add_parked_senders(-1);
}

}  // namespace shoal::sched
