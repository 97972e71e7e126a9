// The side of OpenSHMEM, as Open MPI has it over UCX.

#include <mpi.h>
#include <shmem.h>
#include <unistd.h>

#include <cstdio>
#include <span>
#include <vector>

#include "global/kernels.hpp"
#include "ranks/mpi_side.hpp"
#include "ranks/program.hpp"

namespace {

using bench::global::Options;
using bench::global::Word;

static_assert(sizeof(unsigned long) == sizeof(Word));

/// A word of the symmetric heap, as the functions take it.
unsigned long* ulong_at(Word* word) { return reinterpret_cast<unsigned long*>(word); }

class Accesses {
 public:
  explicit Accesses(const Options& options) : op_(options.op.front()), target_(shmem_n_pes() - 1) {}
  ~Accesses() { close(); }
  Accesses(const Accesses&) = delete;
  Accesses& operator=(const Accesses&) = delete;

  void prepare(std::size_t count) {
    close();
    words_ = {static_cast<Word*>(shmem_malloc(count * sizeof(Word))), count};
    for (Word& word : words_) word = 0;
    buffer_.assign(count, 0);
    shmem_barrier_all();
  }
  Word one_by_one(std::int64_t count) {
    Word last = op_ == 'e' ? get(0) : 0;
    for (std::int64_t i = 1; i <= count; ++i) {
      if (op_ == 'g') {
        last = get(0);
      } else if (op_ == 'p') {
        shmem_ulong_p(ulong_at(words_.data()), static_cast<Word>(i), target_);
        shmem_quiet();
      } else if (op_ == 'a') {
        last = shmem_ulong_atomic_fetch_add(ulong_at(words_.data()), 1, target_) + 1;
      } else {
        last =
            shmem_ulong_atomic_compare_swap(ulong_at(words_.data()), last, last + 1, target_) + 1;
      }
    }
    return op_ == 'p' ? get(0) : last;
  }
  Word together(std::int64_t rounds) {
    for (std::int64_t round = 1; round <= rounds; ++round) {
      const auto value = static_cast<Word>(round);
      for (std::size_t i = 0; i < buffer_.size(); ++i) {
        if (op_ == 'g') {
          shmem_ulong_get_nbi(ulong_at(&buffer_[i]), ulong_at(&words_[i]), 1, target_);
        } else if (op_ == 'p') {
          shmem_ulong_p(ulong_at(&words_[i]), value, target_);
        } else {
          shmem_ulong_atomic_add(ulong_at(&words_[i]), 1, target_);
        }
      }
      shmem_quiet();
    }
    return op_ == 'g' ? buffer_.back() : get(buffer_.size() - 1);
  }
  Word transfers(std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      if (op_ == 'g') {
        shmem_getmem(buffer_.data(), words_.data(), words_.size_bytes(), target_);
      } else {
        shmem_putmem(words_.data(), buffer_.data(), words_.size_bytes(), target_);
        shmem_quiet();
      }
    }
    return buffer_.back();
  }
  void update(std::span<const bench::global::Place> places, std::span<const Word> numbers) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      shmem_uint64_atomic_xor(&words_[places[i].index], numbers[i], places[i].rank);
    }
  }
  void finish_updates() { shmem_quiet(); }
  void gather(std::span<const bench::global::Place> places, std::span<Word> values) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      shmem_ulong_get_nbi(ulong_at(&values[i]), ulong_at(&words_[places[i].index]), 1,
                          places[i].rank);
    }
    shmem_quiet();
  }
  [[nodiscard]] Word local_word(std::size_t index) const { return words_[index]; }

 private:
  Word get(std::size_t index) { return shmem_ulong_g(ulong_at(&words_[index]), target_); }
  void close() {
    if (words_.empty()) return;
    shmem_barrier_all();
    shmem_free(words_.data());
  }

  const char op_;  // first letter of the operation
  const int target_;
  std::span<Word> words_;
  std::vector<Word> buffer_;
};

int run(const Options& options) {
  bench::limit_time(options.run);
  Accesses accesses(options);
  bench::global::Side side = bench::global::side_of(accesses);
  side.name = "shmem";
  side.rank = shmem_my_pe();
  side.size = shmem_n_pes();
  side.barrier = &shmem_barrier_all;
  side.all_hold = &bench::MpiWorld::all_hold;
  return bench::global::measure(options, side);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  shmem_init();
  Options options;
  const bench::Program program{"global_shmem", "One-sided access with OpenSHMEM.",
                               [&](cli::App& app) { bench::global::add_options(app, options); },
                               [&] { return run(options); }};
  const int code = bench::run_program(program, {argv + 1, argv + argc}, shmem_my_pe() == 0);
  // shmem_finalize() of Open MPI 4.1.4 crashes; without it, so does exit().
  std::fflush(nullptr);
  MPI_Finalize();
  _exit(code);
}
