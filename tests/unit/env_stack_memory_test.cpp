// Memory for stacks: what lies below each faults, and the system allows so many and no more. And
// large tables of which little is used.

#include <shoal/detail/base/sanitizers.hpp>
#include <shoal/error.hpp>
#include <shoal/shoal.hpp>

#include "env/sparse_array.hpp"
#include "env/stack_memory.hpp"
#include "support/run_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#ifdef SHOAL_ASAN
#include <sanitizer/asan_interface.h>
#endif

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace env_stack_memory_test {

using shoal::World;
using shoal::env::GuardCount;
using shoal::env::Guards;
using shoal::env::kGuardBytes;
using shoal::env::SparseArray;
using shoal::env::Stack;
using shoal::env::StackMemory;
using shoal::testing::run_world;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::size_t kStackBytes = std::size_t{64} << 10U;

/// Finds out what faults without a fault: the kernel refuses to read there.
class Probe {
 public:
  Probe() {
    if (pipe(ends_.data()) != 0) throw std::runtime_error("no pipe");
  }
  ~Probe() {
    for (const int end : ends_) close(end);
  }
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  [[nodiscard]] bool faults(const std::byte* place) const {
    char read_back = 0;
    if (write(ends_[1], place, 1) != 1) return true;
    EXPECT_EQ(read(ends_[0], &read_back, 1), 1);
    return false;
  }

 private:
  std::array<int, 2> ends_{};
};

class StacksWith : public testing::TestWithParam<Guards> {};

INSTANTIATE_TEST_SUITE_P(Guards, StacksWith, testing::Values(Guards::automatic, Guards::mapped),
                         [](const auto& kind) {
                           return kind.param == Guards::mapped ? "mapped" : "automatic";
                         });

TEST_P(StacksWith, Guards_FaultBelowEachOnAllTheirBytes) {
  const Probe probe;
  StackMemory memory(kStackBytes, GetParam());
  for (int i = 0; i < 200; ++i) {
    const Stack stack = memory.allocate();
    ASSERT_EQ(stack.size_bytes, kStackBytes);
    for (std::size_t above = 0; above < kStackBytes; above += 4096) {
      ASSERT_FALSE(probe.faults(stack.bottom + above)) << "stack " << i << ", byte " << above;
    }
    for (std::size_t below = 4096; below <= kGuardBytes; below += 4096) {
      ASSERT_TRUE(probe.faults(stack.bottom - below)) << "stack " << i << ", byte -" << below;
    }
    ASSERT_TRUE(probe.faults(stack.bottom - 1));
  }
  EXPECT_EQ(memory.count(), 200U);
}

TEST_P(StacksWith, Sizes_AreRoundedUpToWholePages) {
  StackMemory memory(kStackBytes + 1, GetParam());
  const Stack stack = memory.allocate();
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  EXPECT_EQ(stack.size_bytes, kStackBytes + page);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(stack.bottom) % page, 0U);
}

// --- the limit

/// Allocates until there is no more; what the error says.
std::string exhaust(StackMemory& memory) {
  try {
    while (true) memory.allocate();
  } catch (const shoal::Error& error) {
    return error.what();
  }
}

/// Tasks of all ranks wait for each other.
int run_another_world() {
  return run_world(2, 2, [](World& world) {
    std::atomic<int> ended{0};
    for (int i = 0; i < 20; ++i) {
      world.spawn([&] {
        world.async([] {}).get();
        ++ended;
      });
    }
    world.wait();
    EXPECT_EQ(ended.load(), 20);
  });
}

TEST(StackMemory, AtTheLimitOfMappings_SaysSoAndLeavesSomeToOthers) {
  std::size_t limit = 65530;
  std::ifstream("/proc/sys/vm/max_map_count") >> limit;
  if (limit > 2'000'000) GTEST_SKIP() << "vm.max_map_count is " << limit << ": that takes too long";
  StackMemory memory(kStackBytes, Guards::mapped);
  const std::string text = exhaust(memory);
  EXPECT_EQ(memory.count(), (limit - 4096) / 2);
  EXPECT_THAT(text, AllOf(HasSubstr(std::to_string(memory.count()) + " stacks of 64 KiB"),
                          HasSubstr("sysctl vm.max_map_count")));
  EXPECT_THROW(memory.allocate(), shoal::Error);

  constexpr std::size_t kBytes = std::size_t{1} << 20U;
  std::vector<void*> places;
  for (int i = 0; i < 100; ++i) {
    const int access = i % 2 == 0 ? PROT_READ : PROT_NONE;  // so that neighbours are not merged
    places.push_back(mmap(nullptr, kBytes, access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(places.back(), MAP_FAILED);
  }
  for (void* const place : places) munmap(place, kBytes);
  std::vector<std::thread> threads;
  std::atomic<int> ran{0};
  for (int i = 0; i < 20; ++i) threads.emplace_back([&ran] { ++ran; });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ran.load(), 20);
  EXPECT_EQ(run_another_world(), 0);
}

TEST(StackMemory, OfAnotherLimit_KeepsThat) {
  StackMemory memory(kStackBytes, Guards::mapped, 5);
  EXPECT_THAT(exhaust(memory), HasSubstr("5 stacks of 64 KiB"));
  EXPECT_EQ(memory.count(), 5U);
}

// --- memory

/// VmFlags of the mapping around `address` (proc(5)).
std::string flags_of(const void* address) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) {
      inside = begin <= wanted && wanted < end;
    } else if (inside && line.starts_with("VmFlags:")) {
      return line + " ";
    }
  }
  return "";
}

TEST(StackMemory, IsNotMadeOfHugePages) {
  if (!std::filesystem::exists("/sys/kernel/mm/transparent_hugepage")) {
    GTEST_SKIP() << "the kernel has no transparent huge pages";
  }
  StackMemory memory(kStackBytes);
  const Stack stack = memory.allocate();
  *stack.bottom = std::byte{1};
  EXPECT_THAT(flags_of(stack.bottom), testing::HasSubstr(" nh "));
}

// The kernel's limit is one of the process.
TEST(StackMemory, OfSeveralThatShareACount_HasTheirGuardsUnderOneLimit) {
  const auto count = std::make_shared<GuardCount>(0);
  const auto make = [&count] {
    return std::make_unique<StackMemory>(kStackBytes, Guards::mapped, 5, count);
  };
  auto first = make();
  auto second = make();
  for (int i = 0; i < 3; ++i) static_cast<void>(first->allocate());
  for (int i = 0; i < 2; ++i) static_cast<void>(second->allocate());
  EXPECT_THROW(static_cast<void>(first->allocate()), shoal::Error);
  EXPECT_THROW(static_cast<void>(second->allocate()), shoal::Error);
  EXPECT_EQ(count->load(), 5U);
  first.reset();
  for (int i = 0; i < 3; ++i) static_cast<void>(second->allocate());
  EXPECT_THROW(static_cast<void>(second->allocate()), shoal::Error);
  second.reset();
  EXPECT_EQ(count->load(), 0U);
}

// ---- sparse arrays ------------------------------------------------------------------------------

/// Pages of this process in memory.
std::size_t resident_pages() {
  std::ifstream file("/proc/self/statm");
  std::size_t size = 0;
  std::size_t resident = 0;
  file >> size >> resident;
  return resident;
}

// Else the next mapping of these addresses gets false reports.
TEST(StackMemory, FramesAreForgottenWithTheStacks) {
#ifdef SHOAL_ASAN
  void* bottom = nullptr;
  {
    StackMemory memory(kStackBytes);
    bottom = memory.allocate().bottom;
    __asan_poison_memory_region(bottom, 64);  // as frames that were never left
  }
  EXPECT_FALSE(__asan_address_is_poisoned(bottom));
#else
  GTEST_SKIP() << "without AddressSanitizer";
#endif
}

TEST(SparseArray, SmallOrLarge_BeginsWithZerosAndKeepsWhatIsWritten) {
  for (const std::size_t size : {0UL, 1UL, 2047UL, 2048UL, 100'000UL}) {
    SparseArray<std::atomic<std::uint64_t>> array(size);
    ASSERT_EQ(array.size(), size);
    for (std::size_t i = 0; i < size; i += 7) array[i] = i + 1;
    for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(array[i], i % 7 == 0 ? i + 1 : 0);
  }
}

TEST(SparseArray, PagesThatNobodyHasWritten_TakeNoMemory) {
  if (shoal::kThreadSanitizer) GTEST_SKIP() << "its shadow of what is only read takes memory";
  constexpr std::size_t kSize = std::size_t{1} << 25U;  // 256 MiB
  const std::size_t before = resident_pages();
  SparseArray<std::uint64_t> array(kSize);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kSize; i += kSize / 16) sum += ++array[i];
  for (std::size_t i = 0; i < kSize; i += 512) sum += array[i];
  EXPECT_EQ(sum, 32U);
  EXPECT_LT(resident_pages(), before + kSize / 512 / 4) << "a quarter: sanitizers have shadows";
}

}  // namespace env_stack_memory_test
