#pragma once
// Control messages between the services of a run's processes.

#include <shoal/archive.hpp>
#include <shoal/detail/team/handler.hpp>

#include "team/messenger.hpp"

#include <tuple>
#include <type_traits>
#include <utility>

namespace shoal::runtime {

template <auto On>
struct ServiceCall;
template <class Service, class... Ts, void (Service::*On)(const team::Message&, Ts...)>
struct ServiceCall<On> {
  static void handle(void* /*self*/, const team::Message& message) {
    Service* const service = message.core->messenger().services().find<Service>();
    if (service == nullptr) return;
    if constexpr (sizeof...(Ts) == 0) {
      (service->*On)(message);
    } else {
      std::apply([&](Ts&&... values) { (service->*On)(message, std::move(values)...); },
                 decode<Ts...>(message.arguments));
    }
  }
};

/// Calls a member function of the service of this process, unless that has ended: with the message
/// and, where the function takes more, its decoded arguments.
template <auto On>
inline constexpr team::Invoke call_service = &team::invoke_each<&ServiceCall<On>::handle>;

}  // namespace shoal::runtime
