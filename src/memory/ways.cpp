// Ways to the heaps of other ranks.

#include "memory/remote.hpp"
#include "net/remote_memory.hpp"
#include "team/messenger.hpp"

#include <shoal/detail/net/transport.hpp>
#include <shoal/detail/sync/strand.hpp>
#include <shoal/error.hpp>
#include <shoal/large_message.hpp>

#include <atomic>
#include <memory>
#include <utility>
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

// Maps the asker's table, to take the address of the heap out of it in the end.
bool Remote::lend_to(const PlaceRequest& request) {
  if (!may_share_ || checks_) return false;
  if (scope_.messenger().fabric().layout().is_local(scope_.to_world(Rank(request.rank)))) {
    return true;
  }
  try {
    Bases bases(request.bases);
    const sync::Lock lock(mutex_);
    lent_to_.push_back(std::move(bases));
    return true;
  } catch (const Error&) {
    return false;  // of another container, perhaps: messages reach it
  }
}

void Remote::on_asked(const PlaceRequest& request) {
  if (windows_ != nullptr && !may_be_near(request.rank)) return tell_when_exposed(request.rank);
  tell(request.rank, lend_to(request) ? HeapPlace::Way::shared : HeapPlace::Way::messages);
}

// See reach.hpp. The two sides of another process: it sets the address and then looks at the mark,
// the owner sets the mark and then takes the address away. One of them sees the other.
void Remote::end_reach() {
  if (here_ != nullptr) here_->remove(key(), core_);
  heap_.memory()->give_up();
  if (windows_ != nullptr) heap_.mark_end();  // for WindowGet
  {
    const sync::Lock lock(mutex_);
    for (const Bases& bases : lent_to_) bases.data()[core_.rank_].store(nullptr);
  }
  scope_.keep_until_rest(heap_.memory());
}

/// Enters the address of a heap in the table; returns it, or nullptr if messages reach the heap.
std::byte* Remote::take_base(const HeapPlace& place, bool is_here, Peer& peer) {
  std::atomic<std::byte*>& mine = core_.bases_[place.rank];
  if (is_here) {
    auto* const base = reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(place.address));
    if (here_ != nullptr) {
      return here_->set_base(key(), core_, place.rank, base) ? base : nullptr;
    }
    mine.store(base, std::memory_order_release);
    return base;
  }
  if (place.way != HeapPlace::Way::shared) return nullptr;
  try {
    peer.mapping = std::make_unique<env::SharedMemory>(place.name);
  } catch (const Error&) {
    return nullptr;  // of another container, perhaps: messages reach it
  }
  std::byte* const base = peer.mapping->data();
  mine.store(base);
  if (!peer.mapping->is_given_up()) return base;
  mine.store(nullptr);
  return nullptr;
}

void Remote::on_place(const HeapPlace& place) {
  sync::Ref<PendingValue<void>> asked;
  const Rank world = scope_.to_world(Rank(place.rank));
  const bool is_here =
      sync::watches_strands() || scope_.messenger().fabric().layout().is_local(world);
  sync::locked(mutex_, [&]() SHOAL_REQUIRES(mutex_) {
    Peer& peer = peers_[place.rank];
    std::byte* const base = has_attempts_ ? nullptr : take_base(place, is_here, peer);
    if (place.way == HeapPlace::Way::window) peer.window = place.address;
    peer.way = base != nullptr ? Way::direct : Way::messages;
    if (base != nullptr) direct_count_.fetch_add(1, std::memory_order_relaxed);
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
  if (asks) ask_.send(Rank(rank), PlaceRequest{core_.rank_, 0, bases_.name()});
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

void Remote::open_own() {
  const sync::Lock lock(mutex_);
  // release pairs with the acquire in direct()
  if (!has_attempts_) core_.bases_[core_.rank_].store(core_.heap_, std::memory_order_release);
}

// Every access comes through Core::reach() from then on, which refuses writes of attempts: the heap
// of the rank is reached there, and others by messages.
void Remote::attempts_begin() {
  const sync::Lock lock(mutex_);
  has_attempts_ = true;
  for (int rank = 0; rank < core_.size_; ++rank) {
    core_.bases_[rank].store(nullptr, std::memory_order_release);
  }
}

}  // namespace shoal::memory
