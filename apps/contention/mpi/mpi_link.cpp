#include "contention/mpi_link.hpp"

#include <mpi.h>

#include <utility>

namespace contention {
namespace {

constexpr int kDataTag = 1;  // the peer answers
constexpr int kEndTag = 2;   // of one measurement, or with no bytes to answer, of all
constexpr int kAskBytes = 8;

/// Bytes that the peer receives and sends in each exchange.
struct Sizes {
  std::uint64_t there = 0;
  std::uint64_t back = 0;
};

Sizes sizes_of(const Point& point) {
  if (point.traffic == Traffic::receive) return {kAskBytes, point.message_bytes};
  return {point.message_bytes, point.message_bytes};
}

/// Errors of MPI end the program: MPI's default for MPI_COMM_WORLD.
class MpiLink final : public Link {
 public:
  MpiLink(const Host& host, std::uint64_t message_bytes_max)
      : host_(host), message_bytes_max_(message_bytes_max) {}

  std::vector<double> exchange(const Point& point, Clock::time_point end) override {
    if (node_ != point.communication_node) {
      in_ = {};
      out_ = {};
      in_ = host_.allocate(message_bytes_max_, point.communication_node);
      out_ = host_.allocate(message_bytes_max_, point.communication_node);
      node_ = point.communication_node;
    }
    Sizes sizes = sizes_of(point);
    MPI_Send(&sizes, sizeof(sizes), MPI_BYTE, 1, kDataTag, MPI_COMM_WORLD);
    std::vector<double> seconds;
    Clock::time_point now = Clock::now();
    do {
      const Clock::time_point begin = now;
      MPI_Send(out_.begin.get(), static_cast<int>(sizes.there), MPI_BYTE, 1, kDataTag,
               MPI_COMM_WORLD);
      MPI_Recv(in_.begin.get(), static_cast<int>(sizes.back), MPI_BYTE, 1, kDataTag, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
      now = Clock::now();
      seconds.push_back(std::chrono::duration<double>(now - begin).count());
    } while (now < end);
    MPI_Send(out_.begin.get(), 0, MPI_BYTE, 1, kEndTag, MPI_COMM_WORLD);
    return seconds;
  }

  /// Ends serve() of the peer.
  static void end() {
    Sizes none;
    MPI_Send(&none, sizeof(none), MPI_BYTE, 1, kDataTag, MPI_COMM_WORLD);
  }

 private:
  const Host& host_;
  const std::uint64_t message_bytes_max_;
  int node_ = -1;
  Host::Memory in_;
  Host::Memory out_;
};

/// Answers rank 0.
void serve(const Host& host, std::uint64_t message_bytes_max) {
  const Host::Memory in = host.allocate(message_bytes_max, host.default_thread_node());
  const Host::Memory out = host.allocate(message_bytes_max, host.default_thread_node());
  while (true) {
    Sizes sizes;
    MPI_Recv(&sizes, sizeof(sizes), MPI_BYTE, 0, kDataTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (sizes.back == 0) return;
    while (true) {
      MPI_Status status;
      MPI_Recv(in.begin.get(), static_cast<int>(sizes.there), MPI_BYTE, 0, MPI_ANY_TAG,
               MPI_COMM_WORLD, &status);
      if (status.MPI_TAG == kEndTag) break;
      MPI_Send(out.begin.get(), static_cast<int>(sizes.back), MPI_BYTE, 0, kDataTag,
               MPI_COMM_WORLD);
    }
  }
}

}  // namespace

bool mpi_is_there() {
  int initialized = 0;
  int finalized = 0;
  int size = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (initialized == 0 || finalized != 0) return false;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size == 2;
}

int mpi_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

void with_mpi_link(const Host& host, std::uint64_t message_bytes_max, const UseLink& use) {
  if (mpi_rank() != 0) {
    serve(host, message_bytes_max);
    return;
  }
  MpiLink link(host, message_bytes_max);
  try {
    use(link);
  } catch (...) {
    MpiLink::end();
    throw;
  }
  MpiLink::end();
}

}  // namespace contention
