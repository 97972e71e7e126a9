#include "net/mpi/mpi_clocks.hpp"

#include "net/mpi/mpi_check.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace shoal::net {

namespace {

constexpr int kArity = 4;  // of the tree: the depth bounds the error, the width the time
constexpr int kPing = 1;
constexpr int kPong = 2;
constexpr int kTable = 3;

/// One end of the round trips with a child or with the parent.
class Trips {
 public:
  Trips(MPI_Comm communicator, int process, const ReadClock& read, int count)
      : communicator_(communicator),
        process_(process),
        read_(read),
        own_(2 * static_cast<std::size_t>(count)) {}

  void start_with(int child) {
    for (std::size_t i = 0; i < own_.size(); i += 2) {
      std::uint64_t nothing = 0;
      own_[i] = read_();
      send(child, kPing, &nothing, 1);
      receive(child, kPong, &nothing, 1);
      own_[i + 1] = read_();
    }
    send(child, kTable, own_.data(), own_.size());
  }

  std::vector<RoundTrip> answer(int parent) {
    std::vector<RoundTrip> trips(own_.size() / 2);
    for (RoundTrip& trip : trips) {
      std::uint64_t nothing = 0;
      receive(parent, kPing, &nothing, 1);
      trip.remote_ticks = read_();
      send(parent, kPong, &nothing, 1);
    }
    receive(parent, kTable, own_.data(), own_.size());
    for (std::size_t i = 0; i < trips.size(); ++i) {
      trips[i].start_ticks = own_[2 * i];
      trips[i].end_ticks = own_[2 * i + 1];
    }
    return trips;
  }

 private:
  void send(int to, int tag, const std::uint64_t* values, std::size_t count) const {
    mpi_check(MPI_Send(values, static_cast<int>(count), MPI_UINT64_T, to, tag, communicator_),
              {"MPI_Send", process_});
  }
  void receive(int from, int tag, std::uint64_t* values, std::size_t count) const {
    mpi_check(MPI_Recv(values, static_cast<int>(count), MPI_UINT64_T, from, tag, communicator_,
                       MPI_STATUS_IGNORE),
              {"MPI_Recv", process_});
  }

  MPI_Comm communicator_;
  int process_;
  const ReadClock& read_;
  std::vector<std::uint64_t> own_;  // start and end of each
};

}  // namespace

ClockTrips compare_clocks(const MpiSession& session, const ReadClock& read, int count) {
  const int process = session.process();
  MPI_Comm own = MPI_COMM_NULL;  // apart from the packets
  mpi_check(MPI_Comm_dup(session.communicator(), &own), {"MPI_Comm_dup", process});
  ClockTrips result;
  Trips trips(own, process, read, count);
  if (process > 0) {
    result.parent = (process - 1) / kArity;
    result.trips = trips.answer(result.parent);
  }
  const int first = process * kArity + 1;
  const int end = std::min(first + kArity, session.layout().process_count());
  for (int child = first; child < end; ++child) trips.start_with(child);
  mpi_check(MPI_Comm_free(&own), {"MPI_Comm_free", process});
  return result;
}

}  // namespace shoal::net
