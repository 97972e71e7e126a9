#pragma once
// Arguments of a message that are an object of this process.

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace shoal::net {

/// Arguments that are not in the packet, which has a pointer to them: those that travel within the
/// process, so that they are copied at most once, and those that came from another one in pieces.
class ObjectMessage {
 public:
  ObjectMessage() = default;
  ObjectMessage(const ObjectMessage&) = default;
  ObjectMessage& operator=(const ObjectMessage&) = delete;
  virtual ~ObjectMessage() = default;
};

/// Flag of MessageHeader::handler: the arguments are such a pointer.
inline constexpr std::uint32_t kObjectBit = 1U << 30U;
/// Bit of the pointer: the object is a ReceivedMessage.
inline constexpr std::uintptr_t kReceivedBit = 1;

[[nodiscard]] inline std::uintptr_t object_bits(const std::byte* place) {
  std::uintptr_t bits = 0;
  std::memcpy(&bits, place, sizeof bits);
  return bits;
}
[[nodiscard]] inline ObjectMessage* object_at(const std::byte* place) {
  return reinterpret_cast<ObjectMessage*>(object_bits(place) & ~kReceivedBit);
}
[[nodiscard]] inline bool is_received_at(const std::byte* place) {
  return (object_bits(place) & kReceivedBit) != 0;
}

}  // namespace shoal::net
