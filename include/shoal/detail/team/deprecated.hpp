#pragma once
// Calls of a team in the order of arguments of 0.1; see <shoal/deprecated.hpp>.

#include <shoal/large_message.hpp>
#include <shoal/message.hpp>
#include <shoal/recipients.hpp>

#include <span>
#include <type_traits>
#include <utility>

namespace shoal {

struct TeamHandle;

/// @cond internals
namespace deprecated {

template <class Team>
class TeamCalls {
 public:
  template <auto Function, Delivery How, class... Args>
  [[deprecated("the target comes first: send(rank, am<function>, args...)")]] void send(
      team::StaticAm<Function, How> function, Rank target, Args&&... args) {
    team().send(target, function, std::forward<Args>(args)...);
  }
  template <team::CaptureLess Closure, class... Args>
  [[deprecated("the target comes first: send(rank, closure, args...)")]] void send(Closure closure,
                                                                                   Rank target,
                                                                                   Args&&... args) {
    team().send(target, closure, std::forward<Args>(args)...);
  }
  template <auto Function, Delivery How, class... Args>
  [[deprecated(
      "the member comes before the function: send(handle, rank, am<function>, args...)")]] void
  send(const TeamHandle& handle, team::StaticAm<Function, How> function, Rank member,
       Args&&... args) {
    team().send(handle, member, function, std::forward<Args>(args)...);
  }
  template <auto Function, Delivery How, class... Args>
  [[deprecated("the target comes first: send_urgent(rank, am<function>, args...)")]] void
  send_urgent(team::StaticAm<Function, How> function, Rank target, Args&&... args) {
    team().send_urgent(target, function, std::forward<Args>(args)...);
  }
  template <auto Function, Delivery How, class... Args>
  [[deprecated("the recipients come first: multicast(recipients, am<function>, args...)")]] void
  multicast(team::StaticAm<Function, How> function, const Recipients& recipients, Args&&... args) {
    team().multicast(recipients, function, std::forward<Args>(args)...);
  }
  template <team::CaptureLess Closure, class... Args>
  [[deprecated("the recipients come first: multicast(recipients, closure, args...)")]] void
  multicast(Closure closure, const Recipients& recipients, Args&&... args) {
    team().multicast(recipients, closure, std::forward<Args>(args)...);
  }
  template <class... Wires, class... Args>
  [[deprecated("the recipients come first: multicast(recipients, message, args...)")]] void
  multicast(const ActiveMessage<Wires...>& message, const Recipients& recipients, Args&&... args) {
    team().multicast(recipients, message, std::forward<Args>(args)...);
  }
  template <class T, class... Wires, class... Args>
  [[deprecated("the recipients come first: multicast(recipients, message, payload, args...)")]] void
  multicast(const LargeMessage<T, Wires...>& message, const Recipients& recipients,
            std::span<const std::type_identity_t<T>> payload, Args&&... args) {
    team().multicast(recipients, message, payload, std::forward<Args>(args)...);
  }

 private:
  friend Team;
  TeamCalls() = default;
  [[nodiscard]] Team& team() { return static_cast<Team&>(*this); }
};

}  // namespace deprecated
/// @endcond
}  // namespace shoal
