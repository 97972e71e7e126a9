// Operations on many elements, where these are.

#include "memory/remote.hpp"

#include <shoal/error.hpp>

#include <cstddef>
#include <cstring>
#include <exception>
#include <vector>

namespace shoal::memory {

void Remote::on_many(const ManyRequest& request, Offsets offsets, Bytes values) {
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

void Remote::change(const ManyRequest& request, std::uint64_t offset, const std::byte* value) {
  const ManyOp& op = request.op;
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
