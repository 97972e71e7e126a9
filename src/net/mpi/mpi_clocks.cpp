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
// Minimum number of round trips: where other programs use the processors, each takes two turns of
// the scheduler, and fewer must do.
constexpr std::size_t kFewest = 8;
constexpr std::uint64_t kLongNs = 20'000'000;  // with one child

/// One end of the round trips with a child or with the parent.
class Trips {
 public:
  Trips(const MpiSession& session, MpiComm communicator, const ReadClock& read, int count)
      : session_(session),
        mpi_(session.mpi()),
        communicator_(communicator),
        read_(read),
        most_(static_cast<std::size_t>(count)) {}

  void start_with(int child) {
    std::vector<std::uint64_t> own;  // start and end of each
    const std::uint64_t begin_ns = session_.now_ns();
    for (std::uint64_t is_last = 0; is_last == 0;) {
      const std::size_t number = own.size() / 2 + 1;
      const bool takes_long = number >= kFewest && session_.now_ns() - begin_ns > kLongNs;
      is_last = takes_long || number >= most_ ? 1 : 0;
      std::uint64_t nothing = 0;
      own.push_back(read_());
      send(child, kPing, &is_last, 1);
      receive(child, kPong, &nothing, 1);
      own.push_back(read_());
    }
    send(child, kTable, own.data(), own.size());
  }

  std::vector<RoundTrip> answer(int parent) {
    std::vector<RoundTrip> trips;
    for (std::uint64_t is_last = 0; is_last == 0;) {
      receive(parent, kPing, &is_last, 1);
      trips.push_back({0, read_(), 0});
      const std::uint64_t nothing = 0;
      send(parent, kPong, &nothing, 1);
    }
    std::vector<std::uint64_t> ends(2 * trips.size());
    receive(parent, kTable, ends.data(), ends.size());
    for (std::size_t i = 0; i < trips.size(); ++i) {
      trips[i].start_ticks = ends[2 * i];
      trips[i].end_ticks = ends[2 * i + 1];
    }
    return trips;
  }

 private:
  void send(int to, int tag, const std::uint64_t* values, std::size_t count) const {
    mpi_check(mpi_, mpi_.send(values, size_of(count), to, tag, communicator_),
              {"MPI_Send", session_.process()});
  }
  void receive(int from, int tag, std::uint64_t* values, std::size_t count) const {
    mpi_check(mpi_, mpi_.recv(values, size_of(count), from, tag, communicator_),
              {"MPI_Recv", session_.process()});
  }
  static int size_of(std::size_t count) { return static_cast<int>(count * sizeof(std::uint64_t)); }

  const MpiSession& session_;
  const MpiTable& mpi_;
  MpiComm communicator_;
  const ReadClock& read_;
  std::size_t most_;
};

}  // namespace

ClockTrips compare_clocks(const MpiSession& session, const ReadClock& read, int count) {
  const int process = session.process();
  const MpiTable& mpi = session.mpi();
  MpiComm own = mpi.comm_null;  // apart from the packets
  mpi_check(mpi, mpi.comm_dup(session.communicator(), &own), {"MPI_Comm_dup", process});
  ClockTrips result;
  Trips trips(session, own, read, count);
  if (process > 0) {
    result.parent = (process - 1) / kArity;
    result.trips = trips.answer(result.parent);
  }
  const int first = process * kArity + 1;
  const int end = std::min(first + kArity, session.layout().process_count());
  for (int child = first; child < end; ++child) trips.start_with(child);
  mpi_check(mpi, mpi.comm_free(&own), {"MPI_Comm_free", process});
  return result;
}

}  // namespace shoal::net
