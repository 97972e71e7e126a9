// Gets from other nodes by the transport's own access to memory (MPI-3 RMA).

#include "memory/remote.hpp"
#include "net/remote_memory.hpp"
#include "team/messenger.hpp"

#include <shoal/error.hpp>
#include <shoal/large_message.hpp>

#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <utility>

namespace shoal::memory {

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
  const Rank owner = scope_.to_world(Rank(from.rank));
  const auto start = [&](std::uint64_t place, std::span<std::byte> bytes) {
    auto arrived = messaging::make_event(scope_, owner_text("get by MPI to the"),
                                         [this, id = asker.id, offset = from.offset, get] {
                                           if (get->under_way.fetch_sub(1) == 1)
                                             end_window_get(id, offset, *get);
                                         });
    windows_->get(scope_.messenger().rank(), owner, place, bytes, arrived.release());
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
