#include "c_api/payload.hpp"

#include <shoal/error.hpp>

#include <fmt/format.h>

#include <cstring>
#include <string>

namespace shoal::c_api {

namespace {

std::string type_text(int type) {
  switch (type) {
    case SHOAL_NONE:
      return "nothing";
    case SHOAL_INT:
      return "int";
    case SHOAL_FLOAT:
      return "float";
    case SHOAL_DOUBLE:
      return "double";
    case SHOAL_BYTE:
      return "bytes";
    case SHOAL_ADDRESS:
      return "an address";
    case SHOAL_LONG:
      return "long";
    case SHOAL_OTHER:
      return "a value of C++";
    default:
      return fmt::format("type {}", type);
  }
}

bool travels_as_address(int type) { return type == SHOAL_ADDRESS || type >= Contexts::kFirstType; }

}  // namespace

std::size_t element_size(int type) {
  switch (type) {
    case SHOAL_INT:
      return sizeof(int);
    case SHOAL_FLOAT:
      return sizeof(float);
    case SHOAL_DOUBLE:
      return sizeof(double);
    case SHOAL_BYTE:
      return 1;
    case SHOAL_LONG:
      return sizeof(long);
    default:
      return 0;
  }
}

void check_type(const shoal_event& event, int type) {
  if (event.type == type) return;
  throw CheckError(fmt::format("event \"{}\" from rank {} was fired with {}, not with {}",
                               event.name, event.source, type_text(event.type), type_text(type)));
}

EventPeer to_peer(int number) {
  switch (number) {
    case SHOAL_ALL:
      return all;
    case SHOAL_ANY:
      return any;
    case SHOAL_SELF:
      return self;
    default:
      return Rank(number);
  }
}

int Contexts::define(std::size_t size_bytes) {
  const sync::Lock lock(mutex_);
  definitions_.push_back({size_bytes, {}});
  return kFirstType + static_cast<int>(definitions_.size()) - 1;
}

bool Contexts::is_defined(int type) const {
  const sync::Lock lock(mutex_);
  return type >= kFirstType && type - kFirstType < static_cast<int>(definitions_.size());
}

void* Contexts::create(int type) {
  if (!is_defined(type)) {
    throw CheckError(fmt::format("{} is not the type of a context: define it first", type));
  }
  const sync::Lock lock(mutex_);
  Definition& definition = definitions_[static_cast<std::size_t>(type - kFirstType)];
  const std::size_t units = definition.size_bytes / sizeof(Unit) + 1;  // never empty
  definition.made.push_back(std::make_unique<Unit[]>(units));
  return definition.made.back().get();
}

Outgoing::Outgoing(const Contexts& contexts, const shoal_payload& payload)
    : address_(payload.data), is_address_(travels_as_address(payload.type)) {
  const int type = payload.type;
  raw_.type = type;
  raw_.count = payload.count;
  if (is_address_) {
    if (type != SHOAL_ADDRESS && !contexts.is_defined(type)) {
      throw CheckError(fmt::format("{} is not a type: no context of that number is defined", type));
    }
    raw_.bytes = std::as_bytes(std::span(&address_, 1));
    return;
  }
  if (type == SHOAL_NONE) return;
  const std::size_t size = element_size(type);
  if (size == 0) {
    throw CheckError(fmt::format(
        "{} is not a type: there are none (0), int (1), float (2), double (3), byte (4), "
        "address (5), long (6), and contexts",
        type));
  }
  if (payload.data == nullptr && payload.count > 0) {
    throw CheckError(fmt::format("there are {} elements, but the data are NULL", payload.count));
  }
  raw_.bytes = {static_cast<const std::byte*>(payload.data), payload.count * size};
}

shoal_event to_c(const Event& event) {
  shoal_event result{event.source().value(), event.name().c_str(), SHOAL_NONE, 0, nullptr};
  const RawPayload* const raw = event.raw();
  if (raw == nullptr) {
    if (event.has_value()) result.type = SHOAL_OTHER;
    return result;
  }
  result.type = raw->type;
  result.count = raw->count;
  if (travels_as_address(raw->type)) {
    std::memcpy(&result.data, raw->bytes.data(), sizeof result.data);
  } else if (!raw->bytes.empty()) {
    result.data = raw->bytes.data();
  }
  return result;
}

}  // namespace shoal::c_api
