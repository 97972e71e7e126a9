// The side of shoal: embedded with --ranks 2, or in the processes of an MPI launch.

#include <shoal/memory.hpp>
#include <shoal/shoal.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "global/kernels.hpp"

namespace {

using bench::global::Options;
using bench::global::Word;

class Accesses {
 public:
  Accesses(shoal::World& world, const Options& options)
      : world_(world),
        op_(options.op.front()),
        memory_(world, {.name = "table", .checks = shoal::GlobalMemoryOptions::Checks::off}),
        cache_(memory_) {}

  void prepare(std::size_t count) {
    world_.barrier();
    if (words_) memory_.collective_free(words_);
    words_ = memory_.collective_allocate<Word>(count);
    far_ = words_.on(shoal::Rank(world_.size() - 1));
    buffer_.assign(count, 0);
    world_.barrier();
  }
  Word one_by_one(std::int64_t count) {
    Word last = op_ == 'e' ? memory_.get(far_) : 0;
    for (std::int64_t i = 1; i <= count; ++i) {
      if (op_ == 'g') {
        last = memory_.get(far_);
      } else if (op_ == 'p') {
        memory_.put(far_, static_cast<Word>(i)).wait();
      } else if (op_ == 'a') {
        last = memory_.fetch_add(far_, 1) + 1;
      } else {
        last = memory_.compare_exchange(far_, last, last + 1) + 1;
      }
    }
    return op_ == 'p' ? memory_.get(far_) : last;
  }
  Word together(std::int64_t rounds) {
    std::vector<shoal::GlobalPtr<Word>> places(buffer_.size());
    for (std::size_t i = 0; i < places.size(); ++i) {
      places[i] = far_ + static_cast<std::ptrdiff_t>(i);
    }
    const std::span<const shoal::GlobalPtr<Word>> all(places);
    for (std::int64_t round = 1; round <= rounds; ++round) {
      if (op_ == 'g') {
        memory_.gather(all, std::span(buffer_));
      } else {
        for (const shoal::GlobalPtr<Word> place : places) {
          if (op_ == 'p') {
            static_cast<void>(memory_.put(place, static_cast<Word>(round)));
          } else {
            static_cast<void>(memory_.add_async(place, 1));
          }
        }
        memory_.quiet();
      }
    }
    return op_ == 'g' ? buffer_.back() : memory_.get(places.back());
  }
  Word transfers(std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      if (op_ == 'g') {
        memory_.get(far_, std::span(buffer_));
      } else {
        memory_.put(far_, std::span<const Word>(buffer_)).wait();
      }
    }
    return buffer_.back();
  }
  void prepare_threads(int threads, std::size_t size_bytes) {
    world_.barrier();
    if (thread_memory_) memory_.collective_free(thread_memory_);
    thread_memory_ =
        memory_.collective_allocate<std::byte>(static_cast<std::size_t>(threads) * size_bytes);
    sources_.assign(static_cast<std::size_t>(threads), std::vector<std::byte>(size_bytes));
    world_.barrier();
  }
  void put_by_threads(std::int64_t count, const std::function<int(int)>& target) {
    shoal::TaskGroup tasks;
    for (std::size_t t = 0; t < sources_.size(); ++t) {
      tasks.spawn([this, t, count, rank = shoal::Rank(target(static_cast<int>(t)))] {
        std::vector<std::byte>& source = sources_[t];
        const auto to = thread_memory_.on(rank) + static_cast<std::ptrdiff_t>(t * source.size());
        for (std::int64_t i = 1; i <= count; ++i) {
          source.front() = source.back() = static_cast<std::byte>(i);
          memory_.put(to, std::span<const std::byte>(source)).wait();
        }
      });
    }
    tasks.wait();
  }
  [[nodiscard]] std::pair<std::byte, std::byte> ends_of_thread(int thread) const {
    const std::size_t size = sources_.front().size();
    const std::byte* const begin =
        memory_.local(thread_memory_) + static_cast<std::size_t>(thread) * size;
    return {begin[0], begin[size - 1]};
  }
  Word cached(std::int64_t count, bench::global::Cached way) {
    Word sum = 0;
    table_[far_] = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      if (way == bench::global::Cached::table) {
        asm volatile("" ::: "memory");  // looks again
        sum += table_.find(far_)->second;
        continue;
      }
      if (way == bench::global::Cached::miss) cache_.invalidate(far_);
      sum += *cache_.get(far_);
    }
    return sum;
  }
  void update(std::span<const bench::global::Place> places, std::span<const Word> numbers) {
    memory_.xor_async(pointers_to(places), numbers);
  }
  void finish_updates() { memory_.quiet(); }
  void gather(std::span<const bench::global::Place> places, std::span<Word> values) {
    memory_.gather(pointers_to(places), values);
  }
  [[nodiscard]] Word local_word(std::size_t index) const { return memory_.local(words_)[index]; }

 private:
  std::span<const shoal::GlobalPtr<Word>> pointers_to(
      std::span<const bench::global::Place> places) {
    pointers_.clear();
    for (const auto& [rank, index] : places) {
      pointers_.push_back(words_.on(shoal::Rank(rank)) + static_cast<std::ptrdiff_t>(index));
    }
    return pointers_;
  }

  shoal::World& world_;
  const char op_;  // first letter of the operation
  shoal::GlobalMemory memory_;
  shoal::ObjectCache<Word> cache_;
  std::unordered_map<shoal::GlobalPtr<Word>, Word> table_;
  shoal::GlobalPtr<Word> words_;  // of this rank
  shoal::GlobalPtr<Word> far_;    // of the last one
  std::vector<Word> buffer_;
  std::vector<shoal::GlobalPtr<Word>> pointers_;
  shoal::GlobalPtr<std::byte> thread_memory_;
  std::vector<std::vector<std::byte>> sources_;  // of each thread
};

int run(shoal::World& world, const Options& options) {
  bench::limit_time(options.run);
  Accesses accesses(world, options);
  bench::global::Side side = bench::global::side_of(accesses);
  side.name = "shoal";
  side.rank = world.rank().value();
  side.size = world.size();
  side.barrier = [&] { world.barrier(); };
  side.all_hold = [&](bool holds) { return world.allreduce(holds, std::logical_and<>()); };
  const int code = bench::global::measure(options, side);
  world.wait();
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    Options options;
    const bench::Program program{"global_shoal",
                                 "One-sided access with shoal; --help lists the options of shoal.",
                                 [&](cli::App& app) { bench::global::add_options(app, options); },
                                 [&] { return run(world, options); }};
    return bench::run_program(program, {world.args().begin() + 1, world.args().end()},
                              world.rank() == 0);
  });
}
