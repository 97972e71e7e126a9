#pragma once
// Shared by the interfaces for other languages: numbers for peers and types, and contexts.

#include <shoal/c_api/event.h>
#include <shoal/detail/sync/mutex.hpp>
#include <shoal/event/event.hpp>

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

namespace shoal::c_api {

/// A rank, or one of SHOAL_ALL, SHOAL_ANY, SHOAL_SELF.
EventPeer to_peer(int number);

/// Bytes of one element of a type that travels as elements; 0: it is none of these.
std::size_t element_size(int type);

/// Memory that is fired by address. Any thread.
class Contexts {
 public:
  static constexpr int kFirstType = 1000;  // below are the types that are always there

  int define(std::size_t size_bytes);
  /// Zeroed, aligned for any type. **Errors**: CheckError for a type that is not defined.
  void* create(int type);
  [[nodiscard]] bool is_defined(int type) const;

 private:
  struct Unit {  // of the alignment that malloc() gives
    alignas(std::max_align_t) std::byte bytes[sizeof(std::max_align_t)];
  };
  struct Definition {
    std::size_t size_bytes;
    std::vector<std::unique_ptr<Unit[]>> made;
  };
  mutable sync::Mutex mutex_;
  std::vector<Definition> definitions_ SHOAL_GUARDED_BY(mutex_);
};

/// Payload that is fired as raw bytes: elements, or the address of memory.
class Outgoing {
 public:
  /// **Errors**: CheckError for an unknown type and for missing data.
  Outgoing(const Contexts& contexts, const shoal_payload& payload);
  Outgoing(const Outgoing&) = delete;
  Outgoing& operator=(const Outgoing&) = delete;

  [[nodiscard]] const RawPayload& raw() const { return raw_; }
  [[nodiscard]] bool is_address() const { return is_address_; }

 private:
  const void* address_;
  bool is_address_;
  RawPayload raw_;
};

/// **Errors**: CheckError that names the event and both types, unless it carries this type.
void check_type(const shoal_event& event, int type);

/// The event as C sees it, valid as long as the event.
shoal_event to_c(const Event& event);

}  // namespace shoal::c_api
