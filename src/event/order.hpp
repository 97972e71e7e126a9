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

#include <shoal/archive.hpp>
#include <shoal/detail/base/function.hpp>
#include <shoal/event/event.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace shoal::event {

using SharedContent = std::shared_ptr<const Content>;

/// Within the process, ranks share the content; between processes it is encoded straight into the
/// packet. See order.hpp for the numbers.
struct Parcel {
  /// Number of events to `rank` alone that precede an event to all ranks.
  struct Before {
    std::int64_t rank;
    std::uint64_t one_count;
  };

  SharedContent content;
  bool to_all = false;
  std::uint64_t number = 0;      // from 1 on: of those to this rank alone, or of those to all
  std::uint64_t all_count = 0;   // to one: so many to all come before
  std::vector<Before> before{};  // to all: of these ranks, in their order
};

}  // namespace shoal::event

namespace shoal::wire {

template <>
struct IsPlain<event::Parcel> : std::true_type {};

template <>
struct Codec<event::Parcel> {
  template <class Archive>
  static void save(Archive& ar, const event::Parcel& parcel) {
    const event::Content& content = *parcel.content;
    ar(parcel.number, parcel.all_count, parcel.to_all, content.persistent, content.type,
       content.source, content.signature, content.raw.type, content.raw.count, content.trace_id);
    ar(parcel.before);
    save_argument(ar, std::string_view(content.name));
    save_argument(ar, content.type_text);
    save_payload(ar, content);
  }
  // The bytes of a large payload are aligned as an encoding of their own.
  template <class Archive>
  static void save_payload(Archive& ar, const event::Content& content) {
    const net::Pieces* const pieces = content.pieces.get();
    const std::size_t size_bytes = pieces != nullptr ? pieces->size_bytes : content.bytes.size();
    ar.count(size_bytes);
    if (size_bytes >= net::kPieceBytes) ar.put(nullptr, 0, max_alignment);
    ar.put(content.bytes.data(), content.bytes.size(), 1);
    if (pieces == nullptr) return;
    for (const net::Piece& piece : pieces->list) ar.put(piece.bytes.data(), piece.bytes.size(), 1);
  }
  static event::Parcel load(ReadArchive& ar);
};

}  // namespace shoal::wire

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
