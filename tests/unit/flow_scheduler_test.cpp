// Schedulers of flows, and the performance models that one of them uses.

#include "flow/performance_models.hpp"
#include "support/turn_world.hpp"

#include <shoal/shoal.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <locale>
#include <memory>
#include <mutex>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace flow_scheduler_test {

using shoal::Codelet;
using shoal::Flow;
using shoal::FlowScheduler;
using shoal::PerformanceModels;
using shoal::ReadyTask;
using shoal::World;
using shoal::testing::error_of;
using shoal::testing::run_seeds;
using testing::DoubleNear;
using testing::HasSubstr;
using testing::Optional;

/// The order in which one worker runs tasks 0 to 5, of priorities 0, 2, 1, 0, 2, 1.
std::vector<int> order_of(World& world, const std::string& scheduler) {
  Flow flow(world, "ordered", {.scheduler = shoal::make_flow_scheduler(scheduler)});
  std::vector<int> order;
  const auto gate = flow.data(0);
  auto held = flow.acquire(write(gate));
  for (int i = 0; i < 6; ++i) {
    flow.insert([&](const int&, int number) { order.push_back(number); }, read(gate), i,
                shoal::with_priority(2 * i % 3));
  }
  held.release();
  flow.wait();
  return order;
}

TEST(FlowScheduler, OneWorker_RunsTasksInTheOrderOfTheScheduler) {
  run_seeds(24, 1, 1, [](World& world) {
    EXPECT_EQ(order_of(world, "fifo"), (std::vector<int>{0, 1, 2, 3, 4, 5}));
    const std::vector<int> by_priority{1, 4, 2, 5, 0, 3};
    EXPECT_EQ(order_of(world, "priority"), by_priority);
    EXPECT_EQ(order_of(world, "completion"), by_priority);
  });
}

/// Notes the workers that another scheduler chooses.
class Noted final : public FlowScheduler {
 public:
  explicit Noted(std::shared_ptr<FlowScheduler> inner) : inner_(std::move(inner)) {}

  void begin(int workers) override { inner_->begin(workers); }
  int push(const ReadyTask& task) override {
    const std::lock_guard lock(mutex_);
    workers.push_back(inner_->push(task));
    return workers.back();
  }
  ReadyTask pop(int worker, std::uint64_t now_ns) override { return inner_->pop(worker, now_ns); }
  void ended(const ReadyTask& task, int worker, std::uint64_t begin_ns,
             std::uint64_t end_ns) override {
    EXPECT_LE(begin_ns, end_ns);
    inner_->ended(task, worker, begin_ns, end_ns);
  }

  std::vector<int> workers;

 private:
  std::mutex mutex_;
  const std::shared_ptr<FlowScheduler> inner_;
};

TEST(FlowScheduler, Completion_SpreadsTasksAndKeepsThemNearTheirData) {
  run_seeds(24, 1, 3, [](World& world) {
    const auto models = std::make_shared<PerformanceModels>();
    for (int i = 0; i < 5; ++i) models->add("step", 80'000, 1000);
    for (int i = 0; i < 5; ++i) models->add("alone", 0, 1000);
    auto noted = std::make_shared<Noted>(
        shoal::completion_scheduler({.transfer_ns_per_byte = 1, .models = models}));
    {
      Flow flow(world, "chain", {.scheduler = noted});
      const auto a = flow.vector<double>(nullptr, 10'000);
      const Codelet step("step", [](std::span<double> values) { values[0] += 1; });
      for (int i = 0; i < 10; ++i) flow.insert(step, read_write(a));
      flow.wait();
    }
    ASSERT_EQ(noted->workers.size(), 10U);
    EXPECT_EQ(std::ranges::count(noted->workers, noted->workers.back()), 10);

    noted = std::make_shared<Noted>(
        shoal::completion_scheduler({.transfer_ns_per_byte = 1, .models = models}));
    Flow flow(world, "many", {.scheduler = noted});
    const Codelet alone("alone", [] {});
    for (int i = 0; i < 6; ++i) flow.insert(alone);
    const std::vector<int> chosen = noted->workers;  // as pushed, before any has run
    flow.wait();
    if (chosen.size() != 6) return;
    for (int worker = 0; worker < 3; ++worker) EXPECT_GE(std::ranges::count(chosen, worker), 1);
  });
}

TEST(FlowScheduler, TaskThatThrows_LeavesNothing) {
  for (const char* const scheduler : {"fifo", "priority", "completion"}) {
    EXPECT_THAT(error_of([&](World& world) {
                  Flow flow(world, "f", {.scheduler = shoal::make_flow_scheduler(scheduler)});
                  const auto a = flow.data(1);
                  flow.insert([](int&) { throw std::runtime_error("no luck"); }, write(a));
                  for (int i = 0; i < 20; ++i) flow.insert([] {});
                  flow.wait();
                  world.wait();
                }),
                HasSubstr("no luck"));
  }
}

/// Does what it is told.
class Wrong final : public FlowScheduler {
 public:
  Wrong(int worker, bool gives) : worker_(worker), gives_(gives) {}
  int push(const ReadyTask& task) override {
    task_ = task;
    return worker_;
  }
  ReadyTask pop(int /*worker*/, std::uint64_t /*now_ns*/) override {
    return gives_ ? task_ : ReadyTask();
  }

 private:
  const int worker_;
  const bool gives_;
  ReadyTask task_;
};

TEST(FlowScheduler, Mistakes_AreNamed) {
  EXPECT_THAT(error_of([](World& world) {
                Flow flow(world, "f", {.scheduler = std::make_shared<Wrong>(7, true)});
                flow.insert([] {});
              }),
              HasSubstr("has returned worker 7: there are 0 to 0"));
  EXPECT_THAT(error_of([](World&) { (void)shoal::make_flow_scheduler("best"); }),
              HasSubstr("'best' is unknown; there are locality, fifo, priority, completion"));
}

TEST(PerformanceModels, Predict_HistoryFirstThenAPowerLaw) {
  PerformanceModels models;
  EXPECT_EQ(models.predict("gemm", 100), std::nullopt);
  models.add("gemm", 0, 5);
  EXPECT_THAT(models.predict("gemm", 0), Optional(5.0));
  for (const std::size_t size : {10U, 20U, 40U}) {
    for (const double noise : {-1.0, 0.0, 1.0}) {
      models.add("gemm", size, static_cast<double>(size * size) + noise);
    }
  }
  EXPECT_THAT(models.predict("gemm", 20), Optional(DoubleNear(400, 1e-9)));
  EXPECT_THAT(models.predict("gemm", 80), Optional(DoubleNear(6400, 1e-6)));
  EXPECT_THAT(models.history("gemm", 40).squares, DoubleNear(2, 1e-9));
  models.add("trsm", 100, 50);  // one size: proportional
  EXPECT_THAT(models.predict("trsm", 300), Optional(DoubleNear(150, 1e-9)));
  EXPECT_EQ(models.predict("potrf", 10), std::nullopt);
}

TEST(PerformanceModels, File_KeepsTheTimesOfSeveralRuns) {
  const std::filesystem::path directory =
      std::filesystem::path(testing::TempDir()) / "shoal_flow_models";
  std::filesystem::remove_all(directory);
  const std::string path = PerformanceModels::path_in(directory.string());
  {
    PerformanceModels first(path);
    PerformanceModels second(path);
    for (int i = 0; i < 3; ++i) {
      first.add("a codelet", 8, 10);
      second.add("a codelet", 8, 20);
    }
    first.save();
    first.save();  // nothing new
  }
  {
    const PerformanceModels reader(path, true);
    EXPECT_EQ(reader.history("a codelet", 8).count, 6U);
    EXPECT_THAT(reader.predict("a codelet", 8), Optional(DoubleNear(15, 1e-9)));
    EXPECT_THAT(reader.history("a codelet", 8).squares, DoubleNear(150, 1e-9));
  }
  { PerformanceModels(path, true).add("unsaved", 1, 1); }
  EXPECT_EQ(PerformanceModels(path).history("unsaved", 1).count, 0U);

  std::filesystem::rename(path, path + ".real");  // a link stays one
  std::filesystem::create_symlink(path + ".real", path);
  {
    PerformanceModels linked(path);
    linked.add("linked", 1, 1);
  }
  EXPECT_TRUE(std::filesystem::is_symlink(path));
  EXPECT_EQ(PerformanceModels(path).history("linked", 1).count, 1U);
  std::filesystem::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::filesystem::remove(path + ".real");
  EXPECT_THAT(error_of([&](World&) { PerformanceModels piped(path); }),
              HasSubstr("no regular file"));
  EXPECT_TRUE(std::filesystem::is_fifo(path));
  std::filesystem::remove(path);

  std::ofstream(path) << "shoal performance models 1\n8 x 1 1 name\n";
  EXPECT_THAT(error_of([&](World&) { PerformanceModels broken(path); }),
              testing::AllOf(HasSubstr(path + ", line 2"), HasSubstr("remove the file")));
  std::ofstream(path) << "something else\n";
  EXPECT_THAT(error_of([&](World&) { PerformanceModels broken(path); }), HasSubstr("line 1"));
  std::filesystem::remove_all(directory);
}

/// Numbers as in German: 1.234,5.
struct German final : std::numpunct<char> {
  [[nodiscard]] char do_decimal_point() const override { return ','; }
  [[nodiscard]] char do_thousands_sep() const override { return '.'; }
  [[nodiscard]] std::string do_grouping() const override { return "\3"; }
};

TEST(PerformanceModels, File_IsTheSameInEveryLocaleOfTheProgram) {
  const std::string path = testing::TempDir() + "shoal_locale.models";
  std::filesystem::remove(path);
  PerformanceModels written(path);
  written.add("gemm", 123'456, 1234.5);
  written.save();
  const std::locale before = std::locale::global(std::locale(std::locale(), new German));
  {
    const PerformanceModels reader(path, true);
    EXPECT_THAT(reader.history("gemm", 123'456).mean_ns, DoubleNear(1234.5, 1e-9));
    written.add("gemm", 123'456, 1234.5);
    written.save();
  }
  std::locale::global(before);
  EXPECT_EQ(PerformanceModels(path, true).history("gemm", 123'456).count, 2U);
  std::filesystem::remove(path);
}

}  // namespace flow_scheduler_test
