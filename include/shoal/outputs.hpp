#pragma once
// Results of tasks on their way to the tasks that need them.

#include <shoal/detail/base/flat_map.hpp>
#include <shoal/detail/sync/mutex.hpp>
#include <shoal/detail/team/core.hpp>
#include <shoal/key.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace shoal {

namespace graph {

/// An output that was not read by all of its readers.
struct Unread {
  std::string key;
  int left = 0;
  int readers = 0;
};

[[noreturn]] void refuse_readers(const std::string& outputs, const std::string& key, int readers);
[[noreturn]] void refuse_second_put(const std::string& outputs, const std::string& key, int left);
[[noreturn]] void refuse_take(const std::string& outputs, const std::string& key);
[[nodiscard]] std::string text_of_unread(const std::string& outputs,
                                         const std::vector<Unread>& some, std::uint64_t total);
[[noreturn]] void refuse_unread(const std::string& text);
void warn_of_unread(const std::string& text);

}  // namespace graph

/// Results of tasks of one rank, by key. A task puts its result with the number of tasks that will
/// read it, before it fulfills them; each of those takes it once. The last take() removes it from
/// the table: the value is destroyed with the last pointer to it.
///
/// **Caller**: any task, handler, main function or thread. **Blocks**: never. **Ordering**: writes
/// before put() are visible after take(). **Cost**: a hash and a short lock of one of several parts
/// of the table; one allocation per output. **Lifetime**: until wait() has returned; outputs may
/// stay in it from one wait() to the next. If it is destroyed with outputs that were not read by
/// all readers, and the world has not failed, it names them on standard error.
template <class K, class V>
class Outputs {
  static_assert(!wire::holds_view_v<K>,
                "shoal: outputs keep their keys, and a view owns none: take std::string");
  static_assert(!wire::holds_view_v<V>,
                "shoal: outputs keep their values, and a view owns none: take std::string or "
                "std::vector");

 public:
  /// `name` is used in errors.
  explicit Outputs(Team& team, std::string name = "outputs")
      : core_(core_of(team)), name_(std::move(name)), shards_(std::make_unique<Shard[]>(kShards)) {}
  ~Outputs() {
    if (core_.failed()) return;
    const std::string text = unread();
    if (!text.empty()) graph::warn_of_unread(text);
  }
  Outputs(const Outputs&) = delete;
  Outputs& operator=(const Outputs&) = delete;

  /// Stores the output of `key` for `readers` >= 1 calls of take(). **Errors**: CheckError when
  /// `readers` is below 1, or the key has an output that was not read by all of its readers.
  void put(const K& key, V value, int readers) {
    put(key, std::make_shared<const V>(std::move(value)), readers);
  }
  /// Stores a shared value, without a copy, as the output of `key` for `readers` >= 1 calls of
  /// take(). **Errors**: CheckError when `readers` is below 1, or the key has an output that was
  /// not read by all of its readers.
  void put(const K& key, std::shared_ptr<const V> value, int readers) {
    if (readers < 1) graph::refuse_readers(name_, format_key(key), readers);
    const std::uint64_t hash = KeyHash<K>{}(key);
    Shard& shard = shard_of(hash);
    int left = 0;
    {
      const sync::Lock lock(shard.mutex);
      const Output* const old = shard.outputs.find(hash, key);
      if (old == nullptr) {
        shard.outputs.insert(hash, key, {std::move(value), readers, readers});
        return;
      }
      left = old->left;
    }
    graph::refuse_second_put(name_, format_key(key), left);
  }

  /// Returns the output of `key`, for one of its readers. **Errors**: CheckError when there is
  /// none: it was not put yet, or all of its readers have taken it.
  [[nodiscard]] std::shared_ptr<const V> take(const K& key) {
    const std::uint64_t hash = KeyHash<K>{}(key);
    Shard& shard = shard_of(hash);
    std::shared_ptr<const V> value;
    {
      const sync::Lock lock(shard.mutex);
      Output* const output = shard.outputs.find(hash, key);
      if (output != nullptr && --output->left == 0) {
        value = std::move(output->value);
        shard.outputs.erase(hash, key);
      } else if (output != nullptr) {
        value = output->value;
      }
    }
    if (value == nullptr) graph::refuse_take(name_, format_key(key));
    return value;
  }

  /// Returns the number of outputs that were not read by all of their readers. **Caller**: any
  /// thread.
  [[nodiscard]] std::uint64_t size() const {
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < kShards; ++i) {
      const sync::Lock lock(shards_[i].mutex);
      count += shards_[i].outputs.size();
    }
    return count;
  }
  /// Checks that all outputs were read by all of their readers: for the main function, after the
  /// last wait(), say. **Errors**: CheckError that names the others.
  void check_all_read() const {
    const std::string text = unread();
    if (!text.empty()) graph::refuse_unread(text);
  }

  /// Name in reports.
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  static constexpr std::size_t kShards = 64;
  static constexpr std::size_t kNamedMax = 16;

  struct Output {
    std::shared_ptr<const V> value;
    int left = 0;
    int readers = 0;
  };
  struct alignas(64) Shard {
    mutable sync::Mutex mutex;
    FlatMap<K, Output> outputs SHOAL_GUARDED_BY(mutex);
  };

  [[nodiscard]] Shard& shard_of(std::uint64_t hash) const { return shards_[hash % kShards]; }

  // Empty if there are none.
  [[nodiscard]] std::string unread() const {
    std::vector<graph::Unread> some;
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < kShards; ++i) {
      const sync::Lock lock(shards_[i].mutex);
      total += shards_[i].outputs.size();
      shards_[i].outputs.for_each([&](const K& key, const Output& output) {
        if (some.size() < kNamedMax) some.push_back({format_key(key), output.left, output.readers});
      });
    }
    return total == 0 ? std::string() : graph::text_of_unread(name_, some, total);
  }

  const TeamCore& core_;
  const std::string name_;
  const std::unique_ptr<Shard[]> shards_;
};

}  // namespace shoal
