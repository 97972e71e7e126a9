#include "net/mpi/mpi_payload_calls.hpp"

#include <shoal/detail/base/check.hpp>

#include <utility>

#include "net/mpi/mpi_check.hpp"
#include "net/mpi/mpi_wire.hpp"

namespace shoal::net {

void MpiPayloadCalls::attach(Fabric& fabric) {
  SHOAL_CHECK(fabric_ == nullptr, "a transport serves one fabric");
  fabric_ = &fabric;
}

std::uint32_t MpiPayloadCalls::tag_count() const {
  return static_cast<std::uint32_t>(session_.tag_max() - kPayloadTagFirst) + 1;
}

MpiPayload::Route MpiPayloadCalls::route(Rank peer, std::uint32_t tag, Completion* event,
                                         Rank local) const {
  return {session_.layout().process_of(peer),
          kPayloadTagFirst + static_cast<int>(tag % tag_count()), event, fabric_->port(local)};
}

void MpiPayloadCalls::send(Rank source, Rank target, std::uint32_t tag,
                           std::span<const std::byte> bytes, Completion* done) {
  engine_.submit(*new MpiPayloadSend(bytes, route(target, tag, done, source), payloads_));
}

void MpiPayloadCalls::receive(Rank source, Rank target, std::uint32_t tag,
                              std::span<std::byte> bytes, Completion* done) {
  engine_.submit(*new MpiPayloadReceive(bytes, route(source, tag, done, target), payloads_));
}

void MpiPayloadCalls::expose(std::shared_ptr<env::SharedMemory> memory, Rank owner,
                             Completion* done) {
  engine_.submit(*new MpiExposure(std::move(memory), window_, fabric_->port(owner), done));
}

void MpiPayloadCalls::get(Rank reader, Rank owner, std::uint64_t address, std::span<std::byte> to,
                          Completion* done) {
  const MpiPayload::Route from{session_.layout().process_of(owner), MpiCall::kNone, done,
                               fabric_->port(reader)};
  engine_.submit(*new MpiWindowGet(to, address, window_, from, payloads_));
}

}  // namespace shoal::net
