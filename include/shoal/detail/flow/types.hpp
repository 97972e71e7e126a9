#pragma once
// Types of data that flows know: single values, vectors and matrices.

#include <shoal/archive.hpp>
#include <shoal/detail/base/check.hpp>
#include <shoal/detail/base/type_name.hpp>
#include <shoal/matrix_view.hpp>

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace shoal {

namespace flow {

/// Extent of a datum: a vector has one column, a single value one element.
struct Shape {
  std::size_t rows = 1;
  std::size_t columns = 1;
};

/// Operations on data of one type, whose objects are known by address only.
struct DataType {
  std::size_t element_bytes;
  /// Makes a new object with memory of its own.
  void* (*make)(const Shape& shape);
  void (*destroy)(void* object);
  /// Its bytes, if they lie in one piece and mean the same on every rank; else empty.
  std::span<std::byte> (*bytes)(void* object);
  std::vector<std::byte> (*encode)(const void* object);
  void (*decode)(void* object, std::span<const std::byte> bytes);
  std::string_view spelled;  // the type, by the compiler
};

/// Object behind a view: the view, and the memory if it is not the program's.
template <class View, class Element>
struct Stored {
  struct Free {
    void operator()(Element* first) const { ::operator delete(first, std::align_val_t(64)); }
  };
  static Stored* with_memory(std::size_t count) {
    static_assert(std::is_trivially_copyable_v<Element>,
                  "shoal: the elements of a vector or matrix in a flow must be trivially copyable");
    auto* const stored = new Stored();
    stored->memory.reset(
        static_cast<Element*>(::operator new(count * sizeof(Element), std::align_val_t(64))));
    return stored;
  }
  View view{};
  std::unique_ptr<Element, Free> memory{};
};

/// Storage of a datum of type T, and the types that tasks which read or write it take.
template <class T>
struct DataTraits {
  using Object = T;
  using Read = const T&;
  using Write = T&;
  static Read read(void* object) { return *static_cast<const T*>(object); }
  static Write write(void* object) { return *static_cast<T*>(object); }
  static T copy(void* object) { return read(object); }

  static void* make(const Shape& /*shape*/) { return new T(); }
  static void destroy(void* object) { delete static_cast<T*>(object); }
  static std::span<std::byte> bytes(void* object) {
    if constexpr (wire::is_raw_v<T>) {
      return std::as_writable_bytes(std::span<T>(static_cast<T*>(object), 1));
    } else {
      return {};
    }
  }
  static std::vector<std::byte> encode(const void* object) {
    return encoded<T>(*static_cast<const T*>(object));
  }
  static void decode(void* object, std::span<const std::byte> bytes) {
    if constexpr (wire::is_raw_v<T>) {
      SHOAL_CHECK(bytes.size() == sizeof(T), "{} bytes came for a value of {}", bytes.size(),
                  sizeof(T));
      std::memcpy(object, bytes.data(), bytes.size());
    } else {
      ReadArchive archive(bytes);
      *static_cast<T*>(object) = wire::load<T>(archive);
      archive.finish();
    }
  }
  static constexpr std::size_t kElementBytes = sizeof(T);
};

template <class U>
struct DataTraits<std::span<U>> {
  using Object = Stored<std::span<U>, U>;
  using Read = std::span<const U>;
  using Write = std::span<U>;
  static Read read(void* object) { return static_cast<Object*>(object)->view; }
  static Write write(void* object) { return static_cast<Object*>(object)->view; }
  static std::vector<U> copy(void* object) {
    const Read view = read(object);
    return {view.begin(), view.end()};
  }

  static void* make(const Shape& shape) {
    Object* const object = Object::with_memory(shape.rows);
    object->view = {object->memory.get(), shape.rows};
    return object;
  }
  static void destroy(void* object) { delete static_cast<Object*>(object); }
  static std::span<std::byte> bytes(void* object) {
    return std::as_writable_bytes(static_cast<Object*>(object)->view);
  }
  static std::vector<std::byte> encode(const void* object) {
    const auto bytes = std::as_bytes(static_cast<const Object*>(object)->view);
    return {bytes.begin(), bytes.end()};
  }
  static void decode(void* object, std::span<const std::byte> from) {
    const auto to = bytes(object);
    SHOAL_CHECK(from.size() == to.size(), "{} bytes came for a vector of {}", from.size(),
                to.size());
    if (!to.empty()) std::memcpy(to.data(), from.data(), to.size());
  }
  static constexpr std::size_t kElementBytes = sizeof(U);
};

template <class U>
struct DataTraits<MatrixView<U>> {
  using Object = Stored<MatrixView<U>, U>;
  using Read = MatrixView<const U>;
  using Write = MatrixView<U>;
  static Read read(void* object) { return static_cast<Object*>(object)->view; }
  static Write write(void* object) { return static_cast<Object*>(object)->view; }
  static std::vector<U> copy(void* object) {
    const Read view = read(object);
    std::vector<U> all;
    for (std::size_t j = 0; j < view.columns(); ++j) {
      all.insert(all.end(), &view(0, j), &view(0, j) + view.rows());
    }
    return all;
  }

  static void* make(const Shape& shape) {
    Object* const object = Object::with_memory(shape.rows * shape.columns);
    object->view = {object->memory.get(), shape.rows, shape.columns, shape.rows};
    return object;
  }
  static void destroy(void* object) { delete static_cast<Object*>(object); }
  static std::span<std::byte> bytes(void* object) {
    const MatrixView<U>& view = static_cast<Object*>(object)->view;
    if (!view.is_contiguous()) return {};
    return std::as_writable_bytes(std::span<U>(view.data(), view.rows() * view.columns()));
  }
  static std::vector<std::byte> encode(const void* object) {
    const MatrixView<U>& view = static_cast<const Object*>(object)->view;
    const std::size_t column_bytes = view.rows() * sizeof(U);
    std::vector<std::byte> bytes(column_bytes * view.columns());
    for (std::size_t j = 0; j < view.columns(); ++j) {
      std::memcpy(bytes.data() + j * column_bytes, &view(0, j), column_bytes);
    }
    return bytes;
  }
  static void decode(void* object, std::span<const std::byte> from) {
    const MatrixView<U>& view = static_cast<Object*>(object)->view;
    const std::size_t column_bytes = view.rows() * sizeof(U);
    SHOAL_CHECK(from.size() == column_bytes * view.columns(), "{} bytes came for a matrix of {}",
                from.size(), column_bytes * view.columns());
    for (std::size_t j = 0; j < view.columns(); ++j) {
      std::memcpy(&view(0, j), from.data() + j * column_bytes, column_bytes);
    }
  }
  static constexpr std::size_t kElementBytes = sizeof(U);
};

template <class T>
const DataType& data_type() {
  using Traits = DataTraits<T>;
  static constexpr DataType kType{Traits::kElementBytes, &Traits::make,   &Traits::destroy,
                                  &Traits::bytes,        &Traits::encode, &Traits::decode,
                                  naming::spelled<T>()};
  return kType;
}

}  // namespace flow

}  // namespace shoal
