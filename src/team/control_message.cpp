// Control messages of teams: their handlers, on the rank where they arrive.

#include "team/core_state.hpp"
#include "team/messenger.hpp"
#include "team/unexpected_messages.hpp"

#include <memory>
#include <string>
#include <tuple>
#include <utility>

namespace shoal::team {

namespace {

CoreState& world_of(const Message& message) {
  return CoreState::of(message.core->messenger().world());
}

/// Calls f(core, source, values...), unless the team has ended.
template <class... Ts, class F>
void receive(const Message& message, F f) {
  auto all = decode<std::uint64_t, Ts...>(message.arguments);
  const auto core = find_core(world_of(message), std::get<0>(all));
  if (core == nullptr) return;
  const Rank member = core->team.from_world(message.source);
  std::apply([&](std::uint64_t, auto&... each) { f(*core, member, each...); }, all);
  wake_waiter(*core);
}

void on_report(void*, const Message& message) {
  receive<Report>(message, [](CoreState& core, Rank source, const Report& report) {
    const sync::Lock lock(core.mutex);
    core.detector.on_report(source, report);
  });
}

void on_request(void*, const Message& message) {
  receive<Request>(message, [](CoreState& core, Rank, const Request& request) {
    const sync::Lock lock(core.mutex);
    core.detector.on_request(request);
  });
}

void on_confirmation(void*, const Message& message) {
  receive<Confirmation>(message, [](CoreState& core, Rank, const Confirmation& confirmation) {
    const sync::Lock lock(core.mutex);
    core.detector.on_confirmation(confirmation);
  });
}

void on_done(void*, const Message& message) {
  receive<std::uint64_t, bool>(
      message, [](CoreState& core, Rank, std::uint64_t unsatisfied, bool all_final) {
        const sync::Lock lock(core.mutex);
        on_done(core, unsatisfied, all_final);
      });
}

void on_failure_up(void*, const Message& message) {
  receive<int, std::string, std::string>(
      message, [](CoreState& core, Rank, int rank, const std::string& name,
                  const std::string& text) { on_failure_up(core, Rank(rank), name, text); });
}

void on_failure_down(void*, const Message& message) {
  receive<int, std::string, std::string>(
      message, [](CoreState& core, Rank, int rank, const std::string& name,
                  const std::string& text) { on_failure_down(core, Rank(rank), name, text); });
}

void on_stuck_part(void*, const Message& message) {
  receive<std::vector<StuckLine>, std::vector<StuckTeam>, std::uint64_t, bool, bool>(
      message,
      [](CoreState& core, Rank, std::vector<StuckLine>& lines, std::vector<StuckTeam>& teams,
         std::uint64_t left_out, bool tasks_parked, bool changed) {
        const sync::Lock lock(core.mutex);
        add_stuck_part(core, {std::move(lines), std::move(teams), left_out, tasks_parked, changed});
      });
}

void on_verdict(void*, const Message& message) {
  receive<std::string, bool>(message,
                             [](CoreState& core, Rank, const std::string& text, bool tasks_parked) {
                               const sync::Lock lock(core.mutex);
                               on_verdict(core, text, tasks_parked);
                             });
}

void on_ask(void*, const Message& message) {
  const auto [team] = decode<std::uint64_t>(message.arguments);
  if (const auto core = find_core(world_of(message), team); core != nullptr) {
    on_ask(*core, message.source);
  }
}

void on_answer(void*, const Message& message) {
  const auto [team] = decode<std::uint64_t>(message.arguments);
  Messenger& messenger = world_of(message).messenger();
  const std::uint64_t count = messenger.unexpected().drop(team, message.source);
  if (count == 0) return;
  send_about(messenger, control_handlers().dropped, message.source, team, count);
}

// A team that has left has its counts in the one around it.
void on_dropped(void*, const Message& message) {
  const auto [team, count] = decode<std::uint64_t, std::uint64_t>(message.arguments);
  const Messenger& messenger = world_of(message).messenger();
  TeamCore* core = messenger.find_core(team);
  if (core == nullptr) core = messenger.around_ended(team);
  if (core == nullptr) return;
  core->counts.messages_processed(core->scheduler().count_slot(), count);
}

void on_acknowledged(void*, const Message& message) {
  const auto [team, count] = decode<std::uint64_t, std::uint64_t>(message.arguments);
  // A team that has failed may have ended.
  if (const auto core = find_core(world_of(message), team); core != nullptr) {
    core->outside.count_acknowledged(count);
  }
}

template <void (*One)(void*, const Message&)>
constexpr Invoke kEach = &invoke_each<One>;
constexpr auto kInlined = Delivery::inlined;

// Registered when the program starts.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
StaticHandler report{"shoal::report", 1, kInlined, kEach<&on_report>};
StaticHandler request{"shoal::request", 2, kInlined, kEach<&on_request>};
StaticHandler confirmation{"shoal::confirmation", 3, kInlined, kEach<&on_confirmation>};
StaticHandler done{"shoal::done", 4, kInlined, kEach<&on_done>};
StaticHandler failure_up{"shoal::failure_up", 5, kInlined, kEach<&on_failure_up>};
StaticHandler failure_down{"shoal::failure_down", 6, kInlined, kEach<&on_failure_down>};
StaticHandler stuck_part{"shoal::stuck_part", 7, kInlined, kEach<&on_stuck_part>};
StaticHandler verdict{"shoal::verdict", 8, kInlined, kEach<&on_verdict>};
StaticHandler ask{"shoal::ask", 9, kInlined, kEach<&on_ask>};
StaticHandler answer{"shoal::answer", 10, kInlined, kEach<&on_answer>};
StaticHandler dropped{"shoal::dropped", 11, kInlined, kEach<&on_dropped>};
StaticHandler acknowledged{"shoal::acknowledged", 12, kInlined, kEach<&on_acknowledged>};
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

}  // namespace

void ask_about(TeamCore& world, std::uint64_t team, Rank source) {
  send_about(world.messenger(), control_handlers().ask, source, team);
}

void acknowledge(TeamCore& world, Rank sender, std::uint64_t team, std::uint64_t count) {
  send_counted(world, control_handlers().acknowledged, sender, team, count);
}

const ControlHandlers& control_handlers() {
  static const ControlHandlers all{report,     request,      confirmation, done,
                                   failure_up, failure_down, stuck_part,   verdict,
                                   ask,        answer,       dropped,      acknowledged};
  return all;
}

}  // namespace shoal::team
