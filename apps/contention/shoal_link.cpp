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

  ShoalLink(const Host& host, std::uint64_t message_bytes_max, Buffers& buffers, Begin begin)
      : host_(host),
        message_bytes_max_(message_bytes_max),
        buffers_(buffers),
        begin_(std::move(begin)) {}

  std::vector<double> exchange(const Point& point, Clock::time_point end) override {
    if (node_ != point.communication_node) {
      buffers_.place(host_, message_bytes_max_, point.communication_node);
      node_ = point.communication_node;
    }
    point_ = point;
    end_ = end;
    seconds_.clear();
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
  void start() {
    begin_time_ = Clock::now();
    begin_(point_, buffers_);
  }

  const Host& host_;
  const std::uint64_t message_bytes_max_;
  Buffers& buffers_;
  const Begin begin_;
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
  ShoalLink the_link(host, message_bytes_max, buffers, [&](const Point& point, const Buffers& of) {
    if (point.channel == Channel::small) {
      small.send(peer, of.send(point.message_bytes));
    } else if (point.traffic == Traffic::receive) {
      ask.send(peer, point.message_bytes);
    } else {
      send_large(point.message_bytes);
    }
  });
  link = &the_link;
  if (is_tested) use(the_link);
  world.wait();
}

}  // namespace contention
