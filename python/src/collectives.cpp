// Collective operations of teams, on Python objects and on arrays.

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "binding.hpp"
#include "errors.hpp"
#include "interpreter.hpp"
#include "value.hpp"

namespace shoal::python {

namespace {

nb::object to_list(const std::vector<Payload>& payloads) {
  nb::list list;
  for (const Payload& payload : payloads) {
    list.append(loaded(payload));
  }
  return list;
}

nb::object allgather(PyTeam& team, nb::handle value) {
  const auto here = team.get();
  const Payload mine = dump(value.ptr());
  std::vector<Payload> all;
  {
    const OutsidePython outside;
    all = here->allgather(mine);
  }
  return to_list(all);
}

nb::object gather(PyTeam& team, nb::handle value, int root) {
  const auto here = team.get();
  const Payload mine = dump(value.ptr());
  std::vector<Payload> all;
  {
    const OutsidePython outside;
    all = here->gather(mine, Rank(root));
  }
  if (int{here->rank()} != root) return nb::none();
  return to_list(all);
}

nb::object broadcast(PyTeam& team, nb::handle value, int root) {
  const auto here = team.get();
  Payload mine;
  if (int{here->rank()} == root) mine = dump(value.ptr());
  {
    const OutsidePython outside;
    mine = here->broadcast(mine, Rank(root));
  }
  return loaded(mine);
}

/// Returns `values` with the type that members compare and reports name: `spelled`, with elements
/// of `size_bytes` in arrays, combined by `operation`, or "". **Caller**: any thread.
team::Values describe(team::Values values, std::string spelled, std::size_t size_bytes,
                      const std::string& operation) {
  constexpr std::size_t kShapesMax = 1000;  // beyond, reports do not name them
  static std::mutex mutex;
  // Never freed: a report may name an operation long after it.
  static auto* const types =
      new std::map<std::tuple<std::string, std::size_t, std::string>, team::ValueType>();
  values.signature += wire::fnv1a(spelled);
  const std::lock_guard lock(mutex);
  if (types->size() >= kShapesMax)
    spelled.resize(std::min(spelled.size(), spelled.find(" of shape")));
  const auto [known, is_new] = types->try_emplace({std::move(spelled), size_bytes, operation});
  const auto& [name, bytes, combined_by] = known->first;
  if (is_new) {
    const auto hash = static_cast<std::uint16_t>(
        combined_by.empty() ? 0 : wire::fnv1a(combined_by) | 1U);  // as that of a type of C++
    known->second = {values.type->signature, name, bytes, combined_by, hash};
  }
  values.type = &known->second;
  return values;
}

team::Values describe_objects(const std::string& operation) {
  return describe(team::single<Payload>(), type_name<Payload>(), 1, operation);
}

/// Combination of two values in a handler.
struct Combine {
  std::shared_ptr<Object> operation;
  Payload operator()(const Payload& a, const Payload& b) const {
    const InPython in_python;
    const Object left = load(hooks().load, Payload(a));
    const Object right = load(hooks().load, Payload(b));
    const Object result = call(operation->get(), pack(left.get(), right.get()).get());
    return dump(result.get());
  }
};

// --- of objects

/// Operations in which values are combined.
enum class Combining : std::uint8_t { reduce, allreduce, scan };

/// Results of an operation on this rank: those of Collectives. `text`: of `operation`. `root`: of
/// a reduction.
nb::object combine(PyTeam& team, Combining kind, nb::handle value, nb::handle operation,
                   const std::string& text, int root) {
  const auto here = team.get();
  const Payload mine = dump(value.ptr());
  const Combine function{std::make_shared<Object>(Object::share(operation.ptr()))};
  std::vector<Payload> results;
  {
    const OutsidePython outside;
    team::Collectives& in = here->collectives();
    const team::Values values = describe_objects(text);
    team::Block block = team::block_of(mine);
    team::Combine combined = team::combine_of<Payload>(function);
    const team::SharedOperation begun =
        kind == Combining::reduce
            ? in.reduce(values, std::move(block), std::move(combined), Rank(root))
        : kind == Combining::allreduce ? in.allreduce(values, std::move(block), std::move(combined))
                                       : in.scan(values, std::move(block), std::move(combined));
    results = team::values_of<Payload>(in.wait(begun));
  }
  return to_list(results);
}

/// The values that all ranks have for this one. `text`: of the operation that will combine them, or
/// "".
nb::object alltoall(PyTeam& team, const nb::list& given, const std::string& text) {
  const auto here = team.get();
  std::vector<Payload> mine;
  for (const nb::handle value : given) mine.push_back(dump(value.ptr()));
  std::vector<Payload> theirs;
  {
    const OutsidePython outside;
    team::Collectives& in = here->collectives();
    const auto kind = text.empty() ? team::Kind::alltoall : team::Kind::reduce_scatter;
    const team::SharedOperation begun =
        in.alltoall(kind, describe_objects(text), team::blocks_of(mine));
    theirs = team::values_of<Payload>(in.wait(begun));
  }
  return to_list(theirs);
}

// --- of arrays

/// Memory of an array of Python, which keeps its size meanwhile. **Caller**: holds the GIL.
class Memory {
 public:
  Memory(nb::handle array, int flags) {
    if (PyObject_GetBuffer(array.ptr(), &view_, flags) != 0) throw_python_error();
  }
  ~Memory() { PyBuffer_Release(&view_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const {
    return {static_cast<std::byte*>(view_.buf), static_cast<std::size_t>(view_.len)};
  }
  [[nodiscard]] std::size_t element_bytes() const {
    return static_cast<std::size_t>(view_.itemsize);
  }

 private:
  Py_buffer view_{};
};

struct Smaller {
  template <class T>
  T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};
struct Larger {
  template <class T>
  T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};

/// Elements of an array, and how they are combined.
struct Elements {
  team::Values values;
  std::string spelled;
  team::CombineInto combine;
};

template <class T>
Elements make_elements(std::size_t array_bytes, char operation) {
  const auto make = [&](auto function) -> Elements {
    return {team::array<T>(array_bytes), type_name<T>(), team::combine_into_of<T>(function)};
  };
  switch (operation) {
    case '+':
      return make(std::plus<T>());
    case '*':
      return make(std::multiplies<T>());
    case '<':
      return make(Smaller());
    default:
      return make(Larger());
  }
}

/// `kind`: i or f, of 4 or 8 bytes. `shape` and `text`: those of the array and of the operation.
Elements elements_of(const Memory& array, char kind, char operation, const std::string& shape,
                     const std::string& text) {
  const std::size_t size_bytes = array.bytes().size();
  const bool is_long = array.element_bytes() == 8;
  Elements made = kind == 'f' ? is_long ? make_elements<double>(size_bytes, operation)
                                        : make_elements<float>(size_bytes, operation)
                  : is_long ? make_elements<std::int64_t>(size_bytes, operation)
                              : make_elements<std::int32_t>(size_bytes, operation);
  made.values = describe(made.values, made.spelled + shape, array.element_bytes(), text);
  return made;
}

/// Combines the arrays of all ranks element by element, in place.
void combine_array(PyTeam& team, Combining kind, nb::handle array, char element, char operation,
                   const std::string& shape, const std::string& text, int root) {
  const auto here = team.get();
  const Memory memory(array, PyBUF_CONTIG | PyBUF_FORMAT);
  const team::Array mine{memory.bytes(), memory.element_bytes()};
  const OutsidePython outside;
  Elements elements = elements_of(memory, element, operation, shape, text);
  team::Collectives& in = here->collectives();
  const team::SharedOperation begun =
      kind == Combining::reduce
          ? in.reduce(elements.values, mine, std::move(elements.combine), Rank(root))
      : kind == Combining::allreduce
          ? in.allreduce(elements.values, mine, std::move(elements.combine))
          : in.scan(elements.values, mine, std::move(elements.combine));
  // A small array is the first result; that of a scan is followed by the values before it.
  const std::vector<team::Block>& results = in.wait(begun);
  team::copy_results(std::span(results).first(std::min<std::size_t>(results.size(), 1)),
                     mine.bytes);
}

/// Combines the arrays of all ranks element by element; the part of this rank goes to `place`.
void reduce_scatter_array(PyTeam& team, nb::handle array, nb::handle place, char element,
                          char operation, const std::string& shape, const std::string& text) {
  const auto here = team.get();
  const Memory all(array, PyBUF_CONTIG_RO | PyBUF_FORMAT);
  const Memory memory(place, PyBUF_CONTIG | PyBUF_FORMAT);
  const std::span<std::byte> mine = memory.bytes();
  const OutsidePython outside;
  const Elements elements = elements_of(all, element, operation, shape, text);
  team::Collectives& in = here->collectives();
  const team::SharedOperation begun =
      in.reduce_scatter(elements.values, all.bytes(), mine, elements.combine);
  const std::vector<team::Block>& parts = in.wait(begun);  // none, if they are large
  if (parts.empty()) return;
  team::copy_results(std::span(parts).first(1), mine);
  team::CombineInto combine = elements.combine;
  for (const team::Block& part : std::span(parts).subspan(1)) combine(mine, mine, part.bytes());
}

/// Sends the parts of an array to all ranks; `place` gets theirs. `type`: of the array.
void alltoall_array(PyTeam& team, nb::handle array, nb::handle place, const std::string& type) {
  const auto here = team.get();
  const Memory mine(array, PyBUF_CONTIG_RO | PyBUF_FORMAT);
  const Memory theirs(place, PyBUF_CONTIG | PyBUF_FORMAT);
  const OutsidePython outside;
  const team::Values values =
      describe(team::array<std::byte>(mine.bytes().size()), type, mine.element_bytes(), "");
  team::Collectives& in = here->collectives();
  const team::SharedOperation begun = in.alltoall(values, mine.bytes(), theirs.bytes());
  team::copy_results(in.wait(begun), theirs.bytes());
}

}  // namespace

void bind_collectives(nb::class_<PyTeam>& team) {
  nb::enum_<Combining>(team, "_Combining")
      .value("reduce", Combining::reduce)
      .value("allreduce", Combining::allreduce)
      .value("scan", Combining::scan);
  team.def("_allgather", &allgather, nb::arg("value").none())
      .def("_gather", &gather, nb::arg("value").none(), nb::arg("root"))
      .def("_broadcast", &broadcast, nb::arg("value").none(), nb::arg("root"))
      .def("_combine", &combine, nb::arg("kind"), nb::arg("value").none(), nb::arg("operation"),
           nb::arg("text"), nb::arg("root"))
      .def("_alltoall", &alltoall)
      .def("_combine_array", &combine_array)
      .def("_reduce_scatter_array", &reduce_scatter_array)
      .def("_alltoall_array", &alltoall_array);
}

}  // namespace shoal::python
