#pragma once
// Context of a handler: where its message comes from, and the objects of the receiving rank.

#include <shoal/rank.hpp>

#include <type_traits>

namespace shoal {

class TeamCore;

namespace team {
/// Specialized for the types that handlers may take by reference as their first parameter, with
/// `static T& get(const MessageContext&)`: see ServiceContext in remote_promise.hpp.
template <class T>
struct ContextOf {};
}  // namespace team

/// Sender and team of a message. A handler, or a task made from a message, may take it as its first
/// parameter, by value or const reference.
class MessageContext {
 public:
  /// @cond internals
  /// Made by shoal for each message.
  MessageContext(TeamCore& core, Rank world_source) : core_(&core), world_source_(world_source) {}
  /// @endcond

  /// Rank of the sender in the team of the message; -1 if it is no member.
  [[nodiscard]] Rank source() const;
  /// Rank of the sender in the world.
  [[nodiscard]] Rank world_source() const { return world_source_; }
  /// Returns the receiving rank's World, its Team of the message, or a service. **Errors**:
  /// CheckError when there is no such service.
  template <class T>
  [[nodiscard]] T& get() const {
    return team::ContextOf<T>::get(*this);
  }
  /// @cond internals
  /// Core of the team that the message was sent on.
  [[nodiscard]] TeamCore& core() const { return *core_; }
  /// @endcond

 private:
  TeamCore* core_;
  Rank world_source_;
};

namespace team {

template <>
struct ContextOf<MessageContext> {
  static MessageContext get(const MessageContext& context) { return context; }
};

/// Types that handlers may take as their first parameter.
template <class T>
concept HandlerContext = requires(const MessageContext& context) { ContextOf<T>::get(context); };

}  // namespace team
}  // namespace shoal
