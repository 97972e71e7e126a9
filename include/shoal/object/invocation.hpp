#pragma once
// Invocations of methods of distributed objects, as their receiver keeps them.

#include <shoal/base/ids.hpp>
#include <shoal/net/packet.hpp>
#include <shoal/sync/block_pool.hpp>

#include <bit>
#include <compare>
#include <cstdint>
#include <exception>
#include <string>

namespace shoal::object {

class Objects;

/// Address of a distributed object: the same on all ranks, and in messages.
struct Address {
  std::uint64_t team = 0;    // id of its team; 0: the world
  std::uint32_t number = 0;  // in its team, from 1; 0: no object
  std::int32_t home = 0;     // rank of the world that is rank 0 of the team

  [[nodiscard]] bool operator==(const Address&) const = default;
  [[nodiscard]] auto operator<=>(const Address&) const = default;
};

/// Wire header of an invocation. Consecutive invocations with the same one, of the same method,
/// send it once: combining, stapl-rts thesis, appendix B.1.
///
/// Two invocations with the same context run in the order in which they were sent. The context is a
/// hash of the chain of ranks that led to the invocation (docs/design/objects.md).
struct Target {
  std::uint64_t context = 0;
  std::uint32_t number = 0;  // of the object
  std::uint32_t epoch = 0;   // of the sender

  [[nodiscard]] net::RunPrefix to_prefix() const { return std::bit_cast<net::RunPrefix>(*this); }
  [[nodiscard]] static Target from(const net::RunPrefix& prefix) {
    return std::bit_cast<Target>(prefix);
  }
};

/// One invocation that has arrived. It runs once, or is told that its object is missing.
class Invocation : public sync::Pooled {
 public:
  Invocation(const Target& target, Rank source) : target_(target), source_(source) {}
  virtual ~Invocation() = default;
  Invocation(const Invocation&) = delete;
  Invocation& operator=(const Invocation&) = delete;

  /// Calls the method on the representative. Throws an exception of the method that no future gets.
  virtual void run(Objects& objects, void* representative) = 0;
  /// There is no representative. Throws CheckError with `text`, unless the caller gets it, or does
  /// not mind.
  virtual void miss(Objects& objects, const std::string& text) = 0;
  /// Method as the author of the program would write it.
  [[nodiscard]] virtual std::string method() const = 0;

  [[nodiscard]] const Target& target() const { return target_; }
  /// Sender in the object's team; -1: no member.
  [[nodiscard]] Rank source() const { return source_; }

  Invocation* next = nullptr;  // in its queue

 private:
  const Target target_;
  const Rank source_;
};

}  // namespace shoal::object
