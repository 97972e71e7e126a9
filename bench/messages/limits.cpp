// Limits of shared memory: a line that two threads pass in round trips, a ring with one writer and
// one reader, and the copies of one thread.

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "messages/kernels.hpp"

namespace {

using messages::now_s;
using messages::Options;
using messages::Word;

/// Spins until holds(); on a shared core it lets the other thread run now and then.
template <class Condition>
void spin_until(const Condition& holds) {
  constexpr int kSpins = 10'000;
  for (int i = 1; !holds(); ++i) {
    if (i % kSpins == 0) sched_yield();
  }
}

struct alignas(128) Line {
  std::atomic<Word> value{0};  // release: what was written before belongs to it
};

bench::Sample bounce_line(const Options& options) {
  Line there;
  Line back;
  const auto rounds = static_cast<Word>(options.count);
  std::thread other([&] {
    for (Word i = 1; i <= rounds; ++i) {
      spin_until([&] { return there.value.load(std::memory_order_acquire) == i; });
      back.value.store(i, std::memory_order_release);
    }
  });
  const double begin_s = now_s();
  for (Word i = 1; i <= rounds; ++i) {
    there.value.store(i, std::memory_order_release);
    spin_until([&] { return back.value.load(std::memory_order_acquire) == i; });
  }
  const double seconds = now_s() - begin_s;
  other.join();
  return {seconds, back.value == rounds};
}

/// Packets of words in shared memory; each end tells the other one how many it is done with.
class Ring {
 public:
  explicit Ring(std::int64_t packet_words)
      : packet_words_(packet_words), words_(static_cast<std::size_t>(kPackets * packet_words)) {}

  void write(std::int64_t count) {
    for (std::int64_t first = 0; first < count; first += packet_words_) {
      const std::int64_t last = std::min(first + packet_words_, count);
      const std::int64_t oldest = first - (kPackets - 1) * packet_words_;
      spin_until([&] { return read_.load(std::memory_order_acquire) >= oldest; });
      std::int64_t index = first;
      for (Word& word : packet(first, last)) word = messages::item_word(index++);
      written_.store(last, std::memory_order_release);
    }
  }
  Word read(std::int64_t count) {
    Word sum = 0;
    for (std::int64_t first = 0; first < count; first += packet_words_) {
      const std::int64_t last = std::min(first + packet_words_, count);
      spin_until([&] { return written_.load(std::memory_order_acquire) >= last; });
      for (const Word word : packet(first, last)) sum += 2 * word;
      read_.store(last, std::memory_order_release);
    }
    return sum;
  }

 private:
  static constexpr std::int64_t kPackets = 32;
  std::span<Word> packet(std::int64_t first, std::int64_t last) {
    const std::int64_t slot = first / packet_words_ % kPackets;
    return std::span(words_).subspan(static_cast<std::size_t>(slot * packet_words_),
                                     static_cast<std::size_t>(last - first));
  }

  const std::int64_t packet_words_;
  std::vector<Word> words_;
  alignas(128) std::atomic<std::int64_t> written_{0};  // the writer writes, the reader reads
  alignas(128) std::atomic<std::int64_t> read_{0};     // the other way round
};

bench::Sample fill_ring(const Options& options) {
  constexpr std::int64_t kPacketBytes = 4096;
  const std::int64_t packet_bytes = options.packet_bytes > 0 ? options.packet_bytes : kPacketBytes;
  Ring ring(std::max<std::int64_t>(1, packet_bytes / std::int64_t{sizeof(Word)}));
  Word sum = 0;
  const double begin_s = now_s();
  std::thread reader([&] { sum = ring.read(options.count); });
  ring.write(options.count);
  reader.join();
  return {now_s() - begin_s, sum == messages::item_sum(options.count)};
}

bench::Sample copy_memory(const Options& options) {
  const auto window = static_cast<std::size_t>(options.window);
  std::vector<std::vector<Word>> from(window, std::vector<Word>(options.words()));
  std::vector<std::vector<Word>> to = from;
  bool good = true;
  const double begin_s = now_s();
  for (std::int64_t i = 0; i < options.count; ++i) {
    std::vector<Word>& source = from[static_cast<std::size_t>(i) % window];
    const std::vector<Word>& target = to[static_cast<std::size_t>(i) % window];
    source.front() = source.back() = messages::item_word(i);
    std::memcpy(to[static_cast<std::size_t>(i) % window].data(), source.data(), options.size());
    good &= target.front() == source.front() && target.back() == source.back();
  }
  return {now_s() - begin_s, good};
}

int run(const Options& options) {
  bench::limit_time(options.run);
  const messages::Side side{
      "limit", [&] { return bounce_line(options); }, [&] { return fill_ring(options); },
      [&] { return copy_memory(options); },
      []() -> bench::Sample { throw std::invalid_argument("start: a launch has no limit here"); }};
  return messages::finish(options, side.name, messages::measure(options, side), {});
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  const bench::Program program{"messages_limits", "Limits of the machine for the message kernels.",
                               [&](cli::App& app) { messages::add_options(app, options); },
                               [&] { return run(options); }};
  return bench::run_program(program, {argv + 1, argv + argc}, true);
}
