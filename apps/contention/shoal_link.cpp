#include <shoal/memory.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>

#include "contention/link.hpp"

namespace contention {
namespace {

using shoal::Rank;

/// Buffers of one rank for messages of each direction.
struct Buffers {
  Host::Memory in;
  Host::Memory out;

  void place(const Host& host, std::uint64_t size_bytes, int node) {
    in = {};
    out = {};
    in = host.allocate(size_bytes, node);
    out = host.allocate(size_bytes, node);
  }
  [[nodiscard]] std::span<char> receive(std::size_t count) const {
    return {reinterpret_cast<char*>(in.begin.get()), count};
  }
  [[nodiscard]] std::span<const char> send(std::size_t count) const {
    return {reinterpret_cast<const char*>(out.begin.get()), count};
  }
};

/// Exchanges of rank 0: each answer begins the next one. All runs on the worker of the rank.
class ShoalLink final : public Link {
 public:
  using Begin = std::function<void(const Point&, const Buffers&)>;
  using Get = std::function<void(std::span<char>)>;

  ShoalLink(const Host& host, std::uint64_t message_bytes_max, Buffers& buffers, Begin begin,
            Get get)
      : host_(host),
        message_bytes_max_(message_bytes_max),
        buffers_(buffers),
        begin_(std::move(begin)),
        get_(std::move(get)) {}

  std::vector<double> exchange(const Point& point, Clock::time_point end) override {
    if (node_ != point.communication_node) {
      buffers_.place(host_, message_bytes_max_, point.communication_node);
      node_ = point.communication_node;
    }
    point_ = point;
    end_ = end;
    seconds_.clear();
    if (point.channel == Channel::memory) {
      read();
      return std::move(seconds_);
    }
    done_.emplace("end of the exchanges");
    shoal::Future<void> done = done_->future();
    start();
    done.get();
    return std::move(seconds_);
  }

  /// The answer of the peer is there.
  void answered() {
    const Clock::time_point now = Clock::now();
    seconds_.push_back(std::chrono::duration<double>(now - begin_time_).count());
    if (now < end_) {
      start();
    } else {
      done_->set_value();
    }
  }

 private:
  void read() {
    for (Clock::time_point now = Clock::now(); seconds_.empty() || now < end_;) {
      begin_time_ = now;
      get_(buffers_.receive(point_.message_bytes));
      now = Clock::now();
      seconds_.push_back(std::chrono::duration<double>(now - begin_time_).count());
    }
  }
  void start() {
    begin_time_ = Clock::now();
    begin_(point_, buffers_);
  }

  const Host& host_;
  const std::uint64_t message_bytes_max_;
  Buffers& buffers_;
  const Begin begin_;
  const Get get_;
  int node_ = -1;
  Point point_;
  Clock::time_point end_;
  Clock::time_point begin_time_;
  std::vector<double> seconds_;
  std::optional<shoal::Promise<void>> done_;
};

}  // namespace

void with_shoal_link(shoal::World& world, const Host& host, std::uint64_t message_bytes_max,
                     const UseLink& use) {
  const bool is_tested = world.rank() == 0;
  const Rank peer(1 - world.rank());
  Buffers buffers;
  if (!is_tested) buffers.place(host, message_bytes_max, host.default_thread_node());
  ShoalLink* link = nullptr;
  // The peer sends each message back.
  shoal::ActiveMessage<std::span<const char>>* small_back = nullptr;
  auto small = world.make_am([&](std::span<const char> payload) {
    if (is_tested) {
      link->answered();
    } else {
      small_back->send(peer, payload);
    }
  });
  small_back = &small;
  std::function<void(std::size_t)> send_large;
  const auto large =
      world.make_large_am<char>([&](std::size_t count) { return buffers.receive(count); },
                                [&](std::span<char> payload) {
                                  if (is_tested) {
                                    link->answered();
                                  } else {
                                    send_large(payload.size());
                                  }
                                },
                                [] {});
  send_large = [&](std::size_t count) { large.send(peer, buffers.send(count)); };
  const auto ask = world.make_am([&](std::uint64_t count) { send_large(count); });
  // Twice as much: one half of a heap is for collective allocations.
  constexpr std::size_t kSomeMore = std::size_t{1} << 20U;
  shoal::GlobalMemory memory(world, {.name = "contention",
                                     .heap_bytes = 2 * message_bytes_max + kSomeMore,
                                     .checks = shoal::GlobalMemoryOptions::Checks::off});
  const auto data = memory.collective_allocate<char>(message_bytes_max);
  std::fill_n(memory.local(data), message_bytes_max, 'm');
  world.barrier();
  const auto get = [&](std::span<char> place) { memory.get(data.on(peer), place); };
  const auto begin = [&](const Point& point, const Buffers& of) {
    if (point.channel == Channel::small) {
      small.send(peer, of.send(point.message_bytes));
    } else if (point.traffic == Traffic::receive) {
      ask.send(peer, point.message_bytes);
    } else {
      send_large(point.message_bytes);
    }
  };
  ShoalLink the_link(host, message_bytes_max, buffers, begin, get);
  link = &the_link;
  if (is_tested) use(the_link);
  world.wait();
}

}  // namespace contention
