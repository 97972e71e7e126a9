// Futures whose value several read.

#include <shoal/memory.hpp>
#include <shoal/shoal.hpp>

#include "support/run_world.hpp"
#include "support/turn_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace sched_shared_future_test {

using shoal::BrokenPromise;
using shoal::CheckError;
using shoal::Future;
using shoal::Promise;
using shoal::SharedFuture;
using shoal::World;
using shoal::testing::error_of;
using shoal::testing::run_world;
using testing::HasSubstr;

/// `program` is the main function of one rank, with 1, 2 and 8 workers.
template <class F>
void on_one_rank(F program) {
  for (const int workers : {1, 2, 8}) EXPECT_EQ(run_world(1, workers, program), 0);
}

static_assert(!std::is_copy_constructible_v<Future<int>>);
static_assert(!std::is_copy_assignable_v<Future<void>>);
static_assert(!std::is_copy_constructible_v<shoal::Transfer>);
static_assert(std::is_copy_constructible_v<SharedFuture<std::unique_ptr<int>>>);
static_assert(std::is_same_v<decltype(std::declval<SharedFuture<int>&>().get()), const int&>);
static_assert(std::is_same_v<decltype(std::declval<SharedFuture<int>>().get()), int>);

TEST(SharedFuture, InSeveralCopies_GivesTheValueToEach) {
  on_one_rank([](World& world) {
    Future<std::vector<int>> future = world.async([] { return std::vector<int>(5, 1); });
    const SharedFuture<std::vector<int>> first = std::move(future).share();
    EXPECT_FALSE(future.valid());  // NOLINT(bugprone-use-after-move)
    const SharedFuture<std::vector<int>> second = first;
    EXPECT_EQ(first.get().size(), 5U);
    EXPECT_EQ(second.get().size(), 5U);
    EXPECT_EQ(first.get().size(), 5U);
    EXPECT_EQ(&first.get(), &second.get());
    EXPECT_TRUE(first.valid() && first.is_ready() && second.is_ready());
  });
}

TEST(SharedFuture, WithManyWaiters_WakesThemAll) {
  on_one_rank([](World& world) {
    Promise<std::string> promise("awaited by many");
    const SharedFuture<std::string> value = promise.future();
    std::atomic<int> right{0};
    for (int i = 0; i < 100; ++i) {
      world.spawn([&right, value] { right += value.get() == "here" ? 1 : 0; });
    }
    world.spawn([&promise] { promise.set_value("here"); });
    world.wait();
    EXPECT_EQ(right.load(), 100);
  });
}

TEST(SharedFuture, ValueLivesUntilTheLastCopyIsGone) {
  on_one_rank([](World& world) {
    auto kept = std::make_shared<int>(3);
    const std::weak_ptr<int> seen = kept;
    std::optional<SharedFuture<std::shared_ptr<int>>> first =
        world.async([kept = std::move(kept)]() mutable { return std::move(kept); }).share();
    std::optional<SharedFuture<std::shared_ptr<int>>> second = first;
    EXPECT_EQ(*first->get(), 3);
    first.reset();
    EXPECT_EQ(*second->get(), 3);
    second.reset();
    EXPECT_TRUE(seen.expired());
  });
}

TEST(SharedFuture, Temporary_GivesACopyThatOutlivesIt) {
  on_one_rank([](World& world) {
    const std::string& text = world.async([] { return std::string(100, 'a'); }).share().get();
    EXPECT_EQ(text, std::string(100, 'a'));
    world.async([] {}).share().get();
  });
}

TEST(SharedFuture, OfVoidAndOfAnException_TellsEachReader) {
  on_one_rank([](World& world) {
    std::atomic<bool> ran{false};
    const SharedFuture<void> done = world.async([&ran] { ran = true; }).share();
    done.get();
    done.get();
    EXPECT_TRUE(ran.load());
    const SharedFuture<int> bad =
        world.async([]() -> int { throw std::runtime_error("no value"); }).share();
    const SharedFuture<int> copy = bad;
    EXPECT_THROW(static_cast<void>(bad.get()), std::runtime_error);
    EXPECT_THROW(static_cast<void>(bad.get()), std::runtime_error);
    EXPECT_THROW(static_cast<void>(copy.get()), std::runtime_error);
    std::optional<Promise<int>> promise(std::in_place, "forgotten");
    const SharedFuture<int> broken = promise->future();
    promise.reset();
    EXPECT_THROW(static_cast<void>(broken.get()), BrokenPromise);
  });
}

TEST(SharedFuture, WithContinuations_RunsThemAllAndStaysValid) {
  on_one_rank([](World& world) {
    Promise<int> promise;
    const SharedFuture<int> value = promise.future();
    std::vector<Future<int>> more;
    for (int i = 0; i < 10; ++i) {
      more.push_back(value.then([i](const int& x) { return x * i; }));
    }
    Future<std::string> failed = value.then(
        [](const int&) -> std::string { throw std::runtime_error("a continuation's own"); });
    world.spawn([&promise] { promise.set_value(7); });
    for (int i = 0; i < 10; ++i) EXPECT_EQ(more[static_cast<std::size_t>(i)].get(), 7 * i);
    EXPECT_THROW(failed.get(), std::runtime_error);
    EXPECT_EQ(value.get(), 7);
    const SharedFuture<void> done = world.async([] {}).share();
    EXPECT_EQ(done.then([] { return 1; }).get(), 1);
    EXPECT_EQ(done.then([] { return 2; }).get(), 2);
    const SharedFuture<int> bad = world.async([]() -> int { throw std::logic_error("x"); }).share();
    bool ran = false;
    EXPECT_THROW(bad.then([&ran](int) { ran = true; }).get(), std::logic_error);
    EXPECT_FALSE(ran);
  });
}

Future<std::size_t> size_of(SharedFuture<std::string> text, bool twice) {
  const std::string& first = co_await text;
  if (!twice) co_return first.size();
  const std::string second = co_await SharedFuture<std::string>(text);
  co_return first.size() + second.size();
}

TEST(SharedFuture, InSeveralCoroutines_ResumesThemAll) {
  on_one_rank([](World& world) {
    Promise<std::string> promise;
    const SharedFuture<std::string> text = promise.future();
    Future<std::size_t> once = size_of(text, false);
    Future<std::size_t> twice = size_of(text, true);
    world.spawn([&promise] { promise.set_value("twelve chars"); });
    EXPECT_EQ(once.get(), 12U);
    EXPECT_EQ(twice.get(), 24U);
  });
}

TEST(SharedFuture, WithoutAValueToCome_IsRefusedEverywhere) {
  on_one_rank([](World&) {
    const SharedFuture<int> none;
    EXPECT_FALSE(none.valid());
    EXPECT_THROW(none.wait(), CheckError);
    EXPECT_THROW(static_cast<void>(none.get()), CheckError);
    EXPECT_THROW(static_cast<void>(none.is_ready()), CheckError);
    EXPECT_THROW(const auto dropped = none.then([](int) {}), CheckError);
    EXPECT_THROW(static_cast<void>(Future<int>().share()), CheckError);
  });
}

TEST(SharedFuture, ThatNeverComes_IsNamedAsStuck) {
  EXPECT_THAT(error_of([](World& world) {
                Promise<int> promise("never kept");
                const SharedFuture<int> value = promise.future();
                world.spawn([value] { static_cast<void>(value.get()); });
                world.wait();
              }),
              HasSubstr("never kept"));
}

}  // namespace sched_shared_future_test
