#include <shoal/detail/memory/core.hpp>

#include "memory/remote.hpp"
#include "team/messenger.hpp"

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/sched/attempt.hpp>
#include <shoal/global_ptr.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string>

namespace shoal {

std::string to_string(const GlobalPtr<const std::byte>& pointer) {
  if (!pointer) return "null";
  // Not by fmt, which takes longer: each fetch of a cache has such a name.
  std::array<char, 2 * sizeof(std::uint64_t)> digits{};
  const auto end = std::to_chars(digits.begin(), digits.end(), pointer.offset(), 16).ptr;
  std::string text = "rank ";
  text += std::to_string(pointer.rank().value());
  text += " + 0x";
  text.append(digits.begin(), end);
  return text;
}

namespace memory {

namespace {

constexpr std::uint64_t kPageBytes = 4096;

std::uint64_t chosen_bytes(const std::string& name, std::size_t asked, std::size_t otherwise) {
  if (asked == 0) asked = otherwise;
  SHOAL_CHECK(asked >= kHeapBytesMin, "memory '{}': a heap of {} bytes is too small: {} at least",
              name, asked, kHeapBytesMin);
  return (asked + 2 * kPageBytes - 1) / (2 * kPageBytes) * (2 * kPageBytes);
}

/// The options with all sizes filled in.
GlobalMemoryOptions complete(TeamCore& team, GlobalMemoryOptions options) {
  const auto* const found = team.messenger().services().find<Defaults>();
  const Defaults defaults = found != nullptr ? *found : Defaults();
  options.heap_bytes = chosen_bytes(options.name, options.heap_bytes, defaults.heap_bytes);
  constexpr std::size_t kRmaBytesMin = 16;  // words are read as a whole
  if (options.rma_bytes == 0) options.rma_bytes = defaults.rma_bytes;
  options.rma_bytes = std::max(options.rma_bytes, kRmaBytesMin);
  options.local_heap_bytes =
      chosen_bytes(options.name, options.local_heap_bytes, defaults.local_heap_bytes);
  return options;
}

}  // namespace

Core::Core(TeamCore& team, const GlobalMemoryOptions& options, const std::source_location& place)
    : Core(complete(team, options), team, place) {}

Core::Core(const GlobalMemoryOptions& options, TeamCore& team, const std::source_location& place)
    : team_(team), rank_(team.rank().value()), size_(team.size()), heap_bytes_(options.heap_bytes) {
  remote_ = std::make_unique<Remote>(*this, options, place);
  id_ = remote_->id();
  heap_ = remote_->heap().data();
  if (!remote_->checks()) remote_->open_own();
}

Core::~Core() = default;

std::byte* Core::reach(const Range& range, Access access) {
  if (sched::Attempt* const attempt = sched::current_attempt()) [[unlikely]] {
    if (writes(access)) attempt->refuse(fmt::format("memory '{}': {}", name(), to_text(access)));
    if (range.rank != rank_) attempt->refuse("get() of memory of another rank");
  }
  return remote_->reach(range, access);
}
void Core::get(const Range& from, std::byte* to, Pending& pending) {
  sched::refuse_in_attempt("get() of memory of another rank");
  remote_->get(from, to, pending);
}
void Core::put(const Range& to, const std::byte* from, Pending& pending) {
  remote_->put(to, from, pending);
}
void Core::word(int rank, std::uint64_t offset, const Word& word, std::uint64_t* result,
                Pending& pending) {
  remote_->word(rank, offset, word, result, pending);
}
void Core::batch(std::span<Element> elements, const BatchOp& op, std::byte* data,
                 Pending& pending) {
  sched::refuse_in_attempt("gather() of memory of another rank");
  remote_->batch(elements, op, data, pending);
}
void Core::follow(Pending& pending) { remote_->follow(pending); }
void Core::quiet() { remote_->quiet(); }

std::uint64_t Core::allocate(std::size_t size_bytes, std::size_t alignment) {
  remote_->check_runs();
  sched::refuse_in_attempt("allocate()");
  return remote_->heap().allocate(size_bytes, alignment, false);
}
std::uint64_t Core::allocate_collectively(std::size_t size_bytes, std::size_t alignment,
                                          std::uint64_t layout, const std::source_location& place) {
  return remote_->allocate_collectively(size_bytes, alignment, layout, place);
}
Future<std::uint64_t> Core::allocate_on(Rank rank, std::size_t size_bytes, std::size_t alignment) {
  return remote_->allocate_on(rank, size_bytes, alignment);
}
void Core::free(Rank rank, std::uint64_t offset) {
  sched::refuse_in_attempt("free()");
  remote_->free(rank, offset);
}
void Core::free_collectively(std::uint64_t offset) { remote_->heap().free(offset, true); }
std::byte* Core::allocate_locally(std::size_t size_bytes, std::size_t alignment) {
  return remote_->allocate_locally(size_bytes, alignment);
}
void Core::free_locally(const void* place) { remote_->free_locally(place); }
std::optional<int> Core::last_writer(std::uint64_t offset, std::uint64_t size_bytes) const {
  return remote_->last_writer(offset, size_bytes);
}
GlobalMemoryStatistics Core::statistics() const { return remote_->statistics(); }
const std::string& Core::name() const { return remote_->name(); }
bool Core::checks() const { return remote_->checks(); }

void Core::refuse_in_handler(const char* call) const {
  sched::refuse_in_handler(fmt::format("memory '{}': {}", name(), call));
}

void Core::refuse_pointer(std::uint32_t memory, const char* what) const {
  if (memory == 0) {
    throw CheckError(
        fmt::format("memory '{}': {} through a null pointer: allocate() first", name(), what));
  }
  throw CheckError(
      fmt::format("memory '{}': {} through a pointer that belongs to another memory "
                  "(or to one of another team or world)",
                  name(), what));
}

}  // namespace memory

}  // namespace shoal
