#pragma once
// The message that carries an event.

#include <shoal/archive.hpp>
#include <shoal/event/event.hpp>

#include <cstdint>
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
