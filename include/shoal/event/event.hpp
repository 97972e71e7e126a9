#pragma once
// One event: where it came from, its name, and what was fired with it.

#include <shoal/archive.hpp>
#include <shoal/detail/base/type_name.hpp>
#include <shoal/rank.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace shoal {

/// Where the event of a dependency comes from, or where an event goes: a rank, or one of the
/// constants below.
class EventPeer {
 public:
  /// A rank, or one of `self`, `any` and `all`.
  enum class Kind : std::uint8_t { rank, self, any, all };
  /// One rank.
  constexpr EventPeer(Rank rank) : rank_(rank) {}  // NOLINT(google-explicit-constructor)
  /// One of `self`, `any` and `all`.
  constexpr explicit EventPeer(Kind kind) : kind_(kind) {}

  /// Kind of the peer.
  [[nodiscard]] constexpr Kind kind() const { return kind_; }
  /// The rank of a peer of Kind::rank.
  [[nodiscard]] constexpr Rank rank() const { return rank_; }
  bool operator==(const EventPeer&) const = default;

 private:
  Kind kind_ = Kind::rank;
  Rank rank_;
};

/// The calling rank.
inline constexpr EventPeer self{EventPeer::Kind::self};
/// Any one rank, as a source. Nothing can be fired to it.
inline constexpr EventPeer any{EventPeer::Kind::any};
/// All ranks: as a source, one event of every rank; as a target, every rank.
inline constexpr EventPeer all{EventPeer::Kind::all};

/// One event that a task needs; with `all`, one per rank, in the order of ranks.
struct EventDependency {
  /// Rank or ranks that fire it.
  EventPeer source;
  /// Name that it is fired with.
  std::string name;
};

/// Type of the payload of an event.
enum class EventType : std::uint8_t {
  none,     // nothing
  value,    // a C++ value
  raw,      // bytes with a type number, for interfaces of other languages
  address,  // of memory of this rank
};

/// Payload of an event from another language: `count` elements of a type that it numbers.
struct RawPayload {
  /// Number of the type in the other language.
  int type = 0;
  /// Number of elements.
  std::size_t count = 0;
  /// The elements.
  std::span<const std::byte> bytes{};
};

/// Parts of Event and Events. Not for programs.
namespace event {

/// A fired event, immutable, shared by all its holders.
struct Content {
  /// Name that it is fired with.
  std::string name;
  Rank source;
  bool persistent = false;
  EventType type = EventType::none;
  std::uint32_t signature = 0;  // of the value, or of what the address points to
  std::string_view type_text;   // its type for people; of the program's own text or in type_store
  std::string type_store{};
  std::vector<std::byte> bytes{};  // value, raw; begins at a multiple of 16, as decode() needs
  std::shared_ptr<net::Pieces> pieces{};  // of many bytes, in their place
  RawPayload raw{};
  void* address = nullptr;
  std::uint64_t trace_id = 0;  // 0: it was fired while no events were recorded
};

/// Type that encode() gets for an argument of fire(): text and arrays as views, others unchanged.
template <class T>
struct EncodedAs {
  using type =
      std::conditional_t<std::is_convertible_v<const T&, const char*>, std::string_view, T>;
};
template <class T, std::size_t N>
struct EncodedAs<T[N]> {
  using type = std::span<const T>;
};
template <std::size_t N>
struct EncodedAs<char[N]> {
  using type = std::string_view;
};
template <class T>
using Encoded = typename EncodedAs<T>::type;

/// Type that get<T>() and similar calls require.
struct RequestedType {
  EventType type;
  std::uint32_t signature;
  std::string_view type_text;
};
template <class T>
constexpr RequestedType requested_type(EventType type) {
  return {type, type_signature<T>(), naming::type_text<T>()};
}
/// Throws CheckError, with both types, unless that is what was fired.
void check_type(const Content& content, const RequestedType& requested);

}  // namespace event

/// One event in the hands of a task. Shares what was fired with its copies. Any thread.
class Event {
 public:
  /// @cond internals
  /// Made by Events; programs get events, and do not make them.
  explicit Event(std::shared_ptr<const event::Content> content) : content_(std::move(content)) {}
  /// @endcond

  /// Rank that fired it.
  [[nodiscard]] Rank source() const { return content_->source; }
  /// Name that it was fired with.
  [[nodiscard]] const std::string& name() const& { return content_->name; }
  /// Returns a copy of the name, for a temporary event.
  [[nodiscard]] std::string name() const&& { return content_->name; }
  /// Kind of its payload.
  [[nodiscard]] EventType type() const { return content_->type; }
  /// Returns whether it was fired with a value, an address or raw bytes.
  [[nodiscard]] bool has_value() const { return content_->type != EventType::none; }

  /// Returns a copy of the value. T is the type that was fired; a sequence of elements or a text
  /// may be got as a std::vector or std::string, or as a view, which is valid as long as this event
  /// or a copy of it. **Errors**: CheckError that names the event and both types when T is another
  /// type.
  template <class T>
  [[nodiscard]] T get() const& {
    event::check_type(*content_, event::requested_type<wire::Owner<T>>(EventType::value));
    if (content_->pieces != nullptr) return std::get<0>(decode_pieces<T>(*content_->pieces, false));
    return std::get<0>(decode<T>(content_->bytes));
  }

  /// Returns a copy of the value of a temporary event, for types that own their elements.
  /// **Errors**: CheckError that names the event and both types when T is another type.
  template <class T>
  [[nodiscard]] T get() const&& {
    static_assert(!wire::is_view_v<T>,
                  "shoal: a view of an event that is a temporary outlives it: give the event, or "
                  "the list of events, a name");
    return static_cast<const Event&>(*this).get<T>();
  }

  /// Returns a view of the elements of a std::vector or std::span of trivially copyable T, without
  /// a copy. It is valid as long as this event or a copy of it; not for temporaries. **Errors**: as
  /// get().
  template <class T>
  [[nodiscard]] std::span<const T> view() const& {
    return get<std::span<const T>>();
  }
  /// Rejected at compile time, as the view would outlive the temporary event.
  template <class T>
  [[nodiscard]] std::span<const T> view() const&& {
    return std::move(*this).template get<std::span<const T>>();
  }

  /// Returns the address that fire_address() was given. **Errors**: as get().
  template <class T>
  [[nodiscard]] T* address() const {
    event::check_type(*content_, event::requested_type<T>(EventType::address));
    return static_cast<T*>(content_->address);
  }

  /// Returns the payload that fire_raw() was given, valid as long as this event or a copy of it;
  /// nullptr for other events.
  [[nodiscard]] const RawPayload* raw() const& {
    return content_->type == EventType::raw ? &content_->raw : nullptr;
  }
  const RawPayload* raw() const&& = delete;  // it would end with the event

 private:
  std::shared_ptr<const event::Content> content_;
};

namespace event {
/// Refuses the index of an event that a list has not. **Errors**: CheckError that names its events.
[[noreturn]] void refuse_event(std::size_t n, std::span<const Event> events);
}  // namespace event

/// A std::vector of events, in the order of the dependencies. An element of a temporary list is an
/// event of its own: `events.wait({...})[0]`.
class EventList : public std::vector<Event> {
  using Base = std::vector<Event>;

 public:
  using Base::Base;

  /// Returns event `n`.
  Event& operator[](std::size_t n) & { return Base::operator[](n); }
  /// Returns event `n` of a constant list.
  const Event& operator[](std::size_t n) const& { return Base::operator[](n); }
  /// Moves event `n` out of a temporary list.
  Event operator[](std::size_t n) && { return std::move(Base::operator[](n)); }
  /// Returns event `n`. **Errors**: CheckError that names the events of the list, behind its end.
  [[nodiscard]] Event& at(std::size_t n) & { return checked(n); }
  /// Returns event `n` of a constant list. **Errors**: as for a list that may change.
  [[nodiscard]] const Event& at(std::size_t n) const& {
    return const_cast<EventList*>(this)->checked(n);
  }
  /// Moves event `n` out of a temporary list. **Errors**: as for a list that has a name.
  [[nodiscard]] Event at(std::size_t n) && { return std::move(checked(n)); }
  /// Returns the first event.
  [[nodiscard]] Event& front() & { return Base::front(); }
  /// Returns the first event of a constant list.
  [[nodiscard]] const Event& front() const& { return Base::front(); }
  /// Moves the first event out of a temporary list.
  [[nodiscard]] Event front() && { return std::move(Base::front()); }
  /// Returns the last event.
  [[nodiscard]] Event& back() & { return Base::back(); }
  /// Returns the last event of a constant list.
  [[nodiscard]] const Event& back() const& { return Base::back(); }
  /// Moves the last event out of a temporary list.
  [[nodiscard]] Event back() && { return std::move(Base::back()); }

 private:
  Event& checked(std::size_t n) {
    if (n >= size()) event::refuse_event(n, *this);
    return Base::operator[](n);
  }
};

/// Rule by which events find the tasks and waits that take them. Both serve consumers in the order
/// of their submission.
enum class MatchingRule : std::uint8_t {
  /// Rule of the EDAT paper. Surplus events of a persistent task belong to its later runs.
  paper,
  /// Rule of the EDAT library, for edat.h. A persistent task holds the events of one run only:
  /// later ones stay free for others. Tasks are served before waits.
  library,
};

}  // namespace shoal
