#include "net/mpi/mpi_engine.hpp"

#include <shoal/detail/base/check.hpp>

#include <utility>

#include "net/mpi/mpi_check.hpp"
#include "net/mpi/mpi_wire.hpp"

namespace shoal::net {

namespace {

class MpiPayloadSend final : public MpiPayload {
 public:
  MpiPayloadSend(std::span<const std::byte> bytes, const Route& route, MpiPayloads& all)
      : MpiPayload(route, all), bytes_(bytes) {}
  void start() override {
    // Synchronous: the counts of completion require that the release of a large message does not
    // end before its header was handled (PacketReader::unprocessed()). Nor does MPI then buffer
    // payloads that were not requested.
    all_.transfers.send(std::unique_ptr<MpiTransfer>(this), bytes_, route_.peer, route_.tag,
                        MpiTransfers::SendMode::synchronous);
  }

 private:
  const std::span<const std::byte> bytes_;
};

class MpiPayloadReceive final : public MpiPayload {
 public:
  MpiPayloadReceive(std::span<std::byte> bytes, const Route& route, MpiPayloads& all)
      : MpiPayload(route, all), bytes_(bytes) {}
  void start() override {
    all_.transfers.receive(std::unique_ptr<MpiTransfer>(this), bytes_, route_.peer, route_.tag);
  }

 private:
  const std::span<std::byte> bytes_;
};

/// Bytes that are read from the memory of another process.
class MpiWindowGet final : public MpiPayload {
 public:
  MpiWindowGet(std::span<std::byte> bytes, std::uint64_t address, const MpiWindow& window,
               const Route& route, MpiPayloads& all)
      : MpiPayload(route, all), bytes_(bytes), address_(address), window_(window) {}
  void start() override {
    all_.transfers.get(std::unique_ptr<MpiTransfer>(this), bytes_, route_.peer, address_,
                       window_.handle());
  }

 private:
  const std::span<std::byte> bytes_;
  const std::uint64_t address_;
  const MpiWindow& window_;
};

/// Memory that other processes may read.
class MpiExposure final : public MpiSubmission {
 public:
  MpiExposure(std::shared_ptr<env::SharedMemory> memory, MpiWindow& window, Port& port,
              Completion* event)
      : memory_(std::move(memory)), window_(window), port_(port), event_(event) {}
  void start() override {
    const std::unique_ptr<MpiExposure> self(this);
    window_.attach(std::move(memory_));
    port_.post(event_);
  }
  void drop() override { delete this; }

 private:
  std::shared_ptr<env::SharedMemory> memory_;
  MpiWindow& window_;
  Port& port_;
  Completion* const event_;
};

}  // namespace

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
