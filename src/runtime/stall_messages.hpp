#pragma once
// Control messages between the stall watches of processes. Included by stall_watch.cpp only.

#include "runtime/stall_watch.hpp"
#include "team/messenger.hpp"

#include <shoal/archive.hpp>

#include <utility>

namespace shoal::runtime {

/// Each hands over to the watch of its process.
struct StallMessages {
  using Message = messaging::Message;
  using Handler = messaging::StaticHandler;

  template <class F>
  static void with_watch(const Message& message, F function) {
    StallWatch* const watch = message.channel->messenger().services().find<StallWatch>();
    if (watch != nullptr) function(*watch);
  }
  static void on_ask(void*, const Message& message) {
    with_watch(message, [&](StallWatch& watch) {
      auto [ask] = decode<StallAsk>(message.arguments);
      watch.on_ask(message.source, std::move(ask));
    });
  }
  static void on_request(void*, const Message& message) {
    with_watch(message, [&](StallWatch& watch) {
      const auto [round] = decode<std::uint64_t>(message.arguments);
      watch.on_request(message.source, round);
    });
  }
  static void on_answer(void*, const Message& message) {
    with_watch(message, [&](StallWatch& watch) {
      auto [answer] = decode<StallAnswer>(message.arguments);
      watch.on_answer(message.source, std::move(answer));
    });
  }
  static void on_end(void*, const Message& message) {
    with_watch(message, [](StallWatch& watch) { watch.on_end(); });
  }

  static constexpr auto kInlined = Delivery::inlined;
  template <void (*One)(void*, const Message&)>
  static constexpr messaging::Invoke each = &messaging::invoke_each<One>;
  // They register themselves.
  // NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
  static inline Handler ask{"shoal::stall_ask", 1, kInlined, each<&on_ask>};
  static inline Handler request{"shoal::stall_request", 2, kInlined, each<&on_request>};
  static inline Handler answer{"shoal::stall_answer", 3, kInlined, each<&on_answer>};
  static inline Handler end{"shoal::stall_end", 4, kInlined, each<&on_end>};
  // NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)
};

}  // namespace shoal::runtime
