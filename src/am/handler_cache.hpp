#pragma once
// Instance handlers that the receiver of a rank has looked up.

#include <shoal/detail/am/channel.hpp>
#include <shoal/detail/am/handler.hpp>

#include <array>
#include <cstdint>
#include <memory>

#include "am/deferred_reclaim.hpp"

namespace shoal::messaging {

struct Reception;

/// Keeps those needed last: one look under the lock of their table serves many messages.
/// **Caller**: the worker that handles packets, except for remove().
class HandlerCache {
 public:
  /// Looks for the instance handler of the message at hand; nullptr in `reception`: there is none
  /// any more. False: it is not open yet.
  [[nodiscard]] bool find(Reception& reception);
  /// Destroys handlers that were removed: nothing that was found before may be used.
  void forget_removed();
  [[nodiscard]] DeferredReclaim& removed() { return removed_; }
  /// Ends a handler that was taken out of its table, once it is not in use. Any thread.
  void remove(const std::shared_ptr<Handler>& handler) { removed_.add(handler); }

 private:
  struct Kept {
    const Channel* channel = nullptr;
    std::uint32_t index = 0;
    const Handler* handler = nullptr;
  };

  std::array<Kept, 8> kept_;
  DeferredReclaim removed_;
};

}  // namespace shoal::messaging
