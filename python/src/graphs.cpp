// Task graphs.

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <shoal/gathered.hpp>
#include <shoal/graph.hpp>
#include <shoal/key.hpp>
#include <shoal/team.hpp>

#include <cstdint>
#include <memory>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "base/fnv1a.hpp"
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
  friend std::uint64_t shoal_hash(const Key& key) { return fnv1a64(key.code); }
};

/// A function of a key in Python; `what`: which, in errors.
class KeyFunction {
 public:
  KeyFunction(nb::handle function, std::string what)
      : function_(std::make_shared<Object>(Object::share(function.ptr()))),
        what_(std::move(what)) {}

  /// **Caller**: holds the GIL.
  [[nodiscard]] Object operator()(const Key& key) const {
    const Object code = Object::own(
        PyBytes_FromStringAndSize(key.code.data(), static_cast<Py_ssize_t>(key.code.size())));
    return call(hooks().call_with_key, pack(function_->get(), code.get()).get());
  }
  [[nodiscard]] PyObject* function() const { return function_->get(); }
  /// **Errors**: CheckError for what is no int.
  [[nodiscard]] int number(const Key& key) const {
    const InPython in_python;
    const Object result = (*this)(key);
    const Object index = Object::own(PyNumber_Index(result.get()));
    PyErr_Clear();
    int overflow = 0;
    const long long number = index ? PyLong_AsLongLongAndOverflow(index.get(), &overflow) : 0;
    if (index && overflow == 0 && std::in_range<int>(number)) return static_cast<int>(number);
    const Object said = Object::own(PyObject_Repr(result.get()));
    const char* const text = said ? PyUnicode_AsUTF8AndSize(said.get(), nullptr) : nullptr;
    PyErr_Clear();
    throw CheckError(what_ + " says " + (text != nullptr ? text : "something without a text") +
                     " for task " + key.text + ": return an integer of 32 bits");
  }

 private:
  std::shared_ptr<Object> function_;
  std::string what_;
};

/// A value that travels along an edge, for an input of a task.
struct Input {
  std::string name;
  Payload value;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(name, value);
  }
};

/// Calls the body of a task with its inputs. **Caller**: holds the GIL.
void call_with_inputs(PyObject* body, const Key& key, Gathered<Input> inputs) {
  nb::list list;
  for (Input& input : inputs.values) {
    const auto [bytes, buffers] = to_python(input.value);
    list.append(nb::make_tuple(input.name, nb::handle(bytes.get()), nb::handle(buffers.get())));
  }
  const nb::bytes code(key.code.data(), key.code.size());
  static_cast<void>(call(hooks().call_with_inputs, pack(body, code.ptr(), list.ptr()).get()));
}

/// A task graph, which ends with the main function of its rank.
class PyGraph {
 public:
  PyGraph(PyTeam& team, const std::string& name, nb::handle task, nb::handle indegree,
          nb::handle rank, nb::handle priority, bool has_inputs, nb::handle place) {
    const auto here = team.get();
    const std::string what = "task graph '" + name + "'";
    RankObjects& kept = rank_objects_of(team, what);
    record_place(name, place);
    const bool has_rank = !rank.is_none();
    const bool has_priority = !priority.is_none();
    auto graph =
        make(*here, name,
             {KeyFunction(task, what), KeyFunction(indegree, what + ": indegree="),
              KeyFunction(rank, what + ": rank="), KeyFunction(priority, what + ": priority="),
              has_inputs, has_rank, has_priority});
    run_ = team.run;
    kept.add(graph);
    graph_ = graph;
    name_ = name;
  }

  void fulfill(const nb::bytes& code, const std::string& text, int count) {
    const auto graph = get();
    const Key key{std::string(code.c_str(), code.size()), text};
    const OutsidePython outside;
    graph->fulfill(key, count);
  }
  /// Sends one value to an input of several tasks; `keys` are pairs of bytes and text.
  void send(const nb::list& keys, const std::string& input, nb::handle payload) {
    const auto graph = get();
    std::vector<Key> targets;
    for (const nb::handle key : keys) {
      const auto code = nb::cast<nb::bytes>(key[0]);
      targets.push_back({std::string(code.c_str(), code.size()), nb::cast<std::string>(key[1])});
    }
    Input value{input, to_payload(payload.ptr())};
    const OutsidePython outside;
    if (targets.size() == 1) {
      graph->send(targets.front(), 0, std::move(value));
    } else {
      graph->send_all(targets, 0, std::move(value));
    }
  }

 private:
  struct Functions {
    KeyFunction task;
    KeyFunction indegree;
    KeyFunction rank;
    KeyFunction priority;
    bool has_inputs;
    bool has_rank;
    bool has_priority;
  };
  /// Makes the graph without the GIL: messages for it that have come already may be handled first.
  static std::shared_ptr<TaskGraph<Key>> make(Team& team, const std::string& name,
                                              const Functions& functions) {
    const OutsidePython outside;
    auto graph = std::make_shared<TaskGraph<Key>>(team, name, std::source_location());
    graph->set_indegree([f = functions.indegree](const Key& key) { return f.number(key); });
    if (functions.has_priority) {
      graph->set_priority([f = functions.priority](const Key& key) { return f.number(key); });
    }
#if PY_VERSION_HEX >= 0x030C0000
    graph->set_binding([](const Key&) { return true; });  // see task_options()
#endif
    if (functions.has_inputs) {
      graph->set_task([body = functions.task](const Key& key, Gathered<Input> inputs) {
        const InPython in_python;
        call_with_inputs(body.function(), key, std::move(inputs));
      });
    } else {
      graph->set_task([body = functions.task](const Key& key) {
        const InPython in_python;
        static_cast<void>(body(key));
      });
    }
    const int size = team.size();
    if (functions.has_rank) {
      graph->set_rank([f = functions.rank](const Key& key) { return f.number(key); });
    } else {
      graph->set_rank([size](const Key& key) {
        return static_cast<int>(KeyHash<Key>{}(key) % static_cast<std::uint64_t>(size));
      });
    }
    return graph;
  }
  [[nodiscard]] Entered<TaskGraph<Key>> get() const {
    return {run_, graph_, [this] { return "task graph '" + name_ + "'"; }};
  }

  RunEnd run_;
  std::weak_ptr<TaskGraph<Key>> graph_;
  std::string name_;
};

}  // namespace

void bind_graphs(nb::module_& module) {
  nb::class_<PyGraph>(module, "_TaskGraph")
      .def(nb::init<PyTeam&, const std::string&, nb::handle, nb::handle, nb::handle, nb::handle,
                    bool, nb::handle>(),
           nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none(),
           nb::arg(), nb::arg())
      .def("fulfill", &PyGraph::fulfill)
      .def("send", &PyGraph::send);
}

}  // namespace shoal::python
