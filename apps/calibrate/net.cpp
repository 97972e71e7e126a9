#include "calibrate/net.hpp"

#include <fmt/format.h>
#include <shoal/memory.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/run_meter.hpp"

namespace calibrate {
namespace {

using shoal::Rank;

/// The median of `repetitions` times of `measure`, in nanoseconds.
template <class Measure>
double median_of(int repetitions, Measure measure) {
  std::vector<double> values;
  for (int i = 0; i < repetitions; ++i) values.push_back(measure());
  return apps::median(std::move(values));
}

/// Calls `body` on all ranks between two points at which all are there; how long it took.
template <class Body>
double timed(shoal::World& world, Body body) {
  world.barrier();
  const std::uint64_t begin_ns = world.now_ns();
  body();
  world.wait();
  return static_cast<double>(world.now_ns() - begin_ns);
}

double measure_task(shoal::World& world, int repetitions) {
  constexpr int kTasks = 100'000;
  return median_of(repetitions, [&] {
    return timed(world,
                 [&] {
                   if (world.rank() != 0) return;
                   for (int i = 0; i < kTasks; ++i) world.spawn([] {});
                 }) /
           kTasks;
  });
}

double measure_one_way(shoal::World& world, int repetitions) {
  constexpr int kRounds = 2000;
  shoal::ActiveMessage<int>* back = nullptr;
  auto ping = world.make_am([&](int left) {
    if (left > 0) back->send(Rank(1 - world.rank()), left - 1);
  });
  back = &ping;
  return median_of(repetitions, [&] {
    return timed(world,
                 [&] {
                   if (world.rank() == 0) ping.send(Rank(1), 2 * kRounds);
                 }) /
           (2 * kRounds);
  });
}

double measure_packets(shoal::World& world, int repetitions, std::size_t bytes) {
  constexpr int kPackets = 4000;
  std::uint64_t sum = 0;  // so that the bytes are looked at
  const auto message = world.make_am(
      [&](std::span<const std::uint64_t> values) { sum += values.front() + values.back(); });
  const std::vector<std::uint64_t> values(bytes / sizeof(std::uint64_t), 1);
  return median_of(repetitions, [&] {
    return timed(world,
                 [&] {
                   for (int i = 0; world.rank() == 0 && i < kPackets; ++i) {
                     message.send(Rank(1), std::span(values));
                   }
                 }) /
           kPackets;
  });
}

double measure_bytes(shoal::World& world, int repetitions) {
  constexpr std::size_t kBytes = std::size_t{2} << 20;  // a tile of 512 x 512
  constexpr std::size_t kMessages = 32;
  std::vector<std::vector<char>> places(world.rank() == 1 ? kMessages : 0,
                                        std::vector<char>(kBytes));
  std::size_t next = 0;
  const auto large =
      world.make_large_am<char>([&](std::size_t) { return std::span(places[next++ % kMessages]); },
                                [](std::span<char>) {}, [] {});
  const std::vector<std::vector<char>> payloads(world.rank() == 0 ? kMessages : 0,
                                                std::vector<char>(kBytes, 'x'));
  return median_of(repetitions, [&] {
    return timed(world,
                 [&] {
                   for (const std::vector<char>& payload : payloads) {
                     large.send(Rank(1), std::span<const char>(payload));
                   }
                 }) /
           (static_cast<double>(kBytes) * kMessages);
  });
}

double measure_get(shoal::World& world, int repetitions, shoal::GlobalMemory& memory,
                   shoal::GlobalPtr<std::byte> from, std::size_t bytes) {
  constexpr std::size_t kAtOnce = 8;
  std::vector<std::vector<std::byte>> places(kAtOnce, std::vector<std::byte>(bytes));
  const auto time_of = [&](std::size_t rounds) {
    return timed(world, [&] {
      for (std::size_t i = 0; world.rank() == 0 && i < rounds; ++i) {
        std::vector<shoal::Transfer> transfers;
        for (auto& place : places) {
          transfers.push_back(memory.get_async(from, std::span(place)));
        }
        for (shoal::Transfer& transfer : transfers) transfer.wait();
      }
    });
  };
  static_cast<void>(time_of(1));  // finds the way
  const std::size_t rounds = rounds_of_gets(time_of(1), bytes);
  return median_of(repetitions,
                   [&] { return time_of(rounds) / static_cast<double>(rounds * kAtOnce); });
}

/// Both ways of gets. Collective.
std::vector<GetFigure> measure_gets(shoal::World& world, int repetitions) {
  constexpr std::size_t kBytesMax = std::size_t{4} << 20;
  const auto options = [](const char* name, std::size_t rma_bytes) {
    return shoal::GlobalMemoryOptions{
        .name = name, .heap_bytes = 4 * kBytesMax, .rma_bytes = rma_bytes};
  };
  shoal::GlobalMemory by_rma(world, options("gets by RMA", 1));
  shoal::GlobalMemory by_messages(world, options("gets by messages", SIZE_MAX));
  const auto rma_place = by_rma.collective_allocate<std::byte>(kBytesMax).on(Rank(1));
  const auto message_place = by_messages.collective_allocate<std::byte>(kBytesMax).on(Rank(1));
  world.barrier();
  if (world.rank() == 0) {
    std::vector<std::byte> place(64);
    by_rma.get(rma_place, std::span(place));
  }
  const bool measured = world.broadcast(by_rma.statistics().rma_gets > 0, Rank(0));
  std::vector<GetFigure> figures;
  for (std::size_t bytes = 1024; measured && bytes <= kBytesMax; bytes *= 4) {
    figures.push_back({bytes, measure_get(world, repetitions, by_messages, message_place, bytes),
                       measure_get(world, repetitions, by_rma, rma_place, bytes)});
  }
  world.wait();
  return figures;
}

std::string gets_to_config(const std::vector<GetFigure>& gets) {
  if (gets.empty()) {
    return "# gets by MPI-3 RMA: not measured; start with --global-rma 16, ranks on two nodes\n";
  }
  std::string text;
  for (const GetFigure& get : gets) {
    text += fmt::format("# get of {} bytes: {:.0f} ns by messages, {:.0f} ns by MPI-3 RMA\n",
                        get.size_bytes, get.message_ns, get.rma_ns);
  }
  const std::size_t from = faster_by_rma_from(gets);
  return text + fmt::format("global-rma = {}\n", from == 0 ? "off" : std::to_string(from));
}

}  // namespace

std::size_t rounds_of_gets(double round_ns, std::size_t bytes) {
  constexpr double kTimeMax_ns = 50e6;
  const std::size_t most = std::clamp<std::size_t>((std::size_t{8} << 20) / bytes, 2, 100);
  return std::clamp<std::size_t>(static_cast<std::size_t>(kTimeMax_ns / std::max(round_ns, 1.0)), 1,
                                 most);
}

std::size_t faster_by_rma_from(const std::vector<GetFigure>& gets) {
  std::size_t from = 0;
  for (const GetFigure& get : gets) {
    if (get.rma_ns > get.message_ns) {
      from = 0;
    } else if (from == 0) {
      from = get.size_bytes;
    }
  }
  return from;
}

NetFigures measure_net(shoal::World& world, int repetitions) {
  NetFigures figures;
  figures.packet_bytes = 8000;  // fills a packet of the default size
  figures.task_ns = measure_task(world, repetitions);
  figures.one_way_ns = measure_one_way(world, repetitions);
  figures.packet_ns =
      measure_packets(world, repetitions, static_cast<std::size_t>(figures.packet_bytes));
  figures.byte_ns = measure_bytes(world, repetitions);
  figures.gets = measure_gets(world, repetitions);
  return figures;
}

// A packet takes o + k G at the interface and arrives L + o after it; the worker's part of a
// message is in the steps.
std::string to_config(const shoal::World& world, const NetFigures& figures) {
  const bool mpi = world.launch() == shoal::Launch::mpi;
  const double overhead = std::max(0.0, figures.packet_ns - figures.packet_bytes * figures.byte_ns);
  const double latency = std::max(0.0, figures.one_way_ns - 2 * overhead);
  return fmt::format(
      "# Measured by `calibrate net`, {} ranks, {}.\n"
      "# one way, 8 bytes: {:.0f} ns; packet of {:.0f} bytes: {:.0f} ns; large messages: {:.4f} "
      "ns/byte\n"
      "# an empty task: {:.0f} ns\n"
      "sim-net = \"loggp:{:.0f}ns,{:.0f}ns,0ns,{:.3f}ps,{}\"\n"
      "sim-step = {:.0f}ns\n{}",
      world.size(), mpi ? "MPI" : "embedded", figures.one_way_ns, figures.packet_bytes,
      figures.packet_ns, figures.byte_ns, figures.task_ns, latency, overhead,
      figures.byte_ns * 1000,
      // In one process the receiver copies as soon as a payload is announced; MPI does a round trip
      // first for messages above its eager limit (4 KiB in Open MPI's shared memory).
      mpi ? "4096" : "1024G", std::max(1.0, figures.task_ns), gets_to_config(figures.gets));
}

}  // namespace calibrate
