// Accesses with --sim-races: transfers are strands of their own, so that one is not ordered with
// accesses before its end was waited for, although it takes no time here.

#include "memory/remote.hpp"

#include <shoal/detail/sync/strand.hpp>

#include <fmt/format.h>

#include <cstring>

namespace shoal::memory {

std::byte* Remote::strand_base(int rank) const {
  if (!sync::watches_strands() || checks_) return nullptr;
  return core_.bases_[rank].load(std::memory_order_acquire);
}

template <class F>
void Remote::run_on_strand(const char* what, Pending& pending, F f) const {
  sync::publish(&pending);
  sync::Strand strand;
  strand.run([to = &pending] { sync::observe(to); });
  const sched::Task* const task = sched::current_task();
  strand.set_name(fmt::format("{} of '{}', rank {}", what,
                              task != nullptr ? task->name() : std::string("a handler"),
                              core_.rank_));
  // The strand does not touch `pending`: otherwise the caller, which ends it, would be ordered
  // after the strand.
  strand.run([to = &pending, next = pending.next(), team = &team_, f] {
    f();
    sync::publish(to);
    if (next != nullptr) sync::publish(next);
    team->publish_end();
  });
}

void Remote::get_on_strand(const Range& from, std::byte* to, Pending& pending) const {
  const std::byte* const place = strand_base(from.rank) + from.offset;
  run_on_strand("get", pending, [from, to, place] { gather(to, place, from); });
}

void Remote::put_on_strand(const Range& to, const std::byte* from, Pending& pending) const {
  std::byte* const place = strand_base(to.rank) + to.offset;
  // The caller reads its memory, which it may reuse on return.
  auto* const copy = new std::byte[to.size_bytes()];
  std::memcpy(copy, from, to.size_bytes());
  run_on_strand("put", pending, [to, copy, place] {
    scatter(place, copy, to);
    delete[] copy;
  });
}

void Remote::word_on_strand(std::byte* place, const Word& word, Pending& pending) const {
  run_on_strand("operation", pending,
                [place, word] { static_cast<void>(apply_word(place, word)); });
}

}  // namespace shoal::memory
