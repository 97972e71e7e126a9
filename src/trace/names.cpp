#include "trace/names.hpp"

namespace shoal::trace {

NameId Names::intern(std::string_view text) {
  const std::lock_guard lock(mutex_);
  const auto known = ids_.find(text);
  if (known != ids_.end()) return known->second;
  if (texts_.size() == kMaxNames) return 0;
  const auto id = static_cast<NameId>(texts_.size());
  texts_.push_back(ids_.emplace(text, id).first->first);
  return id;
}

std::string Names::text(NameId id) const { return std::string(view(id)); }

std::string_view Names::view(NameId id) const {
  const std::lock_guard lock(mutex_);
  return id < texts_.size() ? texts_[id] : std::string_view();
}

Names& Names::of_process() {
  // Never destroyed: threads record until the process ends.
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): see above
  static auto* const names = new Names;
  return *names;
}

}  // namespace shoal::trace
