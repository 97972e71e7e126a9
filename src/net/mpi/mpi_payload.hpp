#pragma once
// A payload: bytes of the program that travel without a copy.

#include <shoal/detail/net/port.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "net/mpi/mpi_submission.hpp"
#include "net/mpi/mpi_transfers.hpp"
#include "net/mpi/mpi_window.hpp"

namespace shoal::net {

/// State shared by the payloads of a process.
struct MpiPayloads {
  MpiTransfers& transfers;  // guarded by the engine's lock
  // relaxed: read after the last payload, by the thread that ends everything.
  std::atomic<std::size_t> under_way{0};
};

/// First a submission, then a transfer.
class MpiPayload : public MpiSubmission, public MpiTransfer {
 public:
  /// The other side, and the notification of the end here.
  struct Route {
    int peer;
    int tag;
    Completion* event;
    Port& port;
  };

  MpiPayload(const Route& route, MpiPayloads& all) : route_(route), all_(all) {
    all_.under_way.fetch_add(1, std::memory_order_relaxed);
  }
  ~MpiPayload() override { all_.under_way.fetch_sub(1, std::memory_order_relaxed); }

  void done() override { route_.port.post(route_.event); }
  void drop() override { delete this; }

 protected:
  // NOLINTBEGIN(readability-identifier-naming): private to those below
  const Route route_;
  MpiPayloads& all_;
  // NOLINTEND(readability-identifier-naming)
};

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

}  // namespace shoal::net
