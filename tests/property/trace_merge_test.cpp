// Merging parts: order, clocks, memory, and parts that are damaged or do not belong together.

#include <shoal/error.hpp>
#include <shoal/trace.hpp>

#include "support/heap_meter.hpp"
#include "support/sizes.hpp"
#include "support/trace_files.hpp"
#include "trace/clocks.hpp"
#include "trace/file.hpp"
#include "trace/merge.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

namespace trace_merge_test {

using namespace shoal::trace;  // NOLINT(google-build-using-namespace): what is tested
using shoal::env::TickSample;
using shoal::testing::HeapMeter;
using shoal::testing::read_trace;
using shoal::testing::TemporaryFolder;
using shoal::testing::TraceContent;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TraceMerge : public ::testing::Test {
 protected:
  [[nodiscard]] std::string part(std::uint32_t process) const {
    return part_path(folder_.file("t"), process);
  }
  [[nodiscard]] MergeReport merge_all(const MergeOptions& options = {}) const {
    return merge(find_parts(folder_.file("t")), folder_.file("t"), options);
  }
  [[nodiscard]] TraceContent merged() const { return read_trace(folder_.file("t")); }
  TemporaryFolder folder_;
};

/// A part that is made without a recorder.
class MadePart {
 public:
  MadePart(const std::string& path, std::uint32_t process, std::uint32_t processes,
           ClockKind clock = ClockKind::monotonic_raw)
      : file_(path, header(process, processes, clock)) {
    file_.write_text(ChunkType::identity, R"({"program":"made","host":"here"})");
  }
  void track(std::uint32_t number, int rank, int worker) {
    file_.write_text(ChunkType::tracks,
                     fmt::format(R"([{{"track":{},"rank":{},"worker":{},"name":"worker {}"}}])",
                                 number, rank, worker, worker));
  }
  void barriers(const std::vector<std::uint64_t>& ticks) {
    file_.write_records(ChunkType::barrier, std::span<const std::uint64_t>(ticks));
  }
  void events(std::uint32_t track, const std::vector<std::uint64_t>& times, NameId name = 0,
              std::uint64_t id = 0) {
    std::vector<Event> events;
    for (const std::uint64_t time : times) {
      Event event;
      event.time = time;
      event.name = name;
      event.id = id;
      event.set(track, Kind::mark);
      events.push_back(event);
    }
    file_.write_records(ChunkType::events, std::span<const Event>(events), track);
  }
  FileWriter& file() { return file_; }
  void end() {
    file_.write_text(ChunkType::end, "{}");
    file_.close();
  }

 private:
  static FileHeader header(std::uint32_t process, std::uint32_t processes, ClockKind clock) {
    FileHeader header;
    header.process = process;
    header.processes = processes;
    header.clock = clock;
    return header;
  }
  FileWriter file_;
};

std::vector<std::uint64_t> times_of(const TraceContent& content) {
  std::vector<std::uint64_t> times;
  times.reserve(content.events.size());
  for (const Event& event : content.events) times.push_back(event.time);
  return times;
}

TEST_F(TraceMerge, TwoParts_OneOrderOneTableOfNames) {
  MadePart first(part(0), 0, 2);
  first.track(0, 0, 0);
  first.file().write_name(1, "gemm");
  first.events(0, {1000, 1020, 1040}, 1);
  first.end();
  MadePart second(part(1), 1, 2);
  second.track(0, 1, 1);
  second.track(1, 1, 0);
  second.file().write_name(1, "potrf");
  second.file().write_name(2, "gemm");
  second.events(0, {1010, 1030}, 2);
  second.events(1, {1005}, 1);
  second.end();

  const MergeReport report = merge_all();
  EXPECT_EQ(report.events, 6U);
  EXPECT_TRUE(report.damage.empty());
  EXPECT_EQ(report.parts_missing, 0U);
  const TraceContent content = merged();
  EXPECT_EQ(content.header.clock, ClockKind::merged);
  EXPECT_THAT(times_of(content), ElementsAre(0, 5, 10, 20, 30, 40));
  // Tracks are ordered by rank and worker: worker 0 of rank 1 comes before worker 1.
  EXPECT_EQ(content.events[1].track(), 1U);
  EXPECT_EQ(content.events[2].track(), 2U);
  EXPECT_EQ(content.names.at(content.events[0].name), "gemm");
  EXPECT_EQ(content.names.at(content.events[1].name), "potrf");
  EXPECT_EQ(content.events[0].name, content.events[2].name);
  EXPECT_THAT(content.identity, HasSubstr(R"("program":"made")"));
  EXPECT_TRUE(content.has_end);
}

TEST_F(TraceMerge, ClocksApart_EventsComeInTheTrueOrder) {
  // Process 1: ticks of 2 GHz that began 5 s earlier, and run 40 ppm too fast.
  constexpr std::uint64_t kBegin = 1'000'000'000;
  const auto ticks_of = [](std::uint64_t t) {
    return static_cast<std::uint64_t>(2 * (5e9 + static_cast<double>(t) * 1.00004));
  };
  MadePart root(part(0), 0, 2);
  root.track(0, 0, 0);
  MadePart other(part(1), 1, 2, ClockKind::tsc);
  other.file().write_text(ChunkType::identity, R"({"host":"there"})");
  other.track(0, 1, 0);
  std::vector<TickSample> samples;
  for (const std::uint64_t t : {kBegin, kBegin + 10'000'000'000}) {
    samples.push_back({ticks_of(t), ticks_of(t) / 2, 1});
  }
  other.file().write_records(ChunkType::clock, std::span<const TickSample>(samples));
  const std::vector<SyncPoint> points = {
      {ticks_of(kBegin), kBegin, 100, 0, 0},
      {ticks_of(kBegin + 9'000'000'000), kBegin + 9'000'000'000, 300, 0, 0}};
  other.file().write_records(ChunkType::sync, std::span<const SyncPoint>(points));
  std::vector<std::uint64_t> of_root;
  std::vector<std::uint64_t> of_other;
  for (std::uint64_t i = 0; i < 1000; ++i) {  // by turns, 2 us apart
    of_root.push_back(kBegin + 8'000'000 * i);
    of_other.push_back(ticks_of(kBegin + 8'000'000 * i + 2'000));
  }
  root.events(0, of_root);
  other.events(0, of_other);
  // The second barrier is left 700 ns apart; a third one ends with the run of one process.
  root.barriers({kBegin + 1'000, kBegin + 8'000'000'000, kBegin + 9'000'000'000});
  other.barriers({ticks_of(kBegin + 1'000), ticks_of(kBegin + 8'000'000'700)});
  root.end();
  other.end();
  const MergeReport report = merge_all();
  EXPECT_NEAR(static_cast<double>(report.uncertainty_ns), 300, 1);  // and half a tick of 2 GHz
  EXPECT_TRUE(report.unsynchronized.empty());
  EXPECT_EQ(report.barriers, 2U);
  EXPECT_NEAR(static_cast<double>(report.barrier_spread_ns), 700, 2);
  // Eight seconds after a comparison that is uncertain by 100 ns, to both sides.
  EXPECT_NEAR(static_cast<double>(report.barrier_uncertainty_ns), 2 * (100 + 800'000), 10);
  const TraceContent content = merged();
  ASSERT_EQ(content.events.size(), 2000U);
  for (std::size_t i = 0; i < 2000; ++i) {
    ASSERT_EQ(content.events[i].track(), i % 2);
    const std::size_t expected = 8'000'000 * (i / 2) + 2'000 * (i % 2);
    ASSERT_NEAR(static_cast<double>(content.events[i].time), static_cast<double>(expected), 2);
  }
}

TEST_F(TraceMerge, RandomParts_AreAPermutationInOrder) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::mt19937_64 random(seed);
    const TemporaryFolder folder;
    const auto parts = static_cast<std::uint32_t>(1 + random() % 5);
    std::vector<std::uint64_t> expected;
    std::uint64_t id = 0;
    for (std::uint32_t p = 0; p < parts; ++p) {
      MadePart made(part_path(folder.file("r"), p), p, parts);
      const auto tracks = static_cast<std::uint32_t>(1 + random() % 4);
      std::vector<std::uint64_t> now(tracks, 1);
      for (std::uint32_t t = 0; t < tracks; ++t) made.track(t, static_cast<int>(p), 0);
      for (int chunk = 0; chunk < 10; ++chunk) {
        const auto t = static_cast<std::uint32_t>(random() % tracks);
        std::vector<std::uint64_t> times;
        for (std::uint64_t i = random() % 100; i > 0; --i) {
          times.push_back(now[t] += random() % 50);
        }
        expected.insert(expected.end(), times.begin(), times.end());
        made.events(t, times, 0, ++id);
      }
      made.end();
    }
    MergeOptions options;
    options.memory_bytes = 1000 * (random() % 3);  // down to 16 events of a track
    const MergeReport report = merge(find_parts(folder.file("r")), folder.file("r"), options);
    std::sort(expected.begin(), expected.end());
    for (std::uint64_t& time : expected) {
      if (&time != expected.data()) time -= expected.front();
    }
    if (!expected.empty()) expected.front() = 0;
    EXPECT_EQ(report.steps_back, 0U);
    ASSERT_EQ(times_of(read_trace(folder.file("r"))), expected) << "seed " << seed;
  }
}

TEST_F(TraceMerge, PartsOfRecorders_WithDescriptions) {
  for (std::uint32_t process = 0; process < 3; ++process) {
    Options options;
    options.path = part(process);
    options.process = process;
    options.processes = 3;
    options.first_rank = static_cast<int>(process);
    options.identity = {{"host", "this"}, {"rank", std::to_string(process)}};
    Recorder recorder(options);
    for (int i = 0; i < 1000; ++i) {
      const Span span(fmt::format("span {}", i % 7));
      describe_task(static_cast<std::uint64_t>(i), "a key that is longer than one record can hold");
    }
    recorder.finish();
  }
  const MergeReport report = merge_all();
  EXPECT_EQ(report.events, 6000U);
  EXPECT_EQ(report.steps_back, 0U);
  EXPECT_TRUE(report.damage.empty());
  const TraceContent content = merged();
  EXPECT_EQ(content.details.size(), 9000U);
  EXPECT_EQ(content.names.size(), 7U);
  // The recordings came one after the other.
  for (std::size_t i = 0; i < 6000; ++i) ASSERT_EQ(content.events[i].track(), i / 2000);
}

TEST_F(TraceMerge, TimeThatStepsBack_IsCountedAndKeptInOrder) {
  MadePart made(part(0), 0, 1);
  made.track(0, 0, 0);
  made.events(0, {100, 50, 120});
  made.end();
  EXPECT_EQ(merge_all().steps_back, 1U);
  EXPECT_THAT(times_of(merged()), ElementsAre(0, 0, 20));
}

TEST_F(TraceMerge, KilledAndMissingProcesses_AreReported) {
  MadePart first(part(0), 0, 3);
  first.track(0, 0, 0);
  first.events(0, {1, 2, 3});
  first.file().close();  // without an end
  MadePart last(part(2), 2, 3);
  last.track(0, 2, 0);
  last.events(0, {4});
  last.events(0, {5});
  last.end();
  const auto size = std::filesystem::file_size(part(2));
  std::filesystem::resize_file(part(2), size - 50);  // in the second chunk of events
  const MergeReport report = merge_all();
  EXPECT_EQ(report.parts_missing, 1U);
  ASSERT_EQ(report.damage.size(), 2U);
  EXPECT_THAT(report.damage[0], HasSubstr("part0: the run was killed"));
  EXPECT_THAT(report.damage[1], HasSubstr("cut off"));
  EXPECT_THAT(times_of(merged()), ElementsAre(0, 1, 2, 3));
}

TEST_F(TraceMerge, DamagedEvents_EndTheirTrackAndAreReported) {
  MadePart made(part(0), 0, 1);
  made.track(0, 0, 0);
  made.events(0, {1, 2, 3});
  const std::uint64_t good = made.file().size_bytes();
  made.events(0, {4, 5, 6});
  made.end();
  {
    std::fstream file(part(0), std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(good + 40));
    file << "damage";
  }
  const MergeReport report = merge_all();
  ASSERT_EQ(report.damage.size(), 1U);
  EXPECT_THAT(report.damage[0], HasSubstr("checksum"));
  EXPECT_THAT(times_of(merged()), ElementsAre(0, 1, 2));
}

TEST_F(TraceMerge, Refusals) {
  EXPECT_THROW(merge({}, folder_.file("t")), shoal::Error);
  MadePart made(part(0), 0, 1);
  made.track(0, 0, 0);
  made.end();
  try {
    merge({part(0), part(0)}, folder_.file("t"));
    FAIL() << "not refused";
  } catch (const shoal::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("are both of process 0"));
  }
  merge({part(0)}, folder_.file("t"));
  try {
    merge({folder_.file("t")}, folder_.file("u"));
    FAIL() << "not refused";
  } catch (const shoal::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("merged already"));
  }
  MadePart bad(part(1), 1, 2);
  bad.file().write_text(ChunkType::tracks, R"([{"track":"zero"}])");
  bad.end();
  EXPECT_THROW(merge({part(1)}, folder_.file("u")), shoal::Error);
  EXPECT_THROW(merge({part(0)}, "/nonexistent/t"), shoal::Error);
}

TEST_F(TraceMerge, ManyEvents_NeedLittleMemory) {
  constexpr std::uint64_t kEvents = shoal::testing::kSanitized ? 200'000 : 10'000'000;
  constexpr std::uint32_t kParts = 4;
  constexpr std::uint32_t kTracks = 4;  // of a part
  std::vector<Event> chunk(kChunkRecordsMax);
  for (std::uint32_t p = 0; p < kParts; ++p) {
    MadePart made(part(p), p, kParts);
    for (std::uint32_t t = 0; t < kTracks; ++t) made.track(t, static_cast<int>(p), 0);
    std::vector<std::uint64_t> now(kTracks, p);  // all tracks run side by side
    for (std::uint64_t done = 0; done < kEvents / kParts; done += chunk.size()) {
      const auto track = static_cast<std::uint32_t>(done / chunk.size() % kTracks);
      for (Event& event : chunk) {
        event.time = now[track] += 4;
        event.set(track, Kind::mark);
      }
      made.file().write_records(ChunkType::events, std::span<const Event>(chunk), track);
    }
    made.end();
  }
  HeapMeter::reset();
  MergeOptions options;
  options.memory_bytes = std::size_t{2} << 20U;
  const MergeReport report = merge_all(options);
  EXPECT_GE(report.events, kEvents);
  if (HeapMeter::counts) {
    // Ten times as many events make an index that is longer by 200 KB, and nothing else.
    EXPECT_LT(HeapMeter::growth_bytes(), std::size_t{8} << 20U);
  }
  FileReader reader(folder_.file("t"));
  std::uint64_t count = 0;
  std::uint64_t last = 0;
  std::vector<Event> events;
  while (const ChunkHeader* header = reader.next()) {
    if (header->type != ChunkType::events) continue;
    ASSERT_TRUE(reader.records(events));
    for (const Event& event : events) {
      ASSERT_GE(event.time, last);
      last = event.time;
    }
    count += events.size();
  }
  EXPECT_EQ(count, report.events);
}

}  // namespace trace_merge_test
