#pragma once
// How items travel to the owners of the vertices that they are about: many in one active message.

#include <shoal/shoal.hpp>

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace bfs {

/// A channel for items with levels. The ranks make theirs in the same order, and keep them until
/// wait() has returned.
template <class Item>
class Exchange {
 public:
  /// Function of the owner for items of one level from one rank. It runs in a handler, or in the
  /// task that sent them if that is on the same rank, so several may run at the same time: it locks
  /// the data that it changes.
  using Take = std::function<void(shoal::Rank source, int level, std::span<const Item> items)>;

  Exchange(shoal::World& world, std::string name, Take take)
      : world_(world),
        take_(std::move(take)),
        message_(world.make_am([this](shoal::Rank source, int level,
                                      std::span<const Item> items) { take_(source, level, items); },
                               {.name = std::move(name)})) {}

  /// Gathers the items of one task (or main function) by owner, and sends them when they are many,
  /// when the level changes, and at flush(), which is to be called at the end.
  class Sender {
   public:
    explicit Sender(const Exchange& exchange)
        : exchange_(exchange), outgoing_(static_cast<std::size_t>(exchange.world_.size())) {}

    /// Blocks: may suspend the task, as ActiveMessage::send().
    void send(int level, shoal::Rank target, const Item& item) {
      if (level != level_) {
        flush();
        level_ = level;
      }
      auto& items = outgoing_[static_cast<std::size_t>(target.value())];
      items.push_back(item);
      if (items.size() >= kItemsPerMessage) flush(target);
    }
    void flush() {
      for (int rank = 0; rank < exchange_.world_.size(); ++rank) flush(shoal::Rank(rank));
    }

   private:
    void flush(shoal::Rank target) {
      auto& items = outgoing_[static_cast<std::size_t>(target.value())];
      if (items.empty()) return;
      const shoal::Rank own = exchange_.world_.rank();
      if (target == own) {
        exchange_.take_(own, level_, items);
      } else {
        exchange_.message_.send(target, own, level_, std::span<const Item>(items));
      }
      items.clear();
    }

    const Exchange& exchange_;
    int level_ = 0;
    std::vector<std::vector<Item>> outgoing_;  // by rank
  };

 private:
  static constexpr std::size_t kItemsPerMessage = 1000;  // about a packet

  shoal::World& world_;
  Take take_;
  shoal::ActiveMessage<shoal::Rank, int, std::span<const Item>> message_;
};

}  // namespace bfs
