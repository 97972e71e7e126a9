// Global arrays: elements over all ranks, which any rank reads, writes and adds to.

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <shoal/global_memory.hpp>
#include <shoal/global_vector.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "binding.hpp"

namespace shoal::python {

namespace {

/// Array of one type of elements. **Caller**: without the GIL.
template <class T>
struct GlobalElements {
  GlobalElements(Team& team, std::size_t size, const std::string& name)
      : memory(team, {.name = name + kOf}, std::source_location()),
        vector(memory, size, std::source_location()) {
    team.barrier();  // every rank has its elements
  }
  // In the name, which ranks compare.
  static constexpr const char* kOf = std::is_integral_v<T> ? " of int" : " of float";
  GlobalMemory memory;
  GlobalVector<T> vector;
};

/// Contiguous memory of a Python object.
class Buffer {
 public:
  Buffer(nb::handle object, int flags) {
    if (PyObject_GetBuffer(object.ptr(), &view_, flags) != 0) throw_python_error();
  }
  ~Buffer() { PyBuffer_Release(&view_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  template <class T>
  [[nodiscard]] std::span<T> as() const {
    return {static_cast<T*>(view_.buf), static_cast<std::size_t>(view_.len) / sizeof(T)};
  }

 private:
  Py_buffer view_;
};

/// A global array, which ends with the main function of its rank.
template <class T>
class PyArray {
 public:
  PyArray(PyTeam& team, std::size_t size, const std::string& name) : name_(name) {
    const auto here = team.get();
    RankObjects& kept = rank_objects_of(team, "global array '" + name + "'");
    std::shared_ptr<GlobalElements<T>> made;
    {
      const OutsidePython outside;
      made = std::make_shared<GlobalElements<T>>(*here, size, name);
    }
    run_ = team.run;
    kept.add(made);
    elements_ = made;
  }

  void get(std::size_t first, nb::handle into) {
    const auto elements = this->elements();
    const Buffer buffer(into, PyBUF_CONTIG);
    const OutsidePython outside;
    elements->vector.get(first, buffer.as<T>());
  }
  void put(std::size_t first, nb::handle from) {
    const auto elements = this->elements();
    const Buffer buffer(from, PyBUF_CONTIG_RO);
    const OutsidePython outside;
    elements->vector.put(first, buffer.as<const T>());
  }
  /// Adds to each element, atomically.
  void add(std::size_t first, nb::handle from) {
    const auto elements = this->elements();
    const Buffer buffer(from, PyBUF_CONTIG_RO);
    const OutsidePython outside;
    const auto values = buffer.as<const T>();
    std::vector<GlobalPtr<T>> places;
    places.reserve(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) places.push_back(elements->vector[first + i]);
    static_cast<void>(elements->memory.add_async(places, values));
  }
  T get_one(std::size_t index) {
    const auto elements = this->elements();
    const OutsidePython outside;
    return elements->vector.get(index);
  }
  void put_one(std::size_t index, T value) {
    const auto elements = this->elements();
    const OutsidePython outside;
    static_cast<void>(elements->vector.put(index, value));
  }
  T fetch_add(std::size_t index, T value) {
    const auto elements = this->elements();
    const OutsidePython outside;
    return elements->memory.fetch_add(elements->vector[index], value);
  }
  void quiet() {
    const auto elements = this->elements();
    const OutsidePython outside;
    elements->memory.quiet();
  }
  int owner(std::size_t index) { return int{elements()->vector.owner(index)}; }

 private:
  [[nodiscard]] Entered<GlobalElements<T>> elements() const {
    return {run_, elements_, [this] { return "global array '" + name_ + "'"; }};
  }

  RunEnd run_;
  std::weak_ptr<GlobalElements<T>> elements_;
  std::string name_;
};

template <class T>
void bind_array(nb::module_& module, const char* name) {
  nb::class_<PyArray<T>>(module, name)
      .def(nb::init<PyTeam&, std::size_t, const std::string&>())
      .def("get", &PyArray<T>::get)
      .def("put", &PyArray<T>::put)
      .def("add", &PyArray<T>::add)
      .def("get_one", &PyArray<T>::get_one)
      .def("put_one", &PyArray<T>::put_one)
      .def("fetch_add", &PyArray<T>::fetch_add)
      .def("quiet", &PyArray<T>::quiet)
      .def("owner", &PyArray<T>::owner);
}

}  // namespace

void bind_arrays(nb::module_& module) {
  bind_array<double>(module, "_DoubleArray");
  bind_array<std::int64_t>(module, "_IntegerArray");
}

}  // namespace shoal::python
