// Whether malloc keeps freed memory in the process.

#include "env/freed_memory.hpp"

#include <shoal/detail/base/sanitizers.hpp>

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/resource.h>

#include <cstddef>
#include <vector>

#ifdef SHOAL_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace env_freed_memory_test {

using shoal::env::FreedMemory;

long page_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

TEST(FreedMemory, IsUsedAgainWithoutPageFaults) {
  shoal::env::keep_freed_memory();
  const FreedMemory treatment = shoal::env::treatment_of_freed_memory();
  if (treatment == FreedMemory::unknown) GTEST_SKIP() << "not the malloc of glibc";
  ASSERT_EQ(treatment, FreedMemory::kept);
  constexpr std::size_t kBytes = 4UL << 20U;
  const auto take_and_free = [] {
    std::vector<char> block(kBytes);
    asm volatile("" ::"r"(block.data()) : "memory");
  };
  for (int i = 0; i < 3; ++i) take_and_free();
  const long before = page_faults();
  for (int i = 0; i < 20; ++i) take_and_free();
  EXPECT_LT(page_faults() - before, 200);  // 20,000 pages of 4 KiB
}

#ifdef SHOAL_ASAN
TEST(ForgetFrames, AtAnyPlaceOfARange_LeavesNoMark_AndOthersStay) {
  constexpr std::size_t kBytes = 4UL << 20U;
  constexpr std::size_t kEdge = 4096 + 64;
  void* const memory =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const begin = static_cast<std::byte*>(memory);
  __asan_poison_memory_region(begin, kBytes);
  shoal::env::forget_frames(begin + kEdge, kBytes - 2 * kEdge);
  EXPECT_EQ(__asan_region_is_poisoned(begin + kEdge, kBytes - 2 * kEdge), nullptr);
  EXPECT_TRUE(__asan_address_is_poisoned(begin + kEdge - 1));
  EXPECT_TRUE(__asan_address_is_poisoned(begin + kBytes - kEdge));
  shoal::env::forget_frames(begin, 100);  // less than a page of marks
  EXPECT_EQ(__asan_region_is_poisoned(begin, 100), nullptr);
  EXPECT_TRUE(__asan_address_is_poisoned(begin + 104));
  shoal::env::forget_frames(begin, kBytes);
  EXPECT_EQ(__asan_region_is_poisoned(begin, kBytes), nullptr);
  munmap(memory, kBytes);
}
#endif

}  // namespace env_freed_memory_test
