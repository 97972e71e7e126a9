#pragma once
// The codelets that a flow has inserted.

#include <shoal/codelet.hpp>
#include <shoal/detail/sync/mutex.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace shoal::flow {

/// Keeps them until the flow ends. Any thread.
class Codelets {
 public:
  Codelets() = default;
  ~Codelets();
  Codelets(const Codelets&) = delete;
  Codelets& operator=(const Codelets&) = delete;

  /// The codelet was kept here last. A hint.
  [[nodiscard]] bool keeps(const CodeletCore& codelet) const {
    return codelet.keeper.load(std::memory_order_relaxed) == this;
  }
  void keep(const std::shared_ptr<CodeletCore>& codelet);
  /// Name of an inserted codelet or other operation, by the hash of its name. For reports.
  [[nodiscard]] std::string text_of(std::uint32_t hash) const;

 private:
  mutable sync::Mutex mutex_;
  std::map<const CodeletCore*, std::shared_ptr<CodeletCore>> codelets_ SHOAL_GUARDED_BY(mutex_);
};

}  // namespace shoal::flow
