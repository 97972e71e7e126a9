#include <algorithm>
#include <thread>

#include "messages/mpi_side.hpp"

namespace messages {

namespace {

/// The messages [part.first, part.last) in windows: all of one are started, then all are awaited.
/// visit(place, index) fills a message before it is sent, or reads one that has arrived.
class Stream {
 public:
  Stream(const Options& options, int thread)
      : words_(options.words()),
        window_(options.window),
        tag_(thread),
        places_(words_ * static_cast<std::size_t>(window_)),
        requests_(static_cast<std::size_t>(window_)) {}

  template <class Visit>
  void send(const Part& part, const Visit& fill) {
    for_windows(part, [&](std::int64_t first, int count) {
      for (int i = 0; i < count; ++i) {
        fill(place(i), first + i);
        MPI_Isend(place(i).data(), size_bytes(), MPI_BYTE, 1, tag_, MPI_COMM_WORLD, request(i));
      }
      MPI_Waitall(count, requests_.data(), MPI_STATUSES_IGNORE);
    });
  }

  template <class Visit>
  void receive(const Part& part, const Visit& read) {
    for_windows(part, [&](std::int64_t first, int count) {
      for (int i = 0; i < count; ++i) {
        MPI_Irecv(place(i).data(), size_bytes(), MPI_BYTE, 0, tag_, MPI_COMM_WORLD, request(i));
      }
      MPI_Waitall(count, requests_.data(), MPI_STATUSES_IGNORE);
      for (int i = 0; i < count; ++i) read(place(i), first + i);
    });
  }

 private:
  template <class Window>
  void for_windows(const Part& part, const Window& window) const {
    for (std::int64_t first = part.first; first < part.last; first += window_) {
      window(first, static_cast<int>(std::min<std::int64_t>(window_, part.last - first)));
    }
  }
  std::span<Word> place(int index) {
    return std::span(places_).subspan(words_ * static_cast<std::size_t>(index), words_);
  }
  MPI_Request* request(int index) { return &requests_[static_cast<std::size_t>(index)]; }
  [[nodiscard]] int size_bytes() const { return static_cast<int>(words_ * sizeof(Word)); }

  const std::size_t words_;
  const int window_;
  const int tag_;
  std::vector<Word> places_;
  std::vector<MPI_Request> requests_;
};

/// One sender's messages; on rank 1 the sum of what arrived.
Word run_stream(const bench::MpiWorld& world, const Options& options, int thread) {
  Stream stream(options, thread);
  const Part part = part_of(options.count, options.senders, thread);
  Word sum = 0;
  if (world.rank() == 0) {
    stream.send(part, [](std::span<Word> place, std::int64_t index) {
      place.front() = place.back() = item_word(index);
    });
  } else if (world.rank() == 1) {
    stream.receive(
        part, [&](std::span<Word> place, std::int64_t) { sum += place.front() + place.back(); });
  }
  return sum;
}

}  // namespace

void answer(const bench::MpiWorld& world) {
  constexpr int kTag = 1000;
  if (world.rank() == 0) {
    MPI_Recv(nullptr, 0, MPI_BYTE, 1, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (world.rank() == 1) {
    MPI_Send(nullptr, 0, MPI_BYTE, 0, kTag, MPI_COMM_WORLD);
  }
}

bench::Sample item_rate(const bench::MpiWorld& world, const Options& options) {
  std::vector<Word> sums(static_cast<std::size_t>(options.senders));
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin_s = now_s();
  std::vector<std::thread> threads;
  for (int i = 1; i < options.senders; ++i) {
    threads.emplace_back(
        [&, i] { sums[static_cast<std::size_t>(i)] = run_stream(world, options, i); });
  }
  sums[0] = run_stream(world, options, 0);
  for (std::thread& thread : threads) thread.join();
  answer(world);
  const double seconds = now_s() - begin_s;
  Word sum = 0;
  for (const Word part : sums) sum += part;
  return {seconds, world.rank() != 1 || sum == item_sum(options.count)};
}

// A packet is a message of as many words as it has items.
bench::Sample packed_rate(const bench::MpiWorld& world, const Options& options) {
  Options packets = options;
  packets.size_bytes = options.packet_bytes;
  const auto items = static_cast<std::int64_t>(packets.words());
  const Part all{0, (options.count + items - 1) / items};
  const auto count_in = [&](std::int64_t packet) {
    return static_cast<std::size_t>(std::min(items, options.count - packet * items));
  };
  Stream stream(packets, 0);
  Word sum = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin_s = now_s();
  if (world.rank() == 0) {
    stream.send(all, [&](std::span<Word> place, std::int64_t packet) {
      std::int64_t index = packet * items;
      for (Word& word : place.first(count_in(packet))) word = item_word(index++);
    });
  } else if (world.rank() == 1) {
    stream.receive(all, [&](std::span<Word> place, std::int64_t packet) {
      for (const Word word : place.first(count_in(packet))) sum += 2 * word;
    });
  }
  answer(world);
  return {now_s() - begin_s, world.rank() != 1 || sum == item_sum(options.count)};
}

}  // namespace messages
