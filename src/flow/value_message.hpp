#pragma once
// Message with a large value of a datum.

#include "flow/receive_task.hpp"

#include <shoal/detail/base/function.hpp>
#include <shoal/detail/team/core.hpp>
#include <shoal/recipients.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <span>
#include <string>

namespace shoal::flow {

/// State of a recipient that forwards a value to others. It ends when the value may be changed.
struct Forwarding {
  std::shared_ptr<const void> keeps;  // destroyed at the end
};
using SharedForwarding = std::shared_ptr<Forwarding>;

/// A LargeMessage of bytes; its recipients may read the value while they forward it.
class ValueMessage {
 public:
  /// Functions of a recipient, in handlers.
  struct Functions {
    /// Returns memory for a value of this size.
    Function<std::span<std::byte>(std::size_t size_bytes, const TransferId& id, bool report)>
        buffer;
    /// Called when the value is there. If there is `forwarding`, the bytes must not change before
    /// that ends.
    Function<void(const TransferId& id, SharedForwarding forwarding)> arrived;
  };

  ValueMessage(messaging::Channel& channel, const std::string& name, Functions functions,
               const std::source_location& place);
  ~ValueMessage();
  ValueMessage(const ValueMessage&) = delete;
  ValueMessage& operator=(const ValueMessage&) = delete;

  /// Sends a value; `release` runs on this rank, in a handler, when the bytes may be changed.
  /// **Caller**, **Blocks**: as ActiveMessage::send().
  void send(Rank target, std::span<const std::byte> bytes, const TransferId& id, bool report,
            Function<void()> release) const;
  void multicast(const Recipients& recipients, std::span<const std::byte> bytes,
                 const TransferId& id, bool report, Function<void()> release) const;

  /// Number of the handler.
  [[nodiscard]] std::uint32_t number() const { return index_; }

 private:
  struct Receiver;
  /// With its flag bits.
  [[nodiscard]] std::uint32_t handler() const;

  messaging::Channel& channel_;
  std::shared_ptr<Receiver> receiver_;
  std::uint32_t index_ = 0;
};

}  // namespace shoal::flow
