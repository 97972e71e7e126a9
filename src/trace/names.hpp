#pragma once
// Names of the process: a text has one number as long as the process runs.

#include <shoal/detail/trace/event.hpp>

#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace shoal::trace {

/// Any thread; under a lock. Numbers outlast recordings: a thread that looked a name up for one
/// recording may use it in the next one.
class Names {
 public:
  /// 0 when there are kMaxNames already.
  NameId intern(std::string_view text);
  /// Text of a number that intern() gave; "" for others. It lasts as long as this.
  [[nodiscard]] std::string_view view(NameId id) const;
  [[nodiscard]] std::string text(NameId id) const;

  /// Names of the process.
  static Names& of_process();

 private:
  mutable std::mutex mutex_;
  std::map<std::string, NameId, std::less<>> ids_;          // under mutex_
  std::deque<std::string_view> texts_{std::string_view()};  // by number, keys of ids_; under mutex_
};

}  // namespace shoal::trace
