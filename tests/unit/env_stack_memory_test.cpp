// The memory below stacks.

#include <shoal/base/error.hpp>
#include <shoal/env/stack_memory.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

namespace {

using shoal::env::GuardCount;
using shoal::env::Guards;
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

}  // namespace
