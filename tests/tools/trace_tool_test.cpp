// shoal-trace: what it finds out about made-up runs, and files that other tools read.

#include <shoal/error.hpp>

#include "support/trace_files.hpp"
#include "support/trace_world.hpp"
#include "trace/insertion.hpp"
#include "trace/merge.hpp"
#include "trace_tool/analysis.hpp"
#include "trace_tool/convert.hpp"
#include "trace_tool/report.hpp"
#include "trace_tool/text.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <source_location>
#include <sstream>
#include <tuple>
#include <utility>

namespace trace_tool_test {

using namespace shoal::trace_tool;  // NOLINT(google-build-using-namespace): what is tested
using shoal::testing::panels_world;
using shoal::testing::rounds_world;
using shoal::testing::TemporaryFolder;
using shoal::testing::TraceWorld;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class TraceTool : public ::testing::Test {
 protected:
  /// The trace `name` of a world, merged.
  std::string record(TraceWorld world, const std::string& name = "t") {
    world.record(shoal::trace::part_path(file(name), 0));
    shoal::trace::merge(shoal::trace::find_parts(file(name)), file(name));
    return file(name);
  }
  [[nodiscard]] std::string file(const std::string& name) const { return folder_.file(name); }
  /// A trace, converted for Perfetto.
  [[nodiscard]] nlohmann::json perfetto_of(const std::string& trace) const {
    to_perfetto(*std::make_unique<Input>(trace), file("p.json"));
    return nlohmann::json::parse(text_of("p.json"));
  }
  [[nodiscard]] std::string text_of(const std::string& name) const {
    std::ifstream in(file(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  /// Runs a command of the shell; its output, and its exit status in `status`.
  std::string run(const std::string& command) {
    const std::string all = command + " > " + file("output") + " 2>&1";
    const int raw = std::system(all.c_str());  // NOLINT(concurrency-mt-unsafe): one thread
    status_ = WIFEXITED(raw) ? WEXITSTATUS(raw) : -1;
    return text_of("output");
  }
  std::string run_tool(const std::string& arguments) {
    const char* const tool = std::getenv("SHOAL_TRACE_TOOL");  // NOLINT(concurrency-mt-unsafe)
    if (tool == nullptr) throw shoal::Error("SHOAL_TRACE_TOOL is not set: run this by ctest");
    return run(std::string(tool) + " " + arguments);
  }
  static bool has_command(const std::string& name) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
    return std::system(("command -v " + name + " > /dev/null").c_str()) == 0;
  }

  TemporaryFolder folder_;
  int status_ = 0;
};

/// A trace with its analysis.
struct Analysed {
  explicit Analysed(const std::string& path) : input(path), model(input), found(analyse(model)) {}
  [[nodiscard]] std::vector<std::string> hint_kinds() const {
    std::vector<std::string> all;
    all.reserve(found.hints.size());
    for (const Hint& hint : found.hints) all.push_back(hint.kind);
    return all;
  }
  [[nodiscard]] std::string hint(const std::string& kind) const {
    for (const Hint& one : found.hints) {
      if (one.kind == kind) return one.text;
    }
    return "";
  }
  Input input;
  Model model;
  Analysis found;
};

TEST_F(TraceTool, HealthyRun_HasNoHintsAndItsPathIsTasks) {
  const Analysed run(record(rounds_world(4, 50, 100'000)));
  EXPECT_THAT(run.hint_kinds(), IsEmpty());
  EXPECT_EQ(run.model.tasks.size(), 200U);
  EXPECT_EQ(run.model.messages.size(), 49U * 12);
  // 50 steps of 100 us, each but the first 2 us behind the last one's message, and the overhead.
  EXPECT_EQ(run.found.duration, 50 * 100'200 + 49 * 2'000);
  std::int64_t covered = 0;
  std::int64_t messages = 0;
  for (const PathStep& step : run.found.path) {
    EXPECT_EQ(step.begin, covered) << "the steps of the path join";
    covered = step.end;
    if (step.what == PathStep::What::message) messages += step.end - step.begin;
  }
  EXPECT_EQ(covered, run.found.duration);
  EXPECT_EQ(messages, 49 * 2'000);
  EXPECT_THAT(path_text(run.found), HasSubstr("5 ms are step on"));
}

TEST_F(TraceTool, Usage_AddsUpToTheDuration) {
  const Analysed run(record(rounds_world(3, 20, 10'000)));
  for (const Usage& usage : run.model.usage) {
    EXPECT_EQ(usage.tasks + usage.handlers + usage.asleep + usage.other, run.model.duration);
  }
  ASSERT_EQ(run.found.ranks.size(), 3U);
  EXPECT_EQ(run.found.ranks[1].sum.tasks, 20 * 10'000);
  EXPECT_EQ(run.found.names.at(0).median, 10'000);
  EXPECT_EQ(run.found.names.at(0).histogram.at(13), 60U);  // 8192 to 16383 ns
  const auto& pair = run.found.pairs.at({0, 2});
  EXPECT_EQ(pair.count, 19U);
  EXPECT_EQ(pair.bytes, 1900U);
  EXPECT_EQ(pair.latency, 19 * 2'000);
}

TEST_F(TraceTool, SlowRank_IsNamedAndSoIsWhoWaitsForIt) {
  TraceWorld world = rounds_world(4, 30, 100'000);
  world.slow_down(2, 3);
  const Analysed run(record(std::move(world)));
  EXPECT_THAT(run.hint_kinds(), ::testing::ElementsAre("slow-rank"));
  EXPECT_THAT(run.hint("slow-rank"), HasSubstr("rank 2 is slow: 'step' takes 300 us"));
  EXPECT_THAT(path_text(run.found), HasSubstr("9 ms are step on rank 2"));
  EXPECT_EQ(run.found.path_shares.at(0).rank, 2);
  const auto lines = idle_lines(run.found);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_THAT(lines[0], HasSubstr("rank 0 waited 67 % of the run, most for step from rank 2"));
}

TEST_F(TraceTool, MissingPriority_IsNamedAndAPriorityHelps) {
  const Analysed without(record(panels_world(0), "without"));
  EXPECT_THAT(without.hint_kinds(), Contains("missing-priority"));
  EXPECT_THAT(without.hint("missing-priority"), HasSubstr("give 'panel' a higher priority"));
  EXPECT_THAT(without.hint("missing-priority"), HasSubstr("'update', on which less depends"));
  const Analysed with(record(panels_world(1), "with"));
  EXPECT_THAT(with.hint_kinds(), Not(Contains("missing-priority")));
  EXPECT_LT(with.found.duration, without.found.duration);
}

TEST_F(TraceTool, ShortTasks_AreNamedLongOnesAreNot) {
  for (const std::uint64_t duration_ns : {1'000U, 100'000U}) {
    TraceWorld world(2);
    world.overhead_ns = 300;
    for (int i = 0; i < 2000; ++i) world.add("tiny", i % 2, duration_ns);
    const Analysed run(record(std::move(world), "t" + std::to_string(duration_ns)));
    if (duration_ns == 1'000) {
      EXPECT_THAT(run.hint_kinds(), ::testing::ElementsAre("short-tasks"));
      EXPECT_THAT(
          run.hint("short-tasks"),
          HasSubstr("2000 tasks 'tiny' take 1 us each (median), and their overhead is 300 ns"));
    } else {
      EXPECT_THAT(run.hint_kinds(), IsEmpty());
    }
  }
}

// No program can let a transfer of a flow do more.
TEST_F(TraceTool, ShortTransfers_AreAdvisedToCarryMore) {
  TraceWorld world(2);
  world.overhead_ns = 300;
  for (int i = 0; i < 2000; ++i) world.add("sending halo", i % 2, 1'000);
  const Analysed run(record(std::move(world)));
  EXPECT_THAT(run.hint("short-tasks"), HasSubstr("2000 tasks 'sending halo' take 1 us each"));
  EXPECT_THAT(run.hint("short-tasks"), HasSubstr(": use fewer and larger data"));
}

// A turn of the scheduler for another program makes a task long, and is no work.
TEST_F(TraceTool, ShortTasks_AreNamedWhereOtherProgramsHadTurns) {
  TraceWorld world(2);
  world.overhead_ns = 300;
  for (int i = 0; i < 2000; ++i) world.add("tiny", i % 2, i % 250 == 0 ? 10'000'000U : 1'000U);
  const Analysed run(record(std::move(world)));
  EXPECT_THAT(run.hint_kinds(), Contains("short-tasks"));
}

TEST_F(TraceTool, OverloadedRank_IsNamed) {
  TraceWorld world(4);
  for (int i = 0; i < 400; ++i) world.add("part", i < 220 ? 3 : i % 3, 50'000);
  const Analysed run(record(std::move(world)));
  EXPECT_THAT(run.hint_kinds(), ::testing::ElementsAre("overloaded-rank"));
  EXPECT_THAT(run.hint("overloaded-rank"), HasSubstr("rank 3 has more work"));
  EXPECT_THAT(summary_text(run.model, run.found),
              HasSubstr("imbalance: workers of rank 3 are busy for 11 ms, 120 % more than"));
  EXPECT_THAT(idle_lines(run.found).at(0), HasSubstr("because nothing was left to do"));
}

TEST_F(TraceTool, HotLink_IsNamed) {
  TraceWorld world(4);
  int last = world.add("make", 1, 5'000);
  for (int i = 0; i < 100; ++i) {  // round trips, and a little between the others
    const int use = world.add("use", 2, 5'000, {last});
    last = world.add("make", 1, 5'000, {use});
    if (i % 10 == 0) world.add("other", (i / 10) % 2 == 0 ? 3 : 0, 1'000, {last});
  }
  world.link_ns = [](int from, int to) { return from == 1 && to == 2 ? 20'000U : 0U; };
  world.link_bytes = [](int from, int to) { return from == 1 && to == 2 ? 100'000U : 0U; };
  const Analysed run(record(std::move(world)));
  EXPECT_THAT(run.hint("hot-link"), HasSubstr("rank 1 sends"));
  EXPECT_THAT(run.hint("hot-link"), HasSubstr("to rank 2"));
}

// Without the times that they waited for a processor, nothing says that they took turns.
TEST_F(TraceTool, MoreWorkersThanCores_AreCountedWhereTheyTookTurns) {
  TraceWorld world = rounds_world(4, 10, 100'000);
  world.identity = {{"program", "p"}, {"host", "node7"}, {"cores", "2"}};
  EXPECT_THAT(Analysed(record(world)).hint_kinds(), Not(Contains("more-workers-than-cores")));
  for (int rank = 0; rank < 4; ++rank) world.keep_waiting(rank, 300'000);
  const Analysed run(record(std::move(world)));
  EXPECT_THAT(run.hint("more-workers-than-cores"),
              HasSubstr("4 workers ran on 2 processors of node7"));
}

TEST_F(TraceTool, ParkedTasksAndWindows_AreAccountedFor) {
  using namespace shoal::trace;  // NOLINT(google-build-using-namespace): probes
  shoal::testing::SetTime time;
  Recorder recorder(shoal::testing::options_with(time, part_path(file("p"), 0)));
  const Track worker = recorder.make_track(0, 0, "worker 0");
  worker.enter();
  task_started(1, 0, intern("waits"));
  time.set(1000);
  task_parked(1, intern("future"));
  sleep();
  time.set(5000);
  wake();
  task_resumed(1);
  window_full(3);
  time.set(9000);
  window_open(3);
  task_ended(1);
  Track::leave();
  recorder.finish();
  const Analysed run(file("p"));  // of the part, without merging it first
  ASSERT_EQ(run.model.tasks.size(), 1U);
  EXPECT_EQ(run.model.tasks[0].busy, 5000);
  EXPECT_EQ(run.model.usage[0].asleep, 4000);
  EXPECT_EQ(run.found.ranks.at(0).window_full, 4000);
  EXPECT_THAT(run.hint("window-full"), HasSubstr("most to rank 3"));
  std::vector<PathStep::What> steps;
  steps.reserve(run.found.path.size());
  for (const PathStep& step : run.found.path) steps.push_back(step.what);
  EXPECT_THAT(steps, ::testing::ElementsAre(PathStep::What::task, PathStep::What::parked,
                                            PathStep::What::task));
}

// Senders that wait at once, for one target and for two: each has its own time, and together they
// are no more than the run.
TEST_F(TraceTool, WindowsOfSeveralSenders_AreNotAddedUp) {
  using namespace shoal::trace;  // NOLINT(google-build-using-namespace): probes
  shoal::testing::SetTime time;
  Recorder recorder(shoal::testing::options_with(time, part_path(file("w"), 0)));
  const Track worker = recorder.make_track(0, 0, "worker 0");
  worker.enter();
  mark("begin");
  const auto park_sender = [&](std::uint64_t task, std::uint64_t at_ns, std::uint32_t target) {
    time.set(at_ns);
    task_started(task, 0, intern("sends"));
    window_full(target);
    task_parked(task, intern("send()"));
  };
  const auto go_on = [&](std::uint64_t task, std::uint64_t at_ns, std::uint32_t target) {
    time.set(at_ns);
    task_resumed(task);
    window_open(target);
    task_ended(task);
  };
  park_sender(1, 1000, 3);
  park_sender(2, 2000, 3);
  park_sender(3, 3000, 4);
  go_on(1, 7000, 3);
  go_on(2, 8000, 3);
  go_on(3, 9000, 4);
  time.set(10'000);
  task_started(4, 0, intern("last"));
  task_ended(4);
  Track::leave();
  recorder.finish();
  const Analysed run(file("w"));
  std::vector<std::pair<std::int64_t, std::int64_t>> times;
  for (const Interval& one : run.model.intervals) {
    if (one.what == Interval::What::window) times.emplace_back(one.begin, one.end);
  }
  std::sort(times.begin(), times.end());
  EXPECT_EQ(times, (std::vector<std::pair<std::int64_t, std::int64_t>>{
                       {1000, 7000}, {2000, 8000}, {3000, 9000}}));
  EXPECT_EQ(run.found.ranks.at(0).window_full, 8000);
  EXPECT_THAT(run.hint("window-full"), HasSubstr("for 80 % of the run"));
  EXPECT_THAT(summary_text(run.model, run.found), ContainsRegex("0 +1 +4 .* 80 %\n"));
}

/// A recording whose time a test sets, with a track of one worker for each of two ranks.
struct TwoRanks {
  explicit TwoRanks(const std::string& path)
      : recorder(shoal::testing::options_with(time, path)),
        tracks{recorder.make_track(0, 0, "worker 0"), recorder.make_track(1, 0, "worker 0")} {}
  /// The calling thread records on the worker of a rank, at a moment.
  void at(std::uint64_t time_us, std::size_t rank) {
    time.set(time_us * 1000);
    tracks.at(rank).enter();
  }
  void finish() {
    shoal::trace::Track::leave();
    recorder.finish();
  }
  shoal::testing::SetTime time;
  shoal::trace::Recorder recorder;
  std::array<shoal::trace::Track, 2> tracks;
};

// Windows count 64 KiB of a payload at most.
TEST_F(TraceTool, LargeMessages_HaveTheSizeOfTheirPayload) {
  using namespace shoal::trace;  // NOLINT(google-build-using-namespace): probes
  constexpr std::uint64_t kPayload = std::uint64_t{80} << 20U;
  constexpr std::uint64_t kHeader = 48;
  const std::uint64_t one = make_id(0, 1, 1);
  TwoRanks run(file("sizes"));
  run.at(0, 0);
  large_phase(one, 1, kPayload, intern("payload announced"));
  message_sent(one, 1, kHeader + kPayloadWeightMax, 0);
  large_phase(one + 1, 1, 1000, intern("payload announced"));
  message_sent(one + 1, 1, kHeader + 1000, 0);
  message_sent(one + 2, 1, 10, 0);
  run.at(10, 1);
  message_received(one, 0, kHeader);
  run.finish();
  const Analysed found(file("sizes"));
  const std::uint64_t sum = kHeader + kPayload + kHeader + 1000 + 10;
  EXPECT_EQ(found.found.pairs.at({0, 1}).bytes, sum);
  EXPECT_THAT(summary_text(found.model, found.found), HasSubstr("3 messages, 80 MiB"));
  Input input(file("sizes"));
  to_csv(input, file("t.csv"));
  EXPECT_THAT(text_of("t.csv"), HasSubstr("," + std::to_string(kHeader + kPayload) + ","));
}

TEST_F(TraceTool, ReadyTaskWhoseWorkerRunsAHandler_IsNotParked) {
  using namespace shoal::trace;  // NOLINT(google-build-using-namespace): probes
  TwoRanks run(file("r"));
  const std::uint64_t message = make_id(1, 0, 1);
  run.at(0, 0);
  task_started(1, 0, intern("sends"));
  run.at(1000, 0);
  task_parked(1, intern("send()"));
  run.at(3000, 0);
  task_ready(1, 0);
  message_received(message, 1, 100);
  message_handled(message, intern("long"));
  run.at(40'000, 0);
  message_done(message);
  task_resumed(1);
  run.at(42'000, 0);
  task_ended(1);
  run.finish();
  const Analysed found(file("r"));
  EXPECT_THAT(path_text(found.found),
              ::testing::AllOf(HasSubstr("37 ms are waits of sends to be started"),
                               HasSubstr("2 ms are sends parked")));
}

TEST_F(TraceTool, BusyReceiver_IsNamedAndTheNetworkIsNot) {
  using namespace shoal::trace;  // NOLINT(google-build-using-namespace): probes
  const std::uint64_t message = make_id(0, 1, 1);
  for (const bool is_busy : {true, false}) {
    TwoRanks run(file("r"));
    run.at(0, 0);
    task_started(1, 0, intern("ask"));
    run.at(0, 1);
    task_started(2, 0, intern("long"));
    run.at(1000, is_busy ? 0 : 1);
    if (!is_busy) task_ended(2);
    run.at(1000, 0);
    message_sent(message, 1, 100, 0);
    task_ended(1);
    run.at(40'000, 1);
    if (is_busy) task_ended(2);
    message_received(message, 0, 100);
    message_handled(message, intern("question"));
    message_sent(make_id(1, 0, 1), 0, 100, 0);
    message_done(message);
    run.at(40'010, 0);
    message_received(make_id(1, 0, 1), 1, 100);
    message_handled(make_id(1, 0, 1), intern("reply"));
    task_ready(3, 0);
    message_done(make_id(1, 0, 1));
    task_started(3, 0, intern("go on"));
    run.at(42'000, 0);
    task_ended(3);
    run.finish();
    const Analysed found(file("r"));
    const std::string path = path_text(found.found);
    if (is_busy) {
      EXPECT_THAT(path, HasSubstr("39 ms are progress blocked by long on rank 1"));
      EXPECT_THAT(found.hint_kinds(), ::testing::ElementsAre("busy-receiver"));
      EXPECT_THAT(found.hint("busy-receiver"), HasSubstr("messages to rank 1 waited 39 ms until "
                                                         "its tasks 'long'"));
    } else {
      EXPECT_THAT(path, HasSubstr("39.01 ms are messages"));
      EXPECT_THAT(found.hint_kinds(), IsEmpty());
    }
    std::filesystem::remove(file("r"));
  }
}

// The sender waits 10 us for room, the message is on its way for 15 us, until rank 1 begins a task
// of 20 us, and the task that it makes ready waits 7 us for its worker.
TEST_F(TraceTool, LatencyOfMessages_IsInParts) {
  using namespace shoal::trace;  // NOLINT(google-build-using-namespace): probes
  const std::uint64_t message = make_id(0, 1, 1);
  TwoRanks run(file("parts"));
  run.at(0, 0);
  task_started(1, 0, intern("ask"));
  window_full(1);
  run.at(10, 0);
  window_open(1);
  message_sent(message, 1, 100, 0);
  task_ended(1);
  run.at(25, 1);
  task_started(2, 0, intern("long"));
  run.at(45, 1);
  task_ended(2);
  message_received(message, 0, 100);
  message_handled(message, intern("question"));
  task_ready(3, 0);
  message_done(message);
  run.at(52, 1);
  task_started(3, 0, intern("answer"));
  run.at(60, 1);
  task_ended(3);
  run.finish();
  const Analysed found(file("parts"));
  ASSERT_EQ(found.found.latencies.size(), 1U);
  const LatencyStatistics& one = found.found.latencies[0];
  EXPECT_EQ(one.name, "question");
  EXPECT_EQ(one.count, 1U);
  EXPECT_EQ(one.bytes, 100U);
  EXPECT_EQ(one.window, 10'000);
  EXPECT_EQ(one.wire, 15'000);
  EXPECT_EQ(one.progress, 20'000);
  EXPECT_EQ(one.worker, 7'000);
  EXPECT_THAT(summary_text(found.model, found.found),
              ContainsRegex("question +1 +100 B +10 us +15 us +20 us +7 us\n"));
  const auto data = nlohmann::json::parse(report_data(found.model, found.found));
  EXPECT_EQ(data.at("latencies").at(0).at("parts"),
            (nlohmann::json{10'000, 15'000, 20'000, 7'000}));
}

// A task may write only when the send of the value before has ended.
TEST_F(TraceTool, WriteThatWaitsForItsOwnSend_HasTheSendOnThePath) {
  using namespace shoal::trace;  // NOLINT(google-build-using-namespace): probes
  const std::uint64_t message = make_id(0, 1, 1);
  TwoRanks run(file("w"));
  run.at(0, 0);
  task_started(1, 0, intern("make"));
  run.at(100, 0);
  message_sent(message, 1, 100, 0);
  task_ended(1);
  run.at(200, 1);
  message_received(message, 0, 100);
  message_handled(message, intern("value"));
  message_done(message);
  run.at(500, 0);
  large_phase(message, 1, 0, intern("payload released"));
  task_ready(2, message);
  task_started(2, 0, intern("write"));
  run.at(600, 0);
  task_ended(2);
  run.finish();
  const Analysed found(file("w"));
  EXPECT_THAT(path_text(found.found), ::testing::AllOf(HasSubstr("400 us are messages"),
                                                       HasSubstr("100 us are make on rank 0"),
                                                       Not(HasSubstr("before the first"))));
  EXPECT_THAT(idle_lines(found.found), Contains(HasSubstr("for the end of its own send")));
}

// The main function waits while a handler of the other rank does all the work.
TEST_F(TraceTool, WaitForHandlers_NamesTheLastOne) {
  using namespace shoal::trace;  // NOLINT(google-build-using-namespace): probes
  const std::uint64_t message = make_id(0, 1, 1);
  TwoRanks run(file("handlers"));
  run.at(0, 0);
  task_started(1, 0, intern(kMainName));
  message_sent(message, 1, 100, 0);
  run.at(10, 0);
  task_parked(1, intern("wait()"));
  run.at(20, 1);
  message_received(message, 0, 100);
  message_handled(message, intern("work"));
  run.at(900, 1);
  message_done(message);
  run.at(1000, 0);
  task_resumed(1);
  run.at(1010, 0);
  task_ended(1);
  run.finish();
  const Analysed found(file("handlers"));
  EXPECT_THAT(idle_lines(found.found),
              Contains(HasSubstr("rank 0 waited 98 % of the run, most for the end of all tasks and "
                                 "handlers, the last of which was work on rank 1")));
}

TEST_F(TraceTool, ReadyTwice_TheFirstTimeCounts) {
  using namespace shoal::trace;  // NOLINT(google-build-using-namespace): probes
  TwoRanks run(file("twice"));
  run.at(0, 0);
  task_started(1, 0, intern("maker"));
  task_created(2, 0, intern("made"));
  task_ready(2, 0);
  run.at(900, 0);
  task_ended(1);
  task_ready(2, 0);  // an order of its own has chosen it
  task_started(2, 0, 0);
  task_ended(2);
  run.finish();
  const Analysed found(file("twice"));
  EXPECT_EQ(found.model.tasks.at(1).ready, 0);
  EXPECT_EQ(found.model.tasks.at(1).start, 900'000);
}

TEST_F(TraceTool, PartialTraces_SaySoFirstAndNothingIsMadeUp) {
  using namespace shoal::trace;  // NOLINT(google-build-using-namespace): probes
  shoal::testing::SetTime time;
  Options options = shoal::testing::options_with(time, part_path(file("p"), 0));
  options.categories = bit_of(Category::message);
  options.identity = {{"program", "p"}, {"categories", "message"}};
  options.processes = 2;
  Recorder recorder(options);
  const Track worker = recorder.make_track(0, 0, "worker 0");
  worker.enter();
  message_sent(make_id(0, 1, 1), 1, 100, 0);
  Track::leave();
  recorder.finish();
  for (const char* command : {"summary ", "check ", "why "}) {
    EXPECT_THAT(run_tool(command + file("p")),
                ::testing::StartsWith("this trace is partial: only these categories were "
                                      "recorded: message; the parts of 1 processes are missing\n"));
  }
  const Analysed found(file("p"));
  const std::string summary = summary_text(found.model, found.found);
  EXPECT_THAT(summary, HasSubstr("tasks were not recorded"));
  EXPECT_THAT(summary, Not(HasSubstr("0 tasks")));
  EXPECT_THAT(summary, Not(HasSubstr("busy")));
  const auto data = nlohmann::json::parse(report_data(found.model, found.found));
  EXPECT_THAT(data.at("title").get<std::string>(), ::testing::StartsWith("this trace is partial"));
  EXPECT_TRUE(data.at("task_count").is_null());
  EXPECT_EQ(data.at("message_count"), 1);
  EXPECT_TRUE(data.at("ranks").empty());
  const auto facts = nlohmann::json::parse(run_tool("summary --json " + file("p")));
  EXPECT_FALSE(facts.contains("tasks"));
  EXPECT_FALSE(facts.contains("utilization"));
  EXPECT_EQ(facts.at("messages"), 1);
  const Analysed whole(record(rounds_world(2, 3, 1000), "whole"));
  const std::string difference = run_tool("diff " + file("p") + " " + file("whole"));
  EXPECT_THAT(difference, HasSubstr("A is not whole, so that nothing is known"));
  EXPECT_THAT(difference, Not(HasSubstr("workers busy")));
  EXPECT_THAT(difference, Not(HasSubstr("of the run in A")));
  EXPECT_THAT(difference, Not(HasSubstr("count A")));
  EXPECT_THAT(summary_text(whole.model, whole.found), ::testing::StartsWith("made up on 2 ranks"));
}

// The end is cut off from the trace of a run with a slow rank.
TEST_F(TraceTool, TruncatedTraces_HaveNeitherHintsNorAVerdict) {
  TraceWorld world = rounds_world(4, 30, 100'000);
  world.slow_down(2, 3);
  const std::string whole = record(world, "whole");
  const std::string cut = record(std::move(world), "cut");
  std::filesystem::resize_file(cut, std::filesystem::file_size(cut) - 30);
  const std::string partial = "this trace is partial: the trace has no end: it was cut off";
  for (const char* command : {"summary ", "check ", "why "}) {
    EXPECT_THAT(run_tool(command + cut), ::testing::StartsWith(partial)) << command;
  }
  const Analysed run(cut);
  EXPECT_EQ(run.model.tasks.size(), 120U);
  EXPECT_THAT(run.hint_kinds(), IsEmpty());
  EXPECT_THAT(run_tool("why " + cut), HasSubstr("nothing is known of what bounds the run"));
  const auto facts = nlohmann::json::parse(run_tool("why --json " + cut));
  EXPECT_EQ(facts.at("bound"), "unknown");
  EXPECT_EQ(facts.at("cause"), "");
  EXPECT_EQ(facts.at("without_ns"), facts.at("duration_ns"));
  EXPECT_EQ(facts.at("partial").at(0), "the trace has no end: it was cut off");
  EXPECT_FALSE(nlohmann::json::parse(run_tool("why --json " + whole)).contains("partial"));
  for (const auto& [command, name] :
       {std::pair("diff " + cut + " " + whole, "A"), {"diff " + whole + " " + cut, "B"}}) {
    const std::string text = run_tool(command);
    EXPECT_THAT(text, HasSubstr("\n" + std::string(name) + ": " + partial));
    EXPECT_THAT(text, HasSubstr(std::string(name) + " is not whole, so that nothing is known"));
  }
  const auto difference = nlohmann::json::parse(run_tool("diff --json " + whole + " " + cut));
  EXPECT_EQ(difference.at("bound"), "unknown");
  EXPECT_EQ(difference.at("partial").at(0), "B: the trace has no end: it was cut off");
}

/// Writes the trace of one task whose recorder has dropped some events.
void write_lossy(const std::string& path, const std::string& drops, const std::string& end) {
  using namespace shoal::trace;  // NOLINT(google-build-using-namespace): of a file
  FileHeader header;
  header.clock = ClockKind::merged;
  FileWriter writer(path, header);
  writer.write_text(ChunkType::tracks, R"([{"track":0,"rank":0,"worker":0,"name":"worker 0"}])");
  writer.write_name(1, "step");
  std::array<Event, 2> events{};
  for (Event& event : events) event.id = 7;
  events[0].name = 1;
  events[0].set(0, Kind::task_started);
  events[1].time = 10'000;
  events[1].set(0, Kind::task_ended);
  writer.write_records(ChunkType::events, std::span<const Event>(events));
  writer.write_text(ChunkType::drops, drops);
  writer.write_text(ChunkType::end, end);
}

TEST_F(TraceTool, DroppedEvents_AreTheOnlyHintAndLeaveNoVerdict) {
  write_lossy(file("events"), R"({"task":5,"message":2})", R"({"events":2,"dropped":7})");
  write_lossy(file("keys"), R"({"descriptions":7})", R"({"events":2,"dropped":0})");
  for (const char* const name : {"events", "keys"}) {
    const Analysed run(file(name));
    EXPECT_THAT(run.hint_kinds(), ::testing::ElementsAre("events-lost"));
    EXPECT_THAT(run.hint("events-lost"), HasSubstr("were dropped because buffers were full"));
    const Verdict verdict = verdict_on(run.model, run.found);
    EXPECT_EQ(verdict.bound, "unknown");
    EXPECT_EQ(verdict.cause, "events-lost");
    EXPECT_EQ(verdict.share, 0);
    EXPECT_THAT(verdict.sentences[2], HasSubstr("larger buffers"));
    EXPECT_THAT(run_tool("summary " + file(name)),
                ContainsRegex("^this trace is partial: 7 [a-z, ]+ were dropped because buffers"));
    EXPECT_THAT(run_tool("check " + file(name)), HasSubstr("not as it should be"));
    EXPECT_EQ(status_, 1);
  }
  write_lossy(file("whole"), "{}", R"({"events":2,"dropped":0})");
  EXPECT_THAT(Analysed(file("whole")).hint_kinds(), IsEmpty());
}

/// A process that pauses its recording. Times in milliseconds.
class PausedWorld {
 public:
  explicit PausedWorld(std::uint32_t process) : process_(process) {}

  void at(int ms, std::size_t worker, std::function<void()> probe) {
    actions_.push_back({ms, worker, std::move(probe)});
  }
  void add_task(std::size_t worker, int begin, int end, int ready = -1) {
    const std::uint64_t id = new_id();
    if (ready >= 0) at(ready, worker, [id] { shoal::trace::task_ready(id, 0); });
    at(begin, worker, [id] { shoal::trace::task_started(id, 0, shoal::trace::intern("step")); });
    at(end, worker, [id] { shoal::trace::task_ended(id); });
  }
  /// Tasks of 1 ms, one behind the other.
  void fill(std::size_t worker, int begin, int end) {
    for (int ms = begin; ms < end; ++ms) add_task(worker, ms, ms + 1);
  }
  std::uint64_t new_id() { return shoal::trace::make_id(process_, 0, ++ids_); }
  void record(const std::string& trace, bool paused = false) {
    shoal::testing::SetTime time;
    auto options = shoal::testing::options_with(time, shoal::trace::part_path(trace, process_));
    options.process = process_;
    options.processes = 2;
    options.paused = paused;
    options.first_rank = static_cast<int>(process_);
    shoal::trace::Recorder recorder(options);
    std::vector<shoal::trace::Track> tracks;
    for (int i = 0; i < 2; ++i) {
      tracks.push_back(recorder.make_track(options.first_rank, i, fmt::format("worker {}", i)));
    }
    std::ranges::stable_sort(actions_, std::less<>(), &Action::ms);
    for (const Action& action : actions_) {
      time.set(static_cast<std::uint64_t>(action.ms) * 1'000'000);
      tracks[action.worker].enter();
      action.probe();
    }
    shoal::trace::Track::leave();
    recorder.finish();
  }

 private:
  struct Action {
    int ms = 0;
    std::size_t worker = 0;
    std::function<void()> probe;
  };
  std::uint32_t process_ = 0;
  std::vector<Action> actions_;
  std::uint32_t ids_ = 0;
};

/// All workers are busy from 0 to 100 ms, of which the recording has 0 to 10, 40 to 50, and 90 to
/// 100. Of one task and a full window the end is not recorded, of one task, which a handler
/// interrupts, and of a handler the begin.
PausedWorld paused_world(std::uint32_t process) {
  using namespace shoal::trace;  // NOLINT(google-build-using-namespace): probes
  PausedWorld world(process);
  const std::uint64_t message = world.new_id();
  for (const int ms : {10, 50, 100}) world.at(ms, 0, [] { shoal::trace::pause(); });
  for (const int ms : {40, 90}) world.at(ms, 0, [] { shoal::trace::resume(); });
  world.fill(0, 0, 100);
  world.fill(1, 0, 6);
  world.add_task(1, 6, 20);
  world.at(8, 1, [] { window_full(1); });
  world.at(20, 1, [] { window_open(1); });
  world.fill(1, 20, 30);
  world.add_task(1, 30, 44);
  const std::uint64_t within = world.new_id();
  world.at(41, 1, [within] { message_handled(within, intern("take")); });
  world.at(42, 1, [within] { message_done(within); });
  world.fill(1, 44, 85);
  world.at(85, 1, [message] { message_handled(message, intern("take")); });
  world.at(91, 1, [message] { message_done(message); });
  world.fill(1, 91, 100);
  return world;
}

TEST_F(TraceTool, PausesOfTheRecording_AreNoTimeOfTheRun) {
  for (const std::uint32_t process : {0U, 1U}) paused_world(process).record(file("t"));
  shoal::trace::merge(shoal::trace::find_parts(file("t")), file("t"));
  const Analysed run(file("t"));
  EXPECT_EQ(run.found.duration, 30'000'000);
  EXPECT_THAT(run.model.gaps(),
              ElementsAre("only some regions of the run were recorded: 30 ms in 3 regions; all "
                          "times are without the pauses"));
  ASSERT_EQ(run.found.ranks.size(), 2U);
  for (const RankUsage& rank : run.found.ranks) {
    EXPECT_EQ(rank.sum.tasks, 58'000'000);
    EXPECT_EQ(rank.sum.handlers, 2'000'000);
    EXPECT_EQ(rank.idle_ns, 0);
    EXPECT_EQ(rank.window_full, 2'000'000);
    EXPECT_EQ(run.found.loads.at(rank.rank).busy, 60'000'000);
  }
  EXPECT_THAT(run.hint_kinds(), IsEmpty());
  EXPECT_THAT(summary_text(run.model, run.found), HasSubstr("workers busy 100 % of the time"));
  const Verdict verdict = verdict_on(run.model, run.found);
  EXPECT_EQ(verdict.bound, "work");
  EXPECT_THAT(verdict.sentences[0], ::testing::StartsWith("The recorded part of the run takes 30"));
  EXPECT_EQ(verdict_on_difference(run.model, run.found, run.model, run.found).bound, "unknown");
}

// A process that does not record while another one does, and workers without events in a region:
// nothing is known of what they do.
TEST_F(TraceTool, RegionsOfOtherProcesses_LeaveIdlenessUnknown) {
  for (const bool is_silent : {true, false}) {
    paused_world(0).record(file("t"));
    PausedWorld other(1);
    if (is_silent) {
      for (const int ms : {10, 50, 100}) other.at(ms, 0, [] { shoal::trace::pause(); });
      for (const int ms : {40, 90}) other.at(ms, 0, [] { shoal::trace::resume(); });
      for (const std::size_t worker : {0U, 1U}) other.add_task(worker, 5, 85);
    }
    other.record(file("t"), !is_silent);
    shoal::trace::merge(shoal::trace::find_parts(file("t")), file("t"));
    const Analysed run(file("t"));
    EXPECT_EQ(run.found.duration, 30'000'000);
    EXPECT_THAT(run.hint_kinds(), IsEmpty());
    EXPECT_THAT(idle_lines(run.found), IsEmpty());
    const std::string text = summary_text(run.model, run.found);
    EXPECT_THAT(text, HasSubstr("so that nothing is known of idle workers\n"));
    EXPECT_THAT(text, Not(ContainsRegex("busy|imbalance")));
    const Verdict verdict = verdict_on(run.model, run.found);
    EXPECT_EQ(verdict.bound, "unknown");
    EXPECT_THAT(verdict.sentences[0], HasSubstr("outside of the recorded regions"));
  }
}

// A task at the begin of the run, one at its end, and nothing in between: everything was recorded,
// only tasks, or only regions.
TEST_F(TraceTool, Verdicts_NameNoCauseThatWasNotRecorded) {
  using namespace shoal::trace;  // NOLINT(google-build-using-namespace): probes
  for (const std::string what : {"all", "task", "region"}) {
    shoal::testing::SetTime time;
    Options options = shoal::testing::options_with(time, file(what));
    options.identity = {{"program", "p"}, {"categories", what == "task" ? "task" : "all"}};
    Recorder recorder(options);
    const Track worker = recorder.make_track(0, 0, "worker 0");
    worker.enter();
    for (const std::uint64_t id : {1U, 2U}) {
      time.set(90'000 * (id - 1));
      task_started(id, 0, intern("step"));
      time.set(time.now_ns() + 10'000);
      task_ended(id);
      if (what == "region") recorder.pause();
      if (what == "region") recorder.resume();
    }
    Track::leave();
    recorder.finish();
    const Analysed run(file(what));
    const Verdict verdict = verdict_on(run.model, run.found);
    EXPECT_EQ(verdict.bound, what == "all" ? "waiting" : "unknown");
    EXPECT_THAT(verdict.sentences[0],
                HasSubstr(what == "all"    ? "neither work, a chain of tasks nor messages explain"
                          : what == "task" ? "handlers were not recorded"
                                           : "outside of the recorded regions"));
  }
}

// Tasks that only idleness and messages explain, and those that take longer on one rank: handlers
// that were not recorded would be taken for idle time.
TEST_F(TraceTool, WithoutMessages_HintsRestOnTasksAlone) {
  TraceWorld loaded(4);
  for (int i = 0; i < 400; ++i) loaded.add("part", i < 220 ? 3 : i % 3, 50'000);
  TraceWorld slow = rounds_world(4, 30, 100'000);
  slow.slow_down(2, 3);
  for (const auto& [world, kind] :
       std::vector<std::pair<TraceWorld, std::string>>{{loaded, "overloaded-rank"},
                                                       {panels_world(0), "missing-priority"},
                                                       {slow, "slow-rank"}}) {
    EXPECT_THAT(Analysed(record(world)).hint_kinds(), ElementsAre(kind));
    TraceWorld partial = world;
    partial.categories = bit_of(Category::task) | bit_of(Category::sched);
    partial.identity.emplace_back("categories", "task,sched");
    const std::string trace = record(std::move(partial), "partial");
    const Analysed run(trace);
    EXPECT_EQ(run.hint_kinds(),
              kind == "slow-rank" ? std::vector{kind} : std::vector<std::string>{});
    EXPECT_THAT(idle_lines(run.found), IsEmpty());
    const std::string text = summary_text(run.model, run.found);
    EXPECT_THAT(text, ::testing::StartsWith("this trace is partial: only these categories were "
                                            "recorded: task, sched; handlers were not recorded, so "
                                            "that nothing is known of idle workers\n"));
    EXPECT_THAT(text, Not(HasSubstr("busy")));
    EXPECT_THAT(verdict_on(run.model, run.found).bound,
                AnyOf("work", "chain", "unknown", kind == "slow-rank" ? "imbalance" : "unknown"));
    const std::string difference = run_tool("diff " + file("t") + " " + trace);
    EXPECT_THAT(difference, Not(HasSubstr("workers busy")));
    EXPECT_THAT(difference, Not(HasSubstr("wait longer")));
  }
}

/// Steps on all ranks, each behind the last one of rank 2, of which those of some rounds take long.
void add_outliers(TraceWorld& world, const std::string& name, const std::set<int>& rounds) {
  int last = -1;
  for (int round = 0; round < 10; ++round) {
    std::vector<int> before;
    if (last >= 0) before.push_back(last);
    for (int rank = 0; rank < 4; ++rank) {
      const int step =
          world.add(name, rank, rank == 2 && rounds.contains(round) ? 5'000'000 : 100'000, before);
      if (rank == 2) last = step;
    }
  }
}

TraceWorld outlier_world(const std::set<int>& rounds = {5}) {
  TraceWorld world(4);
  add_outliers(world, "step", rounds);
  return world;
}

TEST_F(TraceTool, Outlier_IsNamedAndItsRankIsNotSlow) {
  const Analysed run(record(outlier_world()));
  EXPECT_THAT(run.hint_kinds(), ::testing::ElementsAre("outlier"));
  EXPECT_THAT(run.hint("outlier"), HasSubstr("1 of 40 tasks 'step' take much longer"));
  EXPECT_THAT(run.hint("outlier"), HasSubstr("key (22) on rank 2 takes 5 ms"));
}

// The host of a virtual machine may have held a processor once.
TEST_F(TraceTool, Outlier_OnAVirtualMachineNeedsTwoTasks) {
  for (const std::string is_virtual : {"yes", "unknown", "no"}) {
    for (const bool is_twice : {true, false}) {
      TraceWorld world = outlier_world(is_twice ? std::set{3, 7} : std::set{5});
      world.identity.emplace_back("virtual_machine", is_virtual);
      const std::string trace = record(std::move(world));
      const Analysed run(trace);
      if (is_twice || is_virtual == "no") {
        EXPECT_THAT(run.hint_kinds(), ElementsAre("outlier")) << is_virtual;
        EXPECT_THAT(run.hint("outlier"), HasSubstr(is_twice ? "2 of 40" : "1 of 40"));
        EXPECT_THAT(run.found.notes, IsEmpty());
        continue;
      }
      const std::string note = "1 of 40 tasks 'step' take much longer than the others";
      EXPECT_THAT(run.hint_kinds(), IsEmpty());
      EXPECT_THAT(run.found.notes, ElementsAre(HasSubstr(note)));
      EXPECT_THAT(summary_text(run.model, run.found), HasSubstr("\nnote: " + note));
      EXPECT_THAT(run_tool("why " + trace), HasSubstr("\nNote: " + note));
      const auto facts = nlohmann::json::parse(run_tool("summary --json " + trace));
      EXPECT_THAT(facts.at("notes").at(0).get<std::string>(), HasSubstr("virtual machine"));
      const auto data = nlohmann::json::parse(report_data(run.model, run.found));
      EXPECT_THAT(data.at("idle").back().get<std::string>(), HasSubstr(note));
    }
  }
}

// 500 handlers of 20 us, and three long ones meanwhile windows are full; or all take 80 us.
TEST_F(TraceTool, FullWindowsAndWorkInHandlers_AreNotSaidOfAReceiverThatStoodStill) {
  using namespace shoal::trace;  // NOLINT(google-build-using-namespace): probes
  for (const std::string is_virtual : {"yes", "no"}) {
    for (const bool is_held : {true, false}) {
      {
        shoal::testing::SetTime time;
        Options options = shoal::testing::options_with(time, file("held"));
        options.identity.emplace_back("virtual_machine", is_virtual);
        Recorder recorder(options);
        const std::array tracks{recorder.make_track(0, 0, "worker 0"),
                                recorder.make_track(1, 0, "worker 0")};
        const auto handle = [&](std::uint32_t begin_us, std::uint32_t us) {
          tracks[1].enter();
          time.set(std::uint64_t{begin_us} * 1000);
          message_handled(make_id(0, 1, begin_us), intern("take"));
          time.set(std::uint64_t{begin_us + us} * 1000);
          message_done(make_id(0, 1, begin_us));
        };
        tracks[0].enter();
        task_started(1, 0, intern("send"));
        task_ended(1);
        for (std::uint32_t i = 0; i < 500; ++i) handle(100 * i, is_held ? 20 : 80);
        for (std::uint32_t i = 0; i < 3; ++i) {
          const std::uint32_t at_us = 50'000 + i * 20'000;
          tracks[0].enter();
          time.set(std::uint64_t{at_us} * 1000);
          window_full(1);
          sleep();
          const std::uint32_t count = is_held ? 1 : 120;
          for (std::uint32_t j = 0; j < count; ++j) handle(at_us + j * 80, is_held ? 9600 : 80);
          tracks[0].enter();
          wake();
          window_open(1);
        }
        Track::leave();
        recorder.finish();
      }
      const Analysed run(file("held"));
      std::vector<std::string> hints;
      std::vector<std::string> notes;
      const bool has_doubt = is_virtual == "yes" && is_held;
      (has_doubt ? notes : hints)
          .emplace_back(has_doubt ? "the handler 'take'" : "work-in-handlers");
      (is_held ? notes : hints).emplace_back(is_held ? "room in a window" : "window-full");
      EXPECT_THAT(run.hint_kinds(), ::testing::UnorderedElementsAreArray(hints)) << is_virtual;
      ASSERT_EQ(run.found.notes.size(), notes.size()) << is_virtual;
      for (std::size_t i = 0; i < notes.size(); ++i) {
        EXPECT_THAT(run.found.notes[i], HasSubstr(notes[i]));
      }
    }
  }
}

// In one round, the tasks of all other ranks take longer than those of the slow one.
TEST_F(TraceTool, SlowRank_IsNamedBesideAMomentInWhichTheOthersAre) {
  TraceWorld world(4);
  std::vector<int> before;
  for (int round = 0; round < 30; ++round) {
    std::vector<int> now;
    for (int rank = 0; rank < 4; ++rank) {
      const std::uint64_t ns = rank == 2 ? 300'000 : round == 9 ? 400'000 : 100'000;
      now.push_back(world.add("step", rank, ns, before));
    }
    before = std::move(now);
  }
  EXPECT_THAT(Analysed(record(std::move(world))).hint_kinds(), ElementsAre("slow-rank"));
}

// Workers wait for a processor for nearly as long as the hint costs, and for a fifth of that: the
// tasks that took long for it are as long in both runs.
TEST_F(TraceTool, OtherPrograms_TakeThePlaceOfWhatTheyMayExplain) {
  TraceWorld slow = rounds_world(4, 30, 100'000);
  slow.slow_down(2, 2);
  TraceWorld loaded(4);
  for (int i = 0; i < 400; ++i) loaded.add("part", i < 220 ? 3 : i % 3, 50'000);
  for (const auto& [world, kind, rank] :
       std::vector<std::tuple<TraceWorld, const char*, int>>{{outlier_world(), "outlier", 2},
                                                             {slow, "slow-rank", 2},
                                                             {loaded, "overloaded-rank", 3}}) {
    const Analysed quiet(record(world));
    ASSERT_THAT(quiet.hint_kinds(), ::testing::ElementsAre(kind));
    const double cost_ns = quiet.found.hints[0].share * static_cast<double>(quiet.found.duration);
    for (const double part : {0.97, 0.2}) {
      TraceWorld disturbed = world;
      disturbed.keep_waiting(rank, static_cast<std::uint64_t>(part * cost_ns));
      const Analysed run(record(std::move(disturbed)));
      EXPECT_THAT(run.hint_kinds(), ::testing::ElementsAre(part > 0.5 ? "disturbed" : kind))
          << kind;
      const Verdict verdict = verdict_on(run.model, run.found);
      EXPECT_NEAR(static_cast<double>(verdict.without_ns),
                  static_cast<double>(run.found.duration) * (1 - verdict.share), 2)
          << kind;
    }
  }
}

// The host takes nearly as much of 600 ms as the slow rank costs, or little; a healthy run of 300
// ms is disturbed by a fifth, and a step of the counting more.
TEST_F(TraceTool, OtherPrograms_OfTheHostTakeThePlaceOfWhatTheyMayExplain) {
  TraceWorld slow = rounds_world(4, 30, 10'000'000);
  slow.slow_down(2, 2);
  const TraceWorld healthy = rounds_world(4, 30, 10'000'000);
  for (const auto& [world, stolen_ms, kind] :
       std::vector<std::tuple<TraceWorld, int, std::string>>{{slow, 290, "disturbed"},
                                                             {slow, 10, "slow-rank"},
                                                             {healthy, 80, "disturbed"},
                                                             {healthy, 60, ""}}) {
    TraceWorld stolen = world;
    stolen.identity.emplace_back("stolen_ns", std::to_string(stolen_ms) + "000000");
    const Analysed run(record(std::move(stolen)));
    if (kind.empty()) {
      EXPECT_THAT(run.hint_kinds(), IsEmpty());
    } else {
      EXPECT_THAT(run.hint_kinds(), ElementsAre(kind)) << stolen_ms;
    }
  }
}

// Processes of one machine record the same time: 140 ms of 500 ms.
TEST_F(TraceTool, OtherPrograms_OfTheHostAreCountedOnceForEachMachine) {
  using namespace shoal::trace;  // NOLINT(google-build-using-namespace): probes
  for (const std::string second : {"node7", "node8"}) {
    const std::string trace = file("beside " + second);
    for (const std::uint32_t process : {0U, 1U}) {
      shoal::testing::SetTime time;
      Options options = shoal::testing::options_with(time, part_path(trace, process));
      options.process = process;
      options.processes = 2;
      options.first_rank = static_cast<int>(process);
      options.identity = {
          {"program", "p"}, {"host", process == 0 ? "node7" : second}, {"stolen_ns", "140000000"}};
      Recorder recorder(options);
      const Track worker = recorder.make_track(options.first_rank, 0, "worker 0");
      worker.enter();
      task_started(make_id(process, 0, 1), 0, intern("step"));
      time.set(500'000'000);
      task_ended(make_id(process, 0, 1));
      Track::leave();
      recorder.finish();
    }
    shoal::trace::merge(find_parts(trace), trace);
    EXPECT_THAT(Analysed(trace).hint("disturbed"),
                HasSubstr(second == "node7" ? "held processors for 28 % of it"
                                            : "held processors for 56 % of it"));
  }
}

TEST_F(TraceTool, OtherPrograms_AreNotAllThatKeepsUnboundWorkersWaiting) {
  for (const std::string pin : {"none", "yes"}) {
    TraceWorld world = rounds_world(4, 30, 10'000'000);
    world.identity.emplace_back("pin", pin);
    world.keep_waiting(2, 200'000'000);
    const std::string hint = Analysed(record(std::move(world))).hint("disturbed");
    EXPECT_EQ(hint.find(" or by placement: workers") != std::string::npos, pin == "none") << hint;
    EXPECT_EQ(hint.find("--pin core") != std::string::npos, pin == "none") << hint;
  }
}

// It takes a processor from a worker if there are no more.
TEST_F(TraceTool, OtherPrograms_AreNotTheWriterOfTheTrace) {
  for (const std::string cores : {"1", "64"}) {
    TraceWorld world = rounds_world(4, 30, 10'000'000);
    world.identity.emplace_back("host", "node7");
    world.identity.emplace_back("cores", cores);
    world.identity.emplace_back("writer_ns", "195000000");
    world.keep_waiting(2, 200'000'000);
    const Analysed run(record(std::move(world)));
    EXPECT_EQ(run.hint_kinds().empty(), cores == "1") << cores;
  }
}

TEST_F(TraceTool, OtherPrograms_NameWhatTheyMayExplainOnce) {
  TraceWorld world(4);
  for (const char* const name : {"step", "turn"}) add_outliers(world, name, {5});
  world.keep_waiting(2, 9'900'000);
  const Analysed run(record(std::move(world)));
  ASSERT_THAT(run.hint_kinds(), ::testing::ElementsAre("disturbed"));
  EXPECT_THAT(run.hint("disturbed"), HasSubstr("what looks like outlier, overloaded-rank)"));
}

// Nothing says what a task that begins late has waited for.
TEST_F(TraceTool, CriticalPath_BehindATaskOfAThreadIsNotBeforeTheFirstTask) {
  shoal::testing::SetTime time;
  {
    shoal::trace::Recorder recorder(
        shoal::testing::options_with(time, shoal::trace::part_path(file("t"), 0)));
    const shoal::trace::Track track = recorder.make_track(0, 0, "worker 0");
    track.enter();
    for (const std::uint64_t id : {1U, 2U}) {
      time.set(id * 100'000);
      shoal::trace::task_started(id, 0, shoal::trace::intern("frame"));
      time.set(id * 100'000 + 10'000);
      shoal::trace::task_ended(id);
    }
    shoal::trace::Track::leave();
    recorder.finish();
  }
  shoal::trace::merge(shoal::trace::find_parts(file("t")), file("t"));
  const Analysed run(file("t"));
  EXPECT_THAT(path_text(run.found), HasSubstr("before frame, which waited for no known task"));
  EXPECT_THAT(path_text(run.found), Not(HasSubstr("before the first task")));
}

// All workers wait for 7 % of the run: tasks that are as long as an outlier hide it. Of a healthy
// run, 4 % are no disturbance.
TEST_F(TraceTool, OtherPrograms_AreNamedEarlierWhereNothingElseIs) {
  TraceWorld slow = rounds_world(4, 30, 100'000);
  slow.slow_down(2, 3);
  for (const bool is_healthy : {true, false}) {
    TraceWorld world = is_healthy ? rounds_world(4, 30, 100'000) : slow;
    for (int rank = 0; rank < 4; ++rank) world.keep_waiting(rank, is_healthy ? 210'000 : 630'000);
    const Analysed run(record(std::move(world)));
    EXPECT_THAT(run.hint_kinds(), ::testing::ElementsAre(is_healthy ? "disturbed" : "slow-rank"));
  }
  TraceWorld little = rounds_world(4, 30, 100'000);  // 4 % of the run
  for (int rank = 0; rank < 4; ++rank) little.keep_waiting(rank, 120'000);
  EXPECT_THAT(Analysed(record(std::move(little))).hint_kinds(), IsEmpty());
}

// A thousand workers wait for a thousandth of the run each, which is all of it together; or the
// slow one alone waits, as long as its tasks take longer.
TEST_F(TraceTool, OtherPrograms_OfManyWorkersSeveralWaitAtATime) {
  constexpr int kRanks = 1000;
  constexpr std::uint64_t kTaskNs = 100'000;
  constexpr std::uint64_t kTasks = 5;
  for (const bool is_one : {false, true}) {
    TraceWorld world(kRanks);
    for (int rank = 0; rank < kRanks; ++rank) {
      int last = -1;
      for (std::uint64_t i = 0; i < kTasks; ++i) {
        last = world.add("step", rank, kTaskNs, last < 0 ? std::vector<int>{} : std::vector{last});
      }
      if (!is_one) world.keep_waiting(rank, 2 * kTasks * kTaskNs / kRanks);
    }
    world.slow_down(2, 2);
    if (is_one) world.keep_waiting(2, kTasks * kTaskNs);
    const Analysed run(record(std::move(world)));
    EXPECT_THAT(run.hint_kinds(), Contains(is_one ? "disturbed" : "slow-rank"));
    EXPECT_THAT(run.hint_kinds(), Not(Contains(is_one ? "slow-rank" : "disturbed")));
  }
}

TEST_F(TraceTool, RankWithAChain_IsNotOverloaded) {
  TraceWorld world(4);
  int last = -1;
  for (int i = 0; i < 100; ++i) {
    last = world.add("link", 3, 50'000, last < 0 ? std::vector<int>{} : std::vector<int>{last});
  }
  for (int i = 0; i < 60; ++i) world.add("part", i % 3, 50'000);
  const Analysed run(record(std::move(world)));
  EXPECT_THAT(run.hint_kinds(), IsEmpty());
}

TEST_F(TraceTool, ChainOfAMulticast_IsNoHotLink) {
  TraceWorld world(6);
  int last = world.add("make", 0, 5'000);
  for (int i = 0; i < 20; ++i) {
    for (int rank = 1; rank < 6; ++rank) last = world.add("use", rank, 5'000, {last});
    last = world.add("make", 0, 5'000, {last});
  }
  world.link_ns = [](int from, int to) { return to == from + 1 ? 20'000U : 0U; };
  world.link_bytes = [](int from, int to) { return to == from + 1 ? 100'000U : 0U; };
  const Analysed run(record(std::move(world)));
  EXPECT_THAT(run.hint_kinds(), Not(Contains("hot-link")));
}

/// Rank 0 asks rank 1, which answers, while others pass it on: the link between them is slow, or
/// rank 1 does something else.
TraceWorld world_with_link(bool is_slow) {
  TraceWorld world(4);
  world.has_progress_thread = is_slow;
  int last = world.add("ask", 0, 5'000);
  for (int i = 0; i < 40; ++i) {
    last = world.add("answer", 1, 5'000, {last}, 1);
    for (const int rank : {2, 3, 0}) last = world.add("ask", rank, 5'000, {last});
    if (!is_slow && i < 30) world.add("long", 1, 300'000);
  }
  if (is_slow) {
    world.link_ns = [](int from, int to) { return from == 0 && to == 1 ? 100'000U : 0U; };
  }
  return world;
}

// A rank whose messages wait for its long tasks has no slow link.
TEST_F(TraceTool, SlowLink_IsNamedAndABusyReceiverIsNone) {
  for (const bool is_slow : {true, false}) {
    TraceWorld world = world_with_link(is_slow);
    const Analysed run(record(std::move(world)));
    if (is_slow) {
      EXPECT_THAT(run.hint_kinds(), ElementsAre("slow-link"));
      EXPECT_THAT(run.hint("slow-link"), HasSubstr("messages from rank 0 to rank 1 take 102 us"));
    } else {
      EXPECT_THAT(run.hint_kinds(), Not(Contains("slow-link")));
      const auto& pair = run.found.pairs.at({0, 1});  // its messages come late, too
      EXPECT_GT(pair.latency, static_cast<std::int64_t>(pair.count) * 100'000);
    }
  }
}

// Between ranks of one host is no network: the system did not run the receiver.
TEST_F(TraceTool, LateMessagesWithinAHost_AreNoSlowLink) {
  for (const bool is_simulated : {true, false}) {
    TraceWorld world = world_with_link(true);
    world.identity.emplace_back("host", "node7");
    if (is_simulated) world.identity.emplace_back("simulated", "yes");
    const Analysed run(record(std::move(world)));
    EXPECT_EQ(run.hint_kinds().size(), is_simulated ? 1 : 0);
  }
}

// Tasks of another name are as long as on the other ranks: those of the first one may do more.
TEST_F(TraceTool, RankWithLargerTasksOfOneName_IsNotSlow) {
  for (const bool is_slow : {true, false}) {
    TraceWorld world(4);
    std::vector<int> before;
    for (int round = 0; round < 30; ++round) {
      std::vector<int> now;
      for (int rank = 0; rank < 4; ++rank) {
        const int step = world.add("step", rank, rank == 2 ? 300'000 : 100'000, before);
        now.push_back(world.add("turn", rank, rank == 2 && is_slow ? 300'000 : 100'000, {step}));
      }
      before = std::move(now);
    }
    const Analysed run(record(std::move(world)));
    EXPECT_EQ(run.hint("slow-rank").empty(), !is_slow) << run.hint("slow-rank");
  }
}

/// Tasks one after the other, then on all ranks at once, then one after the other again.
TraceWorld passes_world(std::uint64_t before_ns, std::uint64_t together_ns,
                        std::optional<std::uint64_t> after_ns) {
  constexpr int kRanks = 4;
  TraceWorld world(kRanks);
  std::vector<int> last;
  const auto run_alone = [&](std::uint64_t ns) {
    for (int i = 0; i < 8; ++i) last = {world.add("pass", 0, ns, last)};
  };
  run_alone(before_ns);
  std::vector<int> together;
  for (int i = 0; i < 10 * kRanks; ++i) {
    together.push_back(world.add("pass", i % kRanks, together_ns, last));
  }
  last = together;
  if (after_ns) run_alone(*after_ns);
  return world;
}

TEST_F(TraceTool, MemoryBound_IsNamedAndTasksThatGrowAreNot) {
  const Analysed bound(record(passes_world(100'000, 200'000, 100'000), "bound"));
  EXPECT_THAT(bound.hint("memory-bound"),
              HasSubstr("tasks 'pass' take 100 us when they run alone, and 200 us beside others"));
  for (const auto after_ns :
       {std::optional<std::uint64_t>(300'000), std::optional<std::uint64_t>()}) {
    const Analysed grows(record(passes_world(100'000, 200'000, after_ns), "grows"));
    EXPECT_EQ(grows.hint("memory-bound"), "");
  }
}

// Together, the masks of processes that share a host leave none of its processors out.
TEST_F(TraceTool, NarrowMask_IsNamedAndMasksThatShareAHostAreNot) {
  using namespace shoal::trace;  // NOLINT(google-build-using-namespace): probes
  for (const std::string second : {"0-1", "2-3"}) {
    const std::string trace = file("of " + second);
    for (const std::uint32_t process : {0U, 1U}) {
      shoal::testing::SetTime time;
      Options options = shoal::testing::options_with(time, part_path(trace, process));
      options.process = process;
      options.processes = 2;
      options.first_rank = static_cast<int>(process);
      options.identity = {{"program", "p"},
                          {"host", "node7"},
                          {"processors", "4"},
                          {"cores", "2"},
                          {"mask", process == 0 ? "0-1" : second}};
      Recorder recorder(options);
      const Track worker = recorder.make_track(options.first_rank, 0, "worker 0");
      worker.enter();
      task_started(make_id(process, 0, 1), 0, intern("step"));
      time.set(1'000'000);
      task_ended(make_id(process, 0, 1));
      Track::leave();
      recorder.finish();
    }
    shoal::trace::merge(find_parts(trace), trace);
    const Analysed run(trace);
    if (second == "0-1") {
      EXPECT_THAT(run.hint("narrow-mask"),
                  HasSubstr("leaves 2 of the 4 processors of node7 to 2 workers"));
    } else {
      EXPECT_THAT(run.hint_kinds(), IsEmpty());
    }
  }
}

// Seven waits of the main function for a short and a long task; or one such wait with short ones
// around it.
TEST_F(TraceTool, WaitPerStep_IsNamedAndOnePhaseIsNot) {
  using namespace shoal::trace;  // NOLINT(google-build-using-namespace): probes
  for (const bool is_one : {false, true}) {
    const std::string path = file(is_one ? "phase" : "steps");
    shoal::testing::SetTime time;
    Recorder recorder(shoal::testing::options_with(time, path));
    const std::array tracks = {recorder.make_track(0, 0, "worker 0"),
                               recorder.make_track(0, 1, "worker 1")};
    const auto record_on = [&](std::size_t worker, const auto& probe) {
      tracks.at(worker).enter();
      probe();
    };
    record_on(0, [] { task_started(1, 0, intern(kMainName)); });
    for (std::uint64_t step = 0; step < 7; ++step) {
      const std::uint64_t part_ns = is_one && step != 3 ? 1'000 : 100'000;
      const std::uint64_t id = 10 * step + 2;
      record_on(0, [] { task_parked(1, intern("wait()")); });
      record_on(0, [id] { task_started(id, 0, intern("cell")); });
      record_on(1, [id] { task_started(id + 1, 0, intern("cell")); });
      time.set(time.now_ns() + part_ns);
      record_on(0, [id] { task_ended(id); });
      time.set(time.now_ns() + 9 * part_ns);
      record_on(1, [id] { task_ended(id + 1); });
      record_on(0, [] { task_resumed(1); });
    }
    time.set(time.now_ns() + 1'000);
    record_on(0, [] { task_ended(1); });
    Track::leave();
    recorder.finish();
    const Analysed run(path);
    EXPECT_EQ(run.hint("wait-per-step").empty(), is_one) << run.hint("wait-per-step");
    if (!is_one) {
      EXPECT_THAT(run.hint("wait-per-step"), HasSubstr("stands still 7 times (wait())"));
    }
  }
}

TEST_F(TraceTool, Perfetto_IsJsonWithNestedSlicesAndArrows) {
  const auto all = perfetto_of(record(rounds_world(2, 5, 1000)));
  std::map<std::pair<int, int>, int> depth;
  std::map<std::string, std::multiset<std::string>> flows;
  std::set<std::string> keys;
  for (const auto& event : all.at("traceEvents")) {
    const auto phase = event.at("ph").get<std::string>();
    const std::pair track(event.at("pid").get<int>(), event.at("tid").get<int>());
    if (phase == "B") ++depth[track];
    if (phase == "B" && event.at("name") == "step") {
      keys.insert(event.at("args").at("key").get<std::string>());
    }
    if (phase == "E") {
      ASSERT_GE(--depth[track], 0);
    }
    if (phase == "s" || phase == "f") flows[phase].insert(event.at("id").get<std::string>());
  }
  for (const auto& [track, open] : depth) EXPECT_EQ(open, 0);
  EXPECT_EQ(keys.size(), 10U);  // of two ranks, in five rounds
  EXPECT_TRUE(keys.contains("(7)"));
  EXPECT_EQ(flows["s"].size(), 8U);
  EXPECT_EQ(flows["s"], flows["f"]);
}

TEST_F(TraceTool, Perfetto_BatchesAndLargeMessages_HaveOneArrowEachAndHandlersFollowEachOther) {
  using namespace shoal::trace;  // NOLINT(google-build-using-namespace): probes
  shoal::testing::SetTime time;
  Recorder recorder(shoal::testing::options_with(time, file("p")));
  const Track here = recorder.make_track(0, 0, "here");
  const Track there = recorder.make_track(1, 0, "there");
  here.enter();
  large_phase(1, 1, 70'000, intern("payload announced"));
  message_sent(1, 1, 10, intern("large"));
  message_sent(2, 1, 10, intern("small"));
  message_sent(3, 1, 10, intern("small"));
  there.enter();
  for (const auto& [id, follows] : {std::pair{1, false}, {2, true}, {3, true}}) {
    time.set(time.now_ns() + 1000);
    message_handled(static_cast<std::uint64_t>(id), intern(id == 1 ? "large" : "small"), follows);
  }
  time.set(time.now_ns() + 1000);
  message_done(3);
  message_handled(1, intern("large"));  // with its payload
  message_done(1);
  Track::leave();
  recorder.finish();
  std::string phases;
  const auto all = perfetto_of(file("p"));
  for (const auto& event : all.at("traceEvents")) {
    const auto phase = event.at("ph").get<std::string>();
    if (phase != "M" && phase != "X") phases += phase;
  }
  EXPECT_EQ(phases, "sssBtEBfEBfEBfE");
}

TEST_F(TraceTool, Perfetto_TasksHaveTheNamesOfTheirCreation) {
  using namespace shoal::trace;  // NOLINT(google-build-using-namespace): probes
  shoal::testing::SetTime time;
  Recorder recorder(shoal::testing::options_with(time, file("p")));
  const Track first = recorder.make_track(0, 0, "first");
  const Track second = recorder.make_track(0, 1, "second");
  second.enter();
  task_created(5, 0, intern("step"));  // at the moment at which another worker starts it
  first.enter();
  task_started(5, 0, 0);
  time.set(1000);
  task_parked(5, intern("future"));
  time.set(2000);
  task_resumed(5);
  task_ended(5);
  Track::leave();
  recorder.finish();
  int named = 0;
  const auto all = perfetto_of(file("p"));
  for (const auto& event : all.at("traceEvents")) {
    if (event.at("ph") == "B") {
      EXPECT_EQ(event.at("name"), "step");
      ++named;
    }
  }
  EXPECT_EQ(named, 2);
}

TEST_F(TraceTool, Paje_IsReadByPajeng) {
  const std::string trace = record(rounds_world(2, 5, 1000));
  run_tool("convert --to paje " + trace + " -o " + file("t.paje"));
  ASSERT_EQ(status_, 0);
  if (!has_command("pj_dump")) GTEST_SKIP() << "pajeng is not installed";
  const std::string dump = run("pj_dump " + file("t.paje"));
  EXPECT_EQ(status_, 0) << dump;
  const auto count = [&dump](const std::string& what) {
    std::size_t found = 0;
    for (std::size_t at = dump.find(what); at != std::string::npos; at = dump.find(what, at + 1)) {
      ++found;
    }
    return found;
  };
  EXPECT_EQ(count("State, "), 10U + 8U) << dump;  // tasks, and handlers
  EXPECT_EQ(count("Link, "), 8U) << dump;
}

TEST_F(TraceTool, Otf2_IsReadByOtf2Print) {
  const std::string trace = record(rounds_world(2, 5, 1000));
  const std::string output = run_tool("convert --to otf2 " + trace + " -o " + file("archive"));
  if (status_ != 0) {
    EXPECT_THAT(output, HasSubstr("without OTF2"));
    GTEST_SKIP() << output;
  }
  if (!has_command("otf2-print")) GTEST_SKIP() << "otf2-tools is not installed";
  const std::string print = run("otf2-print -Werror " + file("archive/traces.otf2"));
  EXPECT_EQ(status_, 0) << print;
  EXPECT_THAT(print, HasSubstr("step"));
  EXPECT_THAT(print, HasSubstr("MPI_SEND"));
  EXPECT_THAT(print, HasSubstr("MPI_RECV"));
  run_tool("convert --to otf2 " + trace + " -o " + file("archive"));
  EXPECT_EQ(status_, 2);  // it is there already
}

TEST_F(TraceTool, Csv_HasALineForEachEvent) {
  Input input(record(rounds_world(2, 3, 1000)));
  to_csv(input, file("t.csv"));
  std::istringstream lines(text_of("t.csv"));
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "time_ns,rank,worker,track,category,event,id,value,name,peer");
  std::uint64_t count = 0;
  std::uint64_t last = 0;
  while (std::getline(lines, line)) {
    ++count;
    EXPECT_EQ(std::count(line.begin(), line.end(), ','), 9) << line;
    const std::uint64_t time = std::stoull(line);
    EXPECT_GE(time, last);
    last = time;
  }
  EXPECT_EQ(count, input.end().at("events").get<std::uint64_t>());
  EXPECT_THAT(text_of("t.csv"), HasSubstr(",task,task started,1,0,\"step\""));
}

TEST_F(TraceTool, Dot_HasTheGraphThatRan) {
  Input input(record(rounds_world(2, 2, 1000)));
  to_dot(input, file("t.dot"));
  const std::string dot = text_of("t.dot");
  EXPECT_THAT(dot, HasSubstr("t1 [label=\"step (0)\\nrank 0, 1 us\"]"));
  for (const char* edge : {"t1 -> t3;", "t1 -> t4;", "t2 -> t3;", "t2 -> t4;"}) {
    EXPECT_THAT(dot, HasSubstr(edge));
  }
  EXPECT_THAT(dot, Not(HasSubstr("t1 -> t2")));
}

// From 3.12 on, Python cannot leave them unbound.
TEST_F(TraceTool, BoundTasks_HaveAnotherRemedyInPython) {
  using namespace shoal::trace;  // NOLINT(google-build-using-namespace): probes
  for (const bool is_python : {false, true}) {
    const std::string path = file(is_python ? "python" : "cpp");
    shoal::testing::SetTime time;
    Recorder recorder(shoal::testing::options_with(time, path));
    const Track first = recorder.make_track(0, 0, "worker 0");
    const Track second = recorder.make_track(0, 1, "worker 1");  // it has nothing to do
    first.enter();
    describe_name(Fact::place, "step", is_python ? "tests/steps.py:7" : "tests/steps.cpp:7");
    for (const std::uint64_t id : {1U, 2U}) {
      task_created(id, 1, intern("step"));
      task_ready(id, 0);
    }
    for (const std::uint64_t id : {1U, 2U}) {
      task_started(id, 0, intern("step"));
      time.set(time.now_ns() + 1'000'000);
      task_ended(id);
    }
    Track::leave();
    recorder.finish();
    const Analysed run(path);
    const char* const kind = is_python ? "bound-by-python" : "bound-to-one-worker";
    EXPECT_THAT(run.hint_kinds(), Contains(kind));
    EXPECT_EQ(run.hint(kind).find("Leave tasks unbound") == std::string::npos, is_python);
    EXPECT_THAT(idle_lines(run.found),
                Contains(HasSubstr("although tasks were ready, bound to worker 0")));
  }
}

// Two workers, each with ten tasks of its own: on the first one, one task takes 4 ms more, while
// the second worker has nothing to do; or all tasks there take twice as long.
TEST_F(TraceTool, BoundTasks_AreNoCauseWhereTheHostMayHaveHeldTheirWorker) {
  using namespace shoal::trace;  // NOLINT(google-build-using-namespace): probes
  for (const bool is_virtual : {true, false}) {
    for (const bool is_held : {true, false}) {
      const std::string path = file("bound");
      {
        shoal::testing::SetTime time;
        Options options = shoal::testing::options_with(time, path);
        options.identity.emplace_back("virtual_machine", is_virtual ? "yes" : "no");
        Recorder recorder(options);
        const std::array tracks{recorder.make_track(0, 0, "worker 0"),
                                recorder.make_track(0, 1, "worker 1")};
        tracks[0].enter();
        for (std::uint64_t id = 1; id <= 20; ++id) {
          task_created(id, id <= 10 ? 1 : 2, intern("cell"));
          task_ready(id, 0);
        }
        for (const std::uint64_t worker : {0U, 1U}) {
          tracks.at(worker).enter();
          std::uint64_t now_us = 0;
          for (std::uint64_t i = 1; i <= 10; ++i) {
            time.set(now_us * 1000);
            task_started(10 * worker + i, 0, intern("cell"));
            now_us += 500;
            if (worker == 0 && is_held && i == 5) now_us += 4000;
            if (worker == 0 && !is_held) now_us += 500;
            time.set(now_us * 1000);
            task_ended(10 * worker + i);
          }
        }
        Track::leave();
        recorder.finish();
      }
      const Analysed run(path);
      if (is_virtual && is_held) {
        EXPECT_THAT(run.hint_kinds(), Not(Contains("bound-to-one-worker")));
        EXPECT_THAT(run.found.notes, Contains(HasSubstr("are bound to worker 0")));
      } else {
        EXPECT_THAT(run.hint_kinds(), Contains("bound-to-one-worker")) << is_virtual << is_held;
      }
    }
  }
}

// Two workers, each with ten tasks of its own; the thread of one begins 4 ms after the other.
TEST_F(TraceTool, BoundTasks_AreNoCauseWhereTheOtherWorkerHasNotBegun) {
  using namespace shoal::trace;  // NOLINT(google-build-using-namespace): probes
  for (const bool is_late : {true, false}) {
    for (const std::uint64_t late : {0U, 1U}) {
      const std::string path = file("late");
      shoal::testing::SetTime time;
      Recorder recorder(shoal::testing::options_with(time, path));
      const std::array tracks{recorder.make_track(0, 0, "worker 0"),
                              recorder.make_track(0, 1, "worker 1")};
      tracks.at(1 - late).enter();
      for (std::uint64_t id = 1; id <= 20; ++id) {
        task_created(id, id <= 10 ? 1 : 2, intern("cell"));
        task_ready(id, 0);
      }
      for (const std::uint64_t worker : {1 - late, late}) {
        tracks.at(worker).enter();
        std::uint64_t now_us = worker == late ? 4000 : 0;
        if (worker == late) {
          time.set(is_late ? now_us * 1000 : 0);
          thread_counter(intern(kRanName), 0);
        }
        for (std::uint64_t i = 1; i <= 10; ++i) {
          time.set(now_us * 1000);
          task_started(10 * worker + i, 0, intern("cell"));
          now_us += 300;
          time.set(now_us * 1000);
          task_ended(10 * worker + i);
        }
      }
      Track::leave();
      recorder.finish();
      const Analysed run(path);
      if (is_late) {
        EXPECT_THAT(run.hint_kinds(), Not(Contains("bound-to-one-worker"))) << late;
      } else {
        EXPECT_THAT(run.hint_kinds(), Contains("bound-to-one-worker")) << late;
      }
    }
  }
}

/// Records a task that has a colour and two places, and one that has neither.
void record_colours(const std::string& path) {
  using namespace shoal::trace;  // NOLINT(google-build-using-namespace): probes
  shoal::testing::SetTime time;
  Recorder recorder(shoal::testing::options_with(time, path));
  const Track worker = recorder.make_track(0, 0, "worker 0");
  worker.enter();
  describe_name(Fact::colour, "potrf", "0da860");
  for (const char* const line : {"17", "42", "17"}) {
    describe_name(Fact::place, "potrf", std::string("apps/cholesky.cpp:") + line);
  }
  describe_name(Fact::datum, "A[1, 2]", "2048 1");
  describe_name(Fact::datum, "damaged", "much");
  std::uint64_t id = 1;
  for (const char* const name : {"potrf", "gemm"}) {
    time.set(1000 + time.now_ns());
    task_started(id, 0, intern(name));
    time.set(1000 + time.now_ns());
    task_ended(id++);
  }
  Track::leave();
  recorder.finish();
}

TEST_F(TraceTool, Colours_AreInTheFormatsThatHaveThem) {
  const std::string path = shoal::trace::part_path(file("coloured"), 0);
  record_colours(path);
  const Analysed run(path);
  const auto data = nlohmann::json::parse(report_data(run.model, run.found));
  EXPECT_EQ(data.at("colours"), (nlohmann::json{{"potrf", "0da860"}}));
  EXPECT_EQ(data.at("places").at("potrf"),
            (nlohmann::json{"apps/cholesky.cpp:17", "apps/cholesky.cpp:42"}));
  EXPECT_EQ(data.at("data"), nlohmann::json::parse(R"({"A[1, 2]": [2048, 1]})"));
  Input input(path);
  to_dot(input, file("c.dot"));
  EXPECT_THAT(text_of("c.dot"), ContainsRegex("potrf.*fillcolor=\"#0da860\""));
  EXPECT_THAT(text_of("c.dot"), Not(ContainsRegex("gemm.*fillcolor")));
  to_paje(input, file("c.paje"));
  EXPECT_THAT(text_of("c.paje"),
              HasSubstr("11 \"potrf\" State \"potrf\" \"0.050980 0.658824 0.376471\"\n"));
  std::map<std::string, nlohmann::json> slices;
  const nlohmann::json all = perfetto_of(path);
  for (const auto& event : all.at("traceEvents")) {
    if (event.at("ph") == "B") slices[event.at("name")] = event;
  }
  EXPECT_EQ(slices.at("potrf").at("cname"), "rail_load");  // nearly the same
  EXPECT_EQ(slices.at("potrf").at("args").at("colour"), "#0da860");
  EXPECT_FALSE(slices.at("gemm").contains("cname"));
}

// Tasks of one name, inserted at two places: for longer at the second one.
TEST_F(TraceTool, Insertions_ArePlacesOfTasks) {
  using namespace shoal::trace;  // NOLINT(google-build-using-namespace): probes
  const std::string path = shoal::trace::part_path(file("inserted"), 0);
  const std::source_location first = std::source_location::current();
  const std::source_location second = std::source_location::current();
  const auto text = [](const std::source_location& place) {
    return fmt::format("tests/tools/trace_tool_test.cpp:{}", place.line());
  };
  {
    shoal::testing::SetTime time;
    Recorder recorder(shoal::testing::options_with(time, path));
    const Track worker = recorder.make_track(0, 0, "worker 0");
    worker.enter();
    describe_name(Fact::place, "gemm", "apps/codelets.cpp:7");
    describe_insertion(1, "gemm", first);
    describe_insertion(2, "gemm", second);
    describe_insertion(3, "gemm", second);
    describe_insertion(4, "gemm", {});  // not known
    for (const std::uint64_t id : {1U, 2U, 3U, 4U}) {
      task_started(id, 0, intern("gemm"));
      time.set(1000 + time.now_ns());
      task_ended(id);
    }
    Track::leave();
    recorder.finish();
  }
  const Analysed run(path);
  std::vector<std::string> places;
  for (const Task& task : run.model.tasks) places.emplace_back(run.model.place_of(task));
  EXPECT_THAT(places, ElementsAre(text(first), text(second), text(second), ""));
  EXPECT_THAT(run.model.places.at("gemm"),
              ElementsAre(text(second), text(first), "apps/codelets.cpp:7"));
  const auto data = nlohmann::json::parse(report_data(run.model, run.found));
  EXPECT_THAT(data.at("insertions").at("places").get<std::vector<std::string>>(),
              ElementsAre(text(first), text(second)));
  Input input(path);
  to_dot(input, file("i.dot"));
  EXPECT_THAT(text_of("i.dot"), HasSubstr("tooltip=\"" + text(first) + "\""));
  std::vector<std::string> args;
  const nlohmann::json all = perfetto_of(path);
  for (const auto& event : all.at("traceEvents")) {
    if (event.at("ph") == "B") args.push_back(event.at("args").at("place").get<std::string>());
  }
  EXPECT_THAT(args, ElementsAre(text(first), text(second), text(second), "apps/codelets.cpp:7"));
}

TEST_F(TraceTool, Otf2_HasPlacesAndColours) {
  const std::string path = shoal::trace::part_path(file("coloured"), 0);
  record_colours(path);
  const std::string output = run_tool("convert --to otf2 " + path + " -o " + file("archive"));
  if (status_ != 0) GTEST_SKIP() << output;
  if (!has_command("otf2-print")) GTEST_SKIP() << "otf2-tools is not installed";
  const std::string print = run("otf2-print -G " + file("archive/traces.otf2"));
  EXPECT_EQ(status_, 0) << print;
  EXPECT_THAT(print, ContainsRegex("REGION [^\n]*\"potrf\"[^\n]*\"#0da860\"[^\n]*"
                                   "\"apps/cholesky.cpp\"[^\n]* 17[^\n]* 17"));
  EXPECT_THAT(print, ContainsRegex("REGION [^\n]*\"gemm\""));
  EXPECT_THAT(print, Not(ContainsRegex("REGION [^\n]*\"gemm\"[^\n]*(#|cpp)")));
}

TEST_F(TraceTool, Verdicts_NameTheBound) {
  struct Case {
    TraceWorld world;
    const char* bound;
    const char* cause;
  };
  TraceWorld bag(2);
  for (int i = 0; i < 40; ++i) bag.add("cell", i % 2, 100'000);
  TraceWorld chain(2);
  for (int i = 0; i < 40; ++i) {
    chain.add("link", 0, 100'000, i > 0 ? std::vector{i - 1} : std::vector<int>());
  }
  TraceWorld slow = rounds_world(4, 30, 100'000);
  slow.slow_down(2, 3);
  TraceWorld far(2);
  far.latency_ns = 500'000;
  for (int i = 0; i < 20; ++i) {
    far.add("link", i % 2, 100'000, i > 0 ? std::vector{i - 1} : std::vector<int>());
  }
  for (auto& [world, bound, cause] : std::vector<Case>{{bag, "work", ""},
                                                       {chain, "chain", ""},
                                                       {slow, "imbalance", "slow-rank"},
                                                       {far, "messages", ""}}) {
    const Analysed run(record(world));
    const Verdict verdict = verdict_on(run.model, run.found);
    EXPECT_EQ(verdict.bound, bound);
    EXPECT_EQ(verdict.cause, cause);
    EXPECT_LE(verdict.without_ns, run.found.duration);
    for (const std::string& sentence : verdict.sentences) {
      EXPECT_THAT(sentence, ::testing::EndsWith(".")) << bound;
    }
  }
}

// Two ranks with two workers each, of which nothing is known but when tasks ran.
TEST_F(TraceTool, VerdictsOnImbalanceAndWaiting_NameAPlace) {
  using shoal::trace::Fact;
  struct Case {
    std::string bound;
    int until_0 = 0;  // tasks of rank 0 fill this time of 100 ms, and those of rank 1 the other
    int until_1 = 0;
  };
  for (const auto& [bound, until_0, until_1] : std::vector<Case>{
           {"imbalance", 100, 40}, {"work", 76, 70}, {"work", 70, 76}, {"waiting", 10, 10}}) {
    const std::string trace = file(fmt::format("{} {}", bound, until_0));
    for (const std::uint32_t process : {0U, 1U}) {
      PausedWorld world(process);
      world.at(0, 0, [] { describe_name(Fact::place, "step", "tests/steps.cpp:7"); });
      for (const std::size_t worker : {0U, 1U}) {
        const int until = process == 0 ? until_0 : until_1;
        world.fill(worker, 0, std::min(until, 99));
        world.add_task(worker, 99, 100, std::min(until, 99));
      }
      world.record(trace);
    }
    shoal::trace::merge(shoal::trace::find_parts(trace), trace);
    const Analysed run(trace);
    const Verdict verdict = verdict_on(run.model, run.found);
    EXPECT_EQ(verdict.bound, bound) << trace;
    EXPECT_THAT(verdict.cause, IsEmpty());
    EXPECT_EQ(verdict.place, "tests/steps.cpp:7");
    EXPECT_THAT(verdict.sentences[2], HasSubstr("('step', tests/steps.cpp:7)"));
  }
}

TEST_F(TraceTool, VerdictOnADifference_NamesWhatHasGrown) {
  const Analysed before(record(rounds_world(4, 30, 100'000), "before"));
  TraceWorld world = rounds_world(4, 30, 100'000);
  world.slow_down(2, 3);
  const Analysed slow(record(world, "slow"));
  const Verdict verdict = verdict_on_difference(before.model, before.found, slow.model, slow.found);
  EXPECT_EQ(verdict.cause, "slow-rank");
  EXPECT_THAT(verdict.sentences[0], HasSubstr("B takes 5.942 ms longer than A"));
  EXPECT_THAT(
      verdict_on_difference(slow.model, slow.found, before.model, before.found).sentences[0],
      HasSubstr("A takes 5.942 ms longer than B"));
  const Analysed longer(record(rounds_world(4, 30, 200'000), "longer"));
  const Verdict work =
      verdict_on_difference(before.model, before.found, longer.model, longer.found);
  EXPECT_THAT(work.bound, AnyOf("work", "chain"));
  EXPECT_THAT(work.sentences[2], HasSubstr("'step'"));
  EXPECT_EQ(verdict_on_difference(slow.model, slow.found, slow.model, slow.found).bound, "nothing");
}

// Old traces name the last cause of a task only; the rest is recorded apart.
TEST_F(TraceTool, Bounds_AreThoseOfTheGraph) {
  TraceWorld world(4);  // a diamond of unequal sides
  const int a = world.add("a", 0, 100'000);
  const int b = world.add("b", 1, 200'000, {a});
  const int c = world.add("c", 2, 300'000, {a});
  world.add("d", 3, 100'000, {b, c});
  const Analysed run(record(world));
  EXPECT_EQ(run.found.bounds.chain, 500'000);
  EXPECT_EQ(run.found.bounds.area, 700'000 / 4);
  std::size_t edges = 0;
  for (std::uint32_t i = 0; i < 4; ++i) edges += run.model.needs_of(i).size();
  EXPECT_EQ(edges, 4U);
}

TEST_F(TraceTool, Check_PassesAWholeTraceAndFailsAnIncompleteOne) {
  const std::string trace = record(rounds_world(2, 20, 1000));
  EXPECT_THAT(run_tool("check " + trace), HasSubstr("as it should be"));
  EXPECT_EQ(status_, 0);
  std::filesystem::resize_file(trace, std::filesystem::file_size(trace) - 30);
  EXPECT_THAT(run_tool("check " + trace), HasSubstr("cut off"));
  EXPECT_EQ(status_, 1);
}

TEST_F(TraceTool, Check_MessageThatArrivesTooEarly_IsFound) {
  using namespace shoal::trace;  // NOLINT(google-build-using-namespace): probes
  shoal::testing::SetTime time;
  Recorder recorder(shoal::testing::options_with(time, file("early")));
  const Track here = recorder.make_track(0, 0, "here");
  const Track there = recorder.make_track(1, 0, "there");
  time.set(1000);
  there.enter();
  message_received(5, 0, 10);
  message_received(6, 0, 10);
  time.set(1400);
  here.enter();
  message_sent(5, 1, 10, intern("m"));
  Track::leave();
  recorder.finish();
  const std::string output = run_tool("check " + file("early"));
  EXPECT_EQ(status_, 1);
  EXPECT_THAT(output, HasSubstr("message 0x5 arrives 400 ns before it was sent"));
  EXPECT_THAT(output, HasSubstr("1 received and not sent"));
  EXPECT_THAT(run_tool("check --tolerance 400 " + file("early")), Not(HasSubstr("are tolerated")));
}

/// One end of a ring of two processes: sends and receives by turns, and records both.
void run_end(const std::string& trace, std::uint32_t process, int in, int out) {
  using namespace shoal::trace;  // NOLINT(google-build-using-namespace): probes
  constexpr std::uint64_t kMessages = 2000;
  Options options;
  options.path = part_path(trace, process);
  options.process = process;
  options.processes = 2;
  options.first_rank = static_cast<int>(process);
  options.identity = {{"host", "here"}};
  Recorder recorder(options);
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    char byte = 0;
    if (i % 2 == process) {
      message_sent(i + 1, 1 - process, 1, intern("ring"));
      if (write(out, &byte, 1) != 1) break;
    } else {
      if (read(in, &byte, 1) != 1) break;
      message_received(i + 1, 1 - process, 1);
    }
  }
  recorder.finish();
}

TEST_F(TraceTool, RingOfTwoProcesses_NoMessageArrivesTooEarly) {
  std::array<int, 2> there{};
  std::array<int, 2> back{};
  ASSERT_EQ(pipe(there.data()), 0);
  ASSERT_EQ(pipe(back.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    int status = 1;
    try {
      run_end(file("ring"), 1, there[0], back[1]);
      status = 0;
    } catch (const std::exception&) {  // the parent misses the part
    }
    _exit(status);
  }
  run_end(file("ring"), 0, back[0], there[1]);
  waitpid(child, nullptr, 0);
  for (const int end : {there[0], there[1], back[0], back[1]}) close(end);
  Input input(file("ring"));
  const CheckResult result = check(input, std::nullopt);
  EXPECT_TRUE(result.passed) << ::testing::PrintToString(result.lines);
  EXPECT_THAT(result.lines.at(0), HasSubstr("2000 messages with both ends; 0 arrive before"));
}

TEST_F(TraceTool, SummaryAndDiff_SayWhatChanged) {
  const std::string quick = record(rounds_world(2, 20, 10'000), "quick");
  TraceWorld slower = rounds_world(2, 20, 10'000);
  slower.slow_down(1, 4);
  const std::string slow = record(std::move(slower), "slow");
  const std::string summary = run_tool("summary " + slow);
  EXPECT_EQ(status_, 0);
  EXPECT_THAT(summary, HasSubstr("made up on 2 ranks"));
  EXPECT_THAT(summary, HasSubstr("critical path: of"));
  EXPECT_THAT(summary, HasSubstr("hint: rank 1 is slow"));
  const auto json = nlohmann::json::parse(run_tool("summary --json " + slow));
  EXPECT_EQ(json.at("tasks"), 40);
  EXPECT_EQ(json.at("hints").at(0).at("kind"), "slow-rank");
  const std::string diff = run_tool("diff " + quick + " " + slow);
  EXPECT_EQ(status_, 0);
  EXPECT_THAT(diff, HasSubstr("only in B: rank 1 is slow"));
  EXPECT_THAT(diff, HasSubstr("+150.0 %"));  // of the mean of step: 10 and 40 us
}

TEST_F(TraceTool, VersionAndHelp) {
  EXPECT_THAT(run_tool("--version"), ::testing::StartsWith("shoal "));
  EXPECT_EQ(status_, 0);
  EXPECT_THAT(run_tool("--help"), HasSubstr("report"));
  EXPECT_EQ(status_, 0);
  run_tool("");
  EXPECT_EQ(status_, 2);
}

TEST_F(TraceTool, Dash_IsStandardOutput) {
  const std::string trace = record(rounds_world(2, 3, 1000));
  for (const std::string command : {"convert --to csv", "convert --to perfetto",
                                    "convert --to paje", "convert --to dot", "report"}) {
    EXPECT_EQ(run_tool(command + " " + trace + " -o " + file("there")), "");
    EXPECT_EQ(status_, 0);
    EXPECT_EQ(run_tool(command + " " + trace + " -o -"), text_of("there")) << command;
  }
  EXPECT_THAT(run_tool("convert --to otf2 " + trace + " -o -"), HasSubstr("a folder"));
  EXPECT_EQ(status_, 2);
  run_tool("merge " + trace + " -o - 2> " + file("messages") + " | cat");
  std::filesystem::rename(file("output"), file("merged"));
  EXPECT_THAT(text_of("messages"), HasSubstr("events of"));
  EXPECT_THAT(run_tool("check " + file("merged")), HasSubstr("as it should be"));
  EXPECT_EQ(status_, 0);
}

TEST_F(TraceTool, AnOutputThatIsNotWhole_IsAnError_AndRemoved) {
  const std::string trace = record(rounds_world(4, 300, 1000));
  const std::string there = file("there");
  const std::string tool = std::getenv("SHOAL_TRACE_TOOL");  // NOLINT(concurrency-mt-unsafe)
  const std::vector<std::string> commands = {"convert --to csv",  "convert --to perfetto",
                                             "convert --to paje", "convert --to dot",
                                             "convert --to otf2", "report",
                                             "diff " + trace,     "merge"};
  for (const std::string& command : commands) {
    const std::string said =
        run("(ulimit -f 8; " + tool + " " + command + " " + trace + " -o " + there + ")");
    EXPECT_EQ(status_, 2) << command;
    EXPECT_FALSE(std::filesystem::exists(there)) << command;
    if (command.ends_with("otf2")) {
      EXPECT_THAT(said, AnyOf(HasSubstr(there + ": OTF2 fails: File is too large: "),
                              HasSubstr("without OTF2")));
      continue;
    }
    EXPECT_THAT(said, ContainsRegex(there + ": cannot write this .*: File too large"));
    if (command == "merge") continue;
    EXPECT_THAT(run_tool(command + " " + trace + " -o /dev/full"),
                HasSubstr("/dev/full: cannot write this file: No space left on device"));
    EXPECT_EQ(status_, 2) << command;
    EXPECT_TRUE(std::filesystem::exists("/dev/full"));
  }
  for (const std::string command : {"summary", "check", "convert --to csv -o -"}) {
    EXPECT_THAT(run("(" + tool + " " + command + " " + trace + " > /dev/full)"),
                ContainsRegex("standard output: .*No space left on device"));
    EXPECT_EQ(status_, 2) << command;
  }
}

TEST_F(TraceTool, Errors_SayWhatToDo) {
  EXPECT_THAT(run_tool("summary /nonexistent/t"), HasSubstr("there is no such trace"));
  EXPECT_EQ(status_, 2);
  std::ofstream(file("text")) << "this is no trace, although it is long enough to be one";
  EXPECT_THAT(run_tool("check " + file("text")), HasSubstr("this is not a trace of shoal"));
  EXPECT_EQ(status_, 2);
  const std::string trace = record(rounds_world(1, 1, 1));
  EXPECT_THAT(run_tool("convert --to pdf " + trace + " -o x"), HasSubstr("pdf"));
  EXPECT_EQ(status_, 2);
  EXPECT_THAT(run_tool("convert --to csv " + trace + " -o /nonexistent/x"),
              HasSubstr("cannot create this file"));
  EXPECT_EQ(status_, 2);
  std::filesystem::rename(trace, file("renamed"));  // so that there are no parts of it
  EXPECT_THAT(run_tool("merge -o " + file("m") + " " + file("renamed")),
              HasSubstr("merged already"));
  EXPECT_EQ(status_, 2);
}

TEST_F(TraceTool, Report_HasTheFindingsAndAllRows) {
  TraceWorld world = rounds_world(4, 30, 100'000);
  world.slow_down(2, 3);
  const Analysed run(record(std::move(world)));
  const auto data = nlohmann::json::parse(report_data(run.model, run.found));
  EXPECT_EQ(data.at("tracks").size(), 8U);
  EXPECT_EQ(data.at("keys").size(), 120U);
  EXPECT_EQ(data.at("hints").at(0).at("kind"), "slow-rank");
  EXPECT_EQ(data.at("statistics").at(0).at("count"), 120);
  EXPECT_EQ(data.at("matrix").at("size"), 4);
  EXPECT_EQ(data.at("matrix").at("count").at(1), 29);
  EXPECT_EQ(data.at("note"), "");
  // 120 numbers of 8 bytes in base64.
  EXPECT_EQ(data.at("segments").at("begin").get<std::string>().size(), 120U * 8 / 3 * 4);
  // One worker of four is always busy, and they all are for a third of the time.
  double sum = 0;
  for (const auto& part : data.at("utilization")) sum += part.get<double>();
  EXPECT_NEAR(sum / static_cast<double>(data.at("utilization").size()), 0.5, 0.01);
}

// One of two workers runs a handler for the first half of the run, and then nothing.
TEST_F(TraceTool, Report_HandlersAreBusyInTheChartOverTime) {
  using namespace shoal::trace;  // NOLINT(google-build-using-namespace): probes
  TwoRanks run(file("handled"));
  run.at(0, 0);
  message_handled(make_id(1, 0, 1), intern("question"));
  run.at(50, 0);
  message_done(make_id(1, 0, 1));
  run.at(100, 0);
  task_started(1, 0, intern("last"));
  task_ended(1);
  run.finish();
  const Analysed found(file("handled"));
  const auto data = nlohmann::json::parse(report_data(found.model, found.found));
  const auto& busy = data.at("utilization");
  for (std::size_t i = 0; i < busy.size(); ++i) {
    EXPECT_NEAR(busy.at(i).get<double>(), 2 * i < busy.size() ? 0.5 : 0, 1e-3) << i;
  }
}

// Two tasks are made at 0, and run one after the other for 10 us each.
TEST_F(TraceTool, Report_HasTheTasksThatAreMadeAndHaveNotEnded) {
  using namespace shoal::trace;  // NOLINT(google-build-using-namespace): probes
  shoal::testing::SetTime time;
  Recorder recorder(shoal::testing::options_with(time, file("made")));
  const Track worker = recorder.make_track(0, 0, "worker 0");
  worker.enter();
  for (const std::uint64_t id : {1U, 2U}) task_created(id, 0, 0);
  for (const std::uint64_t id : {1U, 2U}) {
    task_ready(id, 0);
    task_started(id, 0, intern("cell"));
    time.set(time.now_ns() + 10'000);
    task_ended(id);
  }
  Track::leave();
  recorder.finish();
  const Analysed run(file("made"));
  const auto data = nlohmann::json::parse(report_data(run.model, run.found));
  const auto& made = data.at("made");
  for (std::size_t i = 0; i < made.size(); ++i) {
    EXPECT_NEAR(made.at(i).get<double>(), 2 * i < made.size() ? 2 : 1, 1e-3) << i;
  }
}

TEST_F(TraceTool, Report_WorksInABrowser) {
  TraceWorld world = rounds_world(4, 30, 100'000);
  world.slow_down(2, 3);
  world.add("</script><b>\"name\" & 'more'", 0, 5'000);
  world.add("sending tiles", 1, 5'000);  // a transfer of a flow
  const std::string trace = record(std::move(world));
  run_tool("report " + trace + " -o " + file("page.html"));
  ASSERT_EQ(status_, 0);
  const char* const check = std::getenv("SHOAL_CHECK_PAGE");  // NOLINT(concurrency-mt-unsafe)
  ASSERT_NE(check, nullptr) << "SHOAL_CHECK_PAGE is not set: run this by ctest";
  const std::string output =
      run(std::string(check) + " " + file("page.html") +
          " --search '(17)' --expect 'rank 2 is slow' --expect 'most for step from rank 2'"
          " --expect '</script><b>' --hints 1 --needs");
  constexpr int kSkipped = 77;
  if (status_ == kSkipped) GTEST_SKIP() << output;
  EXPECT_EQ(status_, 0) << output;
}

// Three iterations of a task on a datum, each of which needs the one before.
TEST_F(TraceTool, Report_ShowsIterationsAndDataInABrowser) {
  using namespace shoal::trace;  // NOLINT(google-build-using-namespace): probes
  const std::source_location place = std::source_location::current();
  shoal::testing::SetTime time;
  Recorder recorder(shoal::testing::options_with(time, file("relaxed")));
  const Track first = recorder.make_track(0, 0, "worker 0");
  const Track second = recorder.make_track(0, 1, "worker 1");
  first.enter();
  task_started(100, 0, intern(kMainName));
  describe_name(Fact::datum, "A[1, 2]", "2048 1");
  describe_name(Fact::datum, "sum", "8 0");
  for (std::uint64_t i = 1; i <= 3; ++i) {
    first.enter();
    {
      const Span span(kIterationName, i);
      task_submitted(i, 0, intern("relax"));
      describe_task(i, "(A[1, 2], sum)");
      describe_insertion(i, "relax", place);
      if (i > 1) depends_on(i, i - 1);
    }
    second.enter();
    time.set(time.now_ns() + 10'000);
    task_started(i, 0, 0);
    time.set(time.now_ns() + 1'000);
    task_ended(i);
  }
  first.enter();
  time.set(time.now_ns() + 10'000);
  task_ended(100);
  Track::leave();
  recorder.finish();
  run_tool("report " + file("relaxed") + " -o " + file("page.html"));
  ASSERT_EQ(status_, 0);
  const std::string output =
      run(std::string(std::getenv("SHOAL_CHECK_PAGE")) + " " + file("page.html") +  // NOLINT
          " --search 'A[1, 2]' --panel 'datum A[1, 2]: 2.00 KiB of rank 1' --iterations --needs" +
          fmt::format(" --panel 'inserted at tests/tools/trace_tool_test.cpp:{}'", place.line()));
  constexpr int kSkipped = 77;
  if (status_ == kSkipped) GTEST_SKIP() << output;
  EXPECT_EQ(status_, 0) << output;
}

TEST_F(TraceTool, CountersAndMarks_AreOnThePage) {
  using namespace shoal::trace;  // NOLINT(google-build-using-namespace): probes
  shoal::testing::SetTime time;
  Recorder recorder(shoal::testing::options_with(time, file("counted")));
  const Track worker = recorder.make_track(2, 0, "worker 0");
  worker.enter();
  for (std::uint64_t i = 1; i <= 3; ++i) {
    time.set(1000 * i);
    counter("residual", 1.0 / static_cast<double>(i));
    memory_counter(intern("resident memory"), 1e6);
  }
  mark("converged", 3);
  Track::leave();
  recorder.finish();
  const Analysed run(file("counted"));
  const auto data = nlohmann::json::parse(report_data(run.model, run.found));
  ASSERT_EQ(data.at("counters").size(), 2U);
  EXPECT_EQ(data.at("counters").at(0).at("name"), "resident memory");
  EXPECT_EQ(data.at("counters").at(0).at("rank"), 2);
  EXPECT_EQ(data.at("counters").at(1).at("name"), "residual");
  // 3 numbers of 8 bytes in base64.
  EXPECT_EQ(data.at("counters").at(1).at("value").get<std::string>().size(), 32U);
  EXPECT_EQ(data.at("marks").at("time").get<std::string>().size(), 12U);
}

// The main function makes two tasks for each of three iterations, which run one behind the other.
// The second one of an iteration makes a task itself, and its message another one on rank 1. The
// last task says that it belongs to a further iteration.
TEST_F(TraceTool, Iterations_HaveTheTasksThatAreMadeInTheirSpans) {
  using namespace shoal::trace;  // NOLINT(google-build-using-namespace): probes
  shoal::testing::SetTime time;
  Recorder recorder(shoal::testing::options_with(time, file("iterations")));
  const Track first = recorder.make_track(0, 0, "worker 0");
  const Track second = recorder.make_track(0, 1, "worker 1");
  const Track other = recorder.make_track(1, 0, "worker 0");
  const auto make = [](std::uint64_t id, const char* name) { task_submitted(id, 0, intern(name)); };
  first.enter();
  task_started(100, 0, intern(kMainName));
  make(99, "before");
  for (std::uint64_t i = 0; i < 3; ++i) {
    const Span span(kIterationName, 10 + i);
    make(2 * i + 1, "a");
    make(2 * i + 2, "b");
    time.set(time.now_ns() + 1'000);
  }
  make(98, "after");
  second.enter();
  for (std::uint64_t i = 0; i < 3; ++i) {
    for (const std::uint64_t id : {2 * i + 1, 2 * i + 2}) {
      task_started(id, 0, 0);
      time.set(time.now_ns() + 10'000);
      if (id == 4) {
        make(50, "inner");
        message_sent(200, 1, 64, intern("tell"));
      }
      task_ended(id);
    }
  }
  other.enter();
  message_received(200, 0, 64);
  message_handled(200, intern("tell"));
  make(51, "told");
  message_done(200);
  for (const std::uint64_t id : {50U, 51U, 98U, 99U}) {
    task_started(id, 0, 0);
    if (id == 50) {
      const Span span(kIterationName, 20);
    }
    task_ended(id);
  }
  Track::leave();
  recorder.finish();
  const Analysed run(file("iterations"));
  ASSERT_EQ(run.found.iterations.size(), 4U);
  for (std::size_t i = 0; i < 3; ++i) {
    const IterationStatistics& one = run.found.iterations[i];
    const auto step = static_cast<std::int64_t>(i);
    EXPECT_EQ(one.number, 10 + step);
    EXPECT_EQ(one.count, i == 1 ? 3U : 2U);  // with the one that the message has made
    EXPECT_EQ(one.busy, 20'000);
    EXPECT_EQ(one.begin, 3'000 + 20'000 * step);
    EXPECT_EQ(one.made, i == 1 ? 63'000 : 1'000 * step);
    EXPECT_EQ(one.end, i == 1 ? 63'000 : 23'000 + 20'000 * step);
  }
  EXPECT_EQ(run.found.iterations[3].number, 20);
  EXPECT_EQ(run.found.iterations[3].count, 1U);
  EXPECT_THAT(summary_text(run.model, run.found), HasSubstr("iterations: 4; "));
  const auto data = nlohmann::json::parse(report_data(run.model, run.found));
  EXPECT_EQ(data.at("iterations").at(2), nlohmann::json::array({12, 2, 2'000, 43'000, 63'000}));
  const auto summary = nlohmann::json::parse(summary_json(run.model, run.found));
  EXPECT_EQ(summary.at("iterations").at(0).at("end_ns"), 23'000);
  to_dot(*std::make_unique<Input>(file("iterations")), file("dot"));
  EXPECT_THAT(text_of("dot"), ContainsRegex("t5 .label=\"a[^\"]*iteration 12\""));
  EXPECT_THAT(text_of("dot"), Not(ContainsRegex("t9[89] .label=\"[^\"]*iteration")));
}

TEST_F(TraceTool, Comparison_ShowsBothTimelinesInABrowser) {
  const std::string quick = record(rounds_world(2, 20, 10'000), "quick");
  TraceWorld slower = rounds_world(3, 20, 10'000);
  slower.slow_down(1, 4);
  const std::string slow = record(std::move(slower), "slow");
  EXPECT_EQ(run_tool("diff " + quick + " " + slow + " -o " + file("page.html")), "");
  ASSERT_EQ(status_, 0);
  const std::string output = run(
      std::string(std::getenv("SHOAL_CHECK_PAGE")) + " " + file("page.html") +  // NOLINT
      " --search 'step' --expect 'only in B: rank 1 is slow' --expect '+100.0 %'"
      " --rows 'A rank 0|B rank 0|A rank 0|B rank 0|A rank 1|B rank 1|A rank 1|B rank 1|B rank 2'");
  constexpr int kSkipped = 77;
  if (status_ == kSkipped) GTEST_SKIP() << output;
  EXPECT_EQ(status_, 0) << output;
}

TEST_F(TraceTool, PartsOfARun_AreMergedOnTheWay) {
  rounds_world(2, 3, 1000).record(shoal::trace::part_path(file("only"), 0));
  EXPECT_THAT(run_tool("summary " + file("only")), HasSubstr("6 tasks"));
  EXPECT_THAT(run_tool("merge " + file("only") + " -o " + file("only")),
              HasSubstr("events of 1 processes"));
  EXPECT_EQ(status_, 0);
  EXPECT_TRUE(std::filesystem::exists(file("only")));
}

TEST_F(TraceTool, ManyRanks_TheTextStaysShort) {
  TraceWorld world = rounds_world(40, 10, 10'000);
  world.slow_down(7, 2);
  const Analysed run(record(std::move(world)));
  const auto lines = idle_lines(run.found);
  ASSERT_EQ(lines.size(), 9U);
  EXPECT_THAT(lines.back(), HasSubstr("31 more ranks"));
  EXPECT_THAT(path_text(run.found), HasSubstr("200 us are step on rank 7"));
  // A path that goes round.
  TraceWorld ring(40);
  int last = ring.add("step", 0, 10'000);
  for (int i = 1; i < 80; ++i) last = ring.add("step", i % 40, 10'000, {last});
  const Analysed round(record(std::move(ring), "ring"));
  EXPECT_THAT(path_text(round.found), HasSubstr("800 us are step on 40 ranks"));
  EXPECT_THAT(path_text(round.found), HasSubstr("158 us are messages"));
}

/// Reads a trace in every way; errors of the library are as good as answers.
void read_all(const std::string& path, const std::string& output) {
  try {
    Input input(path);
    const Model model(input);
    const Analysis found = analyse(model);
    EXPECT_FALSE(summary_text(model, found).empty());
    EXPECT_FALSE(report_data(model, found).empty());
    static_cast<void>(check(input, std::nullopt));
    to_perfetto(input, output);
    to_paje(input, output);
    to_csv(input, output);
    to_dot(input, output);
  } catch (const shoal::Error& error) {
    EXPECT_FALSE(std::string(error.what()).empty());
  }
}

TEST_F(TraceTool, DamagedFiles_AreReadOrRefused) {
  TraceWorld world = rounds_world(3, 20, 1'000);
  world.record(shoal::trace::part_path(file("whole"), 0));
  const std::string whole = text_of("whole.part0");
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    std::mt19937_64 random(seed);
    std::string damaged = whole;
    for (std::uint64_t i = random() % 3; i < 3; ++i) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    if (random() % 4 == 0) damaged.resize(random() % damaged.size());
    std::ofstream(file("damaged"), std::ios::binary) << damaged;
    SCOPED_TRACE(seed);
    read_all(file("damaged"), file("out"));
  }
}

TEST_F(TraceTool, NonsenseEvents_AreReadWithoutHarm) {
  using namespace shoal::trace;  // NOLINT(google-build-using-namespace): of a file
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    std::mt19937_64 random(seed);
    FileHeader header;
    header.clock = ClockKind::merged;
    {
      FileWriter writer(file("nonsense"), header);
      writer.write_text(ChunkType::tracks, R"([{"track":0,"rank":0,"worker":0,"name":"a"},)"
                                           R"({"track":1,"rank":3,"worker":0,"name":"b"}])");
      writer.write_name(1, "one");
      std::vector<Event> events(500);
      std::uint64_t time = 0;
      for (Event& event : events) {
        event.time = time += random() % 100;
        event.id = random() % 20;
        event.value = random() % 3 == 0 ? random() : random() % 20;
        event.name = static_cast<NameId>(random() % 3);
        event.set(static_cast<std::uint32_t>(random() % 3), static_cast<Kind>(random() % 40));
      }
      writer.write_records(ChunkType::events, std::span<const Event>(events));
    }
    SCOPED_TRACE(seed);
    read_all(file("nonsense"), file("out"));
  }
}

TEST_F(TraceTool, EmptyTrace_IsNoError) {
  TraceWorld world(1);
  const Analysed run(record(std::move(world)));
  EXPECT_THAT(run.found.path, IsEmpty());
  EXPECT_THAT(summary_text(run.model, run.found), HasSubstr("no critical path"));
}

}  // namespace trace_tool_test
