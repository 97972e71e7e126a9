// The side of MPI alone: passive target in an allocated window, under one lock_all.

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "global/kernels.hpp"
#include "ranks/mpi_side.hpp"

namespace {

using bench::global::Options;
using bench::global::Word;

/// MPICH 4.0.2 puts to the own window where windows are of 8 bytes or less.
constexpr std::size_t kWindowBytesMin = 4096;

class Accesses {
 public:
  Accesses(const bench::MpiWorld& world, const Options& options)
      : op_(options.op.front()), target_(world.size() - 1) {}
  ~Accesses() { close(); }
  Accesses(const Accesses&) = delete;
  Accesses& operator=(const Accesses&) = delete;

  void prepare(std::size_t count) {
    close();
    Word* memory = nullptr;
    const std::size_t size_bytes = std::max(count * sizeof(Word), kWindowBytesMin);
    MPI_Win_allocate(static_cast<MPI_Aint>(size_bytes), sizeof(Word), MPI_INFO_NULL, MPI_COMM_WORLD,
                     static_cast<void*>(&memory), &window_);
    words_ = std::span(memory, count);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);
    for (Word& word : words_) word = 0;
    buffer_.assign(count, 0);
    MPI_Win_sync(window_);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  Word one_by_one(std::int64_t count) {
    Word last = op_ == 'e' ? get(0) : 0;
    for (std::int64_t i = 1; i <= count; ++i) {
      if (op_ == 'g') {
        last = get(0);
      } else if (op_ == 'p') {
        const auto value = static_cast<Word>(i);
        MPI_Put(&value, 1, MPI_UINT64_T, target_, 0, 1, MPI_UINT64_T, window_);
        MPI_Win_flush(target_, window_);
      } else {
        last = operate(last) + 1;
      }
    }
    return op_ == 'p' ? get(0) : last;
  }
  Word together(std::int64_t rounds) {
    const Word one = 1;
    for (std::int64_t round = 1; round <= rounds; ++round) {
      const auto value = static_cast<Word>(round);
      for (std::size_t i = 0; i < buffer_.size(); ++i) {
        const auto at = static_cast<MPI_Aint>(i);
        if (op_ == 'g') {
          MPI_Get(&buffer_[i], 1, MPI_UINT64_T, target_, at, 1, MPI_UINT64_T, window_);
        } else if (op_ == 'p') {
          MPI_Put(&value, 1, MPI_UINT64_T, target_, at, 1, MPI_UINT64_T, window_);
        } else {
          MPI_Accumulate(&one, 1, MPI_UINT64_T, target_, at, 1, MPI_UINT64_T, MPI_SUM, window_);
        }
      }
      MPI_Win_flush(target_, window_);
    }
    return op_ == 'g' ? buffer_.back() : get(buffer_.size() - 1);
  }
  Word transfers(std::int64_t count) {
    const int words = static_cast<int>(buffer_.size());
    for (std::int64_t i = 0; i < count; ++i) {
      if (op_ == 'g') {
        MPI_Get(buffer_.data(), words, MPI_UINT64_T, target_, 0, words, MPI_UINT64_T, window_);
      } else {
        MPI_Put(buffer_.data(), words, MPI_UINT64_T, target_, 0, words, MPI_UINT64_T, window_);
      }
      MPI_Win_flush(target_, window_);
    }
    return buffer_.back();
  }
  void prepare_threads(int threads, std::size_t size_bytes) {
    close();
    for (int i = 0; i < threads; ++i) {
      ThreadWindow& mine = thread_windows_.emplace_back();
      std::byte* memory = nullptr;
      MPI_Win_allocate(static_cast<MPI_Aint>(std::max(size_bytes, kWindowBytesMin)), 1,
                       MPI_INFO_NULL, MPI_COMM_WORLD, static_cast<void*>(&memory), &mine.window);
      mine.memory = {memory, size_bytes};
      MPI_Win_lock_all(MPI_MODE_NOCHECK, mine.window);
      std::ranges::fill(mine.memory, std::byte{0});
      MPI_Win_sync(mine.window);
      mine.source.resize(size_bytes);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  void put_by_threads(std::int64_t count, const std::function<int(int)>& target) {
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < thread_windows_.size(); ++t) {
      threads.emplace_back([this, t, count, rank = target(static_cast<int>(t))] {
        ThreadWindow& mine = thread_windows_[t];
        const int size_bytes = static_cast<int>(mine.source.size());
        for (std::int64_t i = 1; i <= count; ++i) {
          mine.source.front() = mine.source.back() = static_cast<std::byte>(i);
          MPI_Put(mine.source.data(), size_bytes, MPI_BYTE, rank, 0, size_bytes, MPI_BYTE,
                  mine.window);
          MPI_Win_flush(rank, mine.window);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  [[nodiscard]] std::pair<std::byte, std::byte> ends_of_thread(int thread) {
    ThreadWindow& mine = thread_windows_[static_cast<std::size_t>(thread)];
    MPI_Win_sync(mine.window);
    return {mine.memory.front(), mine.memory.back()};
  }
  void update(std::span<const bench::global::Place> places, std::span<const Word> numbers) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      Word& operand = operands_[pending_++ % operands_.size()];
      operand = numbers[i];
      MPI_Accumulate(&operand, 1, MPI_UINT64_T, places[i].rank,
                     static_cast<MPI_Aint>(places[i].index), 1, MPI_UINT64_T, MPI_BXOR, window_);
      if (pending_ % operands_.size() == 0) MPI_Win_flush_all(window_);
    }
  }
  void finish_updates() { MPI_Win_flush_all(window_); }
  void gather(std::span<const bench::global::Place> places, std::span<Word> values) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      MPI_Get(&values[i], 1, MPI_UINT64_T, places[i].rank, static_cast<MPI_Aint>(places[i].index),
              1, MPI_UINT64_T, window_);
    }
    MPI_Win_flush_all(window_);
  }
  [[nodiscard]] Word local_word(std::size_t index) {
    MPI_Win_sync(window_);
    return words_[index];
  }

 private:
  Word get(std::size_t index) {
    Word value = 0;
    MPI_Get(&value, 1, MPI_UINT64_T, target_, static_cast<MPI_Aint>(index), 1, MPI_UINT64_T,
            window_);
    MPI_Win_flush(target_, window_);
    return value;
  }
  Word operate(Word expected) {
    const Word desired = expected + 1;
    const Word one = 1;
    Word before = 0;
    if (op_ == 'a') {
      MPI_Fetch_and_op(&one, &before, MPI_UINT64_T, target_, 0, MPI_SUM, window_);
    } else {
      MPI_Compare_and_swap(&desired, &expected, &before, MPI_UINT64_T, target_, 0, window_);
    }
    MPI_Win_flush(target_, window_);
    return before;
  }
  void close() {
    for (ThreadWindow& mine : thread_windows_) {
      MPI_Win_unlock_all(mine.window);
      MPI_Win_free(&mine.window);
    }
    thread_windows_.clear();
    if (window_ == MPI_WIN_NULL) return;
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
  }

  /// As in the paper: an MPI window for each thread.
  struct ThreadWindow {
    MPI_Win window = MPI_WIN_NULL;
    std::span<std::byte> memory;
    std::vector<std::byte> source;
  };

  const char op_;  // first letter of the operation
  const int target_;
  MPI_Win window_ = MPI_WIN_NULL;
  std::span<Word> words_;
  std::vector<Word> buffer_;
  std::array<Word, 1024> operands_{};  // in flight
  std::size_t pending_ = 0;
  std::vector<ThreadWindow> thread_windows_;
};

int run(const bench::MpiWorld& world, const Options& options) {
  bench::limit_time(options.run);
  Accesses accesses(world, options);
  bench::global::Side side = bench::global::side_of(accesses);
  side.name = "mpi";
  side.rank = world.rank();
  side.size = world.size();
  side.barrier = [] { MPI_Barrier(MPI_COMM_WORLD); };
  side.all_hold = &bench::MpiWorld::all_hold;
  return bench::global::measure(options, side);
}

}  // namespace

int main(int argc, char** argv) {
  // Open MPI: its default component for one node crashes in MPI_Compare_and_swap.
  setenv("OMPI_MCA_osc", "sm", 0);
  // Several threads only where they are measured: they make every call of MPI slower.
  const bool threads = std::any_of(argv + 1, argv + argc, [](std::string_view argument) {
    return argument == "pairs" || argument == "fan_out";
  });
  const bench::MpiWorld world(argc, argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
  Options options;
  const bench::Program program{"global_mpi", "One-sided access with MPI alone.",
                               [&](cli::App& app) { bench::global::add_options(app, options); },
                               [&] { return run(world, options); }};
  return bench::run_program(program, bench::arguments_of(argc, argv), world.rank() == 0);
}
