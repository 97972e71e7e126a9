#pragma once
// Python objects as values of futures, and as bytes of messages.

#include <nanobind/nanobind.h>

#include <shoal/archive.hpp>

#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "interpreter.hpp"

namespace shoal::python {

/// Bytes that travel: its own, of which a copy has its own too, or constant ones of a Python
/// object.
class Block {
 public:
  Block() = default;
  explicit Block(std::vector<char>&& bytes)
      : owned_(std::make_shared<std::vector<char>>(std::move(bytes))), bytes_(*owned_) {}
  /// Refers to the memory of `view`, a memoryview of bytes that do not change.
  Block(Object view, std::span<char> bytes)
      : view_(std::make_shared<Object>(std::move(view))), bytes_(bytes) {}
  Block(const Block& other) { *this = other.owned_ != nullptr ? other.copy() : other.share(); }
  Block& operator=(const Block& other) { return *this = Block(other); }
  Block(Block&&) noexcept = default;
  Block& operator=(Block&&) noexcept = default;
  ~Block() = default;

  [[nodiscard]] std::span<char> bytes() const { return bytes_; }
  /// The memoryview, or nullptr.
  [[nodiscard]] PyObject* view() const { return view_ != nullptr ? view_->get() : nullptr; }
  /// Another one of the same memory.
  [[nodiscard]] Block share() const {
    Block block;
    block.owned_ = owned_;
    block.view_ = view_;
    block.bytes_ = bytes_;
    return block;
  }

 private:
  [[nodiscard]] Block copy() const { return Block(std::vector<char>(*owned_)); }

  std::shared_ptr<std::vector<char>> owned_;
  std::shared_ptr<Object> view_;
  std::span<char> bytes_;
};

/// An object in the form of pickle's protocol 5: its bytes, and the buffers that it refers to.
/// Large buffers travel without a copy.
struct Payload {
  Block body;
  std::vector<Block> buffers;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(body, buffers);
  }
};

}  // namespace shoal::python

namespace shoal::naming {

/// As reports name it.
template <>
constexpr std::string_view spelled<python::Payload>() {
  return "a Python object";
}

}  // namespace shoal::naming

namespace shoal::python {

/// Memory with the buffer protocol that keeps its bytes.
struct Bytes {
  Block block;
};

/// Makes a payload of a pair (bytes, list of memoryviews). Those that are read-only, and bytes,
/// travel from where they are if they are large; all else is copied. **Caller**: holds the GIL.
/// **Errors**: PythonError.
[[nodiscard]] Payload to_payload(PyObject* pair);
/// Returns the body and the list of buffers, which share the memory. **Caller**: holds the GIL.
[[nodiscard]] std::pair<Object, Object> to_python(const Payload& payload);

/// Defines the class Bytes.
void bind_bytes(nanobind::module_& module);

/// A Python object that futures share. One that comes from another rank is made by the first caller
/// that asks for it.
class Value {
 public:
  Value() = default;
  explicit Value(Object object) : held_(std::make_shared<Held>()) {
    held_->object = std::move(object);
  }
  explicit Value(Payload payload) : held_(std::make_shared<Held>()) {
    held_->payload = std::move(payload);
  }
  /// **Caller**: holds the GIL. **Errors**: PythonError.
  [[nodiscard]] PyObject* new_reference() const;
  /// Of a value that travels.
  [[nodiscard]] const Payload& payload() const { return held_->payload; }

 private:
  struct Held {
    Object object;  // guarded by the GIL
    Payload payload;
  };
  std::shared_ptr<Held> held_;
};

}  // namespace shoal::python

namespace shoal::wire {

/// As a vector of its bytes: a large one travels from where it is, and keeps the memory in which it
/// arrives.
template <>
struct Codec<python::Block> {
  template <class Archive>
  static void save(Archive& ar, const python::Block& block) {
    ar.count(block.bytes().size());
    ar.block(std::span<const char>(block.bytes()));
  }
  static python::Block load(ReadArchive& ar) {
    return python::Block(wire::load<std::vector<char>>(ar));
  }
};

template <>
struct Codec<python::Value> {
  template <class Archive>
  static void save(Archive& ar, const python::Value& value) {
    wire::save(ar, value.payload());
  }
  static python::Value load(ReadArchive& ar) {
    return python::Value(wire::load<python::Payload>(ar));
  }
};

}  // namespace shoal::wire
