#pragma once
// Control messages of a scope. They are not counted; each carries the team's id first.

#include <shoal/am/archive.hpp>
#include <shoal/term/scope.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace shoal::term {

/// Handlers that call the scope of the team on the rank where the message arrives.
struct ScopeMessages {
  using Message = messaging::Message;
  using Handler = messaging::StaticHandler;

  /// To a rank of the scope's team.
  template <class... Ts>
  static void send(Scope& scope, const Handler& handler, Rank member, const Ts&... values) {
    send_to_team(scope, handler, scope.channel().to_world(member), scope.channel().team(),
                 values...);
  }

  /// About a team, to a rank of the world.
  template <class... Ts>
  static void send_to_team(Scope& any, const Handler& handler, Rank rank, std::uint64_t team,
                           const Ts&... values) {
    std::vector<std::byte> bytes(encoded_size<std::uint64_t, Ts...>(team, values...));
    encode<std::uint64_t, Ts...>(std::span(bytes), team, values...);
    any.messenger().send_control(handler, rank, bytes);
  }

  // Registered when the program starts.
  // NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
  static Handler report;
  static Handler request;
  static Handler confirmation;
  static Handler done;
  static Handler failure_up;
  static Handler failure_down;
  static Handler stuck_part;
  static Handler verdict;
  static Handler ask;
  static Handler answer;
  static Handler dropped;
  // NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

 private:
  template <class... Ts, class F>
  static void receive(const Message& message, F f);
  static void on_report(void* self, const Message& message);
  static void on_request(void* self, const Message& message);
  static void on_confirmation(void* self, const Message& message);
  static void on_done(void* self, const Message& message);
  static void on_failure_up(void* self, const Message& message);
  static void on_failure_down(void* self, const Message& message);
  static void on_stuck_part(void* self, const Message& message);
  static void on_verdict(void* self, const Message& message);
  static void on_ask(void* self, const Message& message);
  static void on_answer(void* self, const Message& message);
  static void on_dropped(void* self, const Message& message);
};

}  // namespace shoal::term
