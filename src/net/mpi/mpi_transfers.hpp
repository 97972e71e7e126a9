#pragma once
// All operations under way in MPI, except the preposted receives of the inbox.

#include <shoal/detail/sync/block_pool.hpp>
#include <shoal/detail/sync/mpsc_queue.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "net/mpi/mpi_check.hpp"

namespace shoal::net {

/// Work for the next holder of the engine. In at most one queue at a time.
class MpiSubmission : public sync::MpscNode {
 public:
  /// Starts the work, under the engine's lock; it is not in the queue any more and may be submitted
  /// again. Throws TransportError.
  virtual void start() = 0;
  /// Called when the engine ends without having started the work.
  virtual void drop() {}

 protected:
  ~MpiSubmission() = default;
};

/// One packet or payload on its way, in one or more parts.
class MpiTransfer : public sync::Pooled {
 public:
  MpiTransfer() = default;
  MpiTransfer(const MpiTransfer&) = delete;
  MpiTransfer& operator=(const MpiTransfer&) = delete;
  virtual ~MpiTransfer() = default;
  /// Called when all bytes were transferred; the object is deleted afterwards. May start further
  /// transfers.
  virtual void done() = 0;

 private:
  friend class MpiTransfers;
  std::size_t parts_left_ = 0;
  std::size_t payload_bytes_ = 0;  // 0: it goes with kPacketTag
};

/// Starts transfers and finds out which have ended. The engine's lock guards it.
///
/// A transfer of more than chunk_bytes goes in parts, all with the same tag and started in order;
/// both sides cut alike, and MPI matches messages of one tag in the order sent, so the parts meet.
/// Packets (kPacketTag) are never cut: each preposted receive takes one.
class MpiTransfers {
 public:
  MpiTransfers(const MpiTable& mpi, MpiComm communicator, int process, std::size_t chunk_bytes)
      : mpi_(mpi), communicator_(communicator), process_(process), chunk_bytes_(chunk_bytes) {}
  MpiTransfers(const MpiTransfers&) = delete;
  MpiTransfers& operator=(const MpiTransfers&) = delete;
  /// Leaves transfers in flight to MPI, which may yet touch their memory: it is never freed.
  ~MpiTransfers() = default;

  enum class SendMode {
    standard,
    synchronous,  // does not end before the receiver has begun to receive, however small it is
  };
  /// Sends with a tag other than kPacketTag.
  void send(std::unique_ptr<MpiTransfer> transfer, std::span<const std::byte> bytes, int peer,
            int tag, SendMode mode = SendMode::standard);
  /// For send_packet().
  [[nodiscard]] MpiRequest no_request() const { return mpi_.request_null; }
  /// Sends with kPacketTag. True: it is through already, as most small packets are, which MPI
  /// copies. Else keep() is to be called with `request`.
  [[nodiscard]] bool send_packet(std::span<const std::byte> bytes, int peer, MpiRequest& request);
  void keep(std::unique_ptr<MpiTransfer> transfer, MpiRequest request, int peer);
  void receive(std::unique_ptr<MpiTransfer> transfer, std::span<std::byte> bytes, int peer,
               int tag);

  /// Reads the bytes at an address of `peer` through a window.
  void get(std::unique_ptr<MpiTransfer> transfer, std::span<std::byte> bytes, int peer,
           std::uint64_t address, MpiWin window);

  /// Calls done() of the transfers that have ended; returns whether there were any. Throws
  /// TransportError.
  bool advance();
  [[nodiscard]] bool empty() const { return parts_.empty(); }
  /// Returns whether gets through a window are in flight.
  [[nodiscard]] bool is_reading() const { return reads_ > 0; }
  /// Returns whether anything was ever sent or received.
  [[nodiscard]] bool was_used() const { return was_used_; }
  /// Bytes of the payloads in flight, sent and received.
  [[nodiscard]] std::size_t payload_bytes() const { return payload_bytes_; }

 private:
  struct Part {
    MpiTransfer* transfer;  // owned by all its parts together
    int peer;
    int tag;
    int expected_bytes;  // kSending, kReading: not a receive
  };
  static constexpr int kSending = -1;
  static constexpr int kReading = -2;  // through a window
  // Number of requests that one advance() tests; the next one tests further ones. So the cost of a
  // poll does not grow with the number of operations.
  static constexpr std::size_t kLookAt = SHOAL_MPI_TESTSOME_MAX;

  template <class Start>
  void start(std::unique_ptr<MpiTransfer> transfer, std::size_t size_bytes, Part part,
             Start start_one);
  [[nodiscard]] static const char* call_of(const Part& part);
  void check_part(const Part& part, const MpiStatus& status, bool has_error) const;
  void remove(std::size_t index);

  const MpiTable& mpi_;
  const MpiComm communicator_;
  const int process_;
  const std::size_t chunk_bytes_;
  std::vector<MpiRequest> requests_;
  std::vector<Part> parts_;  // beside requests_
  std::size_t look_at_ = 0;
  std::size_t payload_bytes_ = 0;
  std::size_t reads_ = 0;  // parts of gets
  bool was_used_ = false;
  std::array<int, kLookAt> indices_{};
  std::array<MpiStatus, kLookAt> statuses_{};
};

}  // namespace shoal::net
