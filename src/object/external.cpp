#include <shoal/external_thread.hpp>

#include <shoal/detail/net/transport.hpp>

#include "team/messenger.hpp"

namespace shoal {

ExternalThread::ExternalThread(Team& team) : team_(team) {
  sched::check_thread(team.scope().scheduler(), "ExternalThread");
  hold_.emplace(team.hold());
}

// Until the promise is in the list, the team's wait() does not complete, because of the hold.
void ExternalThread::fence() {
  Promise<void> passed(team_.scope().scheduler(), "fence() of an external thread");
  Future<void> future = passed.future();
  object::Objects::of(team_).add_fence(hold_, std::move(passed));
  hold_.reset();
  future.get();
}

std::vector<Rank> external_callers(const Team& team) {
  const net::Layout& layout = team.scope().messenger().fabric().layout();
  std::vector<Rank> callers;
  std::vector<bool> has_caller(static_cast<std::size_t>(layout.process_count()));
  for (int rank = 0; rank < team.size(); ++rank) {
    const auto process = static_cast<std::size_t>(layout.process_of(team.world_rank(Rank(rank))));
    if (!has_caller[process]) callers.emplace_back(rank);
    has_caller[process] = true;
  }
  return callers;
}

}  // namespace shoal
