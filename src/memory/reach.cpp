#include "memory/reach.hpp"

#include <shoal/detail/net/transport.hpp>
#include <shoal/detail/sync/strand.hpp>
#include <shoal/error.hpp>
#include <shoal/large_message.hpp>

#include <fmt/format.h>

#include "env/freed_memory.hpp"
#include "memory/remote.hpp"
#include "net/mpi_transport.hpp"
#include "team/messenger.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace shoal::memory {

bool Remote::may_be_near(int rank) const {
  // With --sim-races, each access is one of the calling task, not of a handler at the target.
  if (sync::watches_strands()) return true;
  const net::Fabric& fabric = team_.messenger().fabric();
  const Rank world = team_.to_world(Rank(rank));
  if (fabric.layout().is_local(world)) return true;
  return fabric.transport() != nullptr &&
         fabric.transport()->shares_memory(fabric.layout().process_of(world));
}

void Remote::tell(int origin, HeapPlace::Path path) {
  HeapPlace place;
  place.rank = core_.rank_;
  place.path = path;
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
  if (exposed) return tell(origin, HeapPlace::Path::window);
  auto done = team::make_event(team_, owner_text("exposed global"), [this] { on_exposed(); });
  windows_->expose(heap_.memory(), team_.messenger().rank(), done.release());
}

void Remote::on_exposed() {
  std::vector<int> askers;
  {
    const sync::Lock lock(mutex_);
    exposed_ = true;
    askers.swap(askers_);
  }
  for (const int asker : askers) tell(asker, HeapPlace::Path::window);
}

// Maps the asker's table, to take the address of the heap out of it in the end.
bool Remote::lend_to(const PlaceRequest& request) {
  if (!may_share_ || checks_) return false;
  if (team_.messenger().fabric().layout().is_local(team_.to_world(Rank(request.rank)))) {
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
  tell(request.rank, lend_to(request) ? HeapPlace::Path::shared : HeapPlace::Path::messages);
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
  team_.keep_until_rest(heap_.memory());
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
  if (place.path != HeapPlace::Path::shared) return nullptr;
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
  const Rank world = team_.to_world(Rank(place.rank));
  const bool is_here =
      sync::watches_strands() || team_.messenger().fabric().layout().is_local(world);
  sync::locked(mutex_, [&]() SHOAL_REQUIRES(mutex_) {
    Peer& peer = peers_[place.rank];
    std::byte* const base = has_attempts_ ? nullptr : take_base(place, is_here, peer);
    if (place.path == HeapPlace::Path::window) peer.window = place.address;
    peer.path = base != nullptr ? Path::direct : Path::messages;
    if (base != nullptr) direct_count_.fetch_add(1, std::memory_order_relaxed);
    asked = peer.asked;
  });
  asked->end_one();
}

Remote::Path Remote::connect(int rank) {
  sched::ValueRef<void> known;
  bool asks = false;
  {
    const sync::Lock lock(mutex_);
    Peer& peer = peers_[rank];
    if (peer.path == Path::direct || peer.path == Path::messages) return peer.path;
    asks = peer.path == Path::unknown;
    if (asks) {
      peer.path = Path::asking;
      peer.asked = sync::Ref(new PendingValue<void>(team_.scheduler()));
      peer.known = peer.asked->future();
    }
    known = peer.known.shared_state();
  }
  if (asks) ask_.send(Rank(rank), PlaceRequest{core_.rank_, 0, bases_.name()});
  if (sched::current_task() == nullptr) return Path::messages;  // a handler does not wait
  if (!sched::poll_until(known->scheduler(), [&known] { return known->is_ready(); })) {
    sched::WaitBeyondGroup(*known).wait();  // others may share what the caller fetches
  }
  const sync::Lock lock(mutex_);
  return peers_[rank].path;
}

std::byte* Remote::reach(const Range& range, Access access) {
  check_range(range, to_text(access));
  if (range.rank == core_.rank_) {
    check_here(range, to_text(access));
    if (writes(access)) note_write(range, core_.rank_);
    return place(range.offset);
  }
  if (checks_ || !may_be_near(range.rank) || connect(range.rank) == Path::messages) return nullptr;
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

void CoresHere::add(const Key& key, Core& core) {
  const sync::Lock lock(mutex_);
  memories_[key].cores.push_back(&core);
}

void CoresHere::remove(const Key& key, Core& core) {
  const sync::Lock lock(mutex_);
  const auto found = memories_.find(key);
  if (found == memories_.end()) return;
  Memory& memory = found->second;
  std::erase(memory.cores, &core);
  memory.ended.insert(core.rank_);
  // release: what the owner has done before
  for (Core* const other : memory.cores) {
    other->bases_[core.rank_].store(nullptr, std::memory_order_release);
  }
  if (memory.cores.empty()) memories_.erase(found);
}

bool CoresHere::set_base(const Key& key, Core& core, int rank, std::byte* base) {
  const sync::Lock lock(mutex_);
  if (memories_[key].ended.contains(rank)) return false;
  // release pairs with the acquire in Core::direct()
  core.bases_[rank].store(base, std::memory_order_release);
  return true;
}

Bases::Bases(int size, bool shared)
    : memory_(std::make_unique<env::SharedMemory>(
          static_cast<std::size_t>(size) * sizeof(std::atomic<std::byte*>), shared)) {
  env::forget_frames(memory_->data(), memory_->size_bytes());
}

/// A get, and one of the mark that the owner sets in its heap when its memory ends. Both are under
/// way at the same time: a heap that ends before the get begins is seen, and one that ends later
/// has no order to it. Keeps the destination from being destroyed while MPI writes there.
struct Remote::WindowGet {
  explicit WindowGet(Pending& pending) : pending(&pending), entered(pending.enter()) {
    add_reference(&pending);
  }
  ~WindowGet() { leave(); }
  WindowGet(const WindowGet&) = delete;
  WindowGet& operator=(const WindowGet&) = delete;

  void leave() {
    if (entered) pending->leave();
    entered = false;
  }

  const sync::Ref<Pending> pending;
  bool entered;
  std::uint64_t mark = 0;
  std::atomic<int> under_way{2};
};

std::uint64_t Remote::window_address(const Range& from) {
  if (windows_ == nullptr || from.count != 1 || from.block_bytes < rma_bytes_ ||
      may_be_near(from.rank)) {
    return 0;
  }
  static_cast<void>(connect(from.rank));
  const sync::Lock lock(mutex_);
  const std::uint64_t heap = peers_[from.rank].window;
  return heap == 0 ? 0 : heap + from.offset;
}

void Remote::get_by_window(const Range& from, std::uint64_t address, std::byte* to,
                           Pending& pending) {
  auto get = std::make_shared<WindowGet>(pending);
  if (!get->entered) return;
  rma_count_.fetch_add(1, std::memory_order_relaxed);
  const Asker asker = begin(pending, from.rank, to, from.block_bytes);
  const Rank owner = team_.to_world(Rank(from.rank));
  const auto start = [&](std::uint64_t place, std::span<std::byte> bytes) {
    auto arrived = team::make_event(team_, owner_text("get by MPI to the"),
                                    [this, id = asker.id, offset = from.offset, get] {
                                      if (get->under_way.fetch_sub(1) == 1)
                                        end_window_get(id, offset, *get);
                                    });
    windows_->get(team_.messenger().rank(), owner, place, bytes, arrived.release());
  };
  start(address, std::span(to, from.block_bytes));
  start(address - from.offset, std::as_writable_bytes(std::span(&get->mark, 1)));
}

void Remote::end_window_get(RequestId id, std::uint64_t offset, WindowGet& get) {
  get.leave();
  const Request request = take(id);
  if (request.pending == nullptr) return;
  if (get.mark != 0) {
    request.pending->fail(std::make_exception_ptr(CheckError(fmt::format(
        "memory '{}': get of {} bytes at {:#x} of rank {}, on rank {}: rank {} has "
        "destroyed the memory: keep it until wait() has returned",
        name_, request.size_bytes, offset, request.target, core_.rank_, request.target))));
  }
  request.pending->end_one();
}

}  // namespace shoal::memory
