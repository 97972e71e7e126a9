#include "runtime/world_checker.hpp"

#include "sched/inspector.hpp"
#include "sim/sim_link.hpp"
#include "team/messenger.hpp"

#include <fmt/format.h>

namespace shoal::runtime {

std::vector<std::string> WorldChecker::outstanding() const {
  std::vector<std::string> lines;
  // In a world that has failed, a main function in an operation of a team is told of the team's
  // end, and continues until it is told of the world's. It may send until then.
  const auto may_be_told = [this](Rank rank) {
    const TeamCore& scope = ranks_[static_cast<std::size_t>(rank.value())]->scope();
    return scope.failed() && scope.had_nested();
  };
  for (const auto& rank : ranks_) {
    if (rank->scheduler().inspector().holds_work() && !may_be_told(rank->rank())) {
      lines.push_back(fmt::format("tasks of rank {}", rank->rank().value()));
    }
    // Between steps only work in a handler keeps the rank from ending. The root finds completion in
    // a handler.
    if (rank->rank() != 0 && rank->messenger().is_handling()) {
      lines.push_back(fmt::format("a handler of rank {}", rank->rank().value()));
    }
  }
  const auto add_link = [&](Rank source, Rank target, const char* where) {
    if (may_be_told(source)) return;
    lines.push_back(
        fmt::format("messages of rank {} for rank {}, {}", source.value(), target.value(), where));
  };
  for (const auto& fabric : fabrics_) {
    const net::Layout& layout = fabric->layout();
    for (int i = 0; i < layout.ranks_per_process; ++i) {
      const Rank source(layout.first_local() + i);
      for (const net::LinkState& link : fabric->link_states(source)) {
        if (link.untaken) add_link(source, link.target, "not sent");
      }
    }
  }
  network_.for_each_link([&](const sim::SimLink& link) {
    if (link.lane() == net::Lane::control || link.all_delivered()) return;
    add_link(link.source(), link.target(), "under way");
  });
  if (network_.payloads_under_way() > 0) {
    lines.push_back(fmt::format("{} payloads of large messages", network_.payloads_under_way()));
  }
  return lines;
}

}  // namespace shoal::runtime
