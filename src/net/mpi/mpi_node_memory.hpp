#pragma once
// Memory that the processes of a node share, for packets between them.

#include <shoal/detail/net/packet.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "net/mpi/mpi_session.hpp"
#include "sync/record_ring.hpp"

namespace shoal::net {

/// System calls behind the memory of a node; tests let them fail.
struct SegmentCalls {
  /// New zeroed memory that others can attach; its id, or -1 and errno. Large enough or refused:
  /// granted memory can be touched.
  int (*create)(std::size_t bytes) = nullptr;
  /// The memory `id` as this process sees it, or nullptr and errno.
  void* (*attach)(int id) = nullptr;

  static SegmentCalls of_system();
};

/// Packets between two processes of a node are written into a ring in memory that both share. A
/// message of MPI would take half as long again. Packets are neither sealed nor checked: no network
/// has carried them. One ring for each direction of each pair, whose pages are taken when they are
/// used.
///
/// The memory is a System V segment, not a window of MPI: a file system for shared memory
/// (/dev/shm, 64 MiB in many containers) may fill up after it was asked, which ends processes by
/// SIGBUS, and an allocation that fails in some processes only may leave the others waiting in MPI.
///
/// Guarded by the engine's lock, except collective calls.
class MpiNodeMemory {
 public:
  /// The messages that a packet may have at most.
  static constexpr std::size_t kMessagesMaxBytes = sync::RecordRing::kRecordMax - 64;

  /// Collective. At most `processes_max` processes share memory; other ones of the node are as far
  /// away as those of other nodes. Where the system does not grant it to all of them, no processes
  /// are near, and a note says so.
  MpiNodeMemory(MpiSession& session, int processes_max,
                SegmentCalls calls = SegmentCalls::of_system());
  MpiNodeMemory(const MpiNodeMemory&) = delete;
  MpiNodeMemory& operator=(const MpiNodeMemory&) = delete;
  ~MpiNodeMemory();

  /// Another process, which shares memory with this one.
  [[nodiscard]] bool is_near(int process) const {
    return neighbour_of_[static_cast<std::size_t>(process)] >= 0;
  }
  [[nodiscard]] int near_count() const { return static_cast<int>(neighbours_.size()); }
  /// Returns whether all processes are near.
  [[nodiscard]] bool all_are_near() const { return neighbours_.size() + 1 == neighbour_of_.size(); }
  /// Copies a packet into memory that `process`, which is near, reads. False: no room now.
  [[nodiscard]] bool try_send(int process, Packet& packet);
  /// The next packet, and the process it comes from; nullptr: there is none. Looks `looks` times.
  /// Throws TransportError when the memory is damaged.
  Packet* try_receive(int looks, int& process);

 private:
  struct Neighbour {
    int process = 0;
    sync::RecordRing::Writer to;
    sync::RecordRing::Reader from;
  };

  void join(int processes_max);
  void allocate(MpiComm group, const std::vector<int>& processes);
  /// Makes the segment, in the first process of the group. Returns its token, or 0.
  std::uint64_t create(std::size_t bytes, std::uint64_t& id, std::string& problem);
  /// Returns a problem, or "".
  std::string attach(std::uint64_t id, std::uint64_t token);
  void share_nothing(const std::string& problem);
  Packet* read(Neighbour& neighbour) const;

  MpiSession& session_;
  const SegmentCalls calls_;
  void* segment_ = nullptr;
  std::vector<Neighbour> neighbours_;
  std::vector<int> neighbour_of_;  // process -> place in neighbours_, or -1
  std::size_t next_ = 0;           // neighbour to look at first
};

}  // namespace shoal::net
