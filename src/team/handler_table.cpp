#include <shoal/detail/team/core.hpp>

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/base/type_name.hpp>
#include <shoal/detail/trace/probes.hpp>
#include <shoal/key.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

namespace shoal::team {

namespace {

/// The signature of argument types with a name and a source: equal on all ranks of one program.
std::uint32_t signature_with(std::uint32_t types, const std::string& name,
                             const HandlerSource& source) {
  using Parts = std::tuple<std::uint32_t, std::string_view, std::string_view, std::string_view,
                           std::uint32_t, std::uint32_t>;
  const std::source_location& place = source.place;
  return static_cast<std::uint32_t>(KeyHash<Parts>{}(
      Parts(types, name, source.type.name(), place.file_name(), place.line(), place.column())));
}

}  // namespace

HandlerTable::Added HandlerTable::add(std::shared_ptr<Handler> handler, const std::string& name,
                                      const HandlerSource& source, bool closed) {
  const std::uint32_t signature = signature_with(handler->signature, name, source);
  handler->signature = signature;
  handler->place = source.place;
  return sync::locked(mutex_, [&]() SHOAL_REQUIRES(mutex_) {
    const std::uint32_t index = count_;
    SHOAL_CHECK(index < kIndexMask, "more than {} instance handlers were made", kIndexMask);
    handler->name = !name.empty() ? name
                                  : fmt::format("active message {} ({})", index,
                                                naming::readable(source.spelled, "T"));
    if (const int number = is_numbered_ ? ++numbers_[signature] : 1; number > 1) {
      handler->signature += static_cast<std::uint32_t>(number);
      if (!name.empty()) handler->name += fmt::format(" (number {} of that name)", number);
    }
    if (trace::on(trace::Category::task)) trace::describe_place(handler->name, source.place);
    const bool all_open = open_count_ == count_;
    handler->index = index;
    handlers_.emplace(index, std::move(handler));
    ++count_;
    if (closed || !all_open) {
      all_open_.store(false, std::memory_order_relaxed);
      return Added{index, false};
    }
    open_count_ = count_;
    return Added{index, true};
  });
}

bool HandlerTable::open_all() {
  const sync::Lock lock(mutex_);
  if (open_count_ == count_) return false;
  open_count_ = count_;
  all_open_.store(!asks_, std::memory_order_relaxed);
  return true;
}

void HandlerTable::ask_always() {
  const sync::Lock lock(mutex_);
  asks_ = true;
  all_open_.store(false, std::memory_order_relaxed);
}

std::shared_ptr<Handler> HandlerTable::remove(std::uint32_t index) {
  const sync::Lock lock(mutex_);
  const auto found = handlers_.find(index);
  if (found == handlers_.end()) return nullptr;
  std::shared_ptr<Handler> removed = std::move(found->second);
  handlers_.erase(found);
  constexpr std::size_t kRemovedMax = 256;
  if (removed_.size() < kRemovedMax) removed_.resize(removed_.size() + 1);
  removed_[removed_count_++ % kRemovedMax] = {index, removed->name};
  return removed;
}

bool HandlerTable::find(std::uint32_t index, const Handler*& handler) const {
  const sync::Lock lock(mutex_);
  if (index >= open_count_) return false;
  const auto found = handlers_.find(index);
  handler = found != handlers_.end() ? found->second.get() : nullptr;
  return true;
}

bool HandlerTable::is_open(std::uint32_t index) const {
  const sync::Lock lock(mutex_);
  return index < open_count_;
}

bool HandlerTable::is_live(std::uint32_t index) const {
  const sync::Lock lock(mutex_);
  return handlers_.contains(index);
}

std::size_t HandlerTable::live_count() const {
  const sync::Lock lock(mutex_);
  return handlers_.size();
}

std::string HandlerTable::name_of(std::uint32_t index) const {
  const sync::Lock lock(mutex_);
  if (index >= count_) return fmt::format("active message {}, which was never made here", index);
  if (const auto found = handlers_.find(index); found != handlers_.end())
    return found->second->name;
  const auto removed =
      std::ranges::find(removed_, index, [](const auto& one) { return one.first; });
  return fmt::format("{}, which was destroyed here", removed != removed_.end()
                                                         ? removed->second
                                                         : fmt::format("active message {}", index));
}

std::string HandlerTable::describe(std::uint32_t index) const {
  std::string text = name_of(index);
  const sync::Lock lock(mutex_);
  const auto found = handlers_.find(index);
  const bool has_place = found != handlers_.end() && found->second->place.line() != 0;
  if (!has_place) return text;  // made by Python
  return fmt::format("{}, made at {},", text, naming::to_text(found->second->place));
}

}  // namespace shoal::team
