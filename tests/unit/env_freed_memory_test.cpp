// Whether malloc keeps freed memory in the process.

#include "env/freed_memory.hpp"

#include <gtest/gtest.h>

#include <sys/resource.h>

#include <cstddef>
#include <vector>

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

}  // namespace env_freed_memory_test
