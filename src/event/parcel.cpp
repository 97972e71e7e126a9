#include "event/parcel.hpp"

namespace shoal::wire {

event::Parcel Codec<event::Parcel>::load(ReadArchive& ar) {
  event::Parcel parcel;
  const auto content = std::make_shared<event::Content>();
  ar(parcel.number, parcel.all_count);
  parcel.to_all = load_index(ar, 2, "target of an event") != 0;
  content->persistent = load_index(ar, 2, "persistence of an event") != 0;
  constexpr auto kTypes = static_cast<std::size_t>(EventType::address);  // addresses do not travel
  content->type = static_cast<EventType>(load_index(ar, kTypes, "type of an event"));
  ar(content->source, content->signature, content->raw.type, content->raw.count, content->trace_id);
  ar(parcel.before, content->name, content->type_store, content->bytes);
  content->type_text = content->type_store;
  content->raw.bytes = content->bytes;
  parcel.content = content;
  return parcel;
}

}  // namespace shoal::wire
