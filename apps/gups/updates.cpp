#include "gups/updates.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "common/random_matrix.hpp"

namespace gups {
namespace {

constexpr std::size_t kTogether = 512;  // operations of one task that go together

/// A number that depends on nothing but its arguments: one of a splitmix64 sequence.
std::uint64_t random_number(std::uint64_t seed, std::uint64_t index) {
  return apps::mix_bits(seed * 0xD1342543DE82EF95U + index * 0x9E3779B97F4A7C15U);
}

class Table {
 public:
  Table(shoal::World& world, const Options& options)
      : world_(world),
        options_(options),
        memory_(world, {.name = "table",
                        .heap_bytes = (std::size_t{32} << static_cast<unsigned>(options.log_size)) +
                                      (std::size_t{1} << 20U)}),
        words_(memory_, std::size_t{1} << static_cast<unsigned>(options.log_size)) {
    const std::span<std::uint64_t> local = words_.local();
    for (std::size_t i = 0; i < local.size(); ++i)
      local[i] = words_.distribution().index(world.rank(), i);
    world.barrier();
  }

  [[nodiscard]] std::uint64_t operations() const { return words_.size() * options_.updates; }

  /// Runs f(first, count) for the operations of this rank, in tasks.
  template <class F>
  void run(F f) {
    const auto [begin, end] = own_operations();
    const std::uint64_t count = end - begin;
    const auto tasks = static_cast<std::uint64_t>(options_.tasks);
    for (std::uint64_t t = 0; t < tasks; ++t) {
      world_.spawn([=, this, from = begin] {
        const std::uint64_t first = from + count * t / tasks;
        f(*this, first, from + count * (t + 1) / tasks - first);
      });
    }
    world_.wait();
  }

  void update(std::uint64_t first, std::uint64_t count) {
    std::vector<shoal::GlobalPtr<std::uint64_t>> places(kTogether);
    std::vector<std::uint64_t> numbers(kTogether);
    for (std::uint64_t done = 0; done < count; done += kTogether) {
      const std::uint64_t some = std::min<std::uint64_t>(kTogether, count - done);
      for (std::uint64_t i = 0; i < some; ++i) {
        numbers[i] = random_number(options_.seed, first + done + i);
        places[i] = words_[numbers[i] % words_.size()];
      }
      memory_.xor_async(std::span(places).first(some), std::span(numbers).first(some));
    }
  }
  /// Returns how many reads were wrong.
  [[nodiscard]] std::uint64_t read(std::uint64_t first, std::uint64_t count) {
    std::uint64_t wrong = 0;
    std::vector<shoal::GlobalPtr<std::uint64_t>> places;
    std::vector<std::uint64_t> values(kTogether);
    for (std::uint64_t done = 0; done < count; done += places.size()) {
      places.clear();
      const std::uint64_t some = std::min<std::uint64_t>(kTogether, count - done);
      for (std::uint64_t i = 0; i < some; ++i) {
        places.push_back(words_[random_number(options_.seed, first + done + i) % words_.size()]);
      }
      memory_.gather(places, std::span(values).first(places.size()));
      for (std::uint64_t i = 0; i < some; ++i) {
        if (values[i] != random_number(options_.seed, first + done + i) % words_.size()) ++wrong;
      }
    }
    return wrong;
  }
  /// Whether the exclusive or of all words is that of the words at first and of all updates.
  [[nodiscard]] bool has_all_updates() const {
    std::uint64_t sum = 0;
    const auto [begin, end] = own_operations();
    for (std::uint64_t i = begin; i < end; ++i) sum ^= random_number(options_.seed, i);
    const std::span<const std::uint64_t> local = words_.local();
    for (std::size_t i = 0; i < local.size(); ++i) {
      sum ^= local[i] ^ words_.distribution().index(world_.rank(), i);
    }
    return world_.allreduce(sum, std::bit_xor<>()) == 0;
  }
  /// Words of this rank that are not as they were at first.
  [[nodiscard]] std::uint64_t wrong_words() const {
    const std::span<const std::uint64_t> local = words_.local();
    std::uint64_t wrong = 0;
    for (std::size_t i = 0; i < local.size(); ++i) {
      if (local[i] != words_.distribution().index(world_.rank(), i)) ++wrong;
    }
    return wrong;
  }

 private:
  /// First of the operations of this rank, and their end.
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> own_operations() const {
    const auto size = static_cast<std::uint64_t>(world_.size());
    const auto me = static_cast<std::uint64_t>(world_.rank().value());
    return {operations() * me / size, operations() * (me + 1) / size};
  }

  shoal::World& world_;
  const Options options_;
  shoal::GlobalMemory memory_;
  shoal::GlobalVector<std::uint64_t> words_;
};

}  // namespace

Result update(shoal::World& world, const Options& options) {
  Table table(world, options);
  const auto run = [&] {
    table.run([](Table& t, std::uint64_t first, std::uint64_t count) { t.update(first, count); });
  };
  const std::uint64_t begin = world.now_ns();
  run();
  Result result{static_cast<double>(world.now_ns() - begin) * 1e-9, table.operations(), 0};
  const bool complete = table.has_all_updates();
  run();
  result.wrong = world.allreduce(table.wrong_words(), std::plus<>());
  if (!complete) ++result.wrong;
  return result;
}

Result gather(shoal::World& world, const Options& options) {
  Table table(world, options);
  std::atomic<std::uint64_t> sum{0};
  const std::uint64_t begin = world.now_ns();
  table.run(
      [&sum](Table& t, std::uint64_t first, std::uint64_t count) { sum += t.read(first, count); });
  const double seconds = static_cast<double>(world.now_ns() - begin) * 1e-9;
  return {seconds, table.operations(), world.allreduce(sum.load(), std::plus<>())};
}

}  // namespace gups
