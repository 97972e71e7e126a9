#include <deque>
#include <optional>

#include "messages/shoal_side.hpp"

namespace messages {

namespace {

using Buffer = std::vector<Word>;

/// Receive buffers of rank 1: as many as messages in flight.
class Receiver {
 public:
  Receiver(std::size_t buffers, std::size_t words) : words_(words) {
    for (std::size_t i = 0; i < buffers; ++i) add();
  }

  std::span<Word> take() {
    if (free_.empty()) add();
    const std::span<Word> place = free_.back();
    free_.pop_back();
    return place;
  }
  void check(std::span<Word> words, std::int64_t index) {
    verified_ &= words.front() == item_word(index) && words.back() == item_word(index);
    ++count_;
    free_.push_back(words);
  }
  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] bool is_verified() const { return verified_; }

 private:
  void add() { free_.emplace_back(buffers_.emplace_back(words_)); }

  const std::size_t words_;
  std::deque<Buffer> buffers_;
  std::vector<std::span<Word>> free_;
  std::int64_t count_ = 0;
  bool verified_ = true;
};

}  // namespace

bench::Sample bandwidth(shoal::World& world, const Options& options) {
  const auto window = static_cast<std::size_t>(options.window);
  // The sender may learn that a message is there before its receiver looks at it.
  Receiver receiver(world.rank() == 1 ? 2 * window : 0, options.words());
  std::vector<Buffer> outgoing(world.rank() == 0 ? window : 0, Buffer(options.words()));
  double end_s = 0;
  const auto answer = world.make_am([&] { end_s = now_s(); });
  std::optional<shoal::LargeMessage<Word, std::int64_t>> message;
  const auto send = [&](std::int64_t index) {
    if (index >= options.count) return;
    Buffer& buffer = outgoing[static_cast<std::size_t>(index % options.window)];
    buffer.front() = buffer.back() = item_word(index);
    message->send(shoal::Rank(1), buffer, index);
  };
  message.emplace(
      world.make_large_am<Word>([&](std::size_t, std::int64_t) { return receiver.take(); },
                                [&](std::span<Word> words, std::int64_t index) {
                                  receiver.check(words, index);
                                  if (receiver.count() == options.count)
                                    answer.send(shoal::Rank(0));
                                },
                                [&](std::int64_t index) { send(index + options.window); }));
  world.barrier();
  const double begin_s = now_s();
  if (world.rank() == 0) {
    for (int i = 0; i < options.window; ++i) send(i);
  }
  world.wait();
  const bool all_here = world.rank() != 1 || receiver.count() == options.count;
  return {end_s - begin_s, receiver.is_verified() && all_here};
}

}  // namespace messages
