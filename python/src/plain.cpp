#include "plain.hpp"

#include <shoal/error.hpp>

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include "errors.hpp"

namespace shoal::python {

namespace nb = nanobind;

namespace {

using Length = std::uint16_t;  // in bytes, of texts and bytes

Object checked(PyObject* made) {
  if (made == nullptr) throw_python_error();
  return Object::own(made);
}

}  // namespace

// --- writing

bool PlainWriter::add_raw(PlainTag tag, const void* data, std::size_t size) {
  if (size_ + 1 + size > kBytesMax) return false;
  bytes_[size_] = static_cast<char>(tag);
  if (size > 0) std::memcpy(&bytes_[size_ + 1], data, size);
  size_ += 1 + size;
  return true;
}

bool PlainWriter::add_sized(PlainTag tag, const char* data, std::size_t size) {
  static_assert(kBytesMax <= std::numeric_limits<Length>::max());
  const auto length = static_cast<Length>(size);
  if (size > kBytesMax || size_ + 1 + sizeof(length) + size > kBytesMax) return false;
  static_cast<void>(add_raw(tag, &length, sizeof(length)));
  if (size > 0) std::memcpy(&bytes_[size_], data, size);
  size_ += size;
  return true;
}

// Objects of derived classes are not plain.
bool PlainWriter::add(PyObject* value) {
  if (PyLong_CheckExact(value)) {
    int overflow = 0;
    const std::int64_t number = PyLong_AsLongLongAndOverflow(value, &overflow);
    return overflow == 0 && add_raw(PlainTag::integer, &number, sizeof(number));
  }
  if (value == Py_None) return add_raw(PlainTag::none, nullptr, 0);
  if (PyFloat_CheckExact(value)) {
    const double number = PyFloat_AsDouble(value);
    return add_raw(PlainTag::number, &number, sizeof(number));
  }
  if (PyUnicode_CheckExact(value)) {
    Py_ssize_t size = 0;
    if (PyUnicode_GetLength(value) > static_cast<Py_ssize_t>(kBytesMax)) return false;
    const char* const text = PyUnicode_AsUTF8AndSize(value, &size);
    if (text != nullptr) return add_sized(PlainTag::text, text, static_cast<std::size_t>(size));
    PyErr_Clear();  // half of a pair of surrogates
    return false;
  }
  if (value == Py_True) return add_raw(PlainTag::yes, nullptr, 0);
  if (value == Py_False) return add_raw(PlainTag::no, nullptr, 0);
  if (PyBytes_CheckExact(value)) {
    return add_sized(PlainTag::bytes, PyBytes_AsString(value),
                     static_cast<std::size_t>(PyBytes_Size(value)));
  }
  if (Py_TYPE(value) == &PyComplex_Type) {
    const double parts[2] = {PyComplex_RealAsDouble(value), PyComplex_ImagAsDouble(value)};
    return add_raw(PlainTag::complex, &parts, sizeof(parts));
  }
  return false;
}

bool PlainWriter::add_call(PyObject* module, PyObject* name, std::span<PyObject* const> values) {
  if (!add_raw(PlainTag::call, nullptr, 0) || !add(module) || !add(name)) return false;
  for (PyObject* const value : values) {
    if (!add(value)) return false;
  }
  return true;
}

// --- reading

void PlainReader::refuse() {
  throw DecodeError(
      "the bytes of a value from another rank are damaged: all ranks must run the same version of "
      "shoal");
}

std::span<const char> PlainReader::take_bytes(std::size_t size) {
  if (size > rest_.size()) refuse();
  const std::span<const char> bytes = rest_.first(size);
  rest_ = rest_.subspan(size);
  return bytes;
}

template <class T>
T PlainReader::take() {
  T value;
  std::memcpy(&value, take_bytes(sizeof(value)).data(), sizeof(value));
  return value;
}

std::span<const char> PlainReader::take_sized() { return take_bytes(take<Length>()); }

Object PlainReader::next() {
  switch (take<PlainTag>()) {
    case PlainTag::none:
      return Object::share(Py_None);
    case PlainTag::no:
      return Object::share(Py_False);
    case PlainTag::yes:
      return Object::share(Py_True);
    case PlainTag::integer:
      return checked(PyLong_FromLongLong(take<std::int64_t>()));
    case PlainTag::number:
      return checked(PyFloat_FromDouble(take<double>()));
    case PlainTag::complex: {
      const auto real = take<double>();
      return checked(PyComplex_FromDoubles(real, take<double>()));
    }
    case PlainTag::text: {
      const std::span<const char> text = take_sized();
      return checked(
          PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), nullptr));
    }
    case PlainTag::bytes: {
      const std::span<const char> bytes = take_sized();
      return checked(
          PyBytes_FromStringAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size())));
    }
    case PlainTag::call:
      break;
  }
  refuse();
}

void bind_plain(nb::module_& module) {
  module.def(
      "_dump_plain",
      [](nb::handle value) -> nb::object {
        PlainWriter writer;
        if (!writer.add(value.ptr())) return nb::none();
        return nb::bytes(writer.bytes().data(), writer.bytes().size());
      },
      nb::arg("value").none());
  module.def("_load_plain", [](const nb::bytes& bytes) {
    const std::span<const char> all(static_cast<const char*>(bytes.data()), bytes.size());
    return nb::steal(PlainReader(all).next().release());
  });
}

}  // namespace shoal::python
