// What two threads can do with shared memory: a line that goes to and fro, a ring with one writer
// and one reader; and what one thread can copy.

#include <sched.h>

#include <atomic>
#include <cstring>
#include <memory>
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

/// Words in shared memory; both ends tell the other one how far they are once per packet.
class Ring {
 public:
  explicit Ring(std::int64_t packet_words) : packet_(packet_words) {}

  void write(std::int64_t count) {
    for (std::int64_t first = 0; first < count; first += packet_) {
      const std::int64_t last = std::min(first + packet_, count);
      spin_until([&] { return last - read_.load(std::memory_order_acquire) <= kWords; });
      for (std::int64_t i = first; i < last; ++i) place(i) = messages::item_word(i);
      written_.store(last, std::memory_order_release);
    }
  }
  Word read(std::int64_t count) {
    Word sum = 0;
    for (std::int64_t first = 0; first < count; first += packet_) {
      const std::int64_t last = std::min(first + packet_, count);
      spin_until([&] { return written_.load(std::memory_order_acquire) >= last; });
      for (std::int64_t i = first; i < last; ++i) sum += 2 * place(i);
      read_.store(last, std::memory_order_release);
    }
    return sum;
  }

 private:
  static constexpr std::int64_t kWords = 1 << 14;
  Word& place(std::int64_t index) { return words_[static_cast<std::size_t>(index % kWords)]; }

  const std::int64_t packet_;
  alignas(128) std::atomic<std::int64_t> written_{0};  // the writer writes, the reader reads
  alignas(128) std::atomic<std::int64_t> read_{0};     // the other way round
  alignas(128) std::array<Word, kWords> words_{};
};

bench::Sample fill_ring(const Options& options) {
  constexpr std::int64_t kPacketBytes = 4096;
  const std::int64_t packet_bytes = options.packet_bytes > 0 ? options.packet_bytes : kPacketBytes;
  const auto ring = std::make_unique<Ring>(packet_bytes / std::int64_t{sizeof(Word)});
  Word sum = 0;
  const double begin_s = now_s();
  std::thread reader([&] { sum = ring->read(options.count); });
  ring->write(options.count);
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

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("What the machine allows the message kernels.", "messages_limits");
  Options options;
  messages::add_options(app, options);
  return bench::run_program(app, {argv + 1, argv + argc}, true, [&] {
    bench::limit_time(options.run);
    const messages::Side side{"limit", [&] { return bounce_line(options); },
                              [&] { return fill_ring(options); },
                              [&] { return copy_memory(options); }};
    const bench::Sample sample = messages::measure(options, side);
    return messages::finish(options, side.name, sample, {});
  });
}
