#pragma once
// The registered data of a flow as one rank sees them.

#include <shoal/codelet.hpp>
#include <shoal/detail/flow/types.hpp>
#include <shoal/detail/sync/mutex.hpp>
#include <shoal/detail/team/core.hpp>
#include <shoal/flow_data.hpp>

#include "flow/instance.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

namespace shoal::flow {

/// Codelets of a flow, which it keeps until the flow ends. **Caller**: any thread.
class Codelets {
 public:
  Codelets() = default;
  ~Codelets();
  Codelets(const Codelets&) = delete;
  Codelets& operator=(const Codelets&) = delete;

  /// Returns whether this was the last flow to keep the codelet. A hint.
  [[nodiscard]] bool keeps(const CodeletCore& codelet) const {
    return codelet.keeper.load(std::memory_order_relaxed) == this;
  }
  void keep(const std::shared_ptr<CodeletCore>& codelet);
  /// Returns the name of an inserted codelet or other operation, by the hash of its name, for
  /// reports.
  [[nodiscard]] std::string text_of(std::uint32_t hash) const;

 private:
  mutable sync::Mutex mutex_;
  std::map<const CodeletCore*, std::shared_ptr<CodeletCore>> codelets_ SHOAL_GUARDED_BY(mutex_);
};

/// Table of the handles of a flow, which are reused. **Caller**: the inserting threads.
class Handles {
 public:
  /// `pruned`: ids of data have a signature, since no comparison of the programs finds that ranks
  /// register them in another order.
  Handles(std::string flow, const TeamCore& scope, Instances& instances, bool pruned)
      : flow_(std::move(flow)),
        scope_(scope),
        rank_(scope.rank()),
        pruned_(pruned),
        instances_(instances) {}

  [[nodiscard]] Handle& add(const DataType& type, const Shape& shape, const DataOptions& options,
                            void* object, bool owns_object);
  /// Handle of a part of a partitioned datum; its object views the whole.
  [[nodiscard]] Handle& add_part(Handle& whole, const Shape& shape, std::size_t index,
                                 void* object);
  void remove(Handle& handle);
  /// Removes all handles at the end of the flow.
  void remove_all();
  /// Returns the name of a datum, for reports.
  [[nodiscard]] std::string name_of(std::uint64_t id) const;
  /// Returns the datum that stands here where another rank has one of that id, which is not here:
  /// " (here ...)", or "", for reports.
  [[nodiscard]] std::string instead_of(std::uint64_t id) const;
  /// Returns the type and size of a datum, for reports.
  [[nodiscard]] std::string type_of(std::uint64_t id) const;
  /// Returns what tells a datum from others of its name, for reports: its number or tag.
  [[nodiscard]] static std::string number_of(std::uint64_t id);
  template <class F>
  void for_each(F f) {
    const sync::Lock lock(mutex_);
    for (Handle& handle : handles_) {
      if (handle.flow != nullptr) f(handle);
    }
  }

 private:
  struct Tag {
    std::uint64_t lives = 0;
    Handle* handle = nullptr;
  };

  const std::string flow_;
  const TeamCore& scope_;
  const int rank_;
  const bool pruned_;
  Instances& instances_;

  mutable sync::Mutex mutex_;
  std::deque<Handle> handles_;
  std::deque<Handle*> free_ SHOAL_GUARDED_BY(mutex_);  // perhaps with instances
  std::uint64_t next_id_ SHOAL_GUARDED_BY(mutex_) = 0;
  std::unordered_map<std::uint64_t, Tag> tags_ SHOAL_GUARDED_BY(mutex_);
};

}  // namespace shoal::flow
