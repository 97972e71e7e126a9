#pragma once
// The codelets that a flow has inserted.

#include <shoal/codelet.hpp>
#include <shoal/detail/sync/mutex.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace shoal::flow {

/// Codelets of a flow, which it keeps until the flow ends. **Caller**: any thread.
class Codelets {
 public:
  Codelets() = default;
  ~Codelets();
  Codelets(const Codelets&) = delete;
  Codelets& operator=(const Codelets&) = delete;

  /// Returns whether this was the last flow to keep the codelet. A hint.
  [[nodiscard]] bool keeps(const CodeletCore& codelet) const {
    return codelet.keeper.load(std::memory_order_relaxed) == this;
  }
  void keep(const std::shared_ptr<CodeletCore>& codelet);
  /// Returns the name of an inserted codelet or other operation, by the hash of its name, for
  /// reports.
  [[nodiscard]] std::string text_of(std::uint32_t hash) const;

 private:
  mutable sync::Mutex mutex_;
  std::map<const CodeletCore*, std::shared_ptr<CodeletCore>> codelets_ SHOAL_GUARDED_BY(mutex_);
};

}  // namespace shoal::flow
