#include "net/mpi/mpi_transfers.hpp"

#include <shoal/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "net/mpi/mpi_check.hpp"
#include "net/mpi/mpi_wire.hpp"

namespace shoal::net {

const char* MpiTransfers::call_of(const Part& part) {
  if (part.expected_bytes == kReading) return "MPI_Rget";
  return part.expected_bytes == kSending ? "MPI_Isend" : "MPI_Irecv";
}

template <class Start>
void MpiTransfers::start(std::unique_ptr<MpiTransfer> transfer, std::size_t size_bytes, Part part,
                         Start start_one) {
  const bool receiving = part.expected_bytes >= 0;
  was_used_ = true;
  part.transfer = transfer.release();  // from here on MPI may hold its memory
  part.transfer->parts_left_ =
      std::max<std::size_t>(1, (size_bytes + chunk_bytes_ - 1) / chunk_bytes_);
  part.transfer->payload_bytes_ = size_bytes;
  payload_bytes_ += part.transfer->payload_bytes_;
  std::size_t offset = 0;
  do {
    const std::size_t size = std::min(chunk_bytes_, size_bytes - offset);
    MpiRequest request = mpi_.request_null;
    mpi_check(mpi_, start_one(offset, static_cast<int>(size), &request),
              {call_of(part), process_, part.peer, part.tag});
    if (receiving) part.expected_bytes = static_cast<int>(size);
    if (part.expected_bytes == kReading) ++reads_;
    requests_.push_back(request);
    parts_.push_back(part);
    offset += size;
  } while (offset < size_bytes);
}

void MpiTransfers::send(std::unique_ptr<MpiTransfer> transfer, std::span<const std::byte> bytes,
                        int peer, int tag, SendMode mode) {
  auto* const send_part = mode == SendMode::synchronous ? mpi_.issend : mpi_.isend;
  start(std::move(transfer), bytes.size(), {nullptr, peer, tag, kSending},
        [&](std::size_t offset, int size, MpiRequest* request) {
          return send_part(bytes.data() + offset, size, peer, tag, communicator_, request);
        });
}

bool MpiTransfers::send_packet(std::span<const std::byte> bytes, int peer, MpiRequest& request) {
  const MpiCall call{"MPI_Isend", process_, peer, kPacketTag};
  mpi_check(mpi_,
            mpi_.isend(bytes.data(), static_cast<int>(bytes.size()), peer, kPacketTag,
                       communicator_, &request),
            call);
  int through = 0;
  mpi_check(mpi_, mpi_.test(&request, &through, nullptr), call);
  return through != 0;
}

void MpiTransfers::keep(std::unique_ptr<MpiTransfer> transfer, MpiRequest request, int peer) {
  transfer->parts_left_ = 1;
  requests_.push_back(request);
  parts_.push_back({transfer.release(), peer, kPacketTag, kSending});
}

void MpiTransfers::receive(std::unique_ptr<MpiTransfer> transfer, std::span<std::byte> bytes,
                           int peer, int tag) {
  start(std::move(transfer), bytes.size(), {nullptr, peer, tag, 0},
        [&](std::size_t offset, int size, MpiRequest* request) {
          return mpi_.irecv(bytes.data() + offset, size, peer, tag, communicator_, request);
        });
}

void MpiTransfers::get(std::unique_ptr<MpiTransfer> transfer, std::span<std::byte> bytes, int peer,
                       std::uint64_t address, MpiWin window) {
  start(std::move(transfer), bytes.size(), {nullptr, peer, MpiCall::kNone, kReading},
        [&](std::size_t offset, int size, MpiRequest* request) {
          return mpi_.rget(bytes.data() + offset, size, peer, address + offset, window, request);
        });
}

void MpiTransfers::check_part(const Part& part, const MpiStatus& status, bool has_error) const {
  // MPI_ERR_PENDING: another one of the same call failed, this one did not.
  if (has_error && status.error != mpi_.err_pending) {
    mpi_check(mpi_, status.error, {call_of(part), process_, part.peer, part.tag});
  }
  if (part.expected_bytes < 0) return;
  int bytes = 0;
  mpi_check(mpi_, mpi_.get_count(&status, &bytes),
            {"MPI_Get_count", process_, part.peer, part.tag});
  if (bytes == part.expected_bytes) return;
  throw TransportError(
      fmt::format("truncated: {} of {} bytes arrived in process {} from process {}, tag {}; sender "
                  "and receiver "
                  "disagree about the size",
                  bytes, part.expected_bytes, process_, part.peer, part.tag));
}

bool MpiTransfers::advance() {
  if (requests_.empty()) return false;
  if (look_at_ >= requests_.size()) look_at_ = 0;
  // Starts from the beginning after the last ones, even if more were added after them meanwhile.
  const std::size_t begin = look_at_;
  const std::size_t count = std::min(kLookAt, requests_.size() - begin);
  int ended = 0;
  const int result = mpi_.testsome(static_cast<int>(count), requests_.data() + begin, &ended,
                                   indices_.data(), statuses_.data());
  const bool has_error = result == mpi_.err_in_status;
  if (!has_error) mpi_check(mpi_, result, {"MPI_Testsome", process_});
  if (ended == mpi_.undefined || ended == 0) {
    look_at_ = count < kLookAt ? 0 : begin + count;
    return false;
  }
  const auto ended_count = static_cast<std::size_t>(ended);
  std::vector<std::unique_ptr<MpiTransfer>> through;
  for (std::size_t i = 0; i < ended_count; ++i) {
    const Part& part = parts_[begin + static_cast<std::size_t>(indices_[i])];
    check_part(part, statuses_[i], has_error);
    if (--part.transfer->parts_left_ > 0) continue;
    payload_bytes_ -= part.transfer->payload_bytes_;
    through.emplace_back(part.transfer);
  }
  // From the back, so that the positions still to be removed stay valid.
  std::sort(indices_.begin(), indices_.begin() + ended, std::greater<>());
  for (std::size_t i = 0; i < ended_count; ++i) {
    remove(begin + static_cast<std::size_t>(indices_[i]));
  }
  look_at_ = count < kLookAt ? 0 : begin + count - ended_count;
  for (const auto& transfer : through) transfer->done();
  return true;
}

void MpiTransfers::remove(std::size_t index) {
  if (parts_[index].expected_bytes == kReading) --reads_;
  requests_[index] = requests_.back();
  requests_.pop_back();
  parts_[index] = parts_.back();
  parts_.pop_back();
}

}  // namespace shoal::net
