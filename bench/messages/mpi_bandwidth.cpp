#include "messages/mpi_side.hpp"

namespace messages {

namespace {

constexpr int kTag = 0;

/// Buffers in a ring, each with the request that uses it.
class Ring {
 public:
  explicit Ring(const Options& options)
      : buffers_(static_cast<std::size_t>(options.window), std::vector<Word>(options.words())),
        requests_(buffers_.size(), MPI_REQUEST_NULL) {}

  /// The buffer of this message, once what used it last has ended.
  std::span<Word> wait(std::int64_t index) {
    MPI_Wait(request(index), MPI_STATUS_IGNORE);
    return buffers_[slot(index)];
  }
  MPI_Request* request(std::int64_t index) { return &requests_[slot(index)]; }
  void wait_all() {
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  }

 private:
  [[nodiscard]] std::size_t slot(std::int64_t index) const {
    return static_cast<std::size_t>(index) % buffers_.size();
  }

  std::vector<std::vector<Word>> buffers_;
  std::vector<MPI_Request> requests_;
};

void send_all(Ring& ring, const Options& options) {
  for (std::int64_t index = 0; index < options.count; ++index) {
    const std::span<Word> buffer = ring.wait(index);
    buffer.front() = buffer.back() = item_word(index);
    MPI_Isend(buffer.data(), options.size_bytes, MPI_BYTE, 1, kTag, MPI_COMM_WORLD,
              ring.request(index));
  }
  ring.wait_all();
}

bool receive_all(Ring& ring, const Options& options) {
  bool good = true;
  const auto post = [&](std::int64_t index) {
    if (index >= options.count) return;
    MPI_Irecv(ring.wait(index).data(), options.size_bytes, MPI_BYTE, 0, kTag, MPI_COMM_WORLD,
              ring.request(index));
  };
  for (std::int64_t index = 0; index < options.window; ++index) post(index);
  for (std::int64_t index = 0; index < options.count; ++index) {
    const std::span<Word> buffer = ring.wait(index);
    good &= buffer.front() == item_word(index) && buffer.back() == item_word(index);
    post(index + options.window);
  }
  return good;
}

}  // namespace

bench::Sample bandwidth(const bench::MpiWorld& world, const Options& options) {
  Ring ring(options);
  bool good = true;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin_s = now_s();
  if (world.rank() == 0) {
    send_all(ring, options);
  } else if (world.rank() == 1) {
    good = receive_all(ring, options);
  }
  answer(world);
  return {now_s() - begin_s, good};
}

}  // namespace messages
