#pragma once
// A loop over items, of which more come while it runs.

#include <shoal/detail/loops/loop.hpp>
#include <shoal/detail/sched/long_task.hpp>
#include <shoal/detail/sync/mutex.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace shoal {

namespace loops {

/// Items that a worker has. It takes the newest, and others take the oldest.
template <class T>
class Items : public Part {
 public:
  using Part::Part;

  void add(T item) {
    loop.add(1);
    bool offers = false;
    {
      const sync::Lock lock(mutex_);
      items_.push_back(std::move(item));
      offers = !std::exchange(offered_, true);
    }
    if (offers) loop.offer(*this);
  }

  [[nodiscard]] bool begins_offer() final {
    const sync::Lock lock(mutex_);
    return !items_.empty() && !std::exchange(offered_, true);
  }
  [[nodiscard]] bool keeps_offer() final {
    const sync::Lock lock(mutex_);
    offered_ = !items_.empty();
    return offered_;
  }
  [[nodiscard]] std::string text() const final { return {}; }

 protected:
  /// Moves `count` items to `to`: the oldest, or the newest.
  void move_to(std::vector<T>& to, std::size_t count, bool oldest) SHOAL_REQUIRES(mutex_) {
    const auto size = static_cast<std::ptrdiff_t>(count);
    const auto first = oldest ? items_.begin() : items_.end() - size;
    to.assign(std::make_move_iterator(first), std::make_move_iterator(first + size));
    items_.erase(first, first + size);
  }

  mutable sync::Mutex mutex_;
  std::vector<T> items_ SHOAL_GUARDED_BY(mutex_);
  bool offered_ SHOAL_GUARDED_BY(mutex_) = false;  // a ticket is there
};

template <class T, class F>
class ItemPart;

}  // namespace loops

/// Adds items to the loop of parallel_for_each() that gave it to its body.
template <class T>
class Feeder {
 public:
  Feeder(const Feeder&) = delete;
  Feeder& operator=(const Feeder&) = delete;
  /// Adds an item, for which the body is called too. **Caller**: the body, before it returns.
  /// **Blocks**: never.
  void add(T item) { items_.add(std::move(item)); }

 private:
  template <class, class>
  friend class loops::ItemPart;
  explicit Feeder(loops::Items<T>& items) : items_(items) {}
  loops::Items<T>& items_;
};

namespace loops {

template <class T, class F>
class ItemPart final : public Items<T> {
 public:
  ItemPart(Loop& of, std::string named, const F& body)
      : Items<T>(of, std::move(named)), body_(body) {}

  sync::Ref<Part> take(bool all) override {
    sync::Ref<ItemPart> mine(new ItemPart(this->loop, this->name, body_));
    std::vector<T> taken;
    {
      const sync::Lock lock(this->mutex_);
      const std::size_t count = this->items_.size();
      if (count == 0) {
        this->offered_ = false;
        return {};
      }
      this->move_to(taken, all ? count : (count + 1) / 2, true);
    }
    mine->fill(std::move(taken));
    return mine;
  }

  /// Sets the items, before another worker may see them. One is kept for the owner: what others
  /// have taken and done before it begins does not end the loop.
  void fill(std::vector<T> items) {
    const sync::Lock lock(this->mutex_);
    this->items_ = std::move(items);
    this->move_to(kept_, 1, false);
  }

  std::int64_t run() override {
    Pace pace(this->loop.scheduler(), false);
    std::vector<T> piece = std::move(kept_);
    std::int64_t done = 0;
    for (;; take_piece(piece, pace)) {
      if (piece.empty()) return done;
      const auto count = static_cast<std::int64_t>(piece.size());
      if (this->loop.skips()) return done + count + skip_rest();
      pace.begin();
      this->loop.attempt([&] {
        Feeder<T> feeder(*this);
        while (!piece.empty()) {
          T item = std::move(piece.back());
          piece.pop_back();
          if constexpr (std::is_invocable_v<const F&, T&, Feeder<T>&>) {
            body_(item, feeder);
          } else {
            body_(std::move(item), feeder);
          }
        }
      });
      done += count;
      if (pace.end(count)) sched::between_pieces();
    }
  }

 private:
  void take_piece(std::vector<T>& piece, const Pace& pace) {
    const sync::Lock lock(this->mutex_);
    const auto left = static_cast<std::int64_t>(this->items_.size());
    if (left > 0) this->move_to(piece, static_cast<std::size_t>(pace.next(left)), false);
  }
  std::int64_t skip_rest() {
    this->loop.note_skipped();
    std::vector<T> rest;
    const sync::Lock lock(this->mutex_);
    rest.swap(this->items_);
    return static_cast<std::int64_t>(rest.size());
  }

  const F& body_;  // of the loop's caller
  std::vector<T> kept_;
};

template <class T, class F>
void run_items(const char* call, const LoopOptions& options, std::vector<T> items, const F& body) {
  if (items.empty()) return check_caller(call);
  const sched::LongCall here(call, options.name);
  Loop loop(call, options, static_cast<std::int64_t>(items.size()));
  const sync::Ref<ItemPart<T, F>> part(new ItemPart<T, F>(loop, loop.name(), body));
  part->fill(std::move(items));
  loop.run(part.get());
}

}  // namespace loops

}  // namespace shoal
