#include "runtime/world_checker.hpp"

#include "sim/sim_link.hpp"

#include <fmt/format.h>

namespace shoal::runtime {

std::vector<std::string> WorldChecker::outstanding() const {
  std::vector<std::string> lines;
  for (const auto& rank : ranks_) {
    if (rank->scheduler().holds_work()) {
      lines.push_back(fmt::format("tasks of rank {}", rank->rank().value()));
    }
  }
  const auto add_link = [&lines](const net::Link& link, const char* where) {
    if (link.lane() != net::Lane::normal) return;
    lines.push_back(fmt::format("messages of rank {} for rank {}, {}", link.source().value(),
                                link.target().value(), where));
  };
  for (const auto& fabric : fabrics_) {
    fabric->for_each_link([&](net::Link& link) {
      if (!link.empty()) add_link(link, "not sent");
    });
  }
  network_.for_each_link([&](const sim::SimLink& link) {
    if (!link.all_delivered()) add_link(link, "under way");
  });
  if (network_.payloads_under_way() > 0) {
    lines.push_back(fmt::format("{} payloads of large messages", network_.payloads_under_way()));
  }
  return lines;
}

}  // namespace shoal::runtime
