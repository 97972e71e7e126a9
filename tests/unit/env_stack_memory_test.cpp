// The memory below stacks.

#include <shoal/env/stack_memory.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

using shoal::env::Stack;
using shoal::env::StackMemory;

constexpr std::size_t kStackBytes = std::size_t{4} << 20U;

/// What the kernel says of the mapping around `address`: its VmFlags (proc(5)).
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

}  // namespace
