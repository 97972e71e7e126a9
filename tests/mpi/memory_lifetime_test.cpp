// Memory of the program that is unmapped as soon as transfers allow it, and heaps that end while
// others read and write them: in memory that processes share, by messages, and by MPI-3 RMA. An
// access that comes too late ends the process.

#include <shoal/memory.hpp>
#include <shoal/shoal.hpp>

#include "mpi/mpi_launch.hpp"
#include "support/joined_program.hpp"
#include "support/sizes.hpp"

#include <sys/mman.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace memory_lifetime_test {

using shoal::GlobalMemory;
using shoal::GlobalPtr;
using shoal::Rank;
using shoal::World;
using shoal::testing::require;
using shoal::testing::run_on_launch;
using Checks = shoal::GlobalMemoryOptions::Checks;

constexpr std::size_t kWords = std::size_t{1} << 15U;  // of each rank, for each of the others

std::uint64_t word_of(int rank, std::size_t i) {
  return (static_cast<std::uint64_t>(rank) << 32U) + i * 3 + 1;
}

/// Words that nothing may touch any more once they are destroyed: their addresses are not used
/// again, so that a late access is a crash.
class Pages {
 public:
  explicit Pages(std::size_t count) : bytes_(count * sizeof(std::uint64_t)) {
    void* const place =
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(place != MAP_FAILED, "no room for {} bytes", bytes_);
    words_ = {static_cast<std::uint64_t*>(place), count};
  }
  ~Pages() {
    madvise(words_.data(), bytes_, MADV_DONTNEED);
    mprotect(words_.data(), bytes_, PROT_NONE);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  [[nodiscard]] std::span<std::uint64_t> words() const { return words_; }

 private:
  const std::size_t bytes_;
  std::span<std::uint64_t> words_;
};

/// Sizes around those where transfers take another way.
std::size_t some_words(std::mt19937_64& random) {
  constexpr std::size_t kMost[] = {4, 64, 1024, 4096, kWords};
  return 1 + random() % kMost[random() % std::size(kMost)];
}

/// Destinations of gets that are dropped, at once or a little later, or waited for.
void drop_destinations(GlobalMemory& memory, GlobalPtr<std::uint64_t> words, int task) {
  const int size = memory.size();
  std::mt19937_64 random(static_cast<std::uint64_t>(memory.rank().value() * 100 + task));
  for (int i = 0; i < shoal::testing::sized(150, 40); ++i) {
    const std::size_t count = some_words(random);
    const Pages pages(count);
    const Rank owner(static_cast<int>(random() % static_cast<std::uint64_t>(size)));
    shoal::Transfer transfer = memory.get_async(words.on(owner), pages.words());
    switch (random() % 4) {
      case 0:
        break;
      case 1:
        shoal::yield();
        break;
      case 2:
        shoal::sleep_for(std::chrono::microseconds(random() % 200));
        break;
      default:
        transfer.wait();
        require(pages.words()[count - 1] == word_of(owner.value(), count - 1), "word {} of rank {}",
                count - 1, owner.value());
    }
  }
}

/// Sources of puts: they may go as soon as the call returns.
void drop_sources(GlobalMemory& memory, GlobalPtr<std::uint64_t> from_me, int task, int tasks) {
  const int me = memory.rank().value();
  const std::size_t part = kWords / static_cast<std::size_t>(tasks);
  const std::size_t first = part * static_cast<std::size_t>(task);
  std::mt19937_64 random(static_cast<std::uint64_t>(me * 100 + task));
  for (int rank = 0; rank < memory.size(); ++rank) {
    for (std::size_t done = 0; done < part;) {
      const std::size_t count = std::min(part - done, some_words(random));
      const Pages pages(count);
      for (std::size_t i = 0; i < count; ++i) pages.words()[i] = word_of(me, first + done + i);
      const std::span<const std::uint64_t> source = pages.words();
      const GlobalPtr<std::uint64_t> to =
          from_me.on(Rank(rank)) + static_cast<std::ptrdiff_t>(first + done);
      if (random() % 2 == 0) {
        static_cast<void>(memory.put(to, source));
      } else {
        static_cast<void>(memory.put_strided(to, source, count, count));
      }
      done += count;
    }
  }
}

/// Pages of the program under gets and puts; then heaps whose pages go and come back as zeros.
void unmap_early(World& world) {
  constexpr int kTasks = 4;
  GlobalMemory memory(world, {.name = "m", .heap_bytes = 32U << 20U, .checks = Checks::off});
  const int size = world.size();
  const auto words = memory.collective_allocate<std::uint64_t>(kWords);
  for (std::size_t i = 0; i < kWords; ++i) {
    memory.local(words)[i] = word_of(world.rank().value(), i);
  }
  const auto places =
      memory.collective_allocate<std::uint64_t>(kWords * static_cast<std::size_t>(size));
  const auto from_me = places + static_cast<std::ptrdiff_t>(kWords) * world.rank().value();
  world.barrier();
  for (int t = 0; t < kTasks; ++t) {
    world.spawn([&, t] { drop_destinations(memory, words, t); });
    world.spawn([&, t] { drop_sources(memory, from_me, t, kTasks); });
  }
  world.wait();
  for (std::size_t i = 0; i < kWords * static_cast<std::size_t>(size); ++i) {
    const auto expected = word_of(static_cast<int>(i / kWords), i % kWords);
    require(memory.local(places)[i] == expected, "word {} that was put", i);
  }
  world.barrier();
  memory.collective_free(places);
  const auto again =
      memory.collective_allocate<std::uint64_t>(kWords * static_cast<std::size_t>(size));
  world.barrier();
  std::vector<std::uint64_t> zeros(kWords);
  memory.get(again.on(Rank((world.rank().value() + 1) % size)), std::span(zeros));
  for (const std::uint64_t word : zeros) require(word == 0, "freed memory that is no zero");
  world.barrier();
}

/// Memories that end while another one is in use.
void come_and_go(World& world) {
  GlobalMemory stays(world, {.name = "stays", .heap_bytes = 4U << 20U, .checks = Checks::off});
  const auto words = stays.collective_allocate<std::uint64_t>(kWords);
  for (std::size_t i = 0; i < kWords; ++i) stays.local(words)[i] = word_of(world.rank().value(), i);
  const Rank next((world.rank().value() + 1) % world.size());
  world.barrier();
  for (int i = 0; i < shoal::testing::sized(20, 5); ++i) {
    GlobalMemory goes(world, {.name = "goes", .heap_bytes = 4U << 20U, .checks = Checks::off});
    const auto others = goes.collective_allocate<std::uint64_t>(kWords);
    goes.local(others)[kWords - 1] = static_cast<std::uint64_t>(i);
    world.barrier();
    std::vector<std::uint64_t> there(kWords);
    std::vector<std::uint64_t> here(kWords);
    shoal::Transfer transfer = stays.get_async(words.on(next), std::span(there));
    goes.get(others.on(next), std::span(here));
    require(here[kWords - 1] == static_cast<std::uint64_t>(i), "a word of round {}", i);
    world.wait();
    transfer.wait();
    require(there[kWords - 1] == word_of(next.value(), kWords - 1), "a word that stays");
  }
}

/// Uses of the memory of rank 0, which do not end by themselves.
void use_rank_0(GlobalMemory& memory, GlobalPtr<std::uint64_t> far, int task) {
  std::mt19937_64 random(static_cast<std::uint64_t>(task));
  while (true) {
    const Pages pages(some_words(random));
    if (task % 2 == 0) {
      memory.get(far, pages.words());
      shoal::Transfer dropped = memory.get_async(far, pages.words());
      shoal::yield();
    } else {
      static_cast<void>(memory.put(far + 8, std::span<const std::uint64_t>(pages.words())));
      static_cast<void>(memory.add_async(far, std::uint64_t{1}));
      memory.fetch_add(far, std::uint64_t{1});
      shoal::yield();
    }
  }
}

/// Rank 0 ends, after `delay`, in the middle of all this.
void fail_while_used(World& world, std::chrono::microseconds delay) {
  GlobalMemory memory(world, {.name = "m", .heap_bytes = 4U << 20U, .checks = Checks::off});
  const auto far = memory.collective_allocate<std::uint64_t>(kWords + 8).on(Rank(0));
  world.barrier();
  if (world.rank() != 0) {
    for (int t = 0; t < 4; ++t) world.spawn([&, far, t] { use_rank_0(memory, far, t); });
  } else {
    shoal::sleep_for(delay);
    throw std::runtime_error("rank 0 gives up");
  }
  world.wait();
}

void by(const std::vector<std::string>& way) {
  std::vector<std::string> arguments{"--workers", "2"};
  arguments.insert(arguments.end(), way.begin(), way.end());
  require(run_on_launch(arguments, &unmap_early) == 0, "pages, {}", way.back());
  require(run_on_launch(arguments, &come_and_go) == 0, "memories that end, {}", way.back());
  if (shoal::testing::processes_of_launch() == 1) return;
  for (int round = 0; round < shoal::testing::sized(6, 3); ++round) {
    const auto delay = std::chrono::microseconds(300 * round);
    const int code = run_on_launch(arguments, [&](World& world) { fail_while_used(world, delay); });
    require(code == 1, "ended with {}, {}", code, way.back());
  }
  require(run_on_launch(arguments, &come_and_go) == 0, "after failures, {}", way.back());
}

int program(int argc, char** argv) {
  return shoal::testing::report_with_mpi(argc, argv, [] {
    by({"--node-processes", "64"});
    by({"--node-processes", "1"});
    // Not all MPIs have windows: memory_world_test knows how they refuse.
    const std::vector<std::string> windows{"--node-processes", "1", "--global-rma", "16"};
    if (run_on_launch(windows, [](World& /*world*/) {}) == 0) by(windows);
  });
}

const shoal::testing::JoinedProgram kProgram("memory_lifetime_test", &program);

}  // namespace memory_lifetime_test
