#include "term/scope_messages.hpp"

#include <memory>
#include <tuple>
#include <utility>

namespace shoal::term {

namespace {

Scope& world_of(const messaging::Message& message) {
  return static_cast<Scope&>(message.channel->messenger().world().scope());
}

}  // namespace

/// Calls f(scope, source, values...); the message is kept if its team does not exist here yet.
template <class... Ts, class F>
void ScopeMessages::receive(const Message& message, F f) {
  Scope& world = world_of(message);
  auto all = decode<std::uint64_t, Ts...>(message.arguments);
  const Rank source = message.source;
  const auto handle = [source, f](const std::shared_ptr<Scope>& scope, auto& values) {
    const Rank member = scope->channel().from_world(source);
    std::apply([&](std::uint64_t, auto&... each) { f(*scope, member, each...); }, values);
    scope->wake_waiter();
  };
  const std::shared_ptr<Scope> scope = world.find_or_keep(std::get<0>(all), [&] {
    return Scope::EarlyControl(
        [handle, all](const std::shared_ptr<Scope>& later) mutable { handle(later, all); });
  });
  if (scope != nullptr) handle(scope, all);
}

namespace {

template <void (*One)(void*, const messaging::Message&)>
constexpr messaging::Invoke kEach = &messaging::invoke_each<One>;

}  // namespace

void ScopeMessages::on_report(void*, const Message& message) {
  receive<Report>(message, [](Scope& scope, Rank source, const Report& report) {
    const sync::Lock lock(scope.mutex_);
    scope.detector_.on_report(source, report);
  });
}

void ScopeMessages::on_request(void*, const Message& message) {
  receive<Request>(message, [](Scope& scope, Rank, const Request& request) {
    const sync::Lock lock(scope.mutex_);
    scope.detector_.on_request(request);
  });
}

void ScopeMessages::on_confirmation(void*, const Message& message) {
  receive<Confirmation>(message, [](Scope& scope, Rank, const Confirmation& confirmation) {
    const sync::Lock lock(scope.mutex_);
    scope.detector_.on_confirmation(confirmation);
  });
}

void ScopeMessages::on_done(void*, const Message& message) {
  receive<std::uint64_t, bool>(message,
                               [](Scope& scope, Rank, std::uint64_t unsatisfied, bool all_final) {
                                 const sync::Lock lock(scope.mutex_);
                                 scope.on_done(unsatisfied, all_final);
                               });
}

void ScopeMessages::on_failure_up(void*, const Message& message) {
  receive<int, std::string, std::string>(
      message, [](Scope& scope, Rank, int rank, const std::string& name, const std::string& text) {
        scope.on_failure_up(Rank(rank), name, text);
      });
}

void ScopeMessages::on_failure_down(void*, const Message& message) {
  receive<int, std::string, std::string>(
      message, [](Scope& scope, Rank, int rank, const std::string& name, const std::string& text) {
        scope.on_failure_down(Rank(rank), name, text);
      });
}

void ScopeMessages::on_stuck_part(void*, const Message& message) {
  receive<std::vector<Scope::StuckLine>, std::vector<Scope::StuckTeam>, std::uint64_t, bool, bool>(
      message, [](Scope& scope, Rank, std::vector<Scope::StuckLine>& lines,
                  std::vector<Scope::StuckTeam>& teams, std::uint64_t left_out, bool tasks_parked,
                  bool changed) {
        const sync::Lock lock(scope.mutex_);
        scope.add_stuck_part({std::move(lines), std::move(teams), left_out, tasks_parked, changed});
      });
}

void ScopeMessages::on_verdict(void*, const Message& message) {
  receive<std::string, bool>(message,
                             [](Scope& scope, Rank, const std::string& text, bool tasks_parked) {
                               const sync::Lock lock(scope.mutex_);
                               scope.on_verdict(text, tasks_parked);
                             });
}

void ScopeMessages::on_ask(void*, const Message& message) {
  const auto [team] = decode<std::uint64_t>(message.arguments);
  if (const auto scope = world_of(message).find(team); scope != nullptr) {
    scope->on_ask(message.source);
  }
}

void ScopeMessages::on_answer(void*, const Message& message) {
  const auto [team] = decode<std::uint64_t>(message.arguments);
  Scope& world = world_of(message);
  const std::uint64_t count = world.messenger_.drop_early(team, message.source);
  if (count > 0) send_to_team(world, dropped, message.source, team, count);
}

void ScopeMessages::on_dropped(void*, const Message& message) {
  const auto [team, count] = decode<std::uint64_t, std::uint64_t>(message.arguments);
  if (const auto scope = world_of(message).find(team); scope != nullptr) {
    scope->count_processed(scope->scheduler().count_slot(), count);
  }
}

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
namespace {
constexpr auto kInlined = Delivery::inlined;
}  // namespace
messaging::StaticHandler ScopeMessages::report{"shoal::report", 1, kInlined, kEach<&on_report>};
messaging::StaticHandler ScopeMessages::request{"shoal::request", 2, kInlined, kEach<&on_request>};
messaging::StaticHandler ScopeMessages::confirmation{"shoal::confirmation", 3, kInlined,
                                                     kEach<&on_confirmation>};
messaging::StaticHandler ScopeMessages::done{"shoal::done", 4, kInlined, kEach<&on_done>};
messaging::StaticHandler ScopeMessages::failure_up{"shoal::failure_up", 5, kInlined,
                                                   kEach<&on_failure_up>};
messaging::StaticHandler ScopeMessages::failure_down{"shoal::failure_down", 6, kInlined,
                                                     kEach<&on_failure_down>};
messaging::StaticHandler ScopeMessages::stuck_part{"shoal::stuck_part", 7, kInlined,
                                                   kEach<&on_stuck_part>};
messaging::StaticHandler ScopeMessages::ask{"shoal::ask", 9, kInlined, kEach<&on_ask>};
messaging::StaticHandler ScopeMessages::answer{"shoal::answer", 10, kInlined, kEach<&on_answer>};
messaging::StaticHandler ScopeMessages::dropped{"shoal::dropped", 11, kInlined, kEach<&on_dropped>};
messaging::StaticHandler ScopeMessages::verdict{"shoal::verdict", 8, kInlined, kEach<&on_verdict>};
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

}  // namespace shoal::term
