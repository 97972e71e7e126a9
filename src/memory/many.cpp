// Requests for operations on many elements: those of one rank share messages.

#include "memory/remote.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

namespace shoal::memory {

void Remote::many(std::span<Element> elements, const ManyOp& op, std::byte* data,
                  Pending& pending) {
  // A message is sent while the elements of the next one are collected.
  constexpr std::size_t kMessageBytes = 4096;
  const std::size_t most = kMessageBytes / (sizeof(std::uint64_t) + op.element_bytes);
  if (!std::ranges::is_sorted(elements, {}, &Element::rank)) {
    std::ranges::stable_sort(elements, {}, &Element::rank);
  }
  for (std::size_t first = 0; first < elements.size();) {
    std::size_t end = first + 1;
    while (end < elements.size() && end - first < most &&
           elements[end].rank == elements[first].rank) {
      ++end;
    }
    many_of_rank(elements.subspan(first, end - first), op, data, pending);
    first = end;
  }
}

void Remote::many_of_rank(std::span<const Element> elements, const ManyOp& op, std::byte* data,
                          Pending& pending) {
  const int target = elements.front().rank;
  const bool reads = op.access == Access::gather;
  const Range first{target, elements.front().offset, op.element_bytes, 0, 1};
  if (elements.size() == 1 || base_apart(target) != nullptr ||
      (reads && window_address(first) != 0)) {
    for (const Element& element : elements) one_of_many(element, op, data, pending);
    return;
  }
  std::vector<std::uint64_t> offsets;
  offsets.reserve(elements.size());
  for (const Element& element : elements) offsets.push_back(element.offset);
  const std::size_t size_bytes = elements.size() * op.element_bytes;
  std::vector<std::byte> values(reads ? 0 : size_bytes);
  for (std::size_t i = 0; !reads && i < elements.size(); ++i) {
    std::memcpy(values.data() + i * op.element_bytes, data + elements[i].index * op.element_bytes,
                op.element_bytes);
  }
  const Asker asker = begin(pending, target, reads ? data : nullptr, size_bytes, elements);
  many_.send(Rank(target), ManyRequest{asker, op}, Offsets(offsets), Bytes(values));
}

void Remote::one_of_many(const Element& element, const ManyOp& op, std::byte* data,
                         Pending& pending) {
  const Range range{element.rank, element.offset, op.element_bytes, 0, 1};
  std::byte* const here = data + element.index * op.element_bytes;
  if (op.access == Access::gather) {
    get(range, here, pending);
  } else if (op.access == Access::scatter) {
    put(range, here, pending);
  } else {
    Word update{op.op, op.type};
    std::memcpy(&update.operand, here, op.element_bytes);
    word(element.rank, element.offset, update, nullptr, pending);
  }
}

}  // namespace shoal::memory
