#include <shoal/detail/net/transport.hpp>

#include <shoal/detail/base/check.hpp>

#include <algorithm>
#include <vector>

#include "env/sparse_array.hpp"
#include "net/local_link.hpp"

namespace shoal::net {

struct Fabric::LocalRank {
  explicit LocalRank(int world_size) : links(static_cast<std::size_t>(world_size) * kLaneCount) {}
  Port port;
  env::SparseArray<std::atomic<Link*>> links;  // by target and lane; written once, under mutex_
  std::vector<std::size_t> made;               // indices of those in `links`; under mutex_
};

Fabric::Fabric(const Layout& layout, const LinkOptions& options, Transport* transport)
    : layout_(layout), options_(options), transport_(transport) {
  for (int i = 0; i < layout.ranks_per_process; ++i) {
    local_.push_back(std::make_unique<LocalRank>(layout.world_size));
  }
  if (transport_ != nullptr) transport_->attach(*this);
}

Fabric::~Fabric() = default;

Port& Fabric::port(Rank local) {
  SHOAL_CHECK(layout_.is_local(local), "rank {} is not in this process", local.value());
  return local_[static_cast<std::size_t>(local - layout_.first_local())]->port;
}

Link& Fabric::link(Rank source, Rank target, Lane lane) {
  SHOAL_CHECK(target >= 0 && target < layout_.world_size,
              "rank {} is out of range: the world has ranks 0 to {}", target.value(),
              layout_.world_size - 1);
  LocalRank& rank = *local_[static_cast<std::size_t>(source - layout_.first_local())];
  std::atomic<Link*>& slot = rank.links[link_index(target, lane)];
  // acquire pairs with the release in make_link(): the link is complete.
  if (Link* link = slot.load(std::memory_order_acquire); link != nullptr) return *link;
  return make_link(source, target, lane, slot);
}

const std::atomic<Link*>* Fabric::links_of(Rank source) const {
  return local_[static_cast<std::size_t>(source - layout_.first_local())]->links.data();
}

std::vector<LinkState> Fabric::link_states(Rank source) const {
  std::vector<LinkState> states;
  const LocalRank& rank = *local_[static_cast<std::size_t>(source - layout_.first_local())];
  std::vector<std::size_t> made;  // few beside the targets of a large world
  {
    const sync::Lock lock(mutex_);
    made = rank.made;
  }
  std::ranges::sort(made);
  for (const std::size_t i : made) {
    if (i % kLaneCount == static_cast<std::size_t>(Lane::control)) continue;
    states.push_back(rank.links[i].load(std::memory_order_acquire)->state());  // as in link()
  }
  return states;
}

Link& Fabric::make_link(Rank source, Rank target, Lane lane, std::atomic<Link*>& slot) {
  const sync::Lock lock(mutex_);
  if (Link* link = slot.load(std::memory_order_acquire); link != nullptr) return *link;
  if (layout_.is_local(target)) {
    links_.push_back(std::make_unique<LocalLink>(
        source, target, lane, options_,
        local_[static_cast<std::size_t>(target - layout_.first_local())]->port));
  } else {
    links_.push_back(transport_->make_link(source, target, lane));
  }
  LocalRank& rank = *local_[static_cast<std::size_t>(source - layout_.first_local())];
  rank.made.push_back(link_index(target, lane));
  slot.store(links_.back().get(), std::memory_order_release);
  return *links_.back();
}

}  // namespace shoal::net
