#pragma once
// Requests of a rank that have not been answered, by the numbers that travel with them.

#include <shoal/detail/memory/core.hpp>
#include <shoal/transfer.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "sync/slot_table.hpp"

namespace shoal::memory {

/// Number of a request; one that was answered is not used again soon.
using RequestId = sync::SlotId;

struct Request {
  sync::Ref<Pending> pending;  // nullptr: none
  std::byte* to = nullptr;     // where the answer is written; nullptr: it has none
  std::uint64_t size_bytes = 0;
  int target = 0;
  std::span<const Element> elements;  // if any: the answer has these, each for `to` at its index
};

/// Any thread. Lock-free.
class Requests {
 public:
  [[nodiscard]] RequestId add(Request request);
  /// Takes it out; without `pending`: there is no such request.
  [[nodiscard]] Request take(const RequestId& id);
  /// Takes all out.
  [[nodiscard]] std::vector<Request> take_all();
  /// Number of those under way, by target.
  [[nodiscard]] std::map<int, std::uint64_t> counts() const;

 private:
  sync::SlotTable<Request> slots_;
};

}  // namespace shoal::memory
