#include "object/run_queue.hpp"

namespace shoal::object {

void RunQueue::push(std::unique_ptr<Invocation> invocation) {
  const std::uint64_t id = invocation->target().context;
  Context& context = id != 0 ? context_of(id) : free_;
  size_ += invocation->left();
  if (has_open_windows_ || context.is_blocked || context.is_parked) [[unlikely]] {
    invocation->leave_window();
  } else if (context.in_window == nullptr) {
    context.in_window = invocation.get();
  }
  context.waiting.push(std::move(invocation));
  if (!context.is_busy && !context.is_blocked) make_ready(context);
}

RunQueue::Context& RunQueue::context_of(std::uint64_t id) {
  if (const auto it = contexts_.find(id); it != contexts_.end()) return it->second;
  if (spare_.empty()) {
    Context& made = contexts_[id];
    made.id = id;
    return made;
  }
  spare_.key() = spare_.mapped().id = id;
  return contexts_.insert(std::move(spare_)).position->second;
}

void RunQueue::make_ready(Context& context, bool first) {
  if (context.is_ready) return;
  context.is_ready = true;
  ready_.insert_before(first ? ready_.first() : nullptr, context);
}

RunQueue::Taken RunQueue::take(MayRun may_run) {
  while (!ready_.empty()) {
    Context& context = *ready_.first();
    ready_.erase(context);
    context.is_ready = false;
    if (!may_run(*context.waiting.first())) {
      if (&context == &free_) {
        block_first_free();
      } else {
        block(context);
      }
      continue;
    }
    Taken taken{{}, &context};
    do {
      taken.list.push(context.pop());
    } while (!context.waiting.empty() &&
             taken.list.size() + context.waiting.first()->left() <= std::size_t{kTakenMax} &&
             may_run(*context.waiting.first()));
    size_ -= taken.list.size();
    context.is_busy = &context != &free_;
    if (&context == &free_ && !free_.waiting.empty()) make_ready(free_);
    return taken;
  }
  return {};
}

void RunQueue::block(Context& context) {
  if (std::exchange(context.is_blocked, true)) return;
  blocked_.push_back(&context);
  context.leave_windows();
}

// The later ones may run nevertheless.
void RunQueue::block_first_free() {
  std::unique_ptr<Invocation> first = free_.pop();
  first->leave_window();
  const std::uint32_t epoch = first->target().epoch;
  Context& held = free_by_epoch_[epoch];
  held.id = epoch;
  held.is_free = true;
  held.waiting.push(std::move(first));
  block(held);
  if (!free_.waiting.empty()) make_ready(free_, true);
}

void RunQueue::put_back(Taken& taken) {
  if (taken.list.empty()) return;
  size_ += taken.list.size();
  taken.context->waiting.prepend(taken.list);
  taken.context->in_window = taken.context->waiting.first();
  if (taken.context == &free_) make_ready(free_);
}

void RunQueue::park(Context& context) {
  if (&context == &free_) return;
  context.is_parked = true;
  context.leave_windows();
}

void RunQueue::open_windows(bool open) {
  has_open_windows_ = open;
  if (!open) return;
  for (auto& [id, context] : contexts_) context.leave_windows();
  free_.leave_windows();
}

void RunQueue::done(Context& context) {
  if (&context == &free_) return;
  context.is_busy = context.is_parked = false;
  if (context.waiting.empty()) {
    spare_ = contexts_.extract(context.id);
  } else {
    make_ready(context, is_draining_ || size_ > kDrainAbove);
  }
}

void RunQueue::retry(std::uint32_t epoch) {
  std::erase_if(blocked_, [&](Context* context) {
    if (!context->is_free) {
      context->is_blocked = false;
      make_ready(*context);
      return true;
    }
    if (context->id > epoch) return false;
    free_.waiting.append(context->waiting);
    make_ready(free_);
    return true;
  });
  free_by_epoch_.erase(free_by_epoch_.begin(), free_by_epoch_.upper_bound(epoch));
}

void RunQueue::clear(InvocationList& cleared) {
  while (!ready_.empty()) ready_.erase(*ready_.first());
  for (auto it = contexts_.begin(); it != contexts_.end();) {
    cleared.append(it->second.waiting);
    it->second.is_ready = it->second.is_blocked = false;
    it->second.in_window = nullptr;
    it = it->second.is_busy ? std::next(it) : contexts_.erase(it);
  }
  cleared.append(free_.waiting);
  free_.is_ready = false;
  free_.in_window = nullptr;
  for (auto& [epoch, context] : free_by_epoch_) cleared.append(context.waiting);
  free_by_epoch_.clear();
  blocked_.clear();
  size_ = 0;
}

const Invocation* RunQueue::example() const {
  if (!free_.waiting.empty()) return free_.waiting.first();
  for (const auto& [id, context] : contexts_) {
    if (!context.is_blocked && !context.waiting.empty()) return context.waiting.first();
  }
  return nullptr;
}

std::size_t RunQueue::blocked_count() const {
  std::size_t count = 0;
  for (const Context* const context : blocked_) count += context->waiting.size();
  return count;
}

}  // namespace shoal::object
