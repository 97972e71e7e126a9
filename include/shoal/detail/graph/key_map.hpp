#pragma once
// A hash map for keys of task graphs.

#include <shoal/key.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace shoal::graph {

/// Values by key, hashed with KeyHash<K>. For bookkeeping: DependencyTable is faster.
/// Caller: one thread at a time. Errors: exceptions of memory and of copies leave it unchanged.
template <class K, class T>
class KeyMap {
 public:
  /// The value of `key`, or nullptr. **Lifetime**: until the key is erased.
  [[nodiscard]] T* find(std::uint64_t hash, const K& key) {
    if (size_ == 0) return nullptr;
    for (Node* node = bucket(hash).get(); node != nullptr; node = node->next.get()) {
      if (node->hash == hash && key_equal(node->key, key)) return &node->value;
    }
    return nullptr;
  }
  /// `key` is not in the map.
  T& add(std::uint64_t hash, const K& key, T value) {
    auto node = std::make_unique<Node>(Node{hash, key, std::move(value), nullptr});
    if (size_ >= buckets_.size()) grow();
    ++size_;
    return link(std::move(node)).value;
  }
  /// `key` is in the map.
  void erase(std::uint64_t hash, const K& key) {
    std::unique_ptr<Node>* link = &bucket(hash);
    while (!((*link)->hash == hash && key_equal((*link)->key, key))) link = &(*link)->next;
    *link = std::move((*link)->next);
    --size_;
  }
  void clear() {
    buckets_.clear();
    size_ = 0;
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Calls visitor(const K& key, const T& value) for every key, in no order.
  template <class Visitor>
  void for_each(Visitor&& visitor) const {
    for (const auto& first : buckets_) {
      for (const Node* node = first.get(); node != nullptr; node = node->next.get()) {
        visitor(node->key, node->value);
      }
    }
  }

 private:
  struct Node {
    std::uint64_t hash;
    K key;
    T value;
    std::unique_ptr<Node> next;
  };
  static constexpr std::size_t kBucketsMin = 16;

  // Callers choose the map by the lowest bits of the hash: these are left out.
  [[nodiscard]] std::unique_ptr<Node>& bucket(std::uint64_t hash) {
    return buckets_[(hash >> 32U) % buckets_.size()];
  }
  Node& link(std::unique_ptr<Node> node) {
    std::unique_ptr<Node>& first = bucket(node->hash);
    node->next = std::move(first);
    first = std::move(node);
    return *first;
  }
  void grow() {
    std::vector<std::unique_ptr<Node>> old(buckets_.empty() ? kBucketsMin : 2 * buckets_.size());
    old.swap(buckets_);
    for (auto& first : old) {
      while (first != nullptr) {
        std::unique_ptr<Node> node = std::move(first);
        first = std::move(node->next);
        link(std::move(node));
      }
    }
  }

  std::vector<std::unique_ptr<Node>> buckets_;
  std::size_t size_ = 0;
};

}  // namespace shoal::graph
