#include "memory/allocator.hpp"

#include <algorithm>
#include <bit>

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

}  // namespace shoal::memory
