// Requests for other ranks: their names in texts, the checks before them, their registration.

#include "memory/remote.hpp"

#include <shoal/error.hpp>

#include <fmt/format.h>

namespace shoal::memory {

const char* to_text(Access access) {
  switch (access) {
    case Access::get:
    case Access::get_range:
      return "get";
    case Access::put:
      return "put";
    case Access::gather:
      return "gather";
    case Access::scatter:
      return "scatter";
    case Access::load:
      return "load";
    case Access::cached:
      return "get() of a cache";
    default:
      return "operation on a word";
  }
}

std::string Remote::owner_text(const char* heap) const {
  return fmt::format("memory '{}': {} heap of rank {}", name_, heap, core_.rank_);
}

// Every access comes through check_range() from then on.
bool Remote::run_ended() {
  run_has_ended_ = true;
  for (int rank = 0; rank < core_.size_; ++rank) {
    // relaxed: no thread of the run is left
    std::atomic<std::byte*>& base = core_.bases_[rank];
    if (base.load(std::memory_order_relaxed) != nullptr) {
      base.store(nullptr, std::memory_order_relaxed);
    }
  }
  return true;  // of the program: it is destroyed later
}

void Remote::check_runs() const {
  if (run_has_ended_) team::refuse_after_run(fmt::format("memory '{}'", name_));
}

void Remote::check_range(const Range& range, const char* what) const {
  check_runs();
  if (range.rank < 0 || range.rank >= core_.size_) {
    team_.refuse_rank(fmt::format("memory '{}': {}", name_, what), range.rank);
  }
  if (range.offset > core_.heap_bytes_ || range.extent_bytes() > core_.heap_bytes_ - range.offset) {
    throw CheckError(fmt::format(
        "memory '{}': {} of {} bytes at {:#x} of rank {}: the heap ends at {:#x}", name_, what,
        range.extent_bytes(), range.offset, range.rank, core_.heap_bytes_));
  }
}

void Remote::check_here(const Range& range, const char* what) const {
  if (!checks_ || range.extent_bytes() == 0) return;
  const std::string problem = heap_.problem_with(range.offset, range.extent_bytes());
  if (problem.empty()) return;
  throw CheckError(
      fmt::format("memory '{}': {} of rank {}: {}", name_, what, core_.rank_, problem));
}

void Remote::note_write(const Range& range, std::int64_t rank) {
  if (checks_) heap_.note_write(range.offset, range.extent_bytes(), static_cast<int>(rank));
}

Asker Remote::begin(Pending& pending, int target, std::byte* to, std::uint64_t size_bytes,
                    std::span<const Element> elements) {
  pending.add();
  request_count_.fetch_add(1, std::memory_order_relaxed);
  request_bytes_.fetch_add(size_bytes, std::memory_order_relaxed);
  add_reference(&pending);
  return {requests_.add({sync::Ref<Pending>(&pending), to, size_bytes, target, elements}),
          core_.rank_};
}

}  // namespace shoal::memory
