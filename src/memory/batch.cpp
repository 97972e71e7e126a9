// Requests for operations on many elements: those of one rank share messages.

#include <shoal/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <span>
#include <vector>

#include "memory/remote.hpp"

namespace shoal::memory {

void Remote::batch(std::span<Element> elements, const BatchOp& op, std::byte* data,
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
    batch_of_rank(elements.subspan(first, end - first), op, data, pending);
    first = end;
  }
}

void Remote::batch_of_rank(std::span<const Element> elements, const BatchOp& op, std::byte* data,
                           Pending& pending) {
  const int target = elements.front().rank;
  const bool reads = op.access == Access::gather;
  const Range first{target, elements.front().offset, op.element_bytes, 0, 1};
  if (elements.size() == 1 || strand_base(target) != nullptr ||
      (reads && window_address(first) != 0)) {
    for (const Element& element : elements) one_of_batch(element, op, data, pending);
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
  batch_.send(Rank(target), BatchRequest{asker, op}, Offsets(offsets), Bytes(values));
}

void Remote::one_of_batch(const Element& element, const BatchOp& op, std::byte* data,
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

void Remote::on_batch(const BatchRequest& request, Offsets offsets, Bytes values) {
  answer(request.asker, [&] {
    const std::uint64_t size = request.op.element_bytes;
    const bool reads = request.op.access == Access::gather;
    std::vector<std::byte> got(reads ? offsets.size() * size : 0);
    std::exception_ptr refused;  // the first one: the others are done
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      try {
        check_here({core_.rank_, offsets[i], size, 0, 1}, to_text(request.op.access));
      } catch (const Error&) {
        if (refused == nullptr) refused = std::current_exception();
        continue;
      }
      if (reads) {
        std::memcpy(got.data() + i * size, place(offsets[i]), size);
      } else {
        change(request, offsets[i], values.data() + i * size);
      }
    }
    if (refused != nullptr) std::rethrow_exception(refused);
    if (reads) return got_.send(rank_of(request.asker), request.asker.id, Bytes(got));
    done_.send(rank_of(request.asker), request.asker.id, std::uint64_t{0});
  });
}

void Remote::change(const BatchRequest& request, std::uint64_t offset, const std::byte* value) {
  const BatchOp& op = request.op;
  if (op.access == Access::scatter) {
    std::memcpy(place(offset), value, op.element_bytes);
  } else {
    Word update{op.op, op.type};
    std::memcpy(&update.operand, value, op.element_bytes);
    static_cast<void>(apply_word(place(offset), update));
  }
  note_write({core_.rank_, offset, op.element_bytes, 0, 1}, request.asker.rank);
}

}  // namespace shoal::memory
