#include <shoal/deadline.hpp>
#include <shoal/detail/base/check.hpp>
#include <shoal/detail/base/type_name.hpp>
#include <shoal/detail/sched/scheduler.hpp>
#include <shoal/detail/sync/mutex.hpp>
#include <shoal/detail/team/core.hpp>
#include <shoal/detail/trace/probes.hpp>
#include <shoal/key.hpp>
#include <shoal/machine.hpp>
#include <shoal/task_group.hpp>
#include <shoal/world.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "sched/inspector.hpp"
#include "team/control_message.hpp"
#include "team/message_report.hpp"
#include "team/messenger.hpp"
#include "team/rank_map_table.hpp"
#include "team/unexpected_messages.hpp"

namespace shoal {

namespace {

// Hash of the members in their order; of many, of those at places that lie evenly.
std::uint64_t hash_of(const team::RankMap& members) {
  constexpr int kLooks = 64;
  const int size = members.size();
  const int looks = std::min(size, kLooks);
  auto hash = static_cast<std::uint64_t>(size);
  for (int i = 0; i < looks; ++i) {
    const auto place =
        static_cast<int>(static_cast<std::int64_t>(i) * (size - 1) / std::max(looks - 1, 1));
    hash = hash * 0x9E3779B97F4A7C15U + static_cast<std::uint64_t>(members.to_world(Rank(place)));
  }
  return hash;
}

// Id of a team, which all members compute without a message: no two teams have the same parent,
// number and first member. It is never the id of the world, and does not have kAboutBit. It
// includes the name and the members, so that messages for a team do not reach another one that a
// member has made in its place.
std::uint64_t team_id(std::uint64_t parent, std::uint64_t number, const team::RankMap& members,
                      std::string_view name) {
  const auto mixed =
      KeyHash<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::string_view>>{}(
          std::tuple(parent, number, hash_of(members), name));
  return (mixed | (std::uint64_t{1} << 63U)) & ~team::kAboutBit;
}

// Id of a team that one rank of the world has made alone.
std::uint64_t own_team_id(std::uint64_t world_rank, std::uint64_t number) {
  return (world_rank + 1) << 32U | (number & 0xffff'ffffU);
}

/// Map of a team on `ranks` of `parent`.
team::SharedRankMap map_of(const Team& parent, const RankSet& ranks) {
  const TeamCore& core = parent.core();
  auto& table = core.messenger().services().obtain<team::RankMapTable>(
      [] { return std::make_unique<team::RankMapTable>(); });
  return ranks.map(core.map(), parent.size(), table);
}

team::SharedRankMap map_of_list(const Team& parent, const std::vector<Rank>& ranks,
                                const std::string& name) {
  SHOAL_CHECK(!ranks.empty(), "team '{}' has no ranks", name);
  try {
    return map_of(parent, ranks);
  } catch (const CheckError& error) {
    if (name.empty()) throw;
    throw CheckError(fmt::format("team '{}': {}", name, error.what()));
  }
}

}  // namespace

TeamCore& core_of(const Team& team) { return team.core(); }

World& world_of(const Team& team) { return team.core().messenger().services().get<World>(); }

World& team::ContextOf<World>::get(const MessageContext& context) {
  return context.core().messenger().services().get<World>();
}

Team& team::ContextOf<Team>::get(const MessageContext& context) {
  return context.core().services().get<Team>();
}

Team::Team(TeamCore& core, team::Collectives& collectives) : core_(&core), size_(core.size()) {
  set_collectives(&collectives);
}

Team::Team(Team& parent, const std::vector<Rank>& ranks, const std::string& name)
    : Team(parent, map_of_list(parent, ranks, name), name) {}

Team::Team(Team& parent, const team::SharedRankMap& members, const std::string& name)
    : size_(members->size()) {
  sched::refuse_in_attempt("making a team");
  SHOAL_CHECK(sched::in_suspendable_task() && !sched::in_handler(),
              "team '{}' was made in a handler, or on a thread of its own: make it in the main "
              "function or a task",
              name);
  const std::uint64_t number = parent.core().next_nested_number();
  const Rank world_rank = parent.messenger().rank();
  const std::string shown =
      name.empty() ? std::to_string(number) + " of " + parent.core().describe() : name;
  if (members->from_world(world_rank) < 0) {
    elsewhere_ = std::make_unique<Elsewhere>(shown, world_rank);
    return;
  }
  const std::uint64_t id = team_id(parent.core().id(), number, *members, name);
  enter(parent, id, number, members, shown);
}

struct Team::Launched {
  TeamCore& outer;  // the parent's: lives longer than the parent, if that fails
  const Invitation invitation;
  std::weak_ptr<Team> team{};
  mutable sync::Mutex mutex{};
  std::vector<std::string> places SHOAL_GUARDED_BY(mutex){};  // of share(), each once
};

Team::Team(const Invitation& invitation, Team& parent)
    : size_(invitation.ranks.size()), launched_(new Launched{parent.core(), invitation}) {
  enter(parent, invitation.id, 0, map_of(parent, invitation.ranks), invitation.name,
        invitation.is_awaited() ? team::FailureTo::waiters : team::FailureTo::outer_team);
  launched_->outer.add(*this);
}

void Team::enter(Team& parent, std::uint64_t id, std::uint64_t number,
                 const team::SharedRankMap& members, const std::string& name,
                 team::FailureTo failure) {
  TeamCore& core = parent.core().nest({id, members, name, number}, failure);
  core.services().provide(*this);
  core_ = &core;
  own_collectives_ = std::make_unique<team::Collectives>(core);
  set_collectives(own_collectives_.get());
  core.open();
}

Team::~Team() {
  if (own_collectives_ == nullptr) return;  // the world's, or no member
  core().end();
  release();
}

void Team::end_run() {
  run_has_ended_ = true;
  core_ = nullptr;
  set_collectives(nullptr);
}

void Team::refuse_use(const char* how) const {
  static_cast<void>(rank_elsewhere());
  throw CheckError(
      fmt::format("team '{}' is used {}on rank {}, which is no member of it: ask is_member() first",
                  elsewhere_->team, how, elsewhere_->rank.value()));
}

Rank Team::rank_elsewhere() const {
  if (run_has_ended_) team::refuse_after_run("a World");
  return Rank(-1);
}

void TeamCollectives::refuse_collective() const {
  static_cast<const Team&>(*this).refuse_use("in a collective operation ");
}

void Team::release() noexcept {
  own_collectives_.reset();
  core().services().withdraw<Team>();  // what comes now is too late
  core().release();
}

void Team::drop_parts() noexcept {
  own_collectives_.reset();
  end_run();
}

// --- teams made by one rank

Team::Invitation Team::invite(const RankSet& ranks, const std::string& object) {
  static_cast<void>(map_of(*this, ranks));  // refuses bad ones, here
  const std::uint64_t number = core().next_own_number();
  const auto here = static_cast<std::uint64_t>(messenger().rank().value());
  const std::string name = fmt::format("{} of rank {}", number, here);
  return {own_team_id(here, number),
          ranks,
          object.empty() ? name : fmt::format("{} for {}", name, object),
          {},
          object};
}

std::shared_ptr<Team> Team::make_launched(Team& parent, const Invitation& invitation) {
  std::shared_ptr<Team> team(new Team(invitation, parent),
                             [](Team* owned) { end_later(std::unique_ptr<Team>(owned)); });
  team->launched_->team = team;
  return team;
}

std::string Team::describe_not_ended() const {
  const std::string team = core_->describe();  // it is in the list of a core
  const std::string& object = launched_->invitation.object;
  if (object.empty()) {
    const sync::Lock lock(launched_->mutex);
    return fmt::format("{} has not ended{}", team,
                       launched_->places.empty()
                           ? ""
                           : fmt::format(": release the pointer that Team::share() returned at {}",
                                         fmt::join(launched_->places, ", and at ")));
  }
  return fmt::format(
      "{} has not ended: delete its {}, which construct() has made, by ObjectDeleter", team,
      object);
}

std::shared_ptr<Team> Team::share(const std::source_location& place) {
  std::shared_ptr<Team> owner = launched_ != nullptr ? launched_->team.lock() : nullptr;
  if (owner != nullptr && launched_->invitation.object.empty()) {
    constexpr std::size_t kPlacesMax = 8;
    std::string text = naming::to_text(place);
    const sync::Lock lock(launched_->mutex);
    std::vector<std::string>& places = launched_->places;
    if (places.size() < kPlacesMax && std::ranges::find(places, text) == places.end())
      places.push_back(std::move(text));
  }
  return {owner, this};
}

/// Ends a launched team, in a task of the parent. If the parent has failed, and drops the task, the
/// team stays until none of its tasks is left.
class Team::EndTask final : public sched::Task {
 public:
  explicit EndTask(std::unique_ptr<Team> team) : team_(std::move(team)) {
    scope = &team_->launched_->outer;
  }
  ~EndTask() override {
    if (team_->own_collectives_ == nullptr) return;  // it has ended
    TeamCore& core = team_->core();
    core.release(std::move(team_));
  }
  void run() override { team_->end_launched(); }
  [[nodiscard]] std::string name() const override {
    return "the end of team " + team_->launched_->invitation.name;
  }

 private:
  std::unique_ptr<Team> team_;  // there until the destructor
};

// The team ends in a task of its parent, not in one of its own: it ends after its tasks.
void Team::end_later(std::unique_ptr<Team> team) {
  if (team->own_collectives_ == nullptr) return;  // the rank has ended
  TeamCore& outer = team->launched_->outer;
  const Hold hold(outer);
  outer.remove(*team);
  outer.scheduler().submit(std::make_unique<EndTask>(std::move(team)));
}

void Team::end_launched() {
  TeamCore& outer = launched_->outer;
  const RemotePromise<void> ended = launched_->invitation.ended;
  const bool is_awaited = launched_->invitation.is_awaited();
  std::exception_ptr failure;
  if (is_awaited) {
    failure = core().end_and_take_failure();
  } else {
    core().end();  // a failure that comes now fails the parent
  }
  const bool tells = rank() == 0;
  release();
  if (!tells || !is_awaited || outer.failed()) return;
  if (failure != nullptr) {
    team::fail(outer, ended, "launch_team()", shoal::describe(failure));
  } else {
    team::fulfill(outer, ended);
  }
}

team::SharedRankMap Team::select(Team& parent, int colour, int key) {
  using Choice = std::pair<int, int>;
  const std::vector<Choice> choices = parent.allgather(Choice(colour, key));
  std::vector<std::pair<int, int>> chosen;  // key, rank
  for (int rank = 0; rank < parent.size(); ++rank) {
    const auto& [its_colour, its_key] = choices[static_cast<std::size_t>(rank)];
    if (colour >= 0 && its_colour == colour) chosen.emplace_back(its_key, rank);
  }
  std::sort(chosen.begin(), chosen.end());
  std::vector<Rank> ranks;
  ranks.reserve(chosen.size());
  for (const auto& [its_key, rank] : chosen) ranks.emplace_back(rank);
  if (ranks.empty()) return team::list_ranks(parent.core().map(), parent.size(), ranks);
  return map_of(parent, ranks);
}

RankSet Team::ranks_sharing(MachineLevel level, Rank with) const {
  const Machine& machine = world_of(*this).machine();
  const int part = machine.part_of(world_rank(with), level);
  return RankSet::where(
      size_, [&](Rank rank) { return machine.part_of(world_rank(rank), level) == part; });
}

RankSet Team::first_ranks(MachineLevel level) const {
  const Machine& machine = world_of(*this).machine();
  std::set<int> parts;
  return RankSet::where(size_, [&](Rank rank) {
    return parts.insert(machine.part_of(world_rank(rank), level)).second;
  });
}

// --- messages to teams that the sender is no member of

Team& Team::outermost() const { return world_of(*this); }

Team* Team::find_member(const TeamHandle& team) const {
  TeamCore* const core = messenger().find_core(team.id);
  return core == nullptr ? nullptr : core->services().find<Team>();
}

Team::Relay Team::relay_to(const TeamHandle& team, Rank member, Rank origin) {
  if (member < 0 || member >= team.size)
    detail::refuse_rank("message to a team by its handle", member.value(), origin, "the team",
                        team.size);
  sched::TaskScope* const sender = sched::current_scope();
  return {team, member.value(), origin.value(),
          sender == nullptr ? 0 : TeamCore::of(*sender).begin_message_outside()};
}

TeamCore& Team::member_of(const team::TeamInUse& team, const Relay& relay) {
  SHOAL_CHECK(team.core() != nullptr && team.core()->services().find<Team>() != nullptr,
              "rank {} has sent a message to a team of {} ranks, the first of them rank {}, which "
              "has ended, or was never made: keep it until wait() has returned",
              relay.origin, relay.team.size, relay.team.first);
  return *team.core();
}

Team::Handled::~Handled() {
  if (relay_.sender == 0) return;
  team::acknowledge(team_.messenger().world(), Rank(relay_.origin), relay_.sender, 1);
}

TeamHandle Team::handle() const { return {core().id(), core().to_world(Rank(0)).value(), size_}; }

Team Team::split(int colour, int key, const std::string& name) {
  return Team(*this, select(*this, colour, key), name);
}

void Team::cancel(const std::string& reason) { core().cancel(reason); }

void Team::submit(std::unique_ptr<sched::Task> task, const TaskOptions& options) {
  sched::submit(scheduler(), std::move(task), options);
}

Statistics World::statistics() const {
  const team::Messenger& messenger = core().messenger();
  const team::MessageStatistics messages = team::statistics_of(messenger);
  return {core().scheduler().inspector().tasks_run(), messages.messages_sent,
          messages.messages_received, messages.bytes_sent};
}

void World::end_run() {
  Team::end_run();
  parts_.args = {};
}

Team* World::find(const TeamHandle& handle) { return find_member(handle); }

int Machine::part_of(Rank rank, MachineLevel level) const {
  if (places_.empty()) return 0;
  const Place& place = places_.at(static_cast<std::size_t>(rank.value()));
  switch (level) {
    case MachineLevel::node:
      return place.node;
    case MachineLevel::socket:
      return place.socket;
    case MachineLevel::numa:
      break;
  }
  return place.numa;
}

/// Belongs to its Deadline, and to the timer until that has expired.
class Deadline::Alarm final : public sched::Timer {
 public:
  Alarm(sched::Scheduler& scheduler, Function<void()> cancel)
      : scheduler_(scheduler), cancel_(std::move(cancel)) {}

  static void set(const std::shared_ptr<Alarm>& alarm, std::uint64_t duration_ns) {
    alarm->set_ = alarm;
    sched::Scheduler& scheduler = alarm->scheduler_;
    scheduler.add_timer(*alarm, sched::Timers::due_ns(scheduler.env().now_ns(), duration_ns));
  }
  void unset() {
    if (scheduler_.remove_timer(*this)) {
      set_.reset();
    } else {  // it expires, or has
      const sync::Lock lock(mutex_);
      cancel_ = nullptr;
    }
  }

 private:
  void expire() override {
    const std::shared_ptr<Alarm> alive = std::move(set_);
    const sync::Lock lock(mutex_);  // the team or group ends after unset()
    if (cancel_) cancel_();
  }

  sched::Scheduler& scheduler_;
  sync::Mutex mutex_;
  Function<void()> cancel_ SHOAL_GUARDED_BY(mutex_);
  std::shared_ptr<Alarm> set_;  // this, while the timer is set
};

Deadline::Deadline(sched::Scheduler& scheduler, std::uint64_t duration_ns, Function<void()> cancel)
    : alarm_(std::make_shared<Alarm>(scheduler, std::move(cancel))) {
  Alarm::set(alarm_, duration_ns);
}

Deadline::Deadline(Team& team, std::uint64_t duration_ns, std::string reason, int /*of_ns*/)
    : Deadline(core_of(team).scheduler(), duration_ns,
               [core = &core_of(team), reason = std::move(reason)] { core->cancel(reason); }) {}

Deadline::Deadline(TaskGroup& group, std::uint64_t duration_ns, int /*of_ns*/)
    : Deadline(group.scheduler_, duration_ns, [&group] { group.cancel(); }) {}

Deadline::~Deadline() { alarm_->unset(); }

}  // namespace shoal
