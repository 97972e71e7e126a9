#pragma once
// Python objects as values of futures, and as bytes of messages.

#include <nanobind/nanobind.h>

#include <memory>
#include <utility>
#include <vector>

#include "interpreter.hpp"

namespace shoal::python {

/// An object in the form of pickle's protocol 5: its bytes, and the buffers that it refers to.
/// Large buffers travel without a copy.
struct Payload {
  std::vector<char> body;
  std::vector<std::vector<char>> buffers;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(body, buffers);
  }
};

/// Memory with the buffer protocol that owns its bytes.
struct Bytes {
  std::vector<char> data;
};

/// Copies a pair (bytes, list of buffers). **Caller**: holds the GIL. **Errors**: PythonError.
[[nodiscard]] Payload to_payload(PyObject* pair);
/// Returns the body and the list of buffers, which take over the memory. **Caller**: holds the GIL.
[[nodiscard]] std::pair<Object, Object> to_python(Payload&& payload);

/// Defines the class Bytes.
void bind_bytes(nanobind::module_& module);

/// A Python object that futures share.
class Value {
 public:
  Value() = default;
  explicit Value(Object object) : object_(std::make_shared<Object>(std::move(object))) {}
  /// **Caller**: holds the GIL.
  [[nodiscard]] PyObject* new_reference() const {
    PyObject* const object = object_->get();
    Py_INCREF(object);
    return object;
  }

 private:
  std::shared_ptr<Object> object_;
};

}  // namespace shoal::python
