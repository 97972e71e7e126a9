#pragma once
// Events of one source reach each target in the order fired, although those to all ranks travel
// along a tree, where later ones to a single rank overtake them. Pure; callers lock.
//
// A source puts all that it fires in one order. An event to one rank carries its number among those
// to that rank, and how many were fired to all before it; one to all carries its number among
// those, and for each rank that was fired to alone since the one before, how many such events that
// rank has to see first. So a target knows the predecessor of each: of the rank's own events the
// one before, of those to all the last one before. An event that comes early waits. Cost: 16 bytes
// per event; those to all carry one entry per event to one rank at most, to each.

#include "event/parcel.hpp"

#include <shoal/detail/base/function.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace shoal::event {

/// Numbers the events that one rank fires to others.
class Outbox {
 public:
  Outbox(Rank rank, int size) : rank_(rank), to_(static_cast<std::size_t>(size)) {}

  [[nodiscard]] Parcel to_one(Rank target, SharedContent content);
  /// Makes the parcel of a multicast to all other ranks.
  [[nodiscard]] Parcel to_all(SharedContent content);

 private:
  struct Target {
    std::uint64_t count = 0;  // of events fired to it alone
    bool is_new = false;      // since the last one to all
  };
  const Rank rank_;
  std::vector<Target> to_;
  std::vector<int> new_targets_;
  std::uint64_t all_count_ = 0;
};

/// Puts events from others in the order fired.
class Inbox {
 public:
  Inbox(Rank rank, int size) : rank_(rank), from_(static_cast<std::size_t>(size)) {}

  /// Function that is called for each event that is due: the one that has arrived, and those that
  /// waited for it.
  using Deliver = FunctionRef<void(const SharedContent&)>;
  void accept(const Parcel& parcel, const Deliver& deliver);
  /// Returns the number of events that wait for earlier ones.
  [[nodiscard]] std::uint64_t held_count() const { return held_count_; }
  /// Returns the sources of the events that wait for earlier ones.
  [[nodiscard]] std::vector<Rank> held_sources() const;

 private:
  struct Early {
    SharedContent content;
    std::uint64_t needed_count;  // so many of the other lane come before
  };
  struct Lane {
    std::uint64_t count = 0;  // delivered
    std::map<std::uint64_t, Early> early{};
  };
  struct Source {
    Lane to_one;
    Lane to_all;
  };
  [[nodiscard]] std::uint64_t needed_by(const Parcel& parcel) const;
  bool deliver_next(Lane& lane, const Lane& other, const Deliver& deliver);

  const Rank rank_;
  std::vector<Source> from_;
  std::uint64_t held_count_ = 0;
};

}  // namespace shoal::event
