#pragma once
// Invocations of methods of distributed objects, as their receiver keeps them.

#include <shoal/detail/base/type_name.hpp>
#include <shoal/detail/net/packet.hpp>
#include <shoal/detail/sync/block_pool.hpp>
#include <shoal/detail/sync/list.hpp>
#include <shoal/rank.hpp>

#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>

namespace shoal::object {

class Objects;

/// Class under which representatives are registered.
struct ObjectClass {
  const std::type_info& type;
  std::string_view spelled;  // by the compiler
};
template <class Root>
inline constexpr ObjectClass object_class{typeid(Root), naming::spelled<Root>()};

/// Address of a distributed object, on all ranks and in messages.
struct Address {
  std::uint64_t team = 0;    // id of its team; 0: the world
  std::uint32_t number = 0;  // in its team, from 1; 0: no object
  std::int32_t home = 0;     // rank of the world that is rank 0 of the team
  std::int32_t size = 0;     // number of ranks of the team
  std::uint32_t epoch = 0;   // of the object, where and when the address was taken

  /// Of the same object.
  [[nodiscard]] bool operator==(const Address& other) const {
    return team == other.team && number == other.number;
  }
  [[nodiscard]] auto operator<=>(const Address& other) const {
    return std::pair(team, number) <=> std::pair(other.team, other.number);
  }
};

/// Wire header of an invocation. Consecutive invocations with the same one, of the same method,
/// send it once: combining, stapl-rts thesis, appendix B.1.
///
/// Two invocations with the same context run in the order in which they were sent. The context is a
/// hash of the chain of ranks that led to the invocation (docs/design/objects.md); 0: no order.
struct Target {
  std::uint64_t context = 0;
  std::uint32_t number = 0;  // of the object; 0: none
  /// The receiver is to be in it. Largest of that of the context (Objects::caller_epoch()), of the
  /// object, and of the objects among the arguments.
  std::uint32_t epoch = 0;

  void raise_epoch(std::uint32_t other) {
    if (other > epoch) epoch = other;
  }

  [[nodiscard]] net::RunPrefix to_prefix() const { return std::bit_cast<net::RunPrefix>(*this); }
  [[nodiscard]] static Target from(const net::RunPrefix& prefix) {
    return std::bit_cast<Target>(prefix);
  }
};

/// Wire header of an invocation that is counted outside the object's team: its caller is on a rank
/// that is no member or has not made the team, or in another team. Its arguments follow as bytes.
struct Outside {
  // Bits of `flags`.
  static constexpr std::uint32_t kMayMiss = 1;      // it is ignored if the team has ended
  static constexpr std::uint32_t kByHandler = 2;    // its context is the one of its rank's handlers
  static constexpr std::uint32_t kWithoutTeam = 4;  // the team was not there, on the caller's rank
  static constexpr std::uint32_t kCounted = 8;      // the caller's rank is to hear: see Forwards
  static constexpr std::uint32_t kByMember = 16;    // it is: from the target; set by rank 0

  Address address;
  std::uint64_t context = 0;  // of the caller
  std::uint64_t sender = 0;   // team that waits until the invocation has run; 0: none
  std::int32_t target = 0;    // rank in the team
  std::int32_t origin = 0;    // rank of the caller in the world
  std::uint32_t epoch = 0;    // as in Target
  std::uint32_t handler = 0;  // index of the static handler of the method
  std::uint32_t flags = 0;

  [[nodiscard]] bool has(std::uint32_t flag) const { return (flags & flag) != 0; }
};

/// An invocation from outside the team, at its target.
struct Arrived {
  const Outside& header;
  net::PacketHolder packet;  // of its message: passes to the invocation
};

/// Invocations of one method of one object that have arrived one behind the other, in one context;
/// often one alone. Each runs once, or is told that its object is missing.
class Invocation : public sync::Pooled {
 public:
  Invocation(const Target& target, Rank source, std::uint64_t count, const ObjectClass& object)
      : target_(target), source_(source), count_(count), object_(object) {}
  virtual ~Invocation() = default;
  Invocation(const Invocation&) = delete;
  Invocation& operator=(const Invocation&) = delete;

  // Both are for the first one that has not begun.
  /// Calls the method on the representative. Throws an exception of the method that no future gets.
  virtual void run(Objects& objects, void* representative) = 0;
  /// There is no representative. Throws CheckError with `text`, unless the caller gets it, or does
  /// not mind.
  virtual void miss(Objects& objects, const std::string& text) = 0;
  /// Gives their bytes back to the sender's window: they wait for something that may depend on what
  /// the sender has yet to send. Without this, their end does. Any number of times.
  virtual void leave_window() {}
  /// Moves those that have not begun to an object of their own; nullptr: there are none.
  [[nodiscard]] virtual std::unique_ptr<Invocation> split() { return nullptr; }
  /// Method as the author of the program would write it.
  [[nodiscard]] virtual std::string method() const = 0;
  /// It will not run: its team has failed. **Caller**: no lock is held.
  virtual void drop(Objects& /*objects*/) {}
  /// "rank 1", for reports.
  [[nodiscard]] virtual std::string caller() const;

  [[nodiscard]] const Target& target() const { return target_; }
  /// Sender in the object's team; -1: no member.
  [[nodiscard]] Rank source() const { return source_; }
  /// Class of the object on the caller's rank.
  [[nodiscard]] const ObjectClass& object() const { return object_; }
  /// Number of those that have not begun.
  [[nodiscard]] std::uint64_t left() const { return count_ - begun_; }

  Invocation* next = nullptr;  // in its queue

 protected:
  /// Index of the next one, which begins.
  std::uint64_t begin_one() { return begun_++; }
  /// Gives up the invocations that are left, which run as part of another one.
  void give_away() { count_ = begun_; }
  [[nodiscard]] std::uint64_t begun() const { return begun_; }

 private:
  const Target target_;
  const Rank source_;
  std::uint64_t count_;
  std::uint64_t begun_ = 0;
  const ObjectClass& object_;
};

/// Queue of invocations, first in, first out. It owns them; none begins while it is in the queue.
class InvocationList {
 public:
  InvocationList() = default;
  ~InvocationList() { clear(); }
  InvocationList(InvocationList&& other) noexcept
      : list_(std::move(other.list_)), size_(std::exchange(other.size_, 0)) {}
  InvocationList& operator=(InvocationList&&) = delete;

  [[nodiscard]] bool empty() const { return list_.empty(); }
  /// Number of invocations that have not begun.
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] Invocation* first() const { return list_.first(); }
  void push(std::unique_ptr<Invocation> invocation) {
    size_ += invocation->left();
    list_.push(*invocation.release());
  }
  /// Removes the first invocation and returns it. **Precondition**: there is one.
  [[nodiscard]] std::unique_ptr<Invocation> pop() {
    std::unique_ptr<Invocation> taken(list_.pop());
    size_ -= taken->left();
    return taken;
  }
  void clear() {
    while (!empty()) pop().reset();
  }
  /// Moves all invocations of `other` to the end.
  void append(InvocationList& other) {
    list_.append(other.list_);
    size_ += std::exchange(other.size_, 0);
  }
  /// Moves all invocations of `other` to the front.
  void prepend(InvocationList& other) {
    other.append(*this);
    append(other);
  }

 private:
  sync::Fifo<Invocation> list_;
  std::size_t size_ = 0;
};

}  // namespace shoal::object
