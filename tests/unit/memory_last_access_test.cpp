// Accesses that nothing waits for, as the last ones before a memory ends: the error names them.

#include <shoal/memory.hpp>

#include "support/turn_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <string>

namespace memory_last_access_test {

using shoal::GlobalMemory;
using shoal::GlobalPtr;
using shoal::Rank;
using shoal::World;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

using Access = std::function<void(GlobalMemory&, GlobalPtr<long>)>;

/// Rank 0 accesses memory of rank 1, in another process, and nobody waits before the memory ends.
void expect_named(const Access& access, const std::string& of_target, const std::string& of_asker) {
  int errors = 0;
  for (std::uint64_t seed = 0; seed < 48; ++seed) {
    const auto result = shoal::testing::run_turns(
        {.seed = seed, .ranks = 2, .workers = 1, .ranks_per_process = 1}, [&](World& world) {
          GlobalMemory memory(world, {.name = "field"});
          const auto words = memory.collective_allocate<long>(4);
          world.barrier();
          if (world.rank() == 0) access(memory, words.on(Rank(1)));
          return 0;
        });
    for (const std::exception_ptr& error : result.errors) {
      if (error == nullptr) continue;
      ++errors;
      EXPECT_THAT(
          shoal::describe(error),
          AnyOf(AllOf(AnyOf(HasSubstr("a message from rank 0 is for memory 'field': " + of_target),
                            HasSubstr("a message from rank 1 is for memory 'field': " + of_asker)),
                      HasSubstr("which was destroyed here: keep it until wait() has returned")),
                HasSubstr("memory 'field' ended before its work was done (1 left waiting)")))
          << seed;
    }
  }
  EXPECT_GT(errors, 0);
}

TEST(LastAccess, APutThatIsDropped_IsNamed) {
  expect_named([](GlobalMemory& memory, GlobalPtr<long> to) { memory.put(to, 5L); }, "put",
               "answer");
}

TEST(LastAccess, AnAdditionThatIsDropped_IsNamed) {
  expect_named([](GlobalMemory& memory, GlobalPtr<long> to) { memory.add_async(to, 5L); },
               "operation on a word", "answer");
}

TEST(LastAccess, AGetThatIsGivenUp_IsNamed) {
  expect_named(
      [](GlobalMemory& memory, GlobalPtr<long> from) {
        std::array<long, 2> here{};
        const shoal::Transfer given_up = memory.get_async(from, std::span(here));
        EXPECT_FALSE(given_up.is_ready());
      },
      "get", "answer to get");
}

}  // namespace memory_last_access_test
