#pragma once
// Memory that the processes of a node share, for packets between them.

#include <mpi.h>

#include <shoal/net/packet.hpp>
#include <shoal/sync/record_ring.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "net/mpi/mpi_session.hpp"

namespace shoal::net {

/// What is wrong with having `bytes` of memory as files of `folder`; "": nothing.
std::string memory_shortage(const std::string& folder, std::uint64_t bytes);

/// What would be a message of MPI between two processes of a node is written into a ring instead,
/// which takes two thirds of the time. Packets are neither sealed nor checked: no network has
/// carried them. One ring for each direction of each pair, of which pages are taken when they are
/// used.
///
/// Guarded by the engine's lock, but for what is collective.
class MpiNodeMemory {
 public:
  /// The messages that a packet may have at most.
  static constexpr std::size_t kMessagesMaxBytes = sync::RecordRing::kRecordMax - 64;

  /// Collective. At most `processes_max` processes share memory; other ones of the node are as far
  /// away as those of other nodes. Where MPI has no such memory, nobody is near, and a note says
  /// so.
  MpiNodeMemory(MpiSession& session, int processes_max);
  MpiNodeMemory(const MpiNodeMemory&) = delete;
  MpiNodeMemory& operator=(const MpiNodeMemory&) = delete;
  /// Without close(): the memory stays, since freeing might wait for others.
  ~MpiNodeMemory() = default;

  /// Another process, which shares memory with this one.
  [[nodiscard]] bool is_near(int process) const {
    return neighbour_of_[static_cast<std::size_t>(process)] >= 0;
  }
  /// All processes are near.
  [[nodiscard]] bool all_are_near() const { return neighbours_.size() + 1 == neighbour_of_.size(); }
  /// Copies a packet into memory that `process`, which is near, reads. False: no room now.
  [[nodiscard]] bool try_send(int process, Packet& packet);
  /// The next packet, and the process it comes from; nullptr: there is none. Looks `looks` times.
  /// Throws TransportError.
  Packet* try_receive(int looks, int& process);

  /// Collective.
  void close();

 private:
  struct Neighbour {
    int process = 0;
    sync::RecordRing::Writer to;
    sync::RecordRing::Reader from;
  };

  void join(int processes_max);
  void allocate(MPI_Comm group, const std::vector<int>& processes);
  void share_nothing(const std::string& problem);
  Packet* read(Neighbour& neighbour) const;

  MpiSession& session_;
  MPI_Win window_ = MPI_WIN_NULL;
  std::vector<Neighbour> neighbours_;
  std::vector<int> neighbour_of_;  // process -> place in neighbours_, or -1
  std::size_t next_ = 0;           // neighbour to look at first
};

}  // namespace shoal::net
