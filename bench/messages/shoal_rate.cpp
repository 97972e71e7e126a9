#include <algorithm>
#include <array>
#include <stdexcept>
#include <thread>

#include "messages/shoal_side.hpp"

namespace messages {

namespace {

/// Runs send(part) for each sender's part: in tasks, or in threads of the program.
template <class Send>
void run_senders(shoal::World& world, const Options& options, const Send& send) {
  std::vector<std::thread> threads;
  for (int i = 0; i < options.senders; ++i) {
    const Part part = part_of(options.count, options.senders, i);
    if (options.from == "thread") {
      threads.emplace_back([hold = world.hold(), &send, part] { send(part); });
    } else {
      world.spawn([&send, part] { send(part); },
                  {.worker = shoal::WorkerId(i % world.worker_count())});
    }
  }
  world.wait();
  for (std::thread& thread : threads) thread.join();
}

/// The receiver answers the last item, which ends the measurement.
template <std::size_t Words>
bench::Sample measure_rate(shoal::World& world, const Options& options) {
  using Item = std::array<Word, Words>;
  const shoal::Rank receiver(std::min(1, world.size() - 1));
  Word sum = 0;
  std::int64_t received = 0;
  double end_s = 0;
  const auto answer = world.make_am([&] { end_s = now_s(); });
  const auto message = world.make_am([&](const Item& item) {
    sum += item.front() + item.back();
    if (++received == options.count) answer.send(shoal::Rank(0));
  });
  const auto send = [&](const Part& part) {
    Item item{};
    for (std::int64_t i = part.first; i < part.last; ++i) {
      item.front() = item.back() = item_word(i);
      message.send(receiver, item);
    }
  };
  world.barrier();
  const double begin_s = now_s();
  if (world.rank() == 0) {
    run_senders(world, options, send);
  } else {
    world.wait();
  }
  const bool good =
      world.rank() != receiver || (received == options.count && sum == item_sum(received));
  return {end_s - begin_s, good};
}

}  // namespace

bench::Sample rate(shoal::World& world, const Options& options) {
  switch (options.words()) {
    case 1:
      return measure_rate<1>(world, options);
    case 2:
      return measure_rate<2>(world, options);
    case 4:
      return measure_rate<4>(world, options);
    case 8:
      return measure_rate<8>(world, options);
    case 16:
      return measure_rate<16>(world, options);
    case 32:
      return measure_rate<32>(world, options);
    default:
      throw std::invalid_argument("--size of rate is 8, 16, 32, 64, 128 or 256");
  }
}

}  // namespace messages
