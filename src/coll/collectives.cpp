#include <shoal/coll/collectives.hpp>

#include <shoal/am/messenger.hpp>
#include <shoal/base/check.hpp>

#include "coll/operation.hpp"

#include <utility>

namespace shoal::coll {

namespace {

constexpr std::size_t kRingBytes = 64UL << 10U;

Combine on_copies(CombineInto combine) {
  return [combine = std::move(combine)](const Block& a, const Block& b) {
    SHOAL_CHECK(a.size() == b.size(), "allreduce(): members gave {} and {} bytes", a.size(),
                b.size());
    Bytes result(a.bytes().begin(), a.bytes().end());
    combine(result, b.bytes());
    return Block(std::move(result));
  };
}

}  // namespace

Collectives::Collectives(term::Scope& scope) : exchange_(std::make_unique<Exchange>(scope)) {}

Collectives::~Collectives() = default;

Rank Collectives::rank() const { return exchange_->rank(); }

bool Collectives::in_one_process() const {
  return exchange_->scope().messenger().fabric().layout().process_count() == 1;
}

template <class Start>
SharedOperation Collectives::begin(const Call& call, Start start) {
  SharedOperation operation = exchange_->enter(call);
  start(*operation);
  if (exchange_->size() > 1) {
    exchange_->scope().channel().open_handlers();
    exchange_->scope()
        .messenger()
        .flush();  // the caller may go on to block its thread outside shoal
  }
  return operation;
}

SharedOperation Collectives::barrier() {
  return begin({Kind::barrier}, [](Operation& one) { one.barrier(); });
}

SharedOperation Collectives::broadcast(std::uint32_t type, Block mine, Rank root) {
  return begin({Kind::broadcast, type, root},
               [&](Operation& one) { one.broadcast(std::move(mine), std::nullopt); });
}

SharedOperation Collectives::broadcast(std::uint32_t type, std::span<std::byte> place, Rank root) {
  return begin({Kind::broadcast, type, root}, [&](Operation& one) { one.broadcast({}, place); });
}

SharedOperation Collectives::reduce(std::uint32_t type, Block mine, Combine combine, Rank root) {
  return begin({Kind::reduce, type, root},
               [&](Operation& one) { one.reduce(std::move(mine), std::move(combine)); });
}

SharedOperation Collectives::allreduce(std::uint32_t type, Block mine, Combine combine) {
  return begin({Kind::allreduce, type}, [&](Operation& one) {
    one.allreduce(std::move(mine), std::move(combine), std::nullopt);
  });
}

SharedOperation Collectives::allreduce(std::uint32_t type, std::span<std::byte> place,
                                       std::size_t element_bytes, CombineInto combine) {
  return begin({Kind::allreduce, type}, [&](Operation& one) {
    if (place.size() < kRingBytes || exchange_->size() == 1) {
      one.allreduce(Block(std::span<const std::byte>(place)), on_copies(std::move(combine)), place);
    } else {
      one.allreduce_ring(place, element_bytes, std::move(combine));
    }
  });
}

SharedOperation Collectives::gather(std::uint32_t type, Block mine, Rank root) {
  return begin({Kind::gather, type, root}, [&](Operation& one) { one.gather(std::move(mine)); });
}

SharedOperation Collectives::allgather(std::uint32_t type, Block mine) {
  return begin({Kind::allgather, type}, [&](Operation& one) { one.allgather(std::move(mine)); });
}

SharedOperation Collectives::scan(std::uint32_t type, Block mine, Combine combine) {
  return begin({Kind::scan, type},
               [&](Operation& one) { one.scan(std::move(mine), std::move(combine)); });
}

SharedOperation Collectives::alltoall(Kind kind, std::uint32_t type, std::vector<Block> mine) {
  return begin({kind, type}, [&](Operation& one) { one.alltoall(std::move(mine)); });
}

const std::vector<Block>& Collectives::wait(const SharedOperation& operation) {
  return exchange_->wait(operation);
}

void Collectives::then(const SharedOperation& operation, std::unique_ptr<Completion> completion) {
  exchange_->then(operation, std::move(completion));
}

}  // namespace shoal::coll
