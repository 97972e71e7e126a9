#include <shoal/am/handler_table.hpp>

#include <shoal/base/check.hpp>
#include <shoal/base/type_name.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace shoal::messaging {

HandlerTable::Added HandlerTable::add(std::shared_ptr<Handler> handler, const std::string& name,
                                      std::string_view spelled, bool closed) {
  return sync::locked(mutex_, [&]() SHOAL_REQUIRES(mutex_) {
    const auto index = static_cast<std::uint32_t>(handlers_.size());
    SHOAL_CHECK(index < kIndexMask, "more than {} instance handlers were made", kIndexMask);
    handler->name = !name.empty() ? name
                                  : fmt::format("active message {} ({})", index,
                                                naming::readable(spelled, "T"));
    const bool all_open = open_count_ == handlers_.size();
    handlers_.push_back(std::move(handler));
    ++live_count_;
    if (closed || !all_open) {
      all_open_.store(false, std::memory_order_relaxed);
      return Added{index, false};
    }
    open_count_ = handlers_.size();
    return Added{index, true};
  });
}

bool HandlerTable::open_all() {
  const sync::Lock lock(mutex_);
  if (open_count_ == handlers_.size()) return false;
  open_count_ = handlers_.size();
  all_open_.store(true, std::memory_order_relaxed);
  return true;
}

std::shared_ptr<Handler> HandlerTable::remove(std::uint32_t index) {
  std::shared_ptr<Handler> removed;
  const sync::Lock lock(mutex_);
  removed.swap(handlers_[index]);
  --live_count_;
  constexpr std::size_t kRemovedMax = 256;
  removed_.emplace_back(index, removed->name);
  if (removed_.size() > kRemovedMax) removed_.pop_front();
  return removed;
}

bool HandlerTable::find(std::uint32_t index, const Handler*& handler) const {
  const sync::Lock lock(mutex_);
  if (index >= open_count_) return false;
  handler = handlers_[index].get();
  return true;
}

bool HandlerTable::is_open(std::uint32_t index) const {
  const sync::Lock lock(mutex_);
  return index < open_count_;
}

std::size_t HandlerTable::live_count() const {
  const sync::Lock lock(mutex_);
  return live_count_;
}

std::string HandlerTable::name_of(std::uint32_t index) const {
  const sync::Lock lock(mutex_);
  if (index >= handlers_.size()) {
    return fmt::format("active message {}, which was never made here", index);
  }
  if (handlers_[index] != nullptr) return handlers_[index]->name;
  const auto removed =
      std::ranges::find(removed_, index, [](const auto& one) { return one.first; });
  return fmt::format("{}, which was destroyed here", removed != removed_.end()
                                                         ? removed->second
                                                         : fmt::format("active message {}", index));
}

}  // namespace shoal::messaging
