#include "support/memory_battery.hpp"

#include <shoal/shoal.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace shoal::testing {

namespace {

void must(bool condition, const std::string& text) {
  if (!condition) throw std::runtime_error("global memory: " + text);
}

struct Particle {
  double position[3];
  int id;
};

/// Every rank writes to every rank, and reads what all have written.
void values_and_ranges(World& world, GlobalMemory& memory) {
  const int me = world.rank().value();
  const int size = world.size();
  GlobalVector<Particle> particles(memory,
                                   Distribution::cyclic(static_cast<std::size_t>(size * 7), size));
  world.barrier();
  for (int i = 0; i < 7; ++i) {
    const int id = i * size + (me + i) % size;  // by whom, differs
    particles.put(static_cast<std::size_t>(id), Particle{{1.0 * id, 2.0 * id, 3.0 * id}, id});
  }
  memory.quiet();
  world.barrier();
  for (int id = 0; id < size * 7; ++id) {
    const Particle particle = particles.get(static_cast<std::size_t>(id));
    must(particle.id == id && particle.position[2] == 3.0 * id, "particle " + std::to_string(id));
    const GlobalPtr<int> number = particles[static_cast<std::size_t>(id)].member(&Particle::id);
    must(memory.get(number) == id, "a member");
    must(memory.get_async(number).get() == id, "a member's future");
  }
  world.barrier();

  // Ranges small and large, whole and in blocks.
  for (const std::size_t count : {std::size_t{3}, std::size_t{1000}, std::size_t{40'000}}) {
    GlobalVector<std::uint64_t> words(memory, count * static_cast<std::size_t>(size));
    world.barrier();
    const Rank next((me + 1) % size);
    std::vector<std::uint64_t> mine(count);
    std::iota(mine.begin(), mine.end(), 1000U * static_cast<unsigned>(me));
    Transfer transfer = memory.put(words.at(next, 0), mine);
    std::fill(mine.begin(), mine.end(), 0U);  // may be reused
    transfer.wait();
    world.barrier();
    std::vector<std::uint64_t> all(words.size());
    words.get(0, all);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::size_t writer =
          (i / count + static_cast<std::size_t>(size) - 1) % static_cast<std::size_t>(size);
      must(all[i] == 1000 * writer + i % count, "word " + std::to_string(i));
    }
    if (count >= 1000) {
      std::vector<std::uint64_t> block(count / 10 * 4);
      memory.get_strided(words.at(next, 3), std::span(block), 4, 10);
      for (std::size_t i = 0; i < block.size(); ++i) {
        must(block[i] == 1000U * static_cast<unsigned>(me) + 3 + i / 4 * 10 + i % 4, "a block");
      }
      std::vector<std::uint64_t> same(block.size());
      memory.get_strided_async(words.at(next, 3), std::span(same), 4, 10).wait();
      must(same == block, "blocks at once");
      world.barrier();
      for (std::uint64_t& word : block) word = ~word;
      memory.put_strided(words.at(next, 3), std::span<const std::uint64_t>(block), 4, 10).wait();
      world.barrier();
      const std::span<const std::uint64_t> local = words.local();
      const auto before = static_cast<unsigned>((me + size - 1) % size);
      for (std::size_t i = 0; i < local.size() / 10 * 10; ++i) {
        const bool changed = i >= 3 && (i - 3) % 10 < 4 && (i - 3) / 10 < count / 10;
        const std::uint64_t word = 1000U * before + i;
        must(local[i] == (changed ? ~word : word), "a word between blocks");
      }
    }
    world.barrier();
  }
}

void gather_and_scatter(World& world, GlobalMemory& memory) {
  const int size = world.size();
  const auto distribution =
      Distribution::block_cyclic(static_cast<std::size_t>(size) * 100, size, 3);
  GlobalVector<double> values(memory, distribution);
  world.barrier();
  std::vector<GlobalPtr<double>> places;
  std::vector<double> mine;
  for (std::size_t i = static_cast<std::size_t>(world.rank().value()); i < values.size();
       i += static_cast<std::size_t>(size)) {
    places.push_back(values[i]);
    mine.push_back(static_cast<double>(i));
  }
  memory.scatter(places, mine).wait();
  world.barrier();
  places.clear();
  for (std::size_t i = 0; i < values.size(); ++i) places.push_back(values[values.size() - 1 - i]);
  std::vector<double> all(values.size());
  memory.gather(places, all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    must(all[i] == static_cast<double>(values.size() - 1 - i), "gathered value");
  }
  std::array<double, 2> two{};
  memory.gather(std::array{values[5], values[7]}, two);
  must(two == std::array{5.0, 7.0}, "gathered into an array");
  const GlobalPtr<const double> read_only[]{values[9], values[8]};
  double plain[2]{};
  memory.gather(read_only, plain);
  memory.gather(std::span(places).last(2), std::span(two));
  must(plain[0] == 9.0 && plain[1] == 8.0 && two == std::array{1.0, 0.0}, "gathered by spans");
  world.barrier();
  if (world.rank() == 0) {
    memory.scatter(std::array{values[1], values[2]}, std::array{-1.0, -2.0}).wait();
    memory.scatter(std::span(places).last(1), std::span<const double>(plain).first(1)).wait();
    memory.gather(std::vector{values[2], values[1]}, two);
    must(two == std::array{-2.0, -1.0} && memory.get(values[0]) == 9.0, "scattered arrays");
  }
  world.barrier();
}

/// Vectors whose elements are spread in all ways, written and read in pieces.
void distributions(World& world, GlobalMemory& memory) {
  const int size = world.size();
  const std::size_t count = 2 * static_cast<std::size_t>(size) + 1;
  std::vector<Rank> owners;
  for (std::size_t i = 0; i < count; ++i) owners.emplace_back(static_cast<int>(i / 2 * 7) % size);
  for (const Distribution& distribution :
       {Distribution::balanced(count, size), Distribution::blocked(count, size),
        Distribution::cyclic(count, size), Distribution::block_cyclic(count, size, 2),
        Distribution::arbitrary(owners, size)}) {
    GlobalVector<std::size_t> values(memory, distribution);
    world.barrier();
    for (std::size_t place = 0; place < values.local().size(); ++place) {
      values.local()[place] = distribution.index(world.rank(), place);
    }
    world.barrier();
    std::vector<std::size_t> all(count - 1);
    values.get(1, std::span(all));
    for (std::size_t i = 1; i < count; ++i) {
      must(all[i - 1] == i, "an element by its index");
    }
    world.barrier();
    for (std::size_t& value : all) value *= 10;
    if (world.rank() == size - 1) values.put(1, std::span<const std::size_t>(all));
    memory.quiet();
    world.barrier();
    for (std::size_t place = 0; place < values.local().size(); ++place) {
      must(values.local()[place] == 10 * distribution.index(world.rank(), place), "an element put");
    }
    world.barrier();
  }
}

/// All ranks update the same words at random, many at a time.
template <class T>
void updates_of_many(World& world, GlobalMemory& memory) {
  constexpr int kRounds = 3;
  const auto size = static_cast<std::size_t>(world.size());
  const auto distribution = Distribution::cyclic(size * 50, world.size());
  GlobalVector<T> sums(memory, distribution);
  GlobalVector<std::uint32_t> bits(memory, distribution);
  world.barrier();
  std::vector<GlobalPtr<T>> places;
  std::vector<GlobalPtr<std::uint32_t>> words;
  std::vector<T> values;
  std::vector<std::uint32_t> masks;
  for (std::size_t i = 0; i < 2 * sums.size(); ++i) {  // each word twice
    const std::size_t index = i * 7 % sums.size();
    places.push_back(sums[index]);
    words.push_back(bits[index]);
    values.push_back(static_cast<T>(index + 1));
    masks.push_back(1U << static_cast<unsigned>((i < sums.size() ? 0 : 16) + world.rank().value()));
  }
  for (int i = 0; i < kRounds; ++i) {
    static_cast<void>(memory.add_async(places, values));
    static_cast<void>(memory.xor_async(words, masks));
  }
  memory.add_async(std::span(places).first(0), std::span<const T>()).wait();
  memory.quiet();
  world.barrier();
  const std::uint32_t all = (1U << static_cast<unsigned>(world.size())) - 1;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    must(sums.get(i) == static_cast<T>(2 * kRounds * world.size()) * static_cast<T>(i + 1),
         "a sum of many");
    must(bits.get(i) == (all | all << 16U), "bits of many");
  }
  world.barrier();
}

/// All ranks work on the same words, also by tasks at once.
void words(World& world, GlobalMemory& memory) {
  const int size = world.size();
  constexpr int kTasks = 8;
  constexpr int kRounds = 25;
  const auto counter = memory.collective_allocate<std::int64_t>().on(Rank(0));
  const auto sum = memory.collective_allocate<double>().on(Rank(size - 1));
  const auto most = memory.collective_allocate<std::int32_t>().on(Rank(size / 2));
  const auto bits = memory.collective_allocate<std::uint16_t>().on(Rank(0));
  const auto mixed = memory.collective_allocate<std::uint64_t>().on(Rank(size - 1));
  world.barrier();
  for (int t = 0; t < kTasks; ++t) {
    world.spawn([&, t] {
      for (int i = 0; i < kRounds; ++i) {
        memory.fetch_add(counter, 2);
        static_cast<void>(memory.add_async(counter, -1));
        memory.fetch_add(sum, 0.5);
        memory.fetch_max(most, world.rank().value() * 1000 + t * 100 + i);
        memory.fetch_or(bits, static_cast<std::uint16_t>(1U << ((t + i) % 16)));
        memory.fetch_update(mixed, [](std::uint64_t x) { return x + (x % 2 == 0 ? 3 : 1); });
      }
    });
  }
  world.wait();
  const std::int64_t all = std::int64_t{size} * kTasks * kRounds;
  must(memory.load(counter) == all, "counter " + std::to_string(memory.load(counter)));
  must(memory.get(sum) == 0.5 * static_cast<double>(all), "sum");
  must(memory.load(most) == (size - 1) * 1000 + (kTasks - 1) * 100 + kRounds - 1, "maximum");
  must(memory.load(bits) == 0xFFFF, "bits");
  // Alternately + 3 and + 1: an order of which none is lost.
  must(memory.load(mixed) == static_cast<std::uint64_t>(all) * 2 + (all % 2 == 0 ? 0 : 1),
       "reduction of the program");
  world.barrier();

  // Each value of a ticket goes to one.
  std::vector<Future<std::int64_t>> tickets;
  for (int i = 0; i < 50; ++i) tickets.push_back(memory.fetch_add_async(counter, 1));
  std::int64_t own = 0;
  for (Future<std::int64_t>& ticket : tickets) own += ticket.get() - all;
  const std::int64_t count = std::int64_t{size} * 50;
  must(world.allreduce(own, [](std::int64_t a, std::int64_t b) { return a + b; }) ==
           count * (count - 1) / 2,
       "tickets");
  if (world.rank() == 0) {
    must(memory.swap(counter, 7) == all + count, "swap");
    must(memory.compare_exchange(counter, 8, 9) == 7 && memory.load(counter) == 7, "no exchange");
    must(memory.compare_exchange(counter, 7, 9) == 7 && memory.load(counter) == 9, "exchange");
  }
  world.barrier();
}

/// Each operation on a word in the form that does not block, on a word that no other rank changes.
void words_at_once(World& world, GlobalMemory& memory) {
  const Rank next((world.rank().value() + 1) % world.size());
  const auto word = memory.collective_allocate<std::int32_t>().on(next);
  const auto bits = memory.collective_allocate<std::uint16_t>().on(Rank(0));
  world.barrier();
  const auto check = [&](Future<std::int32_t> before, int expected, int now, const char* what) {
    must(before.get() == expected && memory.load(word) == now, what);
  };
  check(memory.swap_async(word, 12), 0, 12, "swap at once");
  check(memory.fetch_or_async(word, 3), 12, 15, "bitwise or at once");
  check(memory.fetch_and_async(word, 9), 15, 9, "bitwise and at once");
  check(memory.fetch_xor_async(word, 1), 9, 8, "exclusive or at once");
  check(memory.fetch_min_async(word, -5), 8, -5, "minimum at once");
  check(memory.fetch_max_async(word, 7), -5, 7, "maximum at once");
  check(memory.compare_exchange_async(word, 8, 1), 7, 7, "no exchange at once");
  check(memory.compare_exchange_async(word, 7, 1), 7, 1, "exchange at once");
  memory.store_async(word, 4).wait();
  must(memory.load_async(GlobalPtr<const std::int32_t>(word)).get() == 4, "load at once");
  static_cast<void>(memory.store_async(word, 6));
  memory.quiet();
  must(memory.load(word) == 6, "a store that was dropped");
  // All are in flight together; each bit is of one rank.
  std::vector<Future<std::uint16_t>> before;
  for (int bit = world.rank().value(); bit < 16; bit += world.size()) {
    before.push_back(memory.fetch_or_async(bits, static_cast<std::uint16_t>(1U << bit)));
  }
  for (std::size_t i = 0; i < before.size(); ++i) {
    const int bit = world.rank().value() + static_cast<int>(i) * world.size();
    must((before[i].get() & (1U << bit)) == 0, "a bit before");
  }
  world.barrier();
  must(memory.load(bits) == 0xFFFF, "bits at once");
  world.barrier();
}

/// Words that are no plain numbers, and words that are only read.
void words_of_other_types(World& world, GlobalMemory& memory) {
  enum class Level : std::int16_t { low = -5, none = 0, high = 7 };
  struct alignas(8) Share {
    float part;
    int count;
    bool operator==(const Share&) const = default;
  };
  const Rank next((world.rank().value() + 1) % world.size());
  const auto level = memory.collective_allocate<Level>().on(next);
  const auto flag = memory.collective_allocate<bool>().on(next);
  const auto share = memory.collective_allocate<Share>().on(next);
  world.barrier();
  must(memory.fetch_min(level, Level::low) == Level::none, "an enum before");
  must(memory.load(level) == Level::low, "the minimum of enums");
  must(memory.fetch_max(level, Level::high) == Level::low, "a negative enum");
  must(memory.fetch_max(level, Level::none) == Level::high, "the maximum of enums");
  must(memory.fetch_min_async(level, Level::none).get() == Level::high, "an enum at once");
  must(memory.fetch_max(flag, true) == false && memory.fetch_min(flag, true), "a bool");
  must(memory.compare_exchange(share, {0, 0}, {0.5F, 1}) == Share{0, 0}, "an exchange of members");
  must(memory.swap_async(share, {0.5F, 1}).get() == Share{0.5F, 1}, "members at once");
  memory.fetch_update(share, [](Share s) { return Share{s.part / 2, s.count + 1}; });
  const GlobalPtr<const Share> read_only = share;
  must(memory.load(read_only) == Share{0.25F, 2}, "a word that is only read");
  must(memory.get(read_only.member(&Share::count)) == 2, "a member that is only read");
  world.barrier();
}

/// The same by an event that is fired, and by the key of a graph that is fulfilled.
void signals_of_models(World& world, GlobalMemory& memory) {
  const int me = world.rank().value();
  const Rank next((me + 1) % world.size());
  const Rank before((me + world.size() - 1) % world.size());
  for (const std::size_t count : {std::size_t{1}, std::size_t{500}, std::size_t{30'000}}) {
    GlobalVector<int> places(memory, 2 * count * static_cast<std::size_t>(world.size()));
    Events events(world);
    TaskGraph<int> graph(world, "arrivals");
    std::atomic<int> seen{0};
    const auto look = [&places, &seen, count](std::size_t first, int from) {
      const std::span<const int> values = places.local().subspan(first, count);
      for (const int value : values) must(value == from + 1, "a value before its signal");
      ++seen;
    };
    events.submit({{before, "arrived"}}, [&] { look(0, before.value()); });
    graph.set_indegree([](int) { return 1; })
        .set_mapping([](int) { return 0; })
        .set_rank([size = world.size()](int key) { return Rank(key % size); })
        .set_task([&](int) { look(count, before.value()); });
    world.barrier();
    const std::vector<int> values(count, me + 1);
    memory.put_signal(places.at(next, 0), std::span<const int>(values),
                      [&] { events.fire(next, "arrived"); });
    memory.put_signal(places.at(next, count), std::span<const int>(values),
                      [&] { graph.fulfill(next.value()); });
    world.wait();
    must(seen == 2, "signals by an event and a key");
  }
}

class SignalOrder {
 public:
  SignalOrder(World& world, GlobalMemory& memory)
      : world_(world),
        memory_(memory),
        size_(world.size()),
        next_((world.rank() + 1) % size_),
        before_((world.rank() + size_ - 1) % size_),
        data_(memory.collective_allocate<int>(kEnd + kBulk)),
        looks_(world.make_am([this](int from, int n) { look(from, n); }, {.name = "look"})),
        tasks_(world.make_am([this](int from, int n) { look(from, n); }, {Delivery::task})),
        call_(world.make_function([this](int from, int n) { look(from, n); })),
        events_(world),
        keys_(world, "keys"),
        numbers_(world, "numbers"),
        vectors_(world, "vectors") {
    for (int from = 0; from < size_; ++from) {
      events_.submit({{Rank(from), "to all"}}, [this, from] { look(from, kToAll); });
    }
    events_.submit({{before_, "to one"}}, [this] { look(before_.value(), kToOne); });
    for (int number = 0; number < kEnd; ++number) memory.put(data_ + number, 0);
    const auto rank = [size = size_](int key) { return Rank(key % size); };
    const auto mapping = [](int /*key*/) { return 0; };
    keys_.set_indegree([](int) { return 1; })
        .set_mapping(mapping)
        .set_rank(rank)
        .set_task([this](int key) { look(key / size_, kKey); });
    numbers_.set_mapping(mapping).set_rank(rank).set_task(
        [this](int key, int n) { look(key / size_ % size_, n); });
    vectors_.set_mapping(mapping).set_rank(rank).set_task(
        [this](int key, const std::vector<int>& n) { look(key / size_, n.front()); });
    world.barrier();
  }
  ~SignalOrder() { memory_.collective_free(data_); }
  SignalOrder(const SignalOrder&) = delete;
  SignalOrder& operator=(const SignalOrder&) = delete;

  void run() {
    const int me = world_.rank().value();
    const int key = me * size_ + next_.value();
    std::vector<Rank> others;
    std::vector<int> keys;
    for (int i = 2; i < size_; ++i) others.emplace_back((me + i) % size_);
    if (size_ > 1) others.push_back(next_);
    for (const Rank to : others) keys.push_back((size_ + me) * size_ + to.value());
    signal(kSend, [&] { looks_.send(next_, me, kSend); });
    signal(kTask, [&] { tasks_.send(next_, me, kTask); });
    signal(kCall, [&] { const auto dropped = world_.call(next_, call_, me, kCall); });
    signal(kToOne, [&] { events_.fire(next_, "to one"); });
    signal(kKey, [&] { keys_.fulfill(key); });
    signal(kValue, [&] { numbers_.send(key, 0, int{kValue}); });
    signal(kVector, [&] { vectors_.send(key, 0, std::vector<int>(20'000, kVector)); });
    put(kUrgent).wait();
    looks_.send_urgent(next_, me, kUrgent);
    put(kMulticast).wait();
    if (size_ > 1) {
      const MulticastTree chain{TreeShape::chain};  // the next rank is the last one
      world_.multicast(Recipients(others, chain), looks_, me, kMulticast);
    }
    put(kToAll).wait();
    events_.fire(all, "to all");
    put(kAllKeys).wait();
    if (size_ > 1) numbers_.send_all(keys, 0, int{kAllKeys});
    world_.wait();
    must(seen_ == (size_ > 1 ? kCount : kCount - 2), "signals of " + std::to_string(seen_));
  }

 private:
  static constexpr std::size_t kBulk = 200;
  enum Kind {
    kNone,
    kSend,
    kTask,
    kCall,
    kToOne,
    kKey,
    kValue,
    kVector,
    kUrgent,
    kMulticast,
    kToAll,
    kAllKeys,
    kEnd
  };
  static constexpr int kCount = kEnd - 1;

  /// The put before it, of the number to the next rank.
  void put_much(int number) {
    const std::vector<int> bulk(kBulk, number);
    for (int i = 0; i < 30; ++i) memory_.put(data_.on(next_) + kEnd, bulk);
  }
  Transfer put(int number) {
    put_much(number);
    return memory_.put(data_.on(next_) + number, number);
  }
  template <class F>
  void signal(int number, F send) {
    put_much(number);
    memory_.put_signal(data_.on(next_) + number, std::array{number}, send);
  }
  /// Each number has a place of its own: the one of the rank before is here.
  void look(int from, int number) {
    if (from != before_.value()) return;
    must(memory_.load(data_ + number) == number,
         "signal " + std::to_string(number) + " before its data");
    ++seen_;
  }

  World& world_;
  GlobalMemory& memory_;
  const int size_;
  const Rank next_;
  const Rank before_;
  const GlobalPtr<int> data_;  // here
  std::atomic<int> seen_{0};
  ActiveMessage<int, int> looks_;
  ActiveMessage<int, int> tasks_;
  RemoteFunction<void, int, int> call_;
  Events events_;
  TaskGraph<int> keys_;
  TaskGraph<int> numbers_;
  TaskGraph<int> vectors_;
};

class LateAnswers {
 public:
  LateAnswers(World& world, GlobalMemory& memory)
      : world_(world),
        memory_(memory),
        size_(world.size()),
        data_(memory.collective_allocate<int>()),
        cache_(memory),
        change_(world.make_am([this](int reader, int round) { change(reader, round); },
                              {Delivery::task})),
        pass_on_(
            world.make_am([this](int reader, int round) { changed_.send(Rank(reader), round); })),
        changed_(world.make_am([this](int round) { look(round); }, {Delivery::task})) {
    *memory.local(data_) = 0;
    world.barrier();
  }
  ~LateAnswers() { memory_.collective_free(data_); }
  LateAnswers(const LateAnswers&) = delete;
  LateAnswers& operator=(const LateAnswers&) = delete;

  void run() {
    const Rank owner = after(1);
    for (int round = 1; round <= 5; ++round) {
      cache_.invalidate();
      cache_.prefetch(data_.on(owner));
      change_.send(owner, world_.rank().value(), round);
      world_.wait();
      must(*cache_.get(data_.on(owner)) == round, "a late answer was kept");
    }
    world_.barrier();
  }

 private:
  [[nodiscard]] Rank after(int ranks) const { return Rank((world_.rank() + ranks) % size_); }

  void change(int reader, int round) {
    memory_.put(data_, round).wait();
    pass_on_.send(after(1), reader, round);
  }
  void look(int round) {
    const GlobalPtr<int> object = data_.on(after(1));
    if (round % 2 == 0) {
      cache_.invalidate();
    } else {
      cache_.invalidate(object);
    }
    must(*cache_.get(object) == round, "a copy from before the invalidation");
  }

  World& world_;
  GlobalMemory& memory_;
  const int size_;
  const GlobalPtr<int> data_;  // here
  ObjectCache<int> cache_;
  ActiveMessage<int, int> change_;
  ActiveMessage<int, int> pass_on_;
  ActiveMessage<int> changed_;
};

void heaps(World& world, GlobalMemory& memory) {
  const Rank next((world.rank().value() + 1) % world.size());
  world.barrier();
  const std::uint64_t before = memory.statistics().allocations;
  world.barrier();
  const GlobalPtr<int> far = memory.allocate_on<int>(next, 10);
  must(far.rank() == next && memory.get(far + 9) == 0, "memory of another rank");
  memory.put(far + 9, 5).wait();
  must(memory.get(far + 9) == 5, "a value there");
  memory.free(far);
  const GlobalPtr<std::string> text = memory.create<std::string>(std::size_t{1000}, 'x');
  must(memory.local(text)->size() == 1000, "an object");
  memory.destroy(text);
  world.wait();
  must(memory.statistics().allocations == before, "something is left");
  world.barrier();
}

struct Cell {
  std::vector<int> children;
  std::string name;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(children, name);
  }
};

/// Objects of many sizes by way of a cache of few bytes, or none, or any number.
template <class Policy>
void caches(World& world, GlobalMemory& memory, const Policy& policy) {
  const int size = world.size();
  constexpr int kObjects = 20;
  ObjectCache<Cell, Policy> cells(memory, policy, "cells");
  ObjectCache<Particle, Policy> particles(memory, policy, "particles");
  GlobalVector<GlobalPtr<Cell>> roots(memory, static_cast<std::size_t>(size * kObjects));
  GlobalVector<Particle> all(memory, static_cast<std::size_t>(size * kObjects));
  const std::size_t first = static_cast<std::size_t>(world.rank().value() * kObjects);
  for (std::size_t i = first; i < first + kObjects; ++i) {
    roots.local()[i - first] = memory.create<Cell>(
        Cell{std::vector<int>(i * 7, static_cast<int>(i)), "cell " + std::to_string(i)});
    all.local()[i - first] = {{0, 0, 1.0 * static_cast<double>(i)}, static_cast<int>(i)};
  }
  world.barrier();
  const auto check = [&](int phase) {
    for (int t = 0; t < 4; ++t) {
      world.spawn([&, t, phase] {
        for (std::size_t k = 0; k < roots.size(); ++k) {
          const std::size_t i =
              (k * (t % 2 == 0 ? 7 : 3) + static_cast<std::size_t>(t)) % roots.size();
          const GlobalPtr<Cell> root = roots.get(i);
          if (t == 3) cells.prefetch(roots.get((i + 1) % roots.size()));
          const CacheRef<Cell> cell = cells.get(root);
          must(cell->children.size() == i * 7 &&
                   cell->name == "cell " + std::to_string(static_cast<int>(i) + 1000 * phase),
               "cell " + std::to_string(i) + " is " + cell->name);
          must(particles.get(all[i])->id == static_cast<int>(i) + 1000 * phase, "cached particle");
        }
      });
    }
    world.wait();
  };
  check(0);
  for (std::size_t i = first; i < first + kObjects; ++i) {
    memory.local(roots.local()[i - first])->name = "cell " + std::to_string(i + 1000);
    all.local()[i - first].id += 1000;
  }
  cells.collective_invalidate(world);
  particles.collective_invalidate(world);
  check(1);
  const CacheStatistics statistics = cells.statistics();
  must(statistics.fetches <= statistics.misses + roots.size() * 2, "more fetches than misses");
  world.barrier();
  for (const GlobalPtr<Cell> root : roots.local()) memory.destroy(root);
}

}  // namespace

void signals(World& world, GlobalMemory& memory) {
  const int me = world.rank().value();
  const Rank next((me + 1) % world.size());
  for (const std::size_t count : {std::size_t{1}, std::size_t{500}, std::size_t{30'000}}) {
    GlobalVector<int> places(memory, count * static_cast<std::size_t>(world.size()));
    world.barrier();
    int seen = 0;
    const auto signal = world.make_am([&](int from) {
      for (const int value : places.local()) must(value == from + 1, "a value before its signal");
      ++seen;
    });
    const std::vector<int> values(count, me + 1);
    memory.put_signal(places.at(next, 0), values, [&] { signal.send(next, me); });
    world.wait();
    must(seen == 1, "signals");
  }
}

void signals_behind_much(World& world, GlobalMemory& memory) { SignalOrder(world, memory).run(); }

void late_answers(World& world, GlobalMemory& memory) { LateAnswers(world, memory).run(); }

void whole_battery(World& world, GlobalMemoryOptions::Checks checks) {
  GlobalMemory memory(world, battery_options(checks));
  values_and_ranges(world, memory);
  gather_and_scatter(world, memory);
  distributions(world, memory);
  updates_of_many<std::int64_t>(world, memory);
  updates_of_many<double>(world, memory);
  words(world, memory);
  words_at_once(world, memory);
  words_of_other_types(world, memory);
  signals(world, memory);
  signals_of_models(world, memory);
  signals_behind_much(world, memory);
  late_answers(world, memory);
  heaps(world, memory);
  caches(world, memory, KeepAll());
  caches(world, memory, Lru(2000));
  caches(world, memory, NoCache());
  world.wait();
}

}  // namespace shoal::testing
