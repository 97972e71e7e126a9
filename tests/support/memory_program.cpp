#include "support/memory_program.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace shoal::testing {

namespace {

/// Keeps the three copies that came last.
class FirstInFirstOut {
 public:
  [[nodiscard]] static bool keeps() { return true; }
  void on_insert(const CacheKey& key, std::size_t /*size_bytes*/) { order_.push_back(key); }
  void on_use(const CacheKey& key) {  // it is referenced, perhaps
    if (order_.empty() || order_.front() != key) return;
    order_.pop_front();
    order_.push_back(key);
  }
  void on_remove(const CacheKey& key) { std::erase(order_, key); }
  [[nodiscard]] std::optional<CacheKey> victim() const {
    if (order_.size() <= 3) return std::nullopt;
    return order_.front();
  }

 private:
  std::deque<CacheKey> order_;
};

/// An object whose content is a function of its number and version.
struct Document {
  std::vector<std::uint64_t> words;
  std::string title;

  static Document of(std::size_t number, std::uint64_t version) {
    return {std::vector<std::uint64_t>((number * 13 + version) % 60, number * 1000 + version),
            "document " + std::to_string(number) + " version " + std::to_string(version)};
  }
  friend bool operator==(const Document&, const Document&) = default;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(words, title);
  }
};

/// A program of one rank; those of all ranks have the same seed.
template <class Policy>
class MemoryProgram {
 public:
  MemoryProgram(World& world, GlobalMemory& memory, Policy policy, std::uint64_t seed)
      : world_(world),
        memory_(memory),
        shared_(seed),
        own_(seed * 64 + static_cast<std::uint64_t>(world.rank().value())),
        expected_(draw(8) == 0 ? 2000 + draw(6000) : 20 + draw(300)),
        versions_(3 + draw(12)),
        counts_(4),
        words_(memory, draw(3) == 0 ? Distribution::blocked(expected_.size(), memory.size())
                                    : Distribution::block_cyclic(expected_.size(), memory.size(),
                                                                 1 + draw(9))),
        counters_(memory, Distribution::cyclic(counts_.size(), memory.size())),
        roots_(memory, Distribution::cyclic(versions_.size(), memory.size())),
        documents_(memory, policy, "documents"),
        cached_words_(memory, std::move(policy), "words") {
    world.barrier();
    for (std::size_t d = 0; d < versions_.size(); ++d) {
      if (roots_.owner(d) == world.rank()) {
        roots_.put(d, memory.create<Document>(Document::of(d, 0)));
      }
    }
    world.barrier();
  }
  ~MemoryProgram() {
    for (const GlobalPtr<Document> root : roots_.local()) memory_.destroy(root);
  }
  MemoryProgram(const MemoryProgram&) = delete;
  MemoryProgram& operator=(const MemoryProgram&) = delete;

  void run(int phases) {
    for (phase_ = 1; phase_ <= static_cast<std::uint64_t>(phases); ++phase_) {
      write_all();
      end_writes();
      for (std::uint64_t t = own(4); t < 4; ++t) {
        world_.spawn([this, seed = own_()] { read_some(std::mt19937_64(seed)); });
      }
      world_.wait();
    }
    world_.barrier();
  }

 private:
  using Words = std::vector<std::uint64_t>;

  // The same on all ranks; of this rank.
  std::uint64_t draw(std::uint64_t below) { return shared_() % below; }
  std::uint64_t own(std::uint64_t below) { return own_() % below; }

  static void must(bool condition, const std::string& text) {
    if (!condition) throw std::runtime_error("random memory: " + text);
  }
  [[nodiscard]] std::uint64_t fresh(std::size_t i) const {
    return (phase_ << 32U) + i * 3 + shared_salt_;
  }
  [[nodiscard]] bool mine(std::uint64_t rank) const {
    return world_.rank() == static_cast<int>(rank);
  }
  [[nodiscard]] std::uint64_t size() const { return static_cast<std::uint64_t>(world_.size()); }

  // --- writes

  void write_all() {
    shared_salt_ = draw(1000);
    writers_.emplace();
    if (draw(2) == 0) {
      write_anywhere();
    } else {
      for (int rank = 0; rank < world_.size(); ++rank) write_places_of(Rank(rank));
    }
    count();
    change_documents();
  }

  /// Pieces of the vector, which may lie on several ranks.
  void write_anywhere() {
    for (std::size_t first = 0; first < expected_.size();) {
      const std::size_t length = std::min(expected_.size() - first, piece());
      const bool skips = draw(4) == 0;
      const std::uint64_t writer = draw(size());
      if (!skips) {
        for (std::size_t i = first; i < first + length; ++i) expected_[i] = fresh(i);
        if (mine(writer)) {
          Words piece(expected_.begin() + static_cast<std::ptrdiff_t>(first),
                      expected_.begin() + static_cast<std::ptrdiff_t>(first + length));
          writers_->spawn([this, first, piece = std::move(piece)] {
            if (first % 2 == 0) {
              words_.put(first, piece);
            } else {
              scatter(first, piece);
            }
          });
        }
      }
      first += length;
    }
  }
  void scatter(std::size_t first, const Words& values) {
    std::vector<GlobalPtr<std::uint64_t>> places;
    for (std::size_t i = 0; i < values.size(); ++i) places.push_back(words_[first + i]);
    static_cast<void>(memory_.scatter(std::span<const GlobalPtr<std::uint64_t>>(places),
                                      std::span<const std::uint64_t>(values)));
  }

  /// Pieces of the memory of one rank.
  void write_places_of(Rank rank) {
    const std::size_t count = words_.distribution().count(rank);
    for (std::size_t first = 0; first < count;) {
      const std::size_t length = std::min(count - first, piece());
      const std::uint64_t kind = draw(6);
      const std::size_t stride = 2 + draw(4);
      const std::size_t block = 1 + draw(stride);
      const std::uint64_t writer = draw(size());
      const std::size_t used = kind == 0 ? 1 : (kind == 1 ? length / stride * stride : length);
      Words values;
      for (std::size_t i = 0; i < used; ++i) {
        if (kind == 1 && i % stride >= block) continue;
        const std::size_t number = words_.distribution().index(rank, first + i);
        values.push_back(expected_[number] = fresh(number));
      }
      if (mine(writer) && !values.empty()) {
        const GlobalPtr<std::uint64_t> to = words_.at(rank, first);
        writers_->spawn([this, to, kind, stride, block, values = std::move(values)] {
          write_piece(to, kind, stride, block, values);
        });
      }
      first += length;
    }
  }
  void write_piece(GlobalPtr<std::uint64_t> to, std::uint64_t kind, std::size_t stride,
                   std::size_t block, const Words& values) {
    if (kind == 0) {
      if (values[0] % 3 == 0) {
        memory_.store(to, values[0]);
      } else if (values[0] % 3 == 1) {
        static_cast<void>(memory_.swap(to, values[0]));
      } else {
        static_cast<void>(memory_.put(to, values[0]));
      }
    } else if (kind == 1) {
      static_cast<void>(
          memory_.put_strided(to, std::span<const std::uint64_t>(values), block, stride));
    } else {
      Transfer transfer = memory_.put(to, std::span<const std::uint64_t>(values));
      if (kind == 2) transfer.wait();
      if (kind == 3) yield();
    }
  }
  std::size_t piece() { return draw(30) == 0 ? 1 + draw(2500) : 1 + draw(25); }

  /// Additions, maxima and so on by tasks of all ranks: the order has no effect.
  void count() {
    for (std::uint64_t i = 0, steps = draw(30); i < steps; ++i) {
      const std::size_t which = draw(counts_.size());
      const std::uint64_t rank = draw(size());
      const std::uint64_t value = draw(1U << 20U);
      std::uint64_t& sum = counts_[which];
      if (which == 0) sum += value;
      if (which == 1) sum ^= value;
      if (which == 2) sum = std::max(sum, value);
      if (which == 3) sum |= value;
      if (!mine(rank)) continue;
      writers_->spawn([this, which, value] { update(counters_[which], which, value); });
    }
  }
  void update(GlobalPtr<std::uint64_t> at, std::size_t which, std::uint64_t value) {
    if (which == 0) {
      if (value % 3 == 0) {
        add_parts(at, value);
      } else if (value % 3 == 1) {
        memory_.fetch_add(at, value);
      } else {
        memory_.fetch_update(at, [value](std::uint64_t old) { return old + value; });
      }
    } else if (which == 1) {
      if (value % 2 == 0) {
        static_cast<void>(memory_.xor_async(at, value));
      } else {
        memory_.fetch_xor(at, value);
      }
    } else if (which == 2) {
      if (value % 2 == 0) {
        static_cast<void>(memory_.fetch_max_async(at, value).get());
      } else {
        memory_.fetch_max(at, value);
      }
    } else if (value % 2 == 0) {
      static_cast<void>(memory_.fetch_or_async(at, value).get());
    } else {
      memory_.fetch_or(at, value);
    }
  }

  /// Additions that give `value` together.
  void add_parts(GlobalPtr<std::uint64_t> at, std::uint64_t value) {
    if (value % 2 == 0) return static_cast<void>(memory_.add_async(at, value));
    const std::vector<GlobalPtr<std::uint64_t>> places(value % 50 + 1, at);
    Words parts(places.size(), 1);
    parts.back() = value - (parts.size() - 1);  // wraps around
    static_cast<void>(memory_.add_async(places, parts));
  }

  void change_documents() {
    for (std::size_t d = 0; d < versions_.size(); ++d) {
      if (draw(3) != 0) continue;
      ++versions_[d];
      changed_.push_back(d);
      if (roots_.owner(d) == world_.rank()) {
        *memory_.local(roots_.local()[roots_.distribution().place(d)]) =
            Document::of(d, versions_[d]);
      }
    }
  }

  /// Everything is at its place, and outdated copies are gone.
  void end_writes() {
    writers_->wait();
    if (draw(2) == 0) {
      quiet_all();
    } else {
      world_.wait();
    }
    const std::uint64_t how = draw(3);
    if (how == 0) {
      documents_.collective_invalidate(world_);
    } else if (how == 1) {
      for (const std::size_t d : changed_) documents_.invalidate(roots_.get(d));
    } else {
      documents_.invalidate();
    }
    changed_.clear();
    cached_words_.invalidate();
  }
  /// By two tasks at once, each of which waits for all puts.
  void quiet_all() {
    writers_->spawn([this] { memory_.quiet(); });
    memory_.quiet();
    world_.barrier();
    writers_->wait();
  }

  // --- reads

  void read_some(std::mt19937_64 random) {
    const auto below = [&random](std::size_t n) { return random() % n; };
    std::vector<std::pair<std::size_t, CacheRef<Document>>> held;
    for (int i = 0; i < 12; ++i) {
      const std::size_t first = below(expected_.size());
      const std::size_t length = std::min(expected_.size() - first, 1 + below(i == 0 ? 3000 : 30));
      switch (below(8)) {
        case 0:
          must(words_.get(first) == expected_[first], "a word");
          break;
        case 1:
          must(memory_.get_async(words_[first]).get() == expected_[first], "a word's future");
          break;
        case 2:
          read_piece(first, length);
          break;
        case 3:
          gather(first, length);
          break;
        case 4:
          read_strided(Rank(static_cast<int>(below(size()))), 1 + below(4));
          break;
        case 5: {
          const std::size_t which = below(counts_.size());
          must(memory_.load(counters_[which]) == counts_[which], "a counter");
          break;
        }
        case 6:
          must(*cached_words_.get(words_[first]) == expected_[first], "a cached word");
          break;
        default:
          held.push_back(read_document(below(versions_.size()), below(4)));
          break;
      }
    }
    for (const auto& [d, document] : held) {  // pinned, whatever was evicted
      must(*document == Document::of(d, versions_[d]), "a document that is referenced");
    }
  }
  void read_piece(std::size_t first, std::size_t length) {
    Words values(length);
    words_.get(first, values);
    must(std::equal(values.begin(), values.end(),
                    expected_.begin() + static_cast<std::ptrdiff_t>(first)),
         "a range");
  }
  void gather(std::size_t first, std::size_t length) {
    std::vector<GlobalPtr<std::uint64_t>> places;
    for (std::size_t i = 0; i < length; ++i) places.push_back(words_[first + length - 1 - i]);
    Words values(length);
    memory_.gather(std::span<const GlobalPtr<std::uint64_t>>(places), std::span(values));
    for (std::size_t i = 0; i < length; ++i) {
      must(values[i] == expected_[first + length - 1 - i], "a gathered word");
    }
  }
  void read_strided(Rank rank, std::size_t block) {
    const std::size_t stride = block + 2;
    const std::size_t blocks = words_.distribution().count(rank) / stride;
    if (blocks == 0) return;
    Words values(blocks * block);
    memory_.get_strided(words_.at(rank, 0), std::span(values), block, stride);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t local = i / block * stride + i % block;
      must(values[i] == expected_[words_.distribution().index(rank, local)], "a word of a block");
    }
  }
  std::pair<std::size_t, CacheRef<Document>> read_document(std::size_t d, std::size_t how) {
    const GlobalPtr<Document> root = roots_.get(d);
    if (how == 1) documents_.prefetch(roots_.get((d + 1) % versions_.size()));
    CacheRef<Document> found;
    if (how == 2) {
      found = documents_.rget(root);
    } else if (how == 3) {
      try {
        found = documents_.lget(root);
      } catch (const CacheMiss&) {
        found = documents_.get(root);
      }
    } else {
      found = documents_.get(root);
    }
    must(*found == Document::of(d, versions_[d]), "document " + found->title);
    return {d, found};
  }

  World& world_;
  GlobalMemory& memory_;
  std::mt19937_64 shared_;
  std::mt19937_64 own_;
  std::uint64_t shared_salt_ = 0;
  std::uint64_t phase_ = 0;
  Words expected_;
  std::vector<std::uint64_t> versions_;
  std::vector<std::size_t> changed_;
  std::optional<TaskGroup> writers_;  // tasks that write in this phase
  Words counts_;
  GlobalVector<std::uint64_t> words_;
  GlobalVector<std::uint64_t> counters_;
  GlobalVector<GlobalPtr<Document>> roots_;
  ObjectCache<Document, Policy> documents_;
  ObjectCache<std::uint64_t, Policy> cached_words_;
};

}  // namespace

void run_memory_program(World& world, std::uint64_t seed, GlobalMemoryOptions::Checks checks) {
  GlobalMemory memory(world,
                      {.name = "random", .heap_bytes = std::size_t{2} << 20U, .checks = checks});
  const auto run = [&](const auto& policy) {
    {
      MemoryProgram program(world, memory, policy, seed);
      program.run(3);
    }
    world.wait();
  };
  switch (seed % 5) {
    case 0:
      return run(KeepAll());
    case 1:
      return run(NoCache());
    case 2:
      return run(FirstInFirstOut());
    default:
      return run(Lru(seed % 7 * 100));
  }
}

}  // namespace shoal::testing
