#include <shoal/detail/team/coll/collectives.hpp>

#include <shoal/detail/base/check.hpp>

#include <fmt/format.h>

#include "team/coll/algorithms.hpp"
#include "team/coll/exchange.hpp"
#include "team/coll/operation.hpp"
#include "team/messenger.hpp"

#include <algorithm>
#include <utility>

namespace shoal::team {

namespace {

constexpr std::size_t kRingBytes = 64UL << 10U;

Combine on_copies(CombineInto combine, Kind kind) {
  return [combine = std::move(combine), kind](const Block& a, const Block& b) {
    SHOAL_CHECK(a.size() == b.size(), "{}: members gave {} and {} bytes", name_of(kind), a.size(),
                b.size());
    Bytes result(a.size());
    combine(result, a.bytes(), b.bytes());
    return Block(std::move(result));
  };
}

/// Returns the parts of an array, one for each member.
std::vector<Block> parts_of(std::span<const std::byte> array, int members) {
  const std::size_t part_bytes = array.size() / static_cast<std::size_t>(members);
  std::vector<Block> parts;
  parts.reserve(static_cast<std::size_t>(members));
  for (std::size_t i = 0; i < static_cast<std::size_t>(members); ++i) {
    parts.emplace_back(array.subspan(i * part_bytes, part_bytes));
  }
  return parts;
}

void check_parts(Kind kind, std::size_t parts_bytes, std::size_t part_bytes, int members) {
  SHOAL_CHECK(parts_bytes == part_bytes * static_cast<std::size_t>(members),
              "{}: an array of {} bytes for {} members, of {} bytes each: it must have room for "
              "exactly those",
              name_of(kind), parts_bytes, members, part_bytes);
}

}  // namespace

Collectives::Collectives(TeamCore& core) : exchange_(std::make_unique<Exchange>(core)) {}

Collectives::~Collectives() = default;

Rank Collectives::rank() const { return exchange_->rank(); }

sched::Scheduler& Collectives::scheduler() const { return exchange_->core().scheduler(); }

bool Collectives::in_one_process() const { return exchange_->in_one_process(); }

bool Collectives::goes_straight(std::size_t part_bytes) const {
  return exchange_->size() > 1 && part_bytes >= kLargeMessageBytes;
}

// Else a tree is faster: the first segment passes all members, one after the other.
bool Collectives::goes_along_chain(std::size_t size_bytes) const {
  const auto members = static_cast<std::size_t>(exchange_->size());
  return members > 1 && size_bytes >= std::max(kRingBytes, members * kLargeMessageBytes);
}

template <class Start>
SharedOperation Collectives::begin(const Call& call, Start start) {
  SharedOperation operation = exchange_->enter(call);
  start(*operation);
  if (exchange_->size() > 1) exchange_->core().open_handlers();
  return operation;
}

SharedOperation Collectives::barrier() {
  return begin({Kind::barrier}, [](Operation& op) { team::barrier(op); });
}

SharedOperation Collectives::broadcast(const Values& values, Block mine, Rank root) {
  return begin({Kind::broadcast, root, values},
               [&](Operation& op) { team::broadcast(op, std::move(mine), std::nullopt); });
}

SharedOperation Collectives::broadcast(const Values& values, std::span<std::byte> place,
                                       Rank root) {
  return begin({Kind::broadcast, root, values},
               [&](Operation& op) { team::broadcast(op, {}, place); });
}

SharedOperation Collectives::reduce(const Values& values, Block mine, Combine combine, Rank root) {
  return begin({Kind::reduce, root, values},
               [&](Operation& op) { team::reduce(op, std::move(mine), std::move(combine)); });
}

SharedOperation Collectives::reduce(const Values& values, Array mine, CombineInto combine,
                                    Rank root) {
  return begin({Kind::reduce, root, values}, [&](Operation& op) {
    if (goes_along_chain(mine.bytes.size())) {
      team::reduce_chain(op, mine, std::move(combine));
    } else {
      team::reduce(op, Block(std::span<const std::byte>(mine.bytes)),
                   on_copies(std::move(combine), Kind::reduce));
    }
  });
}

SharedOperation Collectives::allreduce(const Values& values, Block mine, Combine combine) {
  return begin({Kind::allreduce, {}, values}, [&](Operation& op) {
    team::allreduce(op, std::move(mine), std::move(combine), std::nullopt);
  });
}

SharedOperation Collectives::allreduce(const Values& values, Array mine, CombineInto combine) {
  return begin({Kind::allreduce, {}, values}, [&](Operation& op) {
    if (mine.bytes.size() < kRingBytes || exchange_->size() == 1) {
      team::allreduce(op, Block(std::span<const std::byte>(mine.bytes)),
                      on_copies(std::move(combine), Kind::allreduce), mine.bytes);
    } else {
      team::allreduce_ring(op, mine, std::move(combine));
    }
  });
}

SharedOperation Collectives::gather(const Values& values, Block mine, Rank root) {
  return begin({Kind::gather, root, values},
               [&](Operation& op) { team::gather(op, std::move(mine)); });
}

SharedOperation Collectives::gather(const Values& values, std::span<const std::byte> mine,
                                    std::span<std::byte> all, Rank root) {
  const int members = exchange_->size();
  if (rank() == root) check_parts(Kind::gather, all.size(), mine.size(), members);
  return begin({Kind::gather, root, values}, [&](Operation& op) {
    if (goes_straight(mine.size())) {
      team::gather_straight(op, mine, all);
    } else {
      team::gather(op, Block(mine));
    }
  });
}

SharedOperation Collectives::allgather(const Values& values, Block mine) {
  return begin({Kind::allgather, {}, values},
               [&](Operation& op) { team::allgather(op, std::move(mine)); });
}

SharedOperation Collectives::allgather(const Values& values, std::span<const std::byte> mine,
                                       std::span<std::byte> all) {
  check_parts(Kind::allgather, all.size(), mine.size(), exchange_->size());
  return begin({Kind::allgather, {}, values}, [&](Operation& op) {
    if (goes_straight(mine.size())) {
      team::allgather_ring(op, mine, all);
    } else {
      team::allgather(op, Block(mine));
    }
  });
}

SharedOperation Collectives::scan(const Values& values, Block mine, Combine combine) {
  return begin({Kind::scan, {}, values},
               [&](Operation& op) { team::scan(op, std::move(mine), std::move(combine)); });
}

SharedOperation Collectives::scan(const Values& values, Array mine, CombineInto combine) {
  return begin({Kind::scan, {}, values}, [&](Operation& op) {
    if (goes_along_chain(mine.bytes.size())) {
      team::scan_chain(op, mine, std::move(combine));
    } else {
      team::scan(op, Block(std::span<const std::byte>(mine.bytes)),
                 on_copies(std::move(combine), Kind::scan));
    }
  });
}

SharedOperation Collectives::alltoall(Kind kind, const Values& values, std::vector<Block> mine) {
  return begin({kind, {}, values}, [&](Operation& op) { team::alltoall(op, std::move(mine)); });
}

SharedOperation Collectives::alltoall(const Values& values, std::span<const std::byte> mine,
                                      std::span<std::byte> theirs) {
  const int members = exchange_->size();
  const std::size_t part_bytes = theirs.size() / static_cast<std::size_t>(members);
  check_parts(Kind::alltoall, mine.size(), part_bytes, members);
  check_parts(Kind::alltoall, theirs.size(), part_bytes, members);
  return begin({Kind::alltoall, {}, values}, [&](Operation& op) {
    if (goes_straight(part_bytes)) {
      team::alltoall_straight(op, mine, theirs);
    } else {
      team::alltoall(op, parts_of(mine, members));
    }
  });
}

SharedOperation Collectives::reduce_scatter(const Values& values, std::span<const std::byte> all,
                                            std::span<std::byte> mine, CombineInto combine) {
  const int members = exchange_->size();
  check_parts(Kind::reduce_scatter, all.size(), mine.size(), members);
  return begin({Kind::reduce_scatter, {}, values}, [&](Operation& op) {
    if (goes_straight(mine.size())) {
      team::reduce_scatter_ring(op, all, mine, std::move(combine));
    } else {
      team::alltoall(op, parts_of(all, members));
    }
  });
}

const std::vector<Block>& Collectives::wait(const SharedOperation& operation) {
  return exchange_->wait(operation);
}

void Collectives::then(const SharedOperation& operation, const sync::Ref<Result>& result) {
  exchange_->then(operation, result);
}

WaitedOperation Collectives::waited_operation(const SharedOperation& operation) {
  return operation->waited_operation();
}

std::string Result::describe_wait() const { return fmt::format("get() of {}", operation_.text()); }

void Result::complete(const std::vector<Block>& results) {
  std::exception_ptr error;
  try {
    store(results);
  } catch (...) {
    error = sched::caught_error();
  }
  completion_.complete(std::move(error), false);
}

}  // namespace shoal::team
