#include "flow/transfers.hpp"

#include "flow/core.hpp"

#include <fmt/format.h>

#include <utility>

namespace shoal::flow {

PrunedEnd::PrunedEnd(Core& core)
    : core_(core),
      totals_(core.rank() == 0 ? static_cast<std::size_t>(core.size()) : 0, 0),
      expected_(core.size()),
      all_arrived_(core.scheduler(), fmt::format("the end of flow '{}' on all ranks", core.name())),
      end_(all_arrived_.future()),
      sent_(
          core.team(),
          [this](const std::vector<int>& ranks, const std::vector<std::uint64_t>& counts) {
            on_sent(ranks, counts);
          },
          team::model_options(fmt::format("flow '{}', values sent", core.name())), core.place()),
      total_(
          core.team(),
          [this](std::uint64_t total) { core_.transfers().await(total, all_arrived_); },
          team::model_options(fmt::format("flow '{}', end", core.name())), core.place()) {}

void PrunedEnd::end() {
  auto [ranks, counts] = core_.transfers().sent_counts();
  if (core_.rank() == 0) {
    on_sent(ranks, counts);
  } else {
    sent_.send(Rank(0), std::move(ranks), std::move(counts));
  }
  await(core_.team(), end_);
  core_.transfers().check_all_received();
}

void PrunedEnd::on_sent(const std::vector<int>& ranks, const std::vector<std::uint64_t>& counts) {
  std::vector<std::uint64_t> totals;
  {
    const sync::Lock lock(mutex_);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      totals_[static_cast<std::size_t>(ranks[i])] += counts[i];
    }
    if (--expected_ > 0) return;
    totals = totals_;
  }
  for (int rank = 1; rank < core_.size(); ++rank) {
    total_.send(Rank(rank), totals[static_cast<std::size_t>(rank)]);
  }
  core_.transfers().await(totals[0], all_arrived_);  // the last step: the flow may end
}

}  // namespace shoal::flow
