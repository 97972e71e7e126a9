#pragma once
// Control messages between the status pages of processes. Included by status_page.cpp only.

#include "runtime/status_page.hpp"
#include "team/messenger.hpp"

namespace shoal::runtime {

/// Each hands over to the page of its process.
struct StatusMessages {
  using Message = messaging::Message;
  using Handler = messaging::StaticHandler;

  static void on_request(void*, const Message& message) {
    messaging::Messenger& messenger = message.channel->messenger();
    StatusPage* const page = messenger.services().find<StatusPage>();
    if (page != nullptr) page->on_request(message.source, messenger);
  }
  static void on_answer(void*, const Message& message) {
    StatusPage* const page = message.channel->messenger().services().find<StatusPage>();
    if (page != nullptr) page->on_answer(message.arguments);
  }

  // They register themselves.
  // NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
  static inline Handler request{"shoal::status_request", 5, Delivery::inlined,
                                &messaging::invoke_each<&on_request>};
  static inline Handler answer{"shoal::status_answer", 6, Delivery::inlined,
                               &messaging::invoke_each<&on_answer>};
  // NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)
};

}  // namespace shoal::runtime
