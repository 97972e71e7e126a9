#include "memory/heap.hpp"

#include <shoal/error.hpp>

#include <fmt/format.h>

#include "env/freed_memory.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <utility>
namespace shoal::memory {

namespace {

std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

Allocator::Allocator(std::uint64_t begin, std::uint64_t end, bool searchable)
    : begin_(round_up(begin, kGranularity)),
      end_(end / kGranularity * kGranularity),
      searchable_(searchable) {
  if (begin_ >= end_) return;
  Block* const all = new_block();
  all->offset = begin_;
  all->size_bytes = end_ - begin_;
  insert(all);
}

Allocator::Level Allocator::level_of(std::uint64_t size_bytes) {
  // Sizes are kGranularity and above, which the bit tells compilers.
  const auto first = static_cast<int>(std::bit_width(size_bytes | kGranularity)) - 1;
  const auto second = (size_bytes >> (first - kSecondBits)) - kSecondCount;
  return {first, static_cast<int>(second)};
}

Allocator::Block* Allocator::new_block() {
  if (unused_.empty()) return &blocks_.emplace_back();
  Block* const block = unused_.back();
  unused_.pop_back();
  *block = Block();
  return block;
}

void Allocator::insert(Block* block) {
  const Level level = level_of(block->size_bytes);
  Block*& head =
      lists_[static_cast<std::size_t>(level.first)][static_cast<std::size_t>(level.second)];
  block->is_free = true;
  block->previous = nullptr;
  block->next = head;
  if (head != nullptr) head->previous = block;
  head = block;
  first_bits_ |= std::uint64_t{1} << level.first;
  second_bits_[static_cast<std::size_t>(level.first)] |= 1U << level.second;
}

void Allocator::remove(Block* block) {
  const Level level = level_of(block->size_bytes);
  const auto first = static_cast<std::size_t>(level.first);
  Block*& head = lists_[first][static_cast<std::size_t>(level.second)];
  if (block->previous != nullptr) block->previous->next = block->next;
  if (block->next != nullptr) block->next->previous = block->previous;
  if (head == block) head = block->next;
  block->is_free = false;
  if (head != nullptr) return;
  second_bits_[first] &= ~(1U << level.second);
  if (second_bits_[first] == 0) first_bits_ &= ~(std::uint64_t{1} << level.first);
}

Allocator::Block* Allocator::take_fitting(std::uint64_t size_bytes) {
  // Rounded up to the next list: every block of it fits.
  const int width = level_of(size_bytes).first;
  const std::uint64_t rounded = size_bytes + (std::uint64_t{1} << (width - kSecondBits)) - 1;
  Level level = level_of(rounded);
  auto first = static_cast<std::size_t>(level.first);
  std::uint32_t seconds = second_bits_[first] & (~0U << level.second);
  if (seconds == 0) {
    const std::uint64_t firsts =
        level.first == kFirstCount - 1 ? 0 : first_bits_ & (~std::uint64_t{0} << (level.first + 1));
    if (firsts == 0) return take_first_fitting(size_bytes);
    first = static_cast<std::size_t>(std::countr_zero(firsts));
    seconds = second_bits_[first];
  }
  Block* const block = lists_[first][static_cast<std::size_t>(std::countr_zero(seconds))];
  remove(block);
  return block;
}

// Blocks of one list differ in size: some of the list below may be large enough.
Allocator::Block* Allocator::take_first_fitting(std::uint64_t size_bytes) {
  const Level level = level_of(size_bytes);
  const auto first = static_cast<std::size_t>(level.first);
  Block* block = lists_[first][static_cast<std::size_t>(level.second)];
  while (block != nullptr && block->size_bytes < size_bytes) block = block->next;
  if (block != nullptr) remove(block);
  return block;
}

void Allocator::split(Block* block, std::uint64_t size_bytes) {
  if (block->size_bytes == size_bytes) return;
  Block* const rest = new_block();
  rest->offset = block->offset + size_bytes;
  rest->size_bytes = block->size_bytes - size_bytes;
  rest->before = block;
  rest->behind = block->behind;
  if (rest->behind != nullptr) rest->behind->before = rest;
  block->behind = rest;
  block->size_bytes = size_bytes;
  insert(rest);
}

std::optional<std::uint64_t> Allocator::allocate(std::uint64_t size_bytes,
                                                 std::uint64_t alignment) {
  if (size_bytes > end_ - begin_ || alignment > end_ - begin_) return std::nullopt;
  const std::uint64_t size = std::max(round_up(size_bytes, kGranularity), kGranularity);
  const std::uint64_t spare = alignment > kGranularity ? alignment : 0;
  Block* block = take_fitting(size + spare);
  if (block == nullptr) return std::nullopt;
  const std::uint64_t place = round_up(block->offset, std::max(alignment, kGranularity));
  if (place != block->offset) {
    split(block, place - block->offset);
    Block* const aligned = block->behind;
    remove(aligned);
    insert(block);
    block = aligned;
  }
  split(block, size);
  block->asked_bytes = size_bytes;
  used_bytes_ += size;
  allocated_.emplace(block->offset, block);
  if (searchable_) ordered_.emplace(block->offset, block);
  return block->offset;
}

std::optional<std::uint64_t> Allocator::size_at(std::uint64_t offset) const {
  const auto found = allocated_.find(offset);
  if (found == allocated_.end()) return std::nullopt;
  return found->second->asked_bytes;
}

Allocator::Block* Allocator::join(Block* block) {
  Block* const behind = block->behind;
  block->size_bytes += behind->size_bytes;
  block->behind = behind->behind;
  if (block->behind != nullptr) block->behind->before = block;
  unused_.push_back(behind);
  return block;
}

std::optional<Extent> Allocator::free(std::uint64_t offset) {
  const auto found = allocated_.find(offset);
  if (found == allocated_.end()) return std::nullopt;
  Block* block = found->second;
  const Extent extent{block->offset, block->size_bytes};
  allocated_.erase(found);
  ordered_.erase(offset);
  used_bytes_ -= block->size_bytes;
  if (block->behind != nullptr && block->behind->is_free) {
    remove(block->behind);
    join(block);
  }
  if (block->before != nullptr && block->before->is_free) {
    block = block->before;
    remove(block);
    join(block);
  }
  insert(block);
  return extent;
}

std::optional<Extent> Allocator::find(std::uint64_t offset) const {
  if (searchable_) {
    auto behind = ordered_.upper_bound(offset);
    if (behind == ordered_.begin()) return std::nullopt;
    const auto& [begin, block] = *--behind;
    if (offset >= begin + block->size_bytes) return std::nullopt;
    return Extent{begin, block->asked_bytes};
  }
  for (const auto& [begin, block] : allocated_) {
    if (offset >= begin && offset < begin + block->size_bytes) {
      return Extent{begin, block->asked_bytes};
    }
  }
  return std::nullopt;
}

std::uint64_t Allocator::largest_free_bytes() const {
  if (first_bits_ == 0) return 0;
  const auto first = static_cast<std::size_t>(std::bit_width(first_bits_)) - 1;
  const auto second = static_cast<std::size_t>(std::bit_width(second_bits_[first])) - 1;
  std::uint64_t largest = 0;
  for (const Block* block = lists_[first][second]; block != nullptr; block = block->next) {
    largest = std::max(largest, block->size_bytes);
  }
  return largest;
}

namespace {

// Offset 0 is never allocated.
constexpr std::uint64_t kFirstOffset = 64;

std::string size_text(std::uint64_t bytes) {
  constexpr std::uint64_t kMiB = 1U << 20U;
  if (bytes < 4096) return fmt::format("{} bytes", bytes);
  if (bytes < 4 * kMiB) return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024);
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / kMiB);
}

}  // namespace

Heap::Heap(HeapOptions options)
    : owner_(std::move(options.owner)),
      option_(std::move(options.option)),
      memory_(std::make_shared<env::SharedMemory>(options.size_bytes, options.shared)),
      collective_(kFirstOffset, options.collective_bytes, options.checks),
      single_(std::max<std::uint64_t>(kFirstOffset, options.collective_bytes), options.size_bytes,
              options.checks) {}

std::uint64_t Heap::allocate(std::size_t size_bytes, std::size_t alignment, bool collectively) {
  return sync::locked(mutex_, [&]() SHOAL_REQUIRES(mutex_) -> std::uint64_t {
    Allocator& allocator = collectively ? collective_ : single_;
    if (const auto offset = allocator.allocate(size_bytes, alignment)) {
      env::forget_frames(data() + *offset, size_bytes);
      return *offset;
    }
    throw Error(fmt::format(
        "{}: no room for {}: of {} for {}allocations, {} are in use by {}, and the largest free "
        "piece has {}; free some, or ask for a larger heap ({})",
        owner_, size_text(size_bytes), size_text(allocator.end() - allocator.begin()),
        collectively ? "collective " : (collective_.end() > 0 ? "one-sided " : ""),
        size_text(allocator.used_bytes()), allocator.count(),
        size_text(allocator.largest_free_bytes()), option_));
  });
}

std::string Heap::describe_foreign(std::uint64_t offset) const {
  for (const Allocator* allocator : {&collective_, &single_}) {
    if (const auto found = allocator->find(offset)) {
      if (found->offset == offset) {
        return allocator == &collective_ ? "it was allocated collectively: use collective_free()"
                                         : "it was not allocated collectively: use free()";
      }
      return fmt::format("it points into the allocation of {} at {:#x}",
                         size_text(found->size_bytes), found->offset);
    }
  }
  return "nothing is allocated there: it was freed before, or belongs to another heap";
}

void Heap::free(std::uint64_t offset, bool collectively) {
  sync::locked(mutex_, [&]() SHOAL_REQUIRES(mutex_) {
    Allocator& allocator = collectively ? collective_ : single_;
    const auto size_bytes = allocator.size_at(offset);
    if (!size_bytes) {
      throw CheckError(
          fmt::format("{}: free of {:#x}: {}", owner_, offset, describe_foreign(offset)));
    }
    memory_->clear(offset, *size_bytes);
    static_cast<void>(allocator.free(offset));
  });
}

void Heap::mark_end() {
  env::forget_frames(data(), sizeof(std::uint64_t));
  std::atomic_ref(*reinterpret_cast<std::uint64_t*>(data())).store(1);
}

std::string Heap::problem_with(std::uint64_t offset, std::uint64_t size_bytes) const {
  const sync::Lock lock(mutex_);
  for (const Allocator* allocator : {&collective_, &single_}) {
    const auto found = allocator->find(offset);
    if (!found) continue;
    const std::uint64_t end = found->offset + found->size_bytes;
    if (offset + size_bytes <= end) return "";
    return fmt::format("{} at {:#x} reach {} past the allocation of {} at {:#x}",
                       size_text(size_bytes), offset, size_text(offset + size_bytes - end),
                       size_text(found->size_bytes), found->offset);
  }
  return fmt::format("{} at {:#x}: nothing is allocated there, or not any more",
                     size_text(size_bytes), offset);
}

void Heap::note_write(std::uint64_t offset, std::uint64_t size_bytes, int rank) {
  const sync::Lock lock(mutex_);
  if (writes_.size() < kWritesKept) writes_.emplace_back();
  writes_[next_write_] = {offset, size_bytes, rank};
  next_write_ = (next_write_ + 1) % kWritesKept;
}

std::optional<int> Heap::last_writer(std::uint64_t offset, std::uint64_t size_bytes) const {
  const sync::Lock lock(mutex_);
  for (std::size_t i = 0; i < writes_.size(); ++i) {
    const Write& write = writes_[(next_write_ + kWritesKept - 1 - i) % kWritesKept];
    if (write.offset < offset + size_bytes && offset < write.offset + write.size_bytes) {
      return write.rank;
    }
  }
  return std::nullopt;
}

Heap::Use Heap::use() const {
  const sync::Lock lock(mutex_);
  return {collective_.count() + single_.count(), collective_.used_bytes() + single_.used_bytes()};
}

}  // namespace shoal::memory
