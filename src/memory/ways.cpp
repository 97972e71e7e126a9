// Ways to the heaps of other ranks.

#include "memory/remote.hpp"
#include "net/remote_memory.hpp"
#include "team/messenger.hpp"

#include <shoal/detail/net/transport.hpp>
#include <shoal/detail/sync/strand.hpp>
#include <shoal/error.hpp>
#include <shoal/large_message.hpp>

#include <memory>
#include <vector>

namespace shoal::memory {

bool Remote::may_be_near(int rank) const {
  // With --sim-races, each access is one of the calling task, not of a handler at the target.
  if (sync::watches_strands()) return true;
  const net::Fabric& fabric = scope_.messenger().fabric();
  const Rank world = scope_.to_world(Rank(rank));
  if (fabric.layout().is_local(world)) return true;
  return fabric.transport() != nullptr &&
         fabric.transport()->shares_memory(fabric.layout().process_of(world));
}

void Remote::tell(int origin, HeapPlace::Way way) {
  HeapPlace place;
  place.rank = core_.rank_;
  place.way = way;
  place.address = reinterpret_cast<std::uintptr_t>(heap_.data());
  place.name = heap_.name();
  tell_.send(Rank(origin), place);
}

void Remote::tell_when_exposed(int origin) {
  bool exposed = false;
  {
    const sync::Lock lock(mutex_);
    exposed = exposed_;
    if (!exposed) askers_.push_back(origin);
    if (!exposed && askers_.size() > 1) return;  // the first one has it exposed
  }
  if (exposed) return tell(origin, HeapPlace::Way::window);
  auto done = messaging::make_event(scope_, owner_text("exposed global"), [this] { on_exposed(); });
  windows_->expose(heap_.memory(), scope_.messenger().rank(), done.release());
}

void Remote::on_exposed() {
  std::vector<int> askers;
  {
    const sync::Lock lock(mutex_);
    exposed_ = true;
    askers.swap(askers_);
  }
  for (const int asker : askers) tell(asker, HeapPlace::Way::window);
}

void Remote::on_asked(int origin) {
  if (windows_ != nullptr && !may_be_near(origin)) return tell_when_exposed(origin);
  tell(origin, may_share_ && !checks_ ? HeapPlace::Way::shared : HeapPlace::Way::messages);
}

std::byte* Remote::find_base(const HeapPlace& place, bool is_here, Peer& peer) {
  if (is_here) {
    return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(place.address));
  }
  if (place.way != HeapPlace::Way::shared) return nullptr;
  try {
    peer.mapping = std::make_unique<env::SharedMemory>(place.name);
    return peer.mapping->data();
  } catch (const Error&) {
    return nullptr;  // of another container, perhaps: messages reach it
  }
}

void Remote::on_place(const HeapPlace& place) {
  sync::Ref<PendingValue<void>> asked;
  const Rank world = scope_.to_world(Rank(place.rank));
  const bool is_here =
      sync::watches_strands() || scope_.messenger().fabric().layout().is_local(world);
  sync::locked(mutex_, [&]() SHOAL_REQUIRES(mutex_) {
    Peer& peer = peers_[place.rank];
    std::byte* const base = find_base(place, is_here, peer);
    if (place.way == HeapPlace::Way::window) peer.window = place.address;
    peer.way = base != nullptr ? Way::direct : Way::messages;
    if (base != nullptr) {
      direct_count_.fetch_add(1, std::memory_order_relaxed);
      // release pairs with the acquire in Core::direct()
      core_.bases_[static_cast<std::size_t>(place.rank)].store(base, std::memory_order_release);
    }
    asked = peer.asked;
  });
  asked->end_one();
}

Remote::Way Remote::connect(int rank) {
  sched::ValueRef<void> known;
  bool asks = false;
  {
    const sync::Lock lock(mutex_);
    Peer& peer = peers_[rank];
    if (peer.way == Way::direct || peer.way == Way::messages) return peer.way;
    asks = peer.way == Way::unknown;
    if (asks) {
      peer.way = Way::asking;
      peer.asked = sync::Ref(new PendingValue<void>(scope_.scheduler()));
      peer.known = peer.asked->future();
    }
    known = peer.known.shared_state();
  }
  if (asks) ask_.send(Rank(rank), core_.rank_);
  if (sched::current_task() == nullptr) return Way::messages;  // a handler does not wait
  known->await();
  const sync::Lock lock(mutex_);
  return peers_[rank].way;
}

std::byte* Remote::reach(const Range& range, Access access) {
  check_range(range, to_text(access));
  if (range.rank == core_.rank_) {
    check_here(range, to_text(access));
    if (writes(access)) note_write(range, core_.rank_);
    return place(range.offset);
  }
  if (checks_ || !may_be_near(range.rank) || connect(range.rank) == Way::messages) return nullptr;
  return core_.direct(range.rank, range.offset, range.extent_bytes(), access);
}

}  // namespace shoal::memory
