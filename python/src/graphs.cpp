// Task graphs.

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <shoal/graph.hpp>
#include <shoal/key.hpp>
#include <shoal/team.hpp>

#include <cstdint>
#include <memory>
#include <string>

#include "binding.hpp"

namespace shoal::python {

namespace {

/// Key of a task: its canonical bytes, and its text for reports, which are made without Python.
struct Key {
  std::string code;
  std::string text;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(code, text);
  }
  bool operator==(const Key& other) const { return code == other.code; }
  friend std::string to_string(const Key& key) { return key.text; }
  /// FNV-1a: the same on every machine, and in every process.
  friend std::uint64_t shoal_hash(const Key& key) {
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const char c : key.code) {
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    }
    return hash;
  }
};

/// A function of a key in Python.
class KeyFunction {
 public:
  explicit KeyFunction(nb::handle function)
      : function_(std::make_shared<Object>(Object::share(function.ptr()))) {}

  /// **Caller**: holds the GIL.
  [[nodiscard]] Object operator()(const Key& key) const {
    const Object code = Object::own(
        PyBytes_FromStringAndSize(key.code.data(), static_cast<Py_ssize_t>(key.code.size())));
    return call(hooks().call_with_key, pack(function_->get(), code.get()).get());
  }
  [[nodiscard]] int number(const Key& key) const {
    const InPython in_python;
    const Object result = (*this)(key);
    const long number = PyLong_AsLong(result.get());
    if (number == -1 && PyErr_Occurred() != nullptr) throw_python_error();
    return static_cast<int>(number);
  }

 private:
  std::shared_ptr<Object> function_;
};

/// A task graph, which ends with the main function of its rank.
class PyGraph {
 public:
  PyGraph(PyTeam& team, const std::string& name, nb::handle task, nb::handle indegree,
          nb::handle rank, nb::handle priority) {
    Team& here = team.get();
    if (team.kept == nullptr) {
      throw CheckError("task graph '" + name +
                       "' is made in a task: make it in the main function, on all ranks");
    }
    auto graph = std::make_shared<TaskGraph<Key>>(here, name);
    graph->set_task([body = KeyFunction(task)](const Key& key) {
      const InPython in_python;
      static_cast<void>(body(key));
    });
    graph->set_indegree([f = KeyFunction(indegree)](const Key& key) { return f.number(key); });
    const int size = here.size();
    if (rank.is_none()) {
      graph->set_rank([size](const Key& key) {
        return static_cast<int>(KeyHash<Key>{}(key) % static_cast<std::uint64_t>(size));
      });
    } else {
      graph->set_rank([f = KeyFunction(rank)](const Key& key) { return f.number(key); });
    }
    if (!priority.is_none()) {
      graph->set_priority([f = KeyFunction(priority)](const Key& key) { return f.number(key); });
    }
#if PY_VERSION_HEX >= 0x030C0000
    graph->set_binding([](const Key&) { return true; });  // see task_options()
#endif
    team.kept->add(graph);
    graph_ = graph;
    name_ = name;
  }

  void fulfill(const nb::bytes& code, const std::string& text, int count) {
    const std::shared_ptr<TaskGraph<Key>> graph = graph_.lock();
    if (graph == nullptr) {
      throw CheckError("task graph '" + name_ +
                       "' has ended with the main function of its rank: fulfill its tasks before");
    }
    const Key key{std::string(code.c_str(), code.size()), text};
    const OutsidePython outside;
    graph->fulfill(key, count);
  }

 private:
  std::weak_ptr<TaskGraph<Key>> graph_;
  std::string name_;
};

}  // namespace

void bind_graphs(nb::module_& module) {
  nb::class_<PyGraph>(module, "_TaskGraph")
      .def(nb::init<PyTeam&, const std::string&, nb::handle, nb::handle, nb::handle, nb::handle>(),
           nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none())
      .def("fulfill", &PyGraph::fulfill);
}

}  // namespace shoal::python
