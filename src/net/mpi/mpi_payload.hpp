#pragma once
// A payload: bytes of the program that travel without a copy.

#include <shoal/detail/net/port.hpp>
#include <shoal/detail/net/transport.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "net/mpi/mpi_session.hpp"
#include "net/mpi/mpi_transfers.hpp"
#include "net/mpi/mpi_window.hpp"

namespace shoal::net {

class MpiEngine;

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

/// Transfers of Transport and RemoteMemory, see there. They do not call MPI. **Caller**: any
/// thread.
class MpiPayloadCalls {
 public:
  MpiPayloadCalls(const MpiSession& session, MpiTransfers& transfers, MpiWindow& window,
                  MpiEngine& engine)
      : session_(session), window_(window), engine_(engine), payloads_{transfers} {}
  MpiPayloadCalls(const MpiPayloadCalls&) = delete;
  MpiPayloadCalls& operator=(const MpiPayloadCalls&) = delete;

  /// Sets the fabric, before the first call.
  void attach(Fabric& fabric);
  void send(Rank source, Rank target, std::uint32_t tag, std::span<const std::byte> bytes,
            Completion* done);
  void receive(Rank source, Rank target, std::uint32_t tag, std::span<std::byte> bytes,
               Completion* done);
  void expose(std::shared_ptr<env::SharedMemory> memory, Rank owner, Completion* done);
  void get(Rank reader, Rank owner, std::uint64_t address, std::span<std::byte> to,
           Completion* done);
  /// How many different tags payloads have.
  [[nodiscard]] std::uint32_t tag_count() const;
  [[nodiscard]] std::size_t under_way() const {
    return payloads_.under_way.load(std::memory_order_relaxed);
  }

 private:
  [[nodiscard]] MpiPayload::Route route(Rank peer, std::uint32_t tag, Completion* event,
                                        Rank local) const;

  const MpiSession& session_;
  MpiWindow& window_;
  MpiEngine& engine_;
  MpiPayloads payloads_;  // touches the transfers under the engine's lock only
  Fabric* fabric_ = nullptr;
};

}  // namespace shoal::net
