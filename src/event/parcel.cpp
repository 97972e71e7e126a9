#include "event/parcel.hpp"

namespace shoal::wire {

namespace {

void load_payload(ReadArchive& ar, event::Content& content) {
  const std::size_t size_bytes = ar.count(1);
  if (size_bytes >= net::kPieceBytes) {
    content.pieces = ar.take_pieces(size_bytes);
    if (content.pieces != nullptr) {
      if (content.type != EventType::raw) return;
      content.raw.bytes = {ReadArchive(*content.pieces, false).take(size_bytes, 1), size_bytes};
      return;
    }
    static_cast<void>(ar.take(0, max_alignment));
  }
  const auto view = ar.view<std::byte>(size_bytes);
  content.bytes.assign(view.begin(), view.end());
  content.raw.bytes = content.bytes;
}

}  // namespace

event::Parcel Codec<event::Parcel>::load(ReadArchive& ar) {
  event::Parcel parcel;
  const auto content = std::make_shared<event::Content>();
  ar(parcel.number, parcel.all_count);
  parcel.to_all = load_index(ar, 2, "target of an event") != 0;
  content->persistent = load_index(ar, 2, "persistence of an event") != 0;
  constexpr auto kTypes = static_cast<std::size_t>(EventType::address);  // addresses do not travel
  content->type = static_cast<EventType>(load_index(ar, kTypes, "type of an event"));
  ar(content->source, content->signature, content->raw.type, content->raw.count, content->trace_id);
  ar(parcel.before, content->name, content->type_store);
  load_payload(ar, *content);
  content->type_text = content->type_store;
  parcel.content = content;
  return parcel;
}

}  // namespace shoal::wire
