#include "messages/mpi_side.hpp"

namespace messages {

namespace {

constexpr int kTag = 0;

void send(std::span<const Word> ball, int partner) {
  MPI_Send(ball.data(), static_cast<int>(ball.size_bytes()), MPI_BYTE, partner, kTag,
           MPI_COMM_WORLD);
}

/// False: that was not the ball of this hop.
bool receive(std::span<Word> ball, int partner, std::int64_t hop) {
  MPI_Recv(ball.data(), static_cast<int>(ball.size_bytes()), MPI_BYTE, partner, kTag,
           MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return ball.front() == static_cast<Word>(hop);
}

}  // namespace

// The first word of the ball is the number of its hop.
bench::Sample round_trip(const bench::MpiWorld& world, const Options& options) {
  const int partner = world.rank() ^ 1;
  const bool starts = world.rank() % 2 == 0;
  std::vector<Word> ball(1);
  const std::vector<Word> ballast = make_ballast(options.words() - 1);
  ball.insert(ball.end(), ballast.begin(), ballast.end());
  bench::Sample sample;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin_s = now_s();
  for (std::int64_t i = 0; i < options.count; ++i) {
    if (starts) {
      ball.front() = static_cast<Word>(2 * i + 1);
      send(ball, partner);
      sample.verified &= receive(ball, partner, 2 * i + 2);
    } else {
      sample.verified &= receive(ball, partner, 2 * i + 1);
      ball.front() = static_cast<Word>(2 * i + 2);
      send(ball, partner);
    }
  }
  const double own_s = starts ? now_s() - begin_s : 0;
  sample.seconds = bench::MpiWorld::sum(own_s) / (world.size() / 2);
  sample.verified &= is_ballast(std::span(ball).subspan(1));
  return sample;
}

}  // namespace messages
