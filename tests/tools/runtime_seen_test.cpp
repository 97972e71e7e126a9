// Several Runtimes of a process, as shoal-top and shoal-trace show them.

#include <shoal/runtime.hpp>

#include "support/trace_files.hpp"
#include "top/page.hpp"
#include "trace_tool/input.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <thread>

namespace runtime_seen_test {

using shoal::Runtime;

// shoal-top shows the ranks of all.
TEST(SeveralRuntimes, Each_HasAPageOfItsOwn) {
  const Runtime one({.ranks = 1, .workers = 1, .name = "one"});
  const Runtime two({.ranks = 2, .workers = 1, .name = "two"});
  shoal::top::Collector collector(getpid());
  std::set<std::string> jobs;
  std::size_t ranks = 0;
  while (ranks < 3) {  // a page appears when its run has begun
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    const auto rows = collector.look(static_cast<std::uint64_t>(now.count())).rows;
    ranks = rows.size();
    for (const auto& row : rows) jobs.insert(row.job);
    std::this_thread::yield();
  }
  EXPECT_EQ(ranks, 3U);
  EXPECT_EQ(jobs.size(), 2U);
}

// The recording of one has what all of the process do.
TEST(SeveralRuntimes, TheTraceOfOneHasTheTasksOfAll) {
  const shoal::testing::TemporaryFolder folder;
  const std::string file = folder.file("all.trace");
  {
    Runtime recorded({.workers = 1, .name = "recorded", .options = {"--trace", file}});
    Runtime other({.workers = 1, .name = "other"});
    recorded.async([] {}, {.name = "recorded task"}).get();
    other.async([] {}, {.name = "task of another"}).get();
    other.stop();
  }
  shoal::trace_tool::Input input(file);
  std::set<std::string> names;
  input.for_each([&](const shoal::trace::Event& event) { names.insert(input.name(event.name)); });
  EXPECT_THAT(names, ::testing::IsSupersetOf({"recorded task", "task of another"}));
}

}  // namespace runtime_seen_test
