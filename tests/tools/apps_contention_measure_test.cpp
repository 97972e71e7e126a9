// Measuring: hosts, plans, the file that is gone on with, computing threads.

#include "contention/measure.hpp"

#include "common/input_error.hpp"
#include "contention/counters.hpp"
#include "contention/kernels.hpp"
#include "contention/selection.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

namespace apps_contention_measure_test {

using contention::Channel;
using contention::Clock;
using contention::Counters;
using contention::DataFile;
using contention::Extent;
using contention::Host;
using contention::Kernel;
using contention::Machine;
using contention::Measurements;
using contention::MeasureOptions;
using contention::Peer;
using contention::Point;
using contention::Sample;
using contention::Team;
using contention::Traffic;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// --- hosts

TEST(ContentionHost, TwoSockets_ComputeOnAllCoresOfTheFirst) {
  const Host host("pack:2 numa:2 core:4 pu:2", Peer::same_host);
  EXPECT_EQ(host.machine().cores, 8);
  EXPECT_EQ(host.machine().nodes, 4);
  EXPECT_EQ(host.machine().nodes_per_socket, 2);
  EXPECT_EQ(host.default_thread_node(), 3);
  EXPECT_EQ(host.communication_core(3, false), 15);
  EXPECT_EQ(host.communication_core(3, true), 14);
  EXPECT_EQ(host.communication_core(0, false), 3);
  EXPECT_THAT(host.notes(), Contains(HasSubstr("on one host")));
  EXPECT_THAT(host.notes(), Not(Contains(HasSubstr("they share cores"))));
}

TEST(ContentionHost, OneSocket_LeavesCoresToCommunication) {
  const Host alone("pack:1 numa:1 core:6 pu:1", Peer::other_host);
  EXPECT_EQ(alone.machine().cores, 5);
  EXPECT_EQ(alone.communication_core(0, false), 5);
  EXPECT_THAT(alone.notes(), Contains(HasSubstr("one NUMA node")));
  EXPECT_THAT(alone.notes(), Not(Contains(HasSubstr("on one host"))));
  const Host both("pack:1 numa:2 core:3 pu:1", Peer::same_host);
  EXPECT_EQ(both.machine().cores, 4);
  EXPECT_EQ(both.communication_core(1, true), 4);
  EXPECT_THAT(both.notes(), Contains(HasSubstr("no remote accesses")));
}

TEST(ContentionHost, FewCores_AreSharedAndItSaysSo) {
  for (const char* cores : {"1", "2"}) {
    const Host host(std::string("pack:1 numa:1 core:") + cores + " pu:1", Peer::same_host);
    EXPECT_EQ(host.machine().cores, 1);
    EXPECT_EQ(host.communication_core(0, true), std::nullopt);
    EXPECT_THAT(host.notes(), Contains(HasSubstr("they share cores")));
  }
}

TEST(ContentionHost, WhatTheSystemRefuses_IsNoted) {
  const Host host("pack:1 numa:1 core:4 pu:1", Peer::other_host);  // no thread can be bound to it
  EXPECT_FALSE(host.bind_thread(0));
  EXPECT_FALSE(host.core_mhz(0).has_value());
  EXPECT_THAT(host.notes(), Contains(HasSubstr("threads cannot be bound to cores")));
  EXPECT_THAT(host.notes(), Contains(HasSubstr("does not tell the frequency")));
  EXPECT_TRUE(host.socket_processors().empty());
}

TEST(ContentionHost, ImpossibleMemoryAndTopologies_AreRefused) {
  const Host host("pack:1 numa:1 core:2 pu:1", Peer::other_host);
  try {
    static_cast<void>(host.allocate(std::size_t{1} << 60, 0));
    ADD_FAILURE();
  } catch (const apps::InputError& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("1152921504606846976 bytes of memory on NUMA node 0: it has "));
  }
  EXPECT_THROW(Host("cores of gold", Peer::other_host), apps::InputError);
}

TEST(ContentionHost, ThisMachine_HasCoresAndMemory) {
  const Host host(Peer::same_host);
  EXPECT_GE(host.machine().cores, 1);
  EXPECT_GE(host.machine().nodes, host.machine().nodes_per_socket);
  for (int node = 0; node < host.machine().nodes; ++node) {
    EXPECT_EQ(host.allocate(4096, node).bytes().size(), 4096U);
  }
}

// --- counters

// The names of libpfm for a Skylake server with two channels, and of units that are none.
TEST(ContentionCounters, Events_AreThoseOfAllChannelsAndSockets) {
  const std::vector<std::string> known{
      "skx_unc_imc0::UNC_M_CAS_COUNT", "skx_unc_imc0::UNC_M_DRAM_REFRESH",
      "skx_unc_imc1::UNC_M_CAS_COUNT", "skx_unc_cha0::UNC_C_CLOCK"};
  EXPECT_THAT(contention::memory_events(known, {0, 16}),
              ElementsAre("skx_unc_imc0::UNC_M_CAS_COUNT:ALL:cpu=0",
                          "skx_unc_imc0::UNC_M_CAS_COUNT:ALL:cpu=16",
                          "skx_unc_imc1::UNC_M_CAS_COUNT:ALL:cpu=0",
                          "skx_unc_imc1::UNC_M_CAS_COUNT:ALL:cpu=16"));
  EXPECT_TRUE(contention::memory_events({"perf::TASK-CLOCK"}, {0}).empty());
}

TEST(ContentionCounters, WithoutEvents_TheReasonIsSaid) {
  Counters counters({}, {});
  EXPECT_THAT(counters.note(), HasSubstr("no memory counters: "));
  EXPECT_FALSE(counters.is_counting());
  counters.start();
  EXPECT_FALSE(counters.stop().has_value());
}

TEST(ContentionCounters, UnknownEvents_AreRefused) {
  try {
    const Counters counters({"no_unit::NO_EVENT"}, {0});
    ADD_FAILURE();
  } catch (const apps::InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("--counters: "));
  }
}

// Nanoseconds of this thread stand for cache lines: 64 bytes each are at most 64 GB/s.
TEST(ContentionCounters, NamedEvents_AreCountedFromStartToStop) {
  try {
    Counters counters({"perf::TASK-CLOCK"}, {0});
    EXPECT_THAT(counters.note(), HasSubstr("perf::TASK-CLOCK"));
    for (int i = 0; i < 3; ++i) {
      counters.start();
      const auto end = Clock::now() + std::chrono::milliseconds(2);
      while (Clock::now() < end) continue;
      const std::optional<double> mb_s = counters.stop();
      ASSERT_TRUE(mb_s.has_value());
      EXPECT_GT(*mb_s, 0);
      EXPECT_LT(*mb_s, 65000);
    }
  } catch (const apps::InputError& error) {
    GTEST_SKIP() << error.what();  // no PAPI, or a system that grants no counters
  }
}

// --- plans

std::vector<Machine> machines() {
  return {{"laptop", "", 1, 1, 1}, {"socket", "", 6, 2, 2}, {"henri", "", 18, 4, 2}};
}

/// A file as the plan makes it, with values that are all 1.
Measurements measured(const Machine& machine, const std::vector<Point>& plan) {
  Measurements all{machine, {}, {}};
  for (const Point& point : plan) all.samples.push_back({point, 0, 1.0, 1.0, 1.0, {}, {}});
  return all;
}

TEST(ContentionPlan, Points_AreThereOnceAndOnTheMachine) {
  for (const Machine& machine : machines()) {
    for (const bool quick : {true, false}) {
      for (const bool with_mpi : {true, false}) {
        const auto plan = plan_of(machine, {quick, 1 << 20, machine.nodes - 1}, with_mpi);
        EXPECT_EQ(std::set<Point>(plan.begin(), plan.end()).size(), plan.size());
        for (const Point& point : plan) {
          EXPECT_LE(point.cores, machine.cores);
          EXPECT_LT(point.computation_node, machine.nodes);
          EXPECT_LT(point.communication_node, machine.nodes);
          EXPECT_LT(point.thread_node, machine.nodes);
          EXPECT_EQ(point.kernel == Kernel::none, point.cores == 0);
          EXPECT_TRUE(point.cores > 0 || point.channel != Channel::none);
          EXPECT_EQ(point.channel == Channel::none, point.traffic == Traffic::none);
          EXPECT_LE(point.message_bytes, 1U << 20);
          if (point.channel == Channel::small) {
            EXPECT_LE(point.message_bytes, contention::kSmallBytesMax);
          }
          EXPECT_EQ(with_mpi, point.channel == Channel::mpi);
        }
      }
    }
  }
}

TEST(ContentionPlan, Quick_IsAPartOfAll) {
  for (const Machine& machine : machines()) {
    const auto quick = plan_of(machine, {true, 1 << 20, 0}, false);
    const auto all = plan_of(machine, {false, 1 << 20, 0}, false);
    EXPECT_LT(quick.size(), all.size());
    for (const Point& point : quick) EXPECT_THAT(all, Contains(point));
  }
}

TEST(ContentionPlan, Points_AreWhatCalibrationNeeds) {
  for (const Machine& machine : machines()) {
    for (const bool quick : {true, false}) {
      const Extent extent{quick, 1 << 20, machine.nodes - 1};
      auto plan = plan_of(machine, extent, false);
      const auto with_mpi = plan_of(machine, extent, true);
      plan.insert(plan.end(), with_mpi.begin(), with_mpi.end());
      const Measurements all = measured(machine, plan);
      for (const Channel channel : {Channel::mpi, Channel::large}) {
        const auto selection = contention::resolve(all, {.channel = channel});
        EXPECT_NO_THROW(static_cast<void>(contention::calibrate(all, selection, 0)));
        const auto placements = contention::placements_of(all, selection);
        const auto nodes = static_cast<std::size_t>(machine.nodes);
        EXPECT_EQ(placements.size(),
                  quick ? contention::samples_of(machine.nodes, machine.nodes_per_socket).size()
                        : nodes * nodes);
      }
    }
  }
}

TEST(ContentionPlan, OneNode_HasNoOtherPlacements) {
  for (const Point& point : plan_of(machines()[0], {false, 1 << 20, 0}, false)) {
    EXPECT_EQ(point.computation_node + point.communication_node + point.thread_node, 0);
  }
}

// --- results of exchanges

Sample communication_of(Traffic traffic, std::uint64_t bytes, std::vector<double> seconds) {
  Sample sample;
  sample.point.traffic = traffic;
  sample.point.message_bytes = bytes;
  contention::set_communication(sample, std::move(seconds));
  return sample;
}

TEST(ContentionExchanges, PingPong_IsTwoMessages) {
  const Sample of = communication_of(Traffic::ping_pong, 4, {9, 2e-6, 2e-6, 4e-6, 9});
  EXPECT_DOUBLE_EQ(of.latency_us.value(), 1);
  EXPECT_DOUBLE_EQ(of.communication_mb_s.value(), 4);
}

TEST(ContentionExchanges, Receive_IsOneMessage) {
  const Sample of = communication_of(Traffic::receive, 64'000'000, {0.01, 0.01});
  EXPECT_FALSE(of.latency_us.has_value());
  EXPECT_DOUBLE_EQ(of.communication_mb_s.value(), 6400);
}

// --- the file

/// A file that is removed at the end.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& name)
      : path_(std::filesystem::temp_directory_path() / (name + std::to_string(::getpid()))) {
    std::filesystem::remove(path_);
  }
  ~ScratchFile() { std::filesystem::remove(path_); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

std::string refusal(const std::string& path, const Machine& machine) {
  try {
    const DataFile file(path, machine, {});
  } catch (const apps::InputError& error) {
    return error.what();
  }
  return "accepted";
}

Sample sample_of(int cores) {
  Sample sample;
  sample.point.kernel = Kernel::fill;
  sample.point.cores = cores;
  sample.computation_mb_s = 1000;
  return sample;
}

TEST(ContentionDataFile, Interrupted_GoesOnBehindTheLastWholeLine) {
  const ScratchFile scratch("contention_file");
  const Machine machine{"m", "p", 4, 1, 1};
  {
    DataFile file(scratch.path(), machine, {"first"});
    file.add(sample_of(1));
    file.add(sample_of(2));
  }
  std::filesystem::resize_file(scratch.path(), std::filesystem::file_size(scratch.path()) - 3);
  {
    DataFile file(scratch.path(), machine, {"first", "second"});
    EXPECT_EQ(file.repetitions(sample_of(1).point), 1);
    EXPECT_EQ(file.repetitions(sample_of(2).point), 0);
    file.add(sample_of(3));
  }
  const Measurements all = contention::read_measurements(scratch.path());
  EXPECT_EQ(all.samples, (std::vector<Sample>{sample_of(1), sample_of(3)}));
  EXPECT_EQ(all.notes, (std::vector<std::string>{"first", "second"}));
}

TEST(ContentionDataFile, BadFiles_AreRefused) {
  const ScratchFile scratch("contention_other");
  const Machine machine{"m", "p", 4, 1, 1};
  EXPECT_EQ(refusal(scratch.path(), machine), "accepted");
  EXPECT_THAT(refusal(scratch.path(), {"n", "p", 4, 1, 1}),
              HasSubstr("these measurements are of m with 4 computing cores and 1 NUMA nodes, and "
                        "this is n with 4 and 1: choose another file"));
  std::ofstream(scratch.path()) << "my diary\n";
  EXPECT_THAT(refusal(scratch.path(), machine), HasSubstr("the first line must be"));
  EXPECT_EQ(refusal("/nonexistent/data.csv", machine),
            "/nonexistent/data.csv: cannot write this file");
  EXPECT_EQ(refusal("/", machine), "/: cannot read this file");
  EXPECT_EQ(refusal("/dev/full", machine), "/dev/full: cannot write this file");
}

// --- computation

TEST(ContentionKernels, Passes_CountTheirBytes) {
  alignas(64) std::byte memory[24 * 64] = {};
  std::atomic<bool> lock{false};
  const auto amount = [&](Kernel kernel) {
    Point point;
    point.kernel = kernel;
    return contention::run_pass(point, memory, 0, lock);
  };
  EXPECT_EQ(amount(Kernel::none), 0);
  EXPECT_EQ(amount(Kernel::fill), 24 * 64);
  EXPECT_EQ(amount(Kernel::copy), 24 * 64);
  EXPECT_EQ(amount(Kernel::triad), 24 * 64);
  EXPECT_GT(amount(Kernel::primes), 1000);
  EXPECT_GT(amount(Kernel::poll), 0);
  EXPECT_FALSE(lock.load());
}

TEST(ContentionKernels, Triad_IsComputed) {
  alignas(64) double memory[24] = {};
  std::fill_n(memory, 8, 4.0);
  std::fill_n(memory + 8, 8, 1.0);
  std::atomic<bool> lock{false};
  Point point;
  point.kernel = Kernel::triad;
  point.work = 2;
  contention::run_pass(point, std::as_writable_bytes(std::span(memory)), 0, lock);
  for (int i = 16; i < 24; ++i) EXPECT_EQ(memory[i], 1 + 0.5 * (1 + 0.5 * 4));
}

// With 16 operations on each element a pass takes half of the memory, and the next one the rest.
TEST(ContentionKernels, TriadWithMuchWork_TakesTheMemoryInParts) {
  alignas(64) double memory[6 * 8] = {};
  std::fill_n(memory + 16, 16, 1.0);
  std::atomic<bool> lock{false};
  Point point;
  point.kernel = Kernel::triad;
  point.work = 16;
  const auto bytes = std::as_writable_bytes(std::span(memory));
  EXPECT_EQ(contention::run_pass(point, bytes, 5, lock), 3 * 64);
  EXPECT_EQ(memory[32], 0);
  EXPECT_GT(memory[40], 1);
  EXPECT_EQ(contention::run_pass(point, bytes, 6, lock), 3 * 64);
  EXPECT_GT(memory[32], 1);
}

/// Exchanges that take a millisecond each, without a peer.
class PretendedLink final : public contention::Link {
 public:
  std::vector<double> exchange(const Point& point, Clock::time_point /*end*/) override {
    points.push_back(point);
    return {1e-3, 1e-3, 1e-3};
  }
  std::vector<Point> points;
};

MeasureOptions short_options() {
  MeasureOptions options;
  options.extent.quick = true;
  options.extent.message_bytes_max = 4096;
  options.repetitions = 2;
  options.duration_ms = 1;
  options.memory_bytes = 1 << 16;
  return options;
}

TEST(ContentionMeasure, Plan_IsMeasuredOnceAndGoneOnWith) {
  const ScratchFile scratch("contention_plan");
  const Host host("pack:1 numa:1 core:5 pu:1", Peer::same_host);  // 3 cores compute
  const MeasureOptions options = short_options();
  const auto plan = plan_of(host.machine(), options.extent, false);
  const auto half = std::vector<Point>(plan.begin(), plan.begin() + std::ssize(plan) / 2);
  PretendedLink link;
  {
    DataFile file(scratch.path(), host.machine(), host.notes());
    make_measurements(host, link, half, options, file);
  }
  DataFile file(scratch.path(), host.machine(), host.notes());
  make_measurements(host, link, plan, options, file);
  const Measurements all = contention::read_measurements(scratch.path());
  EXPECT_EQ(all.samples.size(), 2 * plan.size());
  for (const Sample& sample : all.samples) {
    EXPECT_EQ(sample.computation_mb_s.has_value(), sample.point.cores > 0);
    EXPECT_EQ(sample.communication_mb_s.has_value(), sample.point.channel != Channel::none);
    EXPECT_EQ(sample.latency_us.has_value(), sample.point.traffic == Traffic::ping_pong);
    EXPECT_EQ(file.repetitions(sample.point), 2);
  }
  // Each with communication twice, for its repetitions.
  const auto communicating = std::ranges::count_if(
      plan, [](const Point& point) { return point.channel != Channel::none; });
  EXPECT_EQ(std::ssize(link.points), 2 * communicating);
  EXPECT_NO_THROW(static_cast<void>(contention::calibrate(all, contention::resolve(all, {}), 0)));
}

// The least number of repetitions is made even without time.
TEST(ContentionMeasure, TimeLimit_EndsFurtherRepetitions) {
  const ScratchFile scratch("contention_limit");
  const Host host("pack:1 numa:1 core:3 pu:1", Peer::same_host);
  MeasureOptions options = short_options();
  options.repetitions = 9;
  options.time_limit = Clock::duration::zero();
  const auto plan = plan_of(host.machine(), options.extent, false);
  PretendedLink link;
  DataFile file(scratch.path(), host.machine(), {});
  make_measurements(host, link, plan, options, file);
  for (const Point& point : plan) EXPECT_EQ(file.repetitions(point), contention::kRepetitionsMin);
}

TEST(ContentionMeasure, LittleMemory_IsReported) {
  const ScratchFile scratch("contention_memory");
  const Host host("pack:1 numa:1 core:3 pu:1", Peer::same_host);
  MeasureOptions options = short_options();
  options.memory_bytes = std::size_t{1} << 60;
  PretendedLink link;
  DataFile file(scratch.path(), host.machine(), {});
  EXPECT_THROW(
      make_measurements(host, link, plan_of(host.machine(), options.extent, false), options, file),
      apps::InputError);
}

TEST(ContentionMeasure, Options_AreCompletedByExtent) {
  MeasureOptions options;
  EXPECT_GT(contention::completed(options).repetitions, 3);
  options.extent.quick = true;
  EXPECT_EQ(contention::completed(options).repetitions, 3);
  options.repetitions = 9;
  options.duration_ms = 5;
  EXPECT_EQ(contention::completed(options).repetitions, 9);
  EXPECT_FALSE(contention::completed(options).time_limit.has_value());  // as many as the user wants
  EXPECT_EQ(contention::completed(options).duration_ms, 5);
}

}  // namespace apps_contention_measure_test
