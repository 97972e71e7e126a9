#pragma once
// Plain values and calls as short bytes, made and read without calls of Python code.

#include <nanobind/nanobind.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "interpreter.hpp"

namespace shoal::python {

/// First bytes of what PlainWriter makes. No pickle begins with one of them.
enum class PlainTag : char {
  none = 'N',
  no = 'F',
  yes = 'T',
  integer = 'i',  // of 64 bits
  number = 'f',
  complex = 'c',
  text = 's',  // UTF-8, behind its length
  bytes = 'b',
  call = 'C',  // the module and the name of a function, and values up to the end
};

/// Bytes of plain values: None, truth values, numbers and short texts, and bytes. Equal values have
/// equal bytes. **Caller**: holds the GIL.
class PlainWriter {
 public:
  /// Adds a value. Returns false for one that is not plain, and where the bytes would be too many:
  /// what was written before is of no use then.
  [[nodiscard]] bool add(PyObject* value);
  /// Adds a call of a function that is found in a module by its name.
  [[nodiscard]] bool add_call(PyObject* module, PyObject* name, std::span<PyObject* const> values);

  [[nodiscard]] std::span<const char> bytes() const { return std::span(bytes_).first(size_); }
  [[nodiscard]] std::vector<char> take() const { return {bytes().begin(), bytes().end()}; }

 private:
  static constexpr std::size_t kBytesMax = 1024;

  [[nodiscard]] bool add_raw(PlainTag tag, const void* data, std::size_t size);
  [[nodiscard]] bool add_sized(PlainTag tag, const char* data, std::size_t size);

  // The elements are set as bytes are added.
  std::array<char, kBytesMax> bytes_;
  std::size_t size_ = 0;
};

/// Reads what a PlainWriter has made. **Caller**: holds the GIL. **Errors**: DecodeError for other
/// bytes; PythonError.
class PlainReader {
 public:
  explicit PlainReader(std::span<const char> bytes) : rest_(bytes) {}
  [[nodiscard]] bool is_at_end() const { return rest_.empty(); }
  [[nodiscard]] Object next();
  /// Throws a DecodeError.
  [[noreturn]] static void refuse();

 private:
  template <class T>
  T take();
  std::span<const char> take_sized();
  std::span<const char> take_bytes(std::size_t size);

  std::span<const char> rest_;
};

/// Whether bytes are those of a PlainWriter.
[[nodiscard]] inline bool is_plain(std::span<const char> bytes) {
  constexpr char kPickle = '\x80';  // first byte of a pickle of protocol 2 and later
  return !bytes.empty() && bytes.front() != kPickle;
}
[[nodiscard]] inline bool is_plain_call(std::span<const char> bytes) {
  return !bytes.empty() && bytes.front() == static_cast<char>(PlainTag::call);
}

/// Defines functions for plain values in Python.
void bind_plain(nanobind::module_& module);

}  // namespace shoal::python
