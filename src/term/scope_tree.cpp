#include "term/scope_tree.hpp"

#include <algorithm>

#include "am/messenger.hpp"

namespace shoal::term {

std::string ScopeCore::describe() const { return is_world() ? name : "team '" + name + "'"; }

std::vector<std::shared_ptr<ScopeCore>> nested_in(const ScopeCore& scope) {
  if (scope.nested_count.load(std::memory_order_acquire) == 0) return {};
  const sync::Lock lock(scope.teams.mutex);
  return scope.nested;
}

std::shared_ptr<ScopeCore> nested_at(const ScopeCore& scope, std::size_t index) {
  if (index >= scope.nested_count.load(std::memory_order_acquire)) return nullptr;
  const sync::Lock lock(scope.teams.mutex);
  return index < scope.nested.size() ? scope.nested[index] : nullptr;
}

// One that was made lately, mostly.
std::shared_ptr<ScopeCore> owner_of(const ScopeCore& scope) {
  const std::vector<std::shared_ptr<ScopeCore>>& all = scope.outer->nested;
  const sync::Lock lock(scope.teams.mutex);
  return *std::find_if(all.rbegin(), all.rend(),
                       [&scope](const auto& one) { return one.get() == &scope; });
}

std::shared_ptr<ScopeCore> find_scope(ScopeCore& world, std::uint64_t team) {
  if (team == 0) return {std::shared_ptr<ScopeCore>(), &world};
  TeamDirectory& teams = world.teams;
  const sync::Lock lock(teams.mutex);
  const auto it = teams.scopes.find(team);
  return it != teams.scopes.end() ? it->second : nullptr;
}

std::shared_ptr<ScopeCore> find_or_keep(ScopeCore& world, std::uint64_t team,
                                        FunctionRef<TeamDirectory::EarlyControl()> control) {
  if (team == 0) return {std::shared_ptr<ScopeCore>(), &world};
  TeamDirectory& teams = world.teams;
  const sync::Lock lock(teams.mutex);
  const auto it = teams.scopes.find(team);
  if (it != teams.scopes.end()) return it->second;
  teams.early[team].push_back(control());
  return nullptr;
}

std::vector<TeamDirectory::EarlyControl> enter_directory(const std::shared_ptr<ScopeCore>& scope) {
  const std::uint64_t id = scope->channel().team().id();
  TeamDirectory& teams = scope->teams;
  const sync::Lock lock(teams.mutex);
  const auto it = teams.early.find(id);
  if (it == teams.early.end()) {
    teams.scopes.emplace(id, scope);
    return {};
  }
  std::vector<TeamDirectory::EarlyControl> early = std::move(it->second);
  teams.early.erase(it);
  return early;
}

void open_all_handlers(const ScopeCore& scope) {
  messaging::Channel& channel = scope.channel();
  if (!channel.handlers().all_open()) channel.open_handlers();
  for (const std::shared_ptr<ScopeCore>& inner : nested_in(scope)) open_all_handlers(*inner);
}

namespace {

// A member that is taken out may send until it has unwound: outer scopes count these messages, and
// other members drop them, or ask this scope. They have ended when the outer one does.
bool is_complete_for_good(const ScopeCore& scope) {
  if (scope.all_final.load(std::memory_order_acquire)) return true;
  if (!scope.abandoned.load(std::memory_order_acquire)) return false;
  return scope.outer->is_world() || is_complete_for_good(*scope.outer);
}

}  // namespace

bool has_ended(const ScopeCore& scope) {
  if (!is_complete_for_good(scope) || !nested_in(scope).empty()) return false;
  const bool has_handlers = scope.channel().handlers().live_count() > 0;
  const sync::Lock lock(scope.mutex);
  return scope.member.is_released() &&
         (scope.owner != nullptr || (scope.sources.empty() && !has_handlers));
}

void sweep(const std::shared_ptr<ScopeCore>& ended) {
  ScopeCore& outer = *ended->outer;
  TeamDirectory& teams = outer.teams;
  const sync::Lock lock(teams.mutex);
  const auto it = std::find(outer.nested.begin(), outer.nested.end(), ended);
  if (it == outer.nested.end()) return;  // another worker was first
  outer.nested.erase(it);
  outer.nested_count.store(outer.nested.size(), std::memory_order_release);
  teams.scopes.erase(ended->channel().team().id());
  if (outer.world.nested.empty()) outer.messenger().set_has_teams(false);
  Totals& sum = outer.left_behind;
  ended->facade.counts.add_ended(sum);
  ended->facade.counts.add_begun(sum);
  sum.created += ended->left_behind.created;
  sum.finished += ended->left_behind.finished;
  sum.queued += ended->left_behind.queued;
  sum.processed += ended->left_behind.processed;
  outer.outside.take_over(ended->outside);
}

}  // namespace shoal::term
