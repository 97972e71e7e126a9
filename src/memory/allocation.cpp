// Allocations of one rank in its own heap, in those of others, and in all at the same place.

#include "memory/remote.hpp"

#include <shoal/detail/base/type_name.hpp>
#include <shoal/error.hpp>

#include <fmt/format.h>

#include <optional>
#include <utility>

namespace shoal::memory {

std::uint64_t Remote::allocate_collectively(std::size_t size_bytes, std::size_t alignment,
                                            std::uint64_t layout,
                                            const std::source_location& made_at) {
  check_runs();
  const std::uint64_t offset = heap_.allocate(size_bytes, alignment, true);
  if (core_.size_ == 1) return offset;
  Declaration mine{0, offset, size_bytes, core_.heap_bytes_, layout, naming::to_text(made_at)};
  std::optional<Declaration> theirs;
  {
    const sync::Lock lock(mutex_);
    mine.number = ++made_;
    if (const auto found = theirs_.find(mine.number); found != theirs_.end()) {
      theirs = found->second;
      theirs_.erase(found);
    } else {
      mine_.push_back(mine);
    }
  }
  if (theirs) compare(mine, *theirs);
  declare_.send(Rank((core_.rank_ + 1) % core_.size_), mine);
  return offset;
}

void Remote::on_declared(const Declaration& declaration) {
  Declaration mine;
  {
    const sync::Lock lock(mutex_);
    if (mine_.empty() || mine_.front().number != declaration.number) {
      theirs_.emplace(declaration.number, declaration);
      return;
    }
    mine = mine_.front();
    mine_.pop_front();
  }
  compare(mine, declaration);
}

void Remote::compare(const Declaration& mine, const Declaration& theirs) const {
  const int before = (core_.rank_ + core_.size_ - 1) % core_.size_;
  if (mine.heap_bytes != theirs.heap_bytes) {
    throw CheckError(fmt::format(
        "memory '{}': the global heap has {} bytes on rank {}, and {} bytes on rank {}: all ranks "
        "must give the same --global-heap, or GlobalMemoryOptions::heap_bytes",
        name_, mine.heap_bytes, core_.rank_, theirs.heap_bytes, before));
  }
  if (mine.offset == theirs.offset && mine.size_bytes == theirs.size_bytes &&
      mine.place == theirs.place) {
    if (mine.layout == theirs.layout) return;
    throw CheckError(fmt::format(
        "memory '{}': the vector made at {} has its elements on other ranks, or at other places, "
        "on rank {} than on rank {}: all ranks must give the same size and Distribution",
        name_, mine.place, core_.rank_, before));
  }
  const auto of = [](const Declaration& one, int rank) {
    const bool is_known = !one.place.starts_with(':');  // of a file: not in another language
    return fmt::format("of {} bytes at {:#x} on rank {}{}", one.size_bytes, one.offset, rank,
                       is_known ? ", made at " + one.place : "");
  };
  throw CheckError(fmt::format(
      "memory '{}': collective allocation {} is {}, and {}: all ranks must make and free the same "
      "ones in the same order",
      name_, mine.number, of(mine, core_.rank_), of(theirs, before)));
}

Future<std::uint64_t> Remote::allocate_on(Rank rank, std::size_t size_bytes,
                                          std::size_t alignment) {
  check_range({rank.value(), 0, 0, 0, 1}, "allocation");
  auto pending = sync::Ref(new PendingValue<std::uint64_t>(team_.scheduler()));
  Future<std::uint64_t> offset = pending->future();
  const Asker asker =
      begin(*pending, rank.value(), reinterpret_cast<std::byte*>(&*pending->value), 0);
  allocate_.send(rank, AllocateRequest{asker, size_bytes, alignment});
  pending->end_one();
  return offset;
}

void Remote::on_allocate(const AllocateRequest& request) {
  answer(request.asker, [&] {
    const std::uint64_t offset = heap_.allocate(request.size_bytes, request.alignment, false);
    done_.send(Rank(static_cast<int>(request.asker.rank)), request.asker.id, offset);
  });
}

void Remote::free(Rank rank, std::uint64_t offset) {
  if (rank.value() == core_.rank_) {
    heap_.free(offset, false);
  } else {
    check_range({rank.value(), offset, 0, 0, 1}, "free");
    free_.send(rank, offset);
  }
}

// --- the local heap

Heap& Remote::local_heap() {
  const sync::Lock lock(mutex_);
  if (!local_) {
    local_.emplace(HeapOptions{.owner = owner_text("local"),
                               .option = "--local-heap, GlobalMemoryOptions::local_heap_bytes",
                               .size_bytes = local_heap_bytes_});
  }
  return *local_;
}

std::byte* Remote::allocate_locally(std::size_t size_bytes, std::size_t alignment) {
  check_runs();
  Heap& heap = local_heap();
  return heap.data() + heap.allocate(size_bytes, alignment, false);
}

void Remote::free_locally(const void* place) {
  if (place == nullptr) return;
  Heap& heap = local_heap();
  if (!heap.contains(place)) {
    throw CheckError(
        fmt::format("{}: free of a pointer that is not of this heap: {}", owner_text("local"),
                    heap_.contains(place) ? "it points into the global heap: use free()"
                                          : "local_allocate() of this memory did not give it"));
  }
  heap.free(static_cast<std::uint64_t>(static_cast<const std::byte*>(place) - heap.data()), false);
}

}  // namespace shoal::memory
