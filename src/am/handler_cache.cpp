#include "am/handler_cache.hpp"

#include "am/reception.hpp"

namespace shoal::messaging {

bool HandlerCache::find(Reception& reception) {
  const std::uint32_t index = reception.handler_id & kIndexMask;
  Kept& one = kept_[index % kept_.size()];
  if (one.handler == nullptr || one.index != index || one.channel != reception.channel) {
    const Handler* handler = nullptr;
    if (!reception.channel->handlers().find(index, handler)) return false;
    one = {reception.channel, index, handler};
  }
  reception.handler = one.handler;
  return true;
}

void HandlerCache::forget_removed() {
  kept_ = {};
  removed_.forget();
}

}  // namespace shoal::messaging
