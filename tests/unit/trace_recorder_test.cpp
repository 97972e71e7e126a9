// Recording: what is recorded, kept, dropped, and readable after a run that was killed.

#include <shoal/trace.h>
#include <shoal/detail/env/env.hpp>
#include <shoal/error.hpp>
#include <shoal/trace.hpp>

#include "support/trace_files.hpp"
#include "trace/clocks.hpp"
#include "trace/merge.hpp"
#include "trace/recorder.hpp"
#include "trace/stream.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <thread>

namespace trace_recorder_test {

using namespace shoal::trace;  // NOLINT(google-build-using-namespace): what is tested
using shoal::testing::read_trace;
using shoal::testing::TemporaryFolder;
using shoal::testing::TraceContent;
using ::testing::HasSubstr;

class TraceRecorder : public ::testing::Test {
 protected:
  [[nodiscard]] Options options(const std::string& name = "t.part0") const {
    Options options;
    options.path = folder_.file(name);
    options.identity = {{"program", "a test"}};
    return options;
  }
  TemporaryFolder folder_;
};

/// Time that goes on by one nanosecond with every look.
class VirtualTime final : public shoal::env::Env {
 public:
  std::uint64_t now_ns() override { return ++now_; }
  std::uint64_t random_seed() override { return 0; }
  std::unique_ptr<shoal::env::Parker> make_parker() override { return nullptr; }
  void yield() override {}
  void drive(const std::vector<shoal::env::Steppable*>& /*all*/) override {}

 private:
  std::uint64_t now_ = 0;
};

TEST(TraceEvents, Kinds_AreATableByNumber) {
  EXPECT_EQ(info_of(Kind::task_ended).name, "task ended");
  EXPECT_EQ(info_of(Kind::wave).category, Category::term);
  EXPECT_EQ(info_of(static_cast<Kind>(250)).kind, Kind::none);
}

TEST(TraceEvents, Categories_AreReadByName) {
  EXPECT_EQ(parse_categories("all"), kAllCategories);
  EXPECT_EQ(parse_categories("task,user"), bit_of(Category::task) | bit_of(Category::user));
  EXPECT_EQ(parse_categories("task,nothing"), std::nullopt);
  EXPECT_EQ(parse_categories(""), std::nullopt);
  EXPECT_EQ(parse_categories("task,"), std::nullopt);
}

TEST(TraceEvents, Ids_NameTheRank) {
  const std::uint64_t id = make_id(70'000, 3, 5);
  EXPECT_EQ(rank_of_id(id), 70'000U);
  EXPECT_NE(id, make_id(70'000, 4, 5));
  EXPECT_EQ(peer_of(peer_bytes(1'000'000, 77)), 1'000'000U);
  EXPECT_EQ(size_bytes_of(peer_bytes(1'000'000, 77)), 77U);
}

TEST(TraceSlotRing, OneThreadWritesOneReads_NothingIsLostOrReordered) {
  SlotRing<std::uint64_t> ring(256 * sizeof(std::uint64_t));
  constexpr std::uint64_t kCount = 100'000;
  std::thread producer([&ring] {
    for (std::uint64_t i = 0; i < kCount;) {
      if (ring.try_push(i)) {
        ++i;
      } else {
        std::this_thread::yield();
      }
    }
  });
  std::uint64_t next = 0;
  while (next < kCount) {
    const auto slots = ring.front();
    if (slots.empty()) std::this_thread::yield();
    for (const std::uint64_t slot : slots) ASSERT_EQ(slot, next++);
    ring.pop(slots.size());
  }
  producer.join();
  EXPECT_TRUE(ring.front().empty());
}

TEST(TraceSlotRing, WithoutRoom_RefusesAll) {
  SlotRing<std::uint64_t> ring(0);
  EXPECT_FALSE(ring.try_push(1));
  EXPECT_TRUE(ring.front().empty());
}

TEST_F(TraceRecorder, Off_ProbesDoNothing) {
  mark("nobody");
  const Span span("nobody");
  EXPECT_EQ(new_id(), 0U);
  EXPECT_EQ(intern("nobody"), 0U);
  EXPECT_FALSE(on(Category::user));
  EXPECT_EQ(shoal_trace_begin("nobody"), 0U);
  EXPECT_EQ(shoal_trace_on(), 0);
}

TEST_F(TraceRecorder, EventsOfATrack_AreReadInTheirOrder) {
  const Options with = options();
  Recorder recorder(with);
  const Track track = recorder.make_track(7, 2, "worker 2");
  track.enter();
  const std::uint64_t task = new_id();
  EXPECT_EQ(rank_of_id(task), 7U);
  describe_task(task, "(1, 2, a key that needs more than one record)");
  depends_on(task, 99);
  task_created(task, 1, intern("gemm"));
  task_ready(task, 99);
  task_started(task, -4, intern("gemm"));
  message_sent(5, 3, 1000, intern("put"));
  task_ended(task);
  Track::leave();
  recorder.finish();

  const TraceContent content = read_trace(with.path);
  EXPECT_TRUE(content.has_end);
  EXPECT_EQ(content.damage, "");
  ASSERT_EQ(content.events.size(), 5U);
  EXPECT_EQ(content.events[0].kind(), Kind::task_created);
  EXPECT_EQ(content.names.at(content.events[0].name), "gemm");
  EXPECT_EQ(static_cast<std::int64_t>(content.events[2].value), -4);
  EXPECT_EQ(peer_of(content.events[3].value), 3U);
  for (std::size_t i = 1; i < content.events.size(); ++i) {
    EXPECT_GE(content.events[i].time, content.events[i - 1].time);
  }
  EXPECT_THAT(content.tracks, HasSubstr(R"("rank":7,"worker":2,"name":"worker 2")"));
  EXPECT_THAT(content.identity, HasSubstr("a test"));
  ASSERT_EQ(content.details.size(), 4U);  // three of the key
  EXPECT_EQ(content.details[0].length, Detail::kTextBytes | Detail::kGoesOn);
  EXPECT_EQ(content.details[3].type, Detail::Type::depends_on);
}

TEST_F(TraceRecorder, SpansMarksAndCounters_OfCppAndC) {
  static constinit Name name("panel");
  const Options with = options();
  for (int round = 0; round < 2; ++round) {  // a Name is right in each recording
    Recorder recorder(with);
    if (round == 1) static_cast<void>(intern("another comes first"));
    {
      const Span span(name, 3);
      const Span inner("inner");
      mark("here", 42);
      counter(name, 2.5);
    }
    const std::uint64_t c_span = shoal_trace_begin("of C");
    shoal_trace_mark("mark of C", 1);
    shoal_trace_counter("count of C", -0.5);
    shoal_trace_end(c_span);
    recorder.finish();

    const TraceContent content = read_trace(with.path);
    const auto begins = content.of(Kind::span_begin);
    const auto ends = content.of(Kind::span_end);
    ASSERT_EQ(begins.size(), 3U);
    ASSERT_EQ(ends.size(), 3U);
    EXPECT_EQ(content.names.at(begins[0].name), "panel");
    EXPECT_EQ(content.names.at(begins[1].name), "inner");
    EXPECT_EQ(content.names.at(begins[2].name), "of C");
    EXPECT_EQ(begins[0].id, ends[1].id);
    EXPECT_EQ(begins[1].id, ends[0].id);
    EXPECT_EQ(content.of(Kind::mark)[0].value, 42U);
    EXPECT_EQ(std::bit_cast<double>(content.of(Kind::counter)[0].value), 2.5);
    EXPECT_EQ(std::bit_cast<double>(content.of(Kind::counter)[1].value), -0.5);
  }
}

TEST_F(TraceRecorder, Categories_AreChosenAtTheStart) {
  Options with = options();
  with.categories = bit_of(Category::task) | bit_of(Category::sched);
  Recorder recorder(with);
  task_ended(1);
  message_done(2);
  steal(3, 1);
  mark("not this one");
  recorder.finish();
  const TraceContent content = read_trace(with.path);
  ASSERT_EQ(content.events.size(), 2U);
  EXPECT_EQ(content.events[1].kind(), Kind::steal);
}

TEST_F(TraceRecorder, RegionOfInterest_OnlyItIsRecorded) {
  Options with = options();
  with.paused = true;
  Recorder recorder(with);
  EXPECT_TRUE(recorder.is_paused());
  task_ended(1);
  recorder.resume();
  recorder.resume();
  task_ended(2);
  recorder.pause();
  recorder.pause();
  task_ended(3);
  recorder.finish();
  const TraceContent content = read_trace(with.path);
  ASSERT_EQ(content.events.size(), 3U);
  EXPECT_EQ(content.events[0].kind(), Kind::region_begin);
  EXPECT_EQ(content.events[1].id, 2U);
  EXPECT_EQ(content.events[2].kind(), Kind::region_end);
}

// Fortran's module binds to the same functions.
TEST_F(TraceRecorder, RegionOfInterest_IsChosenByC) {
  Options with = options();
  with.paused = true;
  Recorder recorder(with);
  shoal_trace_mark("before", 0);
  EXPECT_EQ(shoal_trace_on(), 0);
  shoal_trace_resume();
  EXPECT_NE(shoal_trace_on(), 0);
  shoal_trace_mark("inside", 7);
  shoal_trace_pause();
  shoal_trace_mark("behind", 0);
  recorder.finish();
  const TraceContent content = read_trace(with.path);
  const auto marks = content.of(Kind::mark);
  ASSERT_EQ(marks.size(), 1U);
  EXPECT_EQ(content.names.at(marks[0].name), "inside");
  EXPECT_EQ(marks[0].value, 7U);
}

TEST_F(TraceRecorder, ManyThreads_EachHasItsTrack) {
  constexpr int kThreads = 4;
  constexpr std::uint64_t kEvents = 20'000;
  const Options with = options();
  Recorder recorder(with);
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&recorder, t] {
      const Track track = recorder.make_track(0, t, "worker");
      track.enter();
      for (std::uint64_t i = 0; i < kEvents; ++i) mark("tick", i);
      Track::leave();
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Drops drops = recorder.drops();
  recorder.finish();
  const TraceContent content = read_trace(with.path);
  std::map<std::uint32_t, std::uint64_t> next;
  for (const Event& event : content.events) {
    ASSERT_EQ(event.value, next[event.track()]++) << "track " << event.track();
  }
  EXPECT_EQ(next.size(), kThreads);
  EXPECT_EQ(content.events.size(), kThreads * kEvents);  // 3 MiB hold them all
  EXPECT_EQ(drops.total(), 0U);
}

TEST_F(TraceRecorder, ThreadThatEnds_GivesItsBufferBack) {
  Options with = options();
  with.buffer_bytes = std::size_t{64} << 10U;
  with.memory_bytes = 4 * with.buffer_bytes;
  Recorder recorder(with);
  constexpr int kThreads = 64;  // one after the other
  for (int i = 0; i < kThreads; ++i) {
    std::thread([] { mark("once"); }).join();
    // The background thread looks at least every 8 ms; memory for the next one comes in time or
    // the thread gets a smaller buffer, and its one event still has room.
  }
  recorder.finish();
  EXPECT_EQ(read_trace(with.path).events.size() + recorder.drops().total(), kThreads);
}

TEST_F(TraceRecorder, RecordingsComeAndGo_WhileThreadsRecord) {
  std::vector<std::jthread> threads;
  threads.reserve(3);
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([](const std::stop_token& stop) {
      for (std::uint64_t i = 0; !stop.stop_requested(); ++i) {
        const Span span("busy", i);
        depends_on(i, i + 1);
        if (i % 64 == 0) std::this_thread::yield();
      }
    });
  }
  for (int round = 0; round < 20; ++round) {
    const Options with = options("t" + std::to_string(round % 2));
    Recorder recorder(with);
    for (int i = 0; i < 5; ++i) {
      recorder.pause();
      std::this_thread::yield();
      recorder.resume();
      const Span span("from outside");
    }
    recorder.finish();
    const TraceContent content = read_trace(with.path);
    EXPECT_EQ(content.damage, "");
    EXPECT_TRUE(content.has_end);
    for (const Event& event : content.of(Kind::span_begin)) {
      ASSERT_TRUE(content.names.contains(event.name)) << event.name;
    }
  }
}

TEST_F(TraceRecorder, FullBuffer_DropsCountsAndMarksThePlace) {
  Options with = options();
  with.buffer_bytes = 4096;  // 64 events
  Recorder recorder(with);
  std::uint64_t recorded = 0;
  while (recorder.drops().total() == 0) {  // the writer is slower than this, sooner or later
    for (int i = 0; i < 1000; ++i) message_done(++recorded);
  }
  std::uint64_t dropped = 0;
  do {  // until the writer has made room
    dropped = recorder.drops().total();
    message_done(++recorded);
  } while (recorder.drops().total() != dropped);
  recorder.finish();
  EXPECT_EQ(recorder.drops().events[static_cast<std::size_t>(Category::message)], dropped);
  const TraceContent content = read_trace(with.path);
  EXPECT_EQ(content.of(Kind::message_done).size() + dropped, recorded);
  std::uint64_t marked = 0;
  for (const Event& event : content.of(Kind::lost)) marked += event.value;
  EXPECT_EQ(marked, dropped);
  EXPECT_THAT(content.drops, HasSubstr("\"message\":" + std::to_string(dropped)));
}

TEST_F(TraceRecorder, NoMemoryForATrack_ItsEventsAreCounted) {
  Options with = options();
  with.memory_bytes = 0;
  Recorder recorder(with);
  task_ended(1);
  task_ended(2);
  mark("user");
  EXPECT_EQ(recorder.drops().events[static_cast<std::size_t>(Category::task)], 2U);
  EXPECT_EQ(recorder.drops().total(), 3U);
  recorder.finish();
  const TraceContent content = read_trace(with.path);
  EXPECT_TRUE(content.events.empty());
  EXPECT_THAT(content.drops, HasSubstr("\"task\":2"));
}

TEST_F(TraceRecorder, VirtualTime_NothingIsDroppedAndTheFileIsTheSame) {
  const auto run = [this](const std::string& name) {
    VirtualTime time;
    Options with = options(name);
    with.virtual_time = &time;
    with.buffer_bytes = 4096;
    Recorder recorder(with);
    std::vector<Track> tracks;
    tracks.reserve(8);
    for (int rank = 0; rank < 8; ++rank) tracks.push_back(recorder.make_track(rank, 0, "worker"));
    for (std::uint64_t i = 0; i < 10'000; ++i) {
      tracks[i % tracks.size()].enter();
      mark("step", i);
      depends_on(i, i + 1);
    }
    Track::leave();
    recorder.finish();
    EXPECT_EQ(recorder.drops(), Drops{});
    std::ifstream file(with.path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::string first = run("a");
  EXPECT_EQ(first, run("b"));
  const TraceContent content = read_trace(folder_.file("a"));
  EXPECT_EQ(content.header.clock, ClockKind::virtual_time);
  EXPECT_EQ(content.events.size(), 10'000U);
  EXPECT_EQ(content.details.size(), 10'000U);
}

TEST_F(TraceRecorder, ManyTracks_ShareTheMemory) {
  Options with = options();
  with.buffer_bytes = std::size_t{64} << 10U;
  with.memory_bytes = std::size_t{2} << 20U;
  Recorder recorder(with);
  std::vector<Track> tracks;
  tracks.reserve(100);
  for (int worker = 0; worker < 100; ++worker) {
    tracks.push_back(recorder.make_track(0, worker, "worker"));
    tracks.back().enter();
    for (std::uint64_t i = 0; i < 64; ++i) mark("now", i);
  }
  Track::leave();
  recorder.finish();
  EXPECT_EQ(recorder.drops(), Drops{});
  EXPECT_EQ(read_trace(with.path).events.size(), 6400U);
}

TEST_F(TraceRecorder, Ids_AreUniqueOverTracks) {
  VirtualTime time;
  Options with = options();
  with.virtual_time = &time;
  Recorder recorder(with);
  std::set<std::uint64_t> ids;
  std::uint64_t count = 0;
  for (int i = 0; i < 3000; ++i) {  // one worker of two ranks, made anew and anew
    const Track track = recorder.make_track(i % 2, 0, "worker 0");
    track.enter();
    for (int k = 0; k < 3; ++k, ++count) ids.insert(new_id());
    Track::leave();
  }
  EXPECT_EQ(ids.size(), count);
  EXPECT_FALSE(ids.contains(0));
}

TEST_F(TraceRecorder, ManyVirtualTracks_NothingIsDropped) {
  VirtualTime time;
  Options with = options();
  with.virtual_time = &time;
  with.memory_bytes = std::size_t{1} << 20U;
  Recorder recorder(with);
  std::vector<Track> tracks;
  tracks.reserve(1024);
  for (int rank = 0; rank < 1024; ++rank) {
    tracks.push_back(recorder.make_track(rank, 0, "worker 0"));
    tracks.back().enter();
    for (std::uint64_t i = 0; i < 200; ++i) mark("now", i);
  }
  Track::leave();
  recorder.finish();
  EXPECT_EQ(recorder.drops(), Drops{});
  EXPECT_EQ(read_trace(with.path).events.size(), 1024U * 200);
}

TEST_F(TraceRecorder, Ticks_AreRelatedToNanoseconds) {
  Options with = options();
  with.flush_ns = 1'000'000;
  Recorder recorder(with);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> around;  // of each event, in nanoseconds
  for (std::uint64_t i = 0; i < 200; ++i) {
    const std::uint64_t before = shoal::env::monotonic_raw_ns();
    mark("now", i);
    around.emplace_back(before, shoal::env::monotonic_raw_ns());
    while (shoal::env::monotonic_raw_ns() - before < 100'000) {
    }
  }
  recorder.finish();
  const TraceContent content = read_trace(with.path);
  const TimeMap map = ticks_to_raw(content.header.clock, content.clock);
  // Samples say themselves how far off they are; interpolation is no worse than they are.
  std::uint64_t slack = 100;
  for (const auto& sample : content.clock) slack = std::max(slack, 2 * sample.uncertainty_ticks);
  ASSERT_EQ(content.of(Kind::mark).size(), around.size());
  for (const Event& event : content.of(Kind::mark)) {
    const auto time = static_cast<std::uint64_t>(map(event.time));
    EXPECT_GE(time + slack, around[event.value].first) << event.value;
    EXPECT_LE(time, around[event.value].second + slack) << event.value;
  }
}

TEST_F(TraceRecorder, RawClock_IsTheFallback) {
  Options with = options();
  with.ticks = shoal::env::TickSource::monotonic_raw;
  const std::uint64_t before = shoal::env::monotonic_raw_ns();
  Recorder recorder(with);
  mark("now");
  recorder.finish();
  const std::uint64_t after = shoal::env::monotonic_raw_ns();
  const TraceContent content = read_trace(with.path);
  EXPECT_EQ(content.header.clock, ClockKind::monotonic_raw);
  EXPECT_GE(content.events.at(0).time, before);
  EXPECT_LE(content.events.at(0).time, after);
  EXPECT_GE(content.clock.size(), 2U);
}

TEST_F(TraceRecorder, TwoAtOnce_TheSecondIsRefused) {
  const Recorder recorder(options());
  try {
    const Recorder second(options("other"));
    FAIL() << "not refused";
  } catch (const shoal::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("records a trace already"));
  }
}

TEST_F(TraceRecorder, FileThatCannotBeMade_IsRefused) {
  Options with = options();
  with.path = "/nonexistent/t";
  try {
    const Recorder recorder(with);
    FAIL() << "not refused";
  } catch (const shoal::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("/nonexistent/t: cannot create this trace"));
  }
  EXPECT_FALSE(on(Category::user));
}

TEST_F(TraceRecorder, FullDisk_IsToldAtTheEnd) {
  Options with = options();
  with.path = "/dev/full";
  // The header and the first chunks are refused at once.
  EXPECT_THROW(Recorder{with}, shoal::Error);
  EXPECT_FALSE(on(Category::user));
}

TEST_F(TraceRecorder, KilledRun_IsReadableUpToThere) {
  Options with = options();
  with.flush_ns = 1'000'000;
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    Recorder recorder(with);
    // Recorded events are in the file once the file has grown: then the parent may kill. Tables and
    // headers of chunks are less than 100 events.
    const auto size = std::filesystem::file_size(with.path);
    for (std::uint64_t i = 0; i < 2000; ++i) mark("before", i);
    while (std::filesystem::file_size(with.path) < size + 1100 * sizeof(Event)) usleep(1000);
    static_cast<void>(write(pipe_ends[1], "x", 1));
    for (std::uint64_t i = 2000;; ++i) {
      mark("while", i);
      usleep(10);
    }
  }
  char told = 0;
  ASSERT_EQ(read(pipe_ends[0], &told, 1), 1);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
  const TraceContent content = read_trace(with.path);
  EXPECT_FALSE(content.has_end);
  const auto marks = content.of(Kind::mark);
  ASSERT_GE(marks.size(), 1000U);
  for (std::uint64_t i = 0; i < 1000; ++i) ASSERT_EQ(marks[i].value, i);
}

class TraceFile : public TraceRecorder {
 protected:
  void SetUp() override {
    FileWriter writer(path_, FileHeader{});
    writer.write_name(1, "one");
    std::vector<Event> events(100);
    for (std::size_t i = 0; i < events.size(); ++i) events[i].time = i;
    writer.write_records(ChunkType::events, std::span<const Event>(events));
    first_ = writer.size_bytes();
    writer.write_records(ChunkType::events, std::span<const Event>(events));
    writer.close();
  }
  void overwrite(std::uint64_t offset, const std::string& bytes) const {
    std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(offset));
    file << bytes;
  }
  std::string path_ = folder_.file("f");
  std::uint64_t first_ = 0;
};

TEST_F(TraceFile, CutOffAnywhere_WholeChunksAreRead) {
  const std::uint64_t size = std::filesystem::file_size(path_);
  for (std::uint64_t cut = size - 1; cut > first_; cut -= 97) {
    std::filesystem::resize_file(path_, cut);
    const TraceContent content = read_trace(path_);
    ASSERT_EQ(content.events.size(), 100U);
    ASSERT_THAT(content.damage, HasSubstr("the file is cut off"));
  }
  std::filesystem::resize_file(path_, first_);
  EXPECT_EQ(read_trace(path_).damage, "");
}

TEST_F(TraceFile, DamagedChunk_IsToldWithItsPlace) {
  overwrite(first_ + 500, "damage");
  const TraceContent content = read_trace(path_);
  EXPECT_EQ(content.events.size(), 100U);
  EXPECT_THAT(content.damage, HasSubstr("checksum"));
  EXPECT_THAT(content.damage, HasSubstr(std::to_string(first_)));
}

TEST_F(TraceFile, DamagedHeaderOfAChunk_IsTold) {
  overwrite(first_ + 16, "x");  // the track: only the checksum knows
  EXPECT_THAT(read_trace(path_).damage, HasSubstr("checksum"));
  overwrite(first_, "x");
  EXPECT_THAT(read_trace(path_).damage, HasSubstr("no chunk begins there"));
}

TEST_F(TraceFile, OtherFiles_AreRefused) {
  overwrite(8, std::string("\x09\0\0\0", 4));
  EXPECT_THROW(FileReader{path_}, shoal::Error);
  overwrite(0, "ELF");
  EXPECT_THROW(FileReader{path_}, shoal::Error);
  EXPECT_THROW(FileReader{"/nonexistent"}, shoal::Error);
}

TEST_F(TraceRecorder, PlaceOfADeviceOrAPipe_IsRefusedAndStays) {
  const std::string pipe = folder_.file("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::string link = folder_.file("link");
  std::filesystem::create_symlink("/dev/zero", link);
  for (const auto& [name, problem] :
       {std::pair{"pipe", "a pipe is there"}, {"link", "a device is there"}}) {
    try {
      const Recorder recorder(options(name));
      ADD_FAILURE() << name;
    } catch (const shoal::Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(problem));
    }
  }
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  EXPECT_TRUE(std::filesystem::is_symlink(link));
}

TEST_F(TraceRecorder, LinkToAFile_IsWrittenThrough) {
  const std::string link = folder_.file("t.part0");
  std::filesystem::create_symlink(folder_.file("target"), link);
  { const Recorder recorder(options()); }
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_NO_THROW(static_cast<void>(FileReader(folder_.file("target"))));
}

/// Runs `body` in a process that can write so many bytes to a file only.
void with_file_limit(rlim_t bytes, const std::function<void()>& body) {
  EXPECT_EXIT(
      {
        std::signal(SIGXFSZ, SIG_IGN);
        rlimit limit;
        limit.rlim_cur = limit.rlim_max = bytes;
        setrlimit(RLIMIT_FSIZE, &limit);
        body();
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(TraceRecorder, DiskIsFullFromTheStart_LeavesNoFile) {
  for (const unsigned bytes : {0U, 20U, 40U}) {  // nothing, half a header, half a chunk
    with_file_limit(bytes, [&] {
      try {
        const Recorder recorder(options());
        std::_Exit(1);
      } catch (const shoal::Error&) {
      }
    });
    EXPECT_FALSE(std::filesystem::exists(folder_.file("t.part0"))) << bytes;
  }
}

TEST_F(TraceRecorder, DiskIsFullWhileMerging_LeavesThePartsAlone) {
  { const Recorder recorder(options()); }
  const std::string whole = folder_.file("t");
  with_file_limit(200, [&] {
    try {
      merge({folder_.file("t.part0")}, whole);
      std::_Exit(1);
    } catch (const shoal::Error&) {
    }
  });
  EXPECT_FALSE(std::filesystem::exists(whole));
  EXPECT_TRUE(std::filesystem::exists(folder_.file("t.part0")));
}

}  // namespace trace_recorder_test
