#include "object/run_queue.hpp"

namespace shoal::object {

void RunQueue::push(std::unique_ptr<Invocation> invocation) {
  Context& context = contexts_[invocation->target().context];
  const bool is_first = context.waiting.empty();
  context.id = invocation->target().context;
  context.waiting.push(std::move(invocation));
  ++size_;
  if (is_first && !context.is_busy) ready_.push_back(&context);
}

RunQueue::Taken RunQueue::take(MayRun may_run) {
  while (!ready_.empty()) {
    Context& context = *ready_.front();
    ready_.pop_front();
    if (!may_run(*context.waiting.first())) {
      context.is_blocked = true;
      blocked_.push_back(&context);
      continue;
    }
    context.is_busy = true;
    --size_;
    return {context.waiting.pop(), &context};
  }
  return {};
}

void RunQueue::done(Context& context) {
  context.is_busy = false;
  if (context.waiting.empty()) {
    contexts_.erase(context.id);
  } else if (size_ > kDrainAbove) {
    ready_.push_front(&context);
  } else {
    ready_.push_back(&context);
  }
}

void RunQueue::retry() {
  for (Context* const context : blocked_) {
    context->is_blocked = false;
    ready_.push_back(context);
  }
  blocked_.clear();
}

void RunQueue::clear(InvocationList& cleared) {
  for (auto it = contexts_.begin(); it != contexts_.end();) {
    cleared.append(it->second.waiting);
    it = it->second.is_busy ? std::next(it) : contexts_.erase(it);
  }
  ready_.clear();
  blocked_.clear();
  size_ = 0;
}

const Invocation* RunQueue::example() const {
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
