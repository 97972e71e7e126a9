// The side of MPI alone: passive target in an allocated window, under one lock_all.

#include <array>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "global/kernels.hpp"
#include "ranks/mpi_side.hpp"

namespace {

using bench::global::Options;
using bench::global::Word;

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
    MPI_Win_allocate(static_cast<MPI_Aint>(count * sizeof(Word)), sizeof(Word), MPI_INFO_NULL,
                     MPI_COMM_WORLD, static_cast<void*>(&memory), &window_);
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
  void update(int rank, std::size_t index, Word number) {
    Word& operand = operands_[pending_++ % operands_.size()];
    operand = number;
    MPI_Accumulate(&operand, 1, MPI_UINT64_T, rank, static_cast<MPI_Aint>(index), 1, MPI_UINT64_T,
                   MPI_BXOR, window_);
    if (pending_ % operands_.size() == 0) MPI_Win_flush_all(window_);
  }
  void finish_updates() { MPI_Win_flush_all(window_); }
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
    if (window_ == MPI_WIN_NULL) return;
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
  }

  const char op_;  // first letter of the operation
  const int target_;
  MPI_Win window_ = MPI_WIN_NULL;
  std::span<Word> words_;
  std::vector<Word> buffer_;
  std::array<Word, 1024> operands_{};  // in flight
  std::size_t pending_ = 0;
};

int run(const bench::MpiWorld& world, const Options& options) {
  bench::limit_time(options.run);
  Accesses accesses(world, options);
  bench::global::Side side;
  side.name = "mpi";
  side.rank = world.rank();
  side.size = world.size();
  side.prepare = [&](std::size_t count) { accesses.prepare(count); };
  side.one_by_one = [&](std::int64_t count) { return accesses.one_by_one(count); };
  side.together = [&](std::int64_t rounds) { return accesses.together(rounds); };
  side.transfers = [&](std::int64_t count) { return accesses.transfers(count); };
  side.update = [&](int rank, std::size_t index, Word number) {
    accesses.update(rank, index, number);
  };
  side.finish_updates = [&] { accesses.finish_updates(); };
  side.local_word = [&](std::size_t index) { return accesses.local_word(index); };
  side.barrier = [] { MPI_Barrier(MPI_COMM_WORLD); };
  side.all_hold = &bench::MpiWorld::all_hold;
  return bench::global::measure(options, side);
}

}  // namespace

int main(int argc, char** argv) {
  // Open MPI: its default component for one node crashes in MPI_Compare_and_swap.
  setenv("OMPI_MCA_osc", "sm", 0);
  const bench::MpiWorld world(argc, argv, MPI_THREAD_SINGLE);
  Options options;
  const bench::Program program{"global_mpi", "One-sided access with MPI alone.",
                               [&](CLI::App& app) { bench::global::add_options(app, options); },
                               [&] { return run(world, options); }};
  return bench::run_program(program, bench::arguments_of(argc, argv), world.rank() == 0);
}
