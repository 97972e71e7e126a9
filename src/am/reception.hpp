#pragma once
// State of the receiver while it handles a packet.

#include <shoal/detail/am/channel.hpp>
#include <shoal/detail/am/handler.hpp>
#include <shoal/detail/sched/handler_mark.hpp>

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

namespace shoal::messaging {

/// A packet in the hands of the worker that runs the progress.
struct Reception {
  /// `removals`: of handlers; see Batch.
  Reception(Channel& world, const std::atomic<std::uint32_t>& removals, net::Packet*& taken)
      : packet(taken),
        control(taken->header().lane == static_cast<std::uint32_t>(net::Lane::control)),
        channel(&world),
        batch(*channel, Rank(taken->header().source), watch, packet),
        mark(!control),
        watch{&channel->scope(), removals, mark} {
    batch.message().prefix = &run.prefix;
  }
  Reception(const Reception&) = delete;
  Reception& operator=(const Reception&) = delete;

  /// Messages of other channels than the last one that were processed.
  struct Tally {
    Channel* channel;
    std::uint64_t count;
  };

  net::Packet*& packet;
  const bool control;
  net::Run run;
  Channel* channel;  // of the last run
  Batch batch;       // of the run
  sched::HandlerMark mark;
  Batch::Watch watch;
  const Handler* handler = nullptr;  // of the last run, if handler_id says which; else nullptr
  std::uint32_t handler_id = 0;
  std::uint64_t count = 0;  // of messages of `channel` that were processed
  std::vector<Tally> others;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> outside;  // senders' teams, and messages
  std::uint64_t first_id = 0;  // of the packet's first message, in traces; 0: not known
  std::uint64_t skipped = 0;   // messages of the packet that were processed earlier

  /// Id of the current message in traces.
  [[nodiscard]] std::uint64_t trace_id() const {
    if (first_id == 0) return 0;
    std::uint64_t before = skipped + count + (run.count - batch.left());
    for (const Tally& other : others) before += other.count;
    return first_id + before;
  }
  /// From now on, observers and the recording are notified of handlers that begin.
  void begin_handlers() {
    mark.show(handler->name);
    if (mark.is_watched()) [[unlikely]]
      mark.number_from(trace_id());
  }
};

}  // namespace shoal::messaging
