#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

#include "messages/shoal_side.hpp"

namespace messages {

namespace {

/// One rank's half of a pair: counts the hops of the ball. Hop numbers begin at 1; odd ones arrive
/// at the odd rank, and the last one at the even rank.
class Player {
 public:
  Player(const shoal::World& world, const Options& options)
      : partner_(world.rank() ^ 1), starts_(world.rank() % 2 == 0), last_(2 * options.count) {}

  [[nodiscard]] shoal::Rank partner() const { return shoal::Rank(partner_); }
  [[nodiscard]] bool starts() const { return starts_; }
  void start() { begin_s_ = now_s(); }

  /// The ball is here; false: it stays.
  bool take(std::int64_t hop, std::span<const Word> ballast = {}) {
    sample_.verified &= hop == expected_hop_;
    expected_hop_ += 2;
    if (hop < last_ - 1) return true;
    sample_.verified &= is_ballast(ballast);
    if (hop == last_ - 1) return true;
    sample_.seconds = now_s() - begin_s_;
    return false;
  }
  /// After the run: the answer of this rank.
  [[nodiscard]] bench::Sample sample() const {
    const bool ended = expected_hop_ == last_ + (starts_ ? 2 : 1);
    return {sample_.seconds, sample_.verified && ended};
  }

 private:
  const int partner_;
  const bool starts_;
  const std::int64_t last_;
  std::int64_t expected_hop_ = starts_ ? 2 : 1;
  double begin_s_ = 0;
  bench::Sample sample_;
};

/// Throws the first balls together, waits for the last ones.
bench::Sample play(shoal::World& world, Player& player, const std::function<void()>& first) {
  world.barrier();
  if (player.starts()) {
    player.start();
    first();
  }
  world.wait();
  bench::Sample sample = player.sample();
  const double all_s = world.allreduce(sample.seconds, std::plus<>());
  sample.seconds = all_s / (world.size() / 2);
  return sample;
}

shoal::AmOptions am_options(const Options& options) {
  const bool task = options.mode == "task";
  return {.delivery = task ? shoal::Delivery::task : shoal::Delivery::inlined, .name = "ball"};
}

bench::Sample small_balls(shoal::World& world, const Options& options) {
  Player player(world, options);
  std::optional<shoal::ActiveMessage<std::int64_t>> ball;
  ball.emplace(world.make_am(
      [&](std::int64_t hop) {
        if (player.take(hop)) ball->send(player.partner(), hop + 1);
      },
      am_options(options)));
  return play(world, player, [&] { ball->send(player.partner(), 1); });
}

bench::Sample sized_balls(shoal::World& world, const Options& options) {
  Player player(world, options);
  const std::vector<Word> ballast = make_ballast(options.words() - 1);
  std::optional<shoal::ActiveMessage<std::int64_t, std::span<const Word>>> ball;
  ball.emplace(world.make_am(
      [&](std::int64_t hop, std::span<const Word> words) {
        if (player.take(hop, words)) ball->send(player.partner(), hop + 1, words);
      },
      am_options(options)));
  return play(world, player, [&] { ball->send(player.partner(), 1, ballast); });
}

bench::Sample event_balls(shoal::World& world, const Options& options) {
  if (options.words() > 1) throw std::invalid_argument("--size of events is 8");
  Player player(world, options);
  shoal::Events events(world);
  const auto bounce = [&](shoal::EventList& list) {
    const auto hop = list[0].get<std::int64_t>();
    if (player.take(hop)) events.fire(player.partner(), "ball", hop + 1);
  };
  events.submit({{player.partner(), "ball"}}, bounce, {.name = "bounce", .persistent = true});
  return play(world, player, [&] { events.fire(player.partner(), "ball", std::int64_t{1}); });
}

/// The payload is not changed, so there is no wait for its release.
bench::Sample large_balls(shoal::World& world, const Options& options) {
  Player player(world, options);
  const std::vector<Word> outgoing = make_ballast(options.words());
  std::vector<Word> incoming(options.words());
  std::optional<shoal::LargeMessage<Word, std::int64_t>> ball;
  ball.emplace(
      world.make_large_am<Word>([&](std::size_t, std::int64_t) { return std::span(incoming); },
                                [&](std::span<Word> words, std::int64_t hop) {
                                  if (player.take(hop, words))
                                    ball->send(player.partner(), outgoing, hop + 1);
                                },
                                [](std::int64_t) {}));
  return play(world, player, [&] { ball->send(player.partner(), outgoing, 1); });
}

/// The ball is a vector, which each rank moves on.
bench::Sample moved_balls(shoal::World& world, const Options& options) {
  Player player(world, options);
  using Words = std::vector<Word>;
  std::optional<shoal::ActiveMessage<std::int64_t, Words>> ball;
  ball.emplace(world.make_am(
      [&](std::int64_t hop, Words words) {
        if (player.take(hop, words)) ball->send(player.partner(), hop + 1, std::move(words));
      },
      am_options(options)));
  return play(world, player,
              [&] { ball->send(player.partner(), 1, make_ballast(options.words() - 1)); });
}

/// The ball is a text, which each rank moves on.
bench::Sample text_balls(shoal::World& world, const Options& options) {
  Player player(world, options);
  const std::vector<Word> ballast = make_ballast(options.words() - 1);
  const auto as_words = [](const std::string& text) {
    return std::span(reinterpret_cast<const Word*>(text.data()), text.size() / sizeof(Word));
  };
  std::optional<shoal::ActiveMessage<std::int64_t, std::string>> ball;
  ball.emplace(world.make_am(
      [&](std::int64_t hop, std::string text) {
        if (player.take(hop, as_words(text)))
          ball->send(player.partner(), hop + 1, std::move(text));
      },
      am_options(options)));
  return play(world, player, [&] {
    ball->send(
        player.partner(), 1,
        std::string(reinterpret_cast<const char*>(ballast.data()), ballast.size() * sizeof(Word)));
  });
}

/// The ball is a vector, of which each rank sends a copy.
bench::Sample copied_balls(shoal::World& world, const Options& options) {
  Player player(world, options);
  using Words = std::vector<Word>;
  std::optional<shoal::ActiveMessage<std::int64_t, Words>> ball;
  ball.emplace(world.make_am(
      [&](std::int64_t hop, const Words& words) {
        if (player.take(hop, words)) ball->send(player.partner(), hop + 1, words);
      },
      am_options(options)));
  return play(world, player,
              [&] { ball->send(player.partner(), 1, make_ballast(options.words() - 1)); });
}

bench::Sample immutable_balls(shoal::World& world, const Options& options) {
  Player player(world, options);
  using Words = shoal::Immutable<std::vector<Word>>;
  std::optional<shoal::ActiveMessage<std::int64_t, Words>> ball;
  ball.emplace(world.make_am(
      [&](std::int64_t hop, const Words& words) {
        if (player.take(hop, *words)) ball->send(player.partner(), hop + 1, words);
      },
      am_options(options)));
  return play(world, player, [&] {
    ball->send(player.partner(), 1,
               shoal::make_immutable<std::vector<Word>>(make_ballast(options.words() - 1)));
  });
}

}  // namespace

bench::Sample round_trip(shoal::World& world, const Options& options) {
  if (options.mode == "event") return event_balls(world, options);
  if (options.mode == "moved") return moved_balls(world, options);
  if (options.mode == "text") return text_balls(world, options);
  if (options.mode == "copied") return copied_balls(world, options);
  if (options.mode == "immutable") return immutable_balls(world, options);
  if (options.mode == "large") return large_balls(world, options);
  return options.words() == 1 ? small_balls(world, options) : sized_balls(world, options);
}

}  // namespace messages
