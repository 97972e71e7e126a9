#include "support/random_collectives.hpp"

#include <shoal/shoal.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace shoal::testing {

namespace {

/// Operations of one team. All members draw the same ones; each waits for them in an order of its
/// own.
class RandomCollectives {
 public:
  RandomCollectives(Team& team, std::uint64_t seed)
      : team_(team),
        size_(team.size()),
        me_(team.rank().value()),
        common_(seed),
        own_(seed * 1000 + static_cast<std::uint64_t>(me_)) {}

  /// Names of the operations whose results were wrong; "" if there are none.
  std::string run(int count) {
    for (int i = 0; i < count; ++i) {
      begin_any(i);
      while (!pending_.empty() && own_() % 3 == 0) finish(own_() % pending_.size());
    }
    return finish_all();
  }
  /// The same of every operation on arrays once, which are so large that they are pipelined.
  std::string run_pipelined() {
    std::array<int, 8> kinds{3, 6, 13, 14, 15, 16, 17, 18};
    for (std::size_t i = kinds.size(); i > 1; --i)
      std::swap(kinds.at(i - 1), kinds.at(common_() % i));
    for (const int kind : kinds) {
      // Size of a part in bytes: the smallest one, or more segments than are under way at once.
      const bool has_parts = kind >= 15;
      const bool is_smallest = common_() % 2 == 0;
      text_size_ =
          has_parts ? (is_smallest ? 16'384 : 40'008) : (is_smallest ? pipelined_bytes() : 700'000);
      begin(kind);
      if (own_() % 3 == 0) finish(own_() % pending_.size());
    }
    return finish_all();
  }

 private:
  using Numbers = std::vector<long>;
  using Check = std::function<bool()>;

  std::string text(int rank, int to = 0) const {
    return std::string(text_size_, static_cast<char>('a' + (rank * 7 + to * 3 + number_) % 26));
  }
  static auto join() {
    return [](const std::string& a, const std::string& b) { return a + "," + b; };
  }
  template <class F>
  static std::string joined(int first, int end, F text_of) {
    std::string all = text_of(first);
    for (int rank = first + 1; rank < end; ++rank) all += "," + text_of(rank);
    return all;
  }
  std::vector<std::string> texts() const {
    std::vector<std::string> all;
    for (int rank = 0; rank < size_; ++rank) all.push_back(text(rank));
    return all;
  }
  template <class T, class Expected>
  void expect(const char* name, Future<T> future, Expected expected) {
    const auto shared = std::make_shared<Future<T>>(std::move(future));
    add(name, [shared, expected = std::move(expected)] { return shared->get() == expected; });
  }
  void add(const char* name, Check check) { pending_.emplace_back(name, std::move(check)); }
  void finish(std::size_t index) {
    const auto [name, check] = std::move(pending_[index]);
    pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(index));
    if (!check()) wrong_ += std::string(name) + " ";
  }

  std::string finish_all() {
    while (!pending_.empty()) finish(own_() % pending_.size());
    return wrong_;
  }

  /// Smallest array that goes along a chain or around a ring: see Collectives.
  std::size_t pipelined_bytes() const {
    return std::max<std::size_t>(65'536, static_cast<std::size_t>(size_) * 16'384);
  }

  void begin_any(int number) {
    constexpr std::array<std::size_t, 6> kSizes{0, 1, 30, 2'000, 20'000, 300'000};
    number_ = number;
    text_size_ = kSizes.at(common_() % (common_() % 4 == 0 ? kSizes.size() : 4));
    begin(static_cast<int>(common_() % 19));
  }

  void begin(int kind) {
    const Rank root(static_cast<int>(common_() % static_cast<unsigned>(size_)));
    if (kind >= 15) return begin_array_exchange(kind, root);
    if (kind >= 13) return begin_array_reduction(kind == 13, root);
    if (kind < 4) return begin_broadcast(kind, root);
    if (kind < 8) return begin_reduction(kind, root);
    begin_exchange(kind, root);
  }

  void begin_broadcast(int kind, Rank root) {
    const bool is_root = team_.rank() == root;
    const std::string mine = is_root ? text(me_) : "";
    const std::string expected = text(root.value());
    if (kind == 0) {
      const auto over = std::make_shared<Future<void>>(team_.barrier_async());
      add("barrier", [over] { return over->get(), true; });
    } else if (kind == 1) {
      expect("broadcast", team_.broadcast_async(mine, root), expected);
    } else if (kind == 2) {
      Immutable<std::string> handle;
      if (is_root) handle = make_immutable<std::string>(mine);
      const auto got =
          std::make_shared<Future<Immutable<std::string>>>(team_.broadcast_async(handle, root));
      add("broadcast of an immutable", [got, expected] { return *got->get() == expected; });
    } else {
      const auto place = std::make_shared<std::string>(is_root ? mine : std::string(text_size_, 0));
      const auto over =
          std::make_shared<Future<void>>(team_.broadcast_async(std::span<char>(*place), root));
      add("broadcast in place", [over, place, expected] {
        over->get();
        return *place == expected;
      });
    }
  }

  void begin_reduction(int kind, Rank root) {
    const auto text_of = [this](int rank) { return text(rank); };
    const std::string all = joined(0, size_, text_of);
    if (kind == 4) {
      const auto expected = team_.rank() == root ? std::optional(all) : std::nullopt;
      expect("reduce", team_.reduce_async(text(me_), join(), root), expected);
    } else if (kind == 5) {
      expect("allreduce", team_.allreduce_async(text(me_), join()), all);
    } else if (kind == 6) {
      begin_sum();
    } else {
      expect("scan", team_.scan_async(text(me_), join()), joined(0, me_ + 1, text_of));
      const std::string before = me_ == 0 ? "x" : "x," + joined(0, me_, text_of);
      expect("exclusive_scan", team_.exclusive_scan_async(text(me_), join(), std::string("x")),
             before);
    }
  }

  void begin_sum() {
    const auto place = std::make_shared<Numbers>(text_size_ / 8);
    for (std::size_t i = 0; i < place->size(); ++i) (*place)[i] = me_ + static_cast<long>(i);
    const auto over = std::make_shared<Future<void>>(
        team_.allreduce_async(std::span<long>(*place), std::plus<>()));
    add("allreduce in place", [over, place, n = static_cast<long>(size_)] {
      over->get();
      for (std::size_t i = 0; i < place->size(); ++i) {
        if ((*place)[i] != n * (n - 1) / 2 + n * static_cast<long>(i)) return false;
      }
      return true;
    });
  }

  void begin_exchange(int kind, Rank root) {
    std::vector<std::string> to_all;
    std::vector<std::string> from_all;
    for (int rank = 0; rank < size_; ++rank) {
      to_all.push_back(text(me_, rank));
      from_all.push_back(text(rank, me_));
    }
    if (kind == 8) {
      const auto expected = team_.rank() == root ? texts() : std::vector<std::string>();
      expect("gather", team_.gather_async(text(me_), root), expected);
    } else if (kind < 11) {
      expect("allgather", team_.allgather_async(text(me_)), texts());
    } else if (kind == 11) {
      expect("alltoall", team_.alltoall_async(to_all), from_all);
    } else {
      expect("reduce_scatter", team_.reduce_scatter_async(to_all, join()),
             joined(0, size_, [this](int rank) { return text(rank, me_); }));
    }
  }

  /// Ranks `first` to `last` in their order, for element `index`.
  struct Run {
    int first = 0;
    int last = 0;
    long index = -1;  // -2: the order was wrong
    bool operator==(const Run&) const = default;
  };
  static Run follow(const Run& a, const Run& b) {
    const bool good = a.index == b.index && a.last + 1 == b.first;
    return {a.first, b.last, good ? a.index : -2};
  }

  void begin_array_reduction(bool reduces, Rank root) {
    const auto place = std::make_shared<std::vector<Run>>(text_size_ / 8);
    for (std::size_t i = 0; i < place->size(); ++i) (*place)[i] = {me_, me_, static_cast<long>(i)};
    const std::span<Run> span(*place);
    const auto over = std::make_shared<Future<void>>(
        reduces ? team_.reduce_async(span, follow, root) : team_.scan_async(span, follow));
    const bool has_all = reduces && team_.rank() == root;
    const int first = has_all || !reduces ? 0 : me_;
    const int last = has_all ? size_ - 1 : me_;
    add(reduces ? "reduce in place" : "scan in place", [over, place, first, last] {
      over->get();
      for (std::size_t i = 0; i < place->size(); ++i) {
        if ((*place)[i] != Run{first, last, static_cast<long>(i)}) return false;
      }
      return true;
    });
  }

  /// Element i that `from` has for `to`.
  static long element(int from, int to, std::size_t i) {
    return from * 1'000'000'000L + to * 1'000'000L + static_cast<long>(i);
  }
  static void fill(std::span<long> part, int from, int to) {
    for (std::size_t i = 0; i < part.size(); ++i) part[i] = element(from, to, i);
  }

  void begin_array_exchange(int kind, Rank root) {
    const std::size_t count = text_size_ / 8;
    const auto n = static_cast<std::size_t>(size_);
    const bool has_parts = kind >= 17;  // one for each member
    const auto mine = std::make_shared<Numbers>(has_parts ? n * count : count);
    for (std::size_t to = 0; to < (has_parts ? n : 1); ++to) {
      fill(std::span(*mine).subspan(to * count, count), me_, static_cast<int>(to));
    }
    const bool takes = kind != 15 || team_.rank() == root;
    const auto got = std::make_shared<Numbers>(!takes ? 0 : kind == 18 ? count : n * count);
    const std::span<long> place(*got);
    auto future = kind == 15   ? team_.gather_async(*mine, place, root)
                  : kind == 16 ? team_.allgather_async(*mine, place)
                  : kind == 17 ? team_.alltoall_async(*mine, place)
                               : team_.reduce_scatter_async(*mine, place, std::plus<>());
    Numbers expected(got->size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const int to = has_parts ? me_ : 0;
      for (int from = 0; kind == 18 && from < size_; ++from) expected[i] += element(from, to, i);
      if (kind != 18) expected[i] = element(static_cast<int>(i / count), to, i % count);
    }
    constexpr std::array kNames{"gather of spans", "allgather of spans", "alltoall of spans",
                                "reduce_scatter of spans"};
    const auto over = std::make_shared<Future<void>>(std::move(future));
    add(kNames.at(static_cast<std::size_t>(kind - 15)),
        [over, mine, got, expected = std::move(expected)] {
          return over->get(), *got == expected;
        });
  }

  Team& team_;
  const int size_;
  const int me_;
  std::mt19937_64 common_;
  std::mt19937_64 own_;
  int number_ = 0;
  std::size_t text_size_ = 0;
  std::vector<std::pair<const char*, Check>> pending_;
  std::string wrong_;
};

/// The section of a team.
void run_pipelined_section(Team& team, std::uint64_t seed) {
  const std::string wrong = RandomCollectives(team, seed).run_pipelined();
  if (!wrong.empty()) throw std::runtime_error("wrong results in a section: " + wrong);
}

}  // namespace

std::string run_random_collectives(Team& team, std::uint64_t seed, int count) {
  const int me = team.rank().value();
  Team half = team.split(me % 2, static_cast<int>(seed % 2) == 0 ? me : -me);
  std::string wrong = RandomCollectives(half, seed + 7).run(count);
  wrong += RandomCollectives(team, seed).run(count);
  half.wait();
  return wrong;
}

std::string run_pipelined_collectives(World& world, std::uint64_t seed, Rank first) {
  std::optional<Future<void>> ended;
  if (world.rank() == 0) {
    const RankSet ranks = RankSet::range(first, world.size() - first.value());
    ended = world.launch_team(ranks, am<run_pipelined_section>, seed + 7);
  }
  const std::string wrong = RandomCollectives(world, seed).run_pipelined();
  if (ended.has_value()) ended->get();
  return wrong;
}

}  // namespace shoal::testing
