#pragma once
// Transfers that any thread asks the engine for.

#include <shoal/detail/net/transport.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "net/mpi/mpi_payload.hpp"
#include "net/mpi/mpi_session.hpp"
#include "net/mpi/mpi_submission.hpp"
#include "net/mpi/mpi_window.hpp"

namespace shoal::net {

/// Transfers of Transport and RemoteMemory, see there. They do not call MPI. **Caller**: any
/// thread.
class MpiPayloadCalls {
 public:
  MpiPayloadCalls(const MpiSession& session, MpiTransfers& transfers, MpiWindow& window,
                  MpiSubmissions& engine)
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
  MpiSubmissions& engine_;
  MpiPayloads payloads_;  // touches the transfers under the engine's lock only
  Fabric* fabric_ = nullptr;
};

}  // namespace shoal::net
