// Gets from other nodes by the transport's own access to memory (MPI-3 RMA).

#include "memory/remote.hpp"
#include "net/remote_memory.hpp"
#include "team/messenger.hpp"

#include <shoal/large_message.hpp>

#include <memory>
#include <span>
#include <utility>

namespace shoal::memory {

namespace {

/// Keeps the destination of a get from being destroyed while MPI writes there.
class Writing {
 public:
  explicit Writing(Pending& pending) : pending_(&pending), entered_(pending.enter()) {
    add_reference(&pending);
  }
  ~Writing() { leave(); }
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;

  [[nodiscard]] bool entered() const { return entered_; }
  void leave() {
    if (entered_) pending_->leave();
    entered_ = false;
  }

 private:
  const sync::Ref<Pending> pending_;
  bool entered_;
};

}  // namespace

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
  auto writing = std::make_unique<Writing>(pending);
  if (!writing->entered()) return;
  rma_count_.fetch_add(1, std::memory_order_relaxed);
  const Asker asker = begin(pending, from.rank, to, from.block_bytes);
  auto arrived = messaging::make_event(scope_, owner_text("get by MPI to the"),
                                       [this, id = asker.id, writing = std::move(writing)] {
                                         writing->leave();
                                         const Request request = take(id);
                                         if (request.pending != nullptr) request.pending->end_one();
                                       });
  windows_->get(scope_.messenger().rank(), scope_.to_world(Rank(from.rank)), address,
                std::span(to, from.block_bytes), arrived.release());
}

}  // namespace shoal::memory
