#include "bfs/arc_exchange.hpp"

#include <cstddef>
#include <utility>

namespace bfs {
namespace {

constexpr std::size_t kArcsPerMessage = 2048;

}  // namespace

ArcExchange::ArcExchange(shoal::World& world, const VertexPartition& partition, std::string name,
                         Take take)
    : world_(world),
      partition_(partition),
      take_(std::move(take)),
      message_(world.make_am([this](int level, std::span<const Arc> arcs) { take_(level, arcs); },
                             {.name = std::move(name)})) {}

ArcExchange::Sender::Sender(const ArcExchange& exchange)
    : exchange_(exchange), outgoing_(static_cast<std::size_t>(exchange.world_.size())) {}

void ArcExchange::Sender::send(int level, const Arc& arc) {
  if (level != level_) {
    flush();
    level_ = level;
  }
  const shoal::Rank target = exchange_.partition_.owner(arc.at);
  auto& arcs = outgoing_[static_cast<std::size_t>(target.value())];
  arcs.push_back(arc);
  if (arcs.size() >= kArcsPerMessage) flush(target);
}

void ArcExchange::Sender::flush() {
  for (int rank = 0; rank < exchange_.world_.size(); ++rank) flush(shoal::Rank(rank));
}

void ArcExchange::Sender::flush(shoal::Rank target) {
  auto& arcs = outgoing_[static_cast<std::size_t>(target.value())];
  if (arcs.empty()) return;
  if (target == exchange_.world_.rank()) {
    exchange_.take_(level_, arcs);
  } else {
    exchange_.message_.send(target, level_, std::move(arcs));
  }
  arcs.clear();
}

}  // namespace bfs
