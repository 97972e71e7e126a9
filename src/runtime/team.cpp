#include <shoal/runtime/world.hpp>

#include <shoal/base/binomial.hpp>
#include <shoal/base/check.hpp>
#include <shoal/base/key.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace shoal {

namespace {

// Derived alike by all members, without a message: no two teams have the same parent, number and
// first member. Never that of the world.
std::uint64_t team_id(std::uint64_t parent, std::uint64_t number, Rank first) {
  const auto mixed = KeyHash<std::tuple<std::uint64_t, std::uint64_t, int>>{}(
      std::tuple(parent, number, first.value()));
  return mixed | (std::uint64_t{1} << 63U);
}

// Of a team that one rank of the world has made alone.
std::uint64_t own_team_id(std::uint64_t world_rank, std::uint64_t number) {
  return (world_rank + 1) << 32U | (number & 0xffff'ffffU);
}

}  // namespace

World& world_of(const Team& team) {
  return *static_cast<World*>(team.scope().messenger().context());
}

Team::Team(const Parts& parts) : parts_(parts), size_(parts.scope->size()) {}

Team::Team(Team& parent, const std::vector<Rank>& ranks, const std::string& name)
    : Team(parent, messaging::list_ranks(parent.channel().ranks(), parent.size(), ranks), name) {
  SHOAL_CHECK(!ranks.empty(), "team '{}' has no ranks", name);
}

Team::Team(Team& parent, const messaging::SharedRankMap& members, const std::string& name)
    : size_(members->size()) {
  SHOAL_CHECK(sched::in_suspendable_task() && !sched::in_handler(),
              "team '{}' was made in a handler, or on a thread of its own: make it in the main "
              "function or a task",
              name);
  const std::uint64_t number = parent.scope().next_nested_number();
  if (members->from_world(parent.messenger().rank()) < 0) return;
  const std::uint64_t id = team_id(parent.channel().team(), number, members->to_world(Rank(0)));
  enter(parent, id, members,
        name.empty() ? fmt::format("{} of {}", number, parent.scope().describe()) : name);
}

Team::Team(const Invitation& invitation, Team& parent) : size_(invitation.ranks.size()) {
  enter(parent, invitation.id, invitation.ranks.map(parent.channel().ranks(), parent.size()),
        invitation.name);
}

void Team::enter(Team& parent, std::uint64_t id, const messaging::SharedRankMap& members,
                 const std::string& name) {
  term::Scope& scope = parent.scope().nest({id, members, this}, name);
  parts_ = {&scope, nullptr, parent.parts_.promises};
  collectives_ = std::make_unique<coll::Collectives>(scope);
  parts_.collectives = collectives_.get();
  scope.open();
}

Team::~Team() {
  if (collectives_ == nullptr) return;  // the world's, or no member
  parts_.scope->end();
  release();
}

void Team::release() noexcept {
  collectives_.reset();
  parts_.scope->release();
}

// --- teams made by one rank

Team::Invitation Team::invite(const RankSet& ranks, Promise<void> promise) {
  static_cast<void>(ranks.map(channel().ranks(), size()));  // refuses bad ones, here
  const std::uint64_t number = scope().next_own_number();
  const auto here = static_cast<std::uint64_t>(messenger().rank().value());
  return {own_team_id(here, number), ranks, fmt::format("{} of rank {}", number, here),
          publish(std::move(promise))};
}

Team::Ender::Ender(Team& parent, const Invitation& invitation)
    : parent_(parent), invitation_(invitation), team_(new Team(invitation, parent)) {}

/// A team that is ended by a task of its parent. If that has failed, and drops the task, the team
/// stays until none of its tasks is left.
class Team::Ender::Leaving {
 public:
  explicit Leaving(std::unique_ptr<Team> team) : team_(std::move(team)) {}
  Leaving(Leaving&&) noexcept = default;
  Leaving& operator=(Leaving&&) = delete;
  ~Leaving() {
    if (team_ == nullptr || team_->collectives_ == nullptr) return;  // it has ended
    struct Owner final : term::ScopeOwner {
      explicit Owner(std::unique_ptr<Team> given) : team(std::move(given)) {}
      ~Owner() override { team->collectives_.reset(); }
      std::unique_ptr<Team> team;
    };
    term::Scope& scope = team_->scope();
    scope.abandon(std::make_unique<Owner>(std::move(team_)));
  }
  [[nodiscard]] Team& team() const { return *team_; }

 private:
  std::unique_ptr<Team> team_;
};

// Not in a task of the team: the team ends after its tasks.
Team::Ender::~Ender() {
  auto end_it = [&parent = parent_, leaving = Leaving(std::move(team_)),
                 ended = invitation_.ended] { end(parent, leaving.team(), ended); };
  parent_.spawn(std::move(end_it), {.name = "the end of team " + invitation_.name});
}

void Team::Ender::end(Team& parent, Team& team, const RemotePromise<void>& ended) {
  const std::exception_ptr failure = team.scope().end_and_take_failure();
  const bool tells = team.rank() == 0;
  team.release();
  if (!tells || parent.scope().failed()) return;
  if (failure != nullptr) {
    parent.fail(ended, describe(failure));
  } else {
    parent.fulfill(ended);
  }
}

std::vector<Rank> Team::Ender::children() const {
  std::vector<Rank> ranks;
  for (const int child : binomial_children(team_->rank().value(), team_->size())) {
    ranks.push_back(invitation_.ranks[child]);
  }
  return ranks;
}

messaging::SharedRankMap Team::select(Team& parent, int colour, int key) {
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
  return messaging::list_ranks(parent.channel().ranks(), parent.size(), ranks);
}

Team Team::split(int colour, int key, const std::string& name) {
  return Team(*this, select(*this, colour, key), name);
}

void Team::fulfill(const RemotePromise<void>& promise) {
  send_to(promise.rank, am<&Team::accept_void>, promise.number);
}

void Team::accept_void(Team& team, std::uint64_t number) {
  if (auto promise = team.parts_.promises->take<void>(number)) promise->set_value();
}

void Team::submit(std::unique_ptr<sched::Task> task, const TaskOptions& options) {
  task->priority = options.priority;
  if (options.worker.has_value()) {
    const int worker = *options.worker;
    SHOAL_CHECK(worker >= 0 && worker < worker_count(),
                "task '{}' is for worker {}: this rank has workers 0 to {}", options.name, worker,
                worker_count() - 1);
    task->worker = static_cast<std::int16_t>(worker);
  }
  SHOAL_CHECK(!options.bound || options.worker.has_value(),
              "task '{}' is bound to no worker: set `worker` as well", options.name);
  task->bound = options.bound;
  scheduler().submit(std::move(task));
}

}  // namespace shoal
