#pragma once
// Instance handlers of one team on one rank.

#include <shoal/detail/sync/mutex.hpp>
#include <shoal/detail/team/handler.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace shoal::team {

/// Handlers by index, in the order in which they were made. A handler that was added as closed is
/// not found before the next open_all(), as objects that it refers to may not be set up yet. A
/// removed one takes no memory. **Caller**: any thread.
class HandlerTable {
 public:
  struct Added {
    std::uint32_t index = 0;
    bool opened = false;
  };
  /// Adds a handler. If it has no name it gets one from its index and its type. It is open at once
  /// unless `closed` is set or handlers before it are closed. Its signature then includes its name
  /// and source.
  Added add(std::shared_ptr<Handler> handler, const std::string& name, const HandlerSource& source,
            bool closed);
  /// Sets whether handlers of one name and source are numbered in their order, so that the number
  /// identifies them. Called before the first one is added.
  void set_numbered(bool numbered) { is_numbered_ = numbered; }
  /// Opens all handlers; returns false if all were open.
  bool open_all();
  /// Makes all_open() false, so that its callers look at the handler itself.
  void close() { all_open_.store(false, std::memory_order_relaxed); }
  /// Makes all_open() false for good: tasks run in attempts, and senders look for one.
  void ask_always();
  /// relaxed: the main function, and a task before its attempts, read what they wrote themselves.
  [[nodiscard]] bool all_open() const { return all_open_.load(std::memory_order_relaxed); }
  /// Takes the handler out; its index is not used again. nullptr: it was removed before.
  [[nodiscard]] std::shared_ptr<Handler> remove(std::uint32_t index);

  /// Finds a handler; returns false if it is not open yet. `handler` becomes nullptr if it was
  /// removed.
  [[nodiscard]] bool find(std::uint32_t index, const Handler*& handler) const;
  [[nodiscard]] bool is_open(std::uint32_t index) const;
  /// It was added and not removed.
  [[nodiscard]] bool is_live(std::uint32_t index) const;
  /// Number of handlers that were added and not removed.
  [[nodiscard]] std::size_t live_count() const;
  /// Name in reports.
  [[nodiscard]] std::string name_of(std::uint32_t index) const;
  /// Returns the name in reports and the place in the source.
  [[nodiscard]] std::string describe(std::uint32_t index) const;

 private:
  mutable sync::Mutex mutex_;
  std::unordered_map<std::uint32_t, std::shared_ptr<Handler>> handlers_ SHOAL_GUARDED_BY(mutex_);
  bool is_numbered_ = false;
  bool asks_ SHOAL_GUARDED_BY(mutex_) = false;             // see ask_always()
  std::uint32_t count_ SHOAL_GUARDED_BY(mutex_) = 0;       // of all that were added
  std::uint32_t open_count_ SHOAL_GUARDED_BY(mutex_) = 0;  // of the first ones
  std::unordered_map<std::uint32_t, int> numbers_ SHOAL_GUARDED_BY(mutex_);  // by signature
  std::atomic<bool> all_open_{true};                                         // written under mutex_
  // Names of the last handlers that were removed, for messages that come too late: a ring.
  std::vector<std::pair<std::uint32_t, std::string>> removed_ SHOAL_GUARDED_BY(mutex_);
  std::size_t removed_count_ SHOAL_GUARDED_BY(mutex_) = 0;
};

}  // namespace shoal::team
