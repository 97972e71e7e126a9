// Calls and messages between ranks. Plain ones, those of functions that are found by their names
// and take numbers and short texts, are made and run without Python code of the package.

#include <nanobind/nanobind.h>

#include <shoal/shoal.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "binding.hpp"
#include "errors.hpp"
#include "future.hpp"
#include "interpreter.hpp"
#include "plain.hpp"
#include "value.hpp"

namespace shoal::python {

namespace {

constexpr std::size_t kValuesMax = 12;  // of a plain call

/// Names of attributes, made once.
struct Names {
  PyObject* module = PyUnicode_InternFromString("__module__");
  PyObject* qualname = PyUnicode_InternFromString("__qualname__");
  PyObject* copy = PyUnicode_InternFromString("copy");
  PyObject* run = PyUnicode_InternFromString("run");
};
const Names& names() {
  static const Names names;
  return names;
}

bool is_function(PyObject* object) {
  return reinterpret_cast<PyObject*>(Py_TYPE(object)) == hooks().function_type;
}

/// Attribute of an object, without an exception where there is none.
Object find_attribute(PyObject* object, PyObject* name) {
  Object found = Object::own(PyObject_GetAttr(object, name));
  if (!found) PyErr_Clear();
  return found;
}

// --- sending

bool is_found_by_name(PyObject* function, PyObject* module, PyObject* name) {
  PyObject* const place = PyDict_GetItemWithError(hooks().modules, module);
  if (place == nullptr) PyErr_Clear();
  if (place != nullptr && find_attribute(place, name).get() == function) return true;
  const Object arguments = Object::own(PyTuple_Pack(1, function));
  const Object answer = call(hooks().is_found_by_name, arguments.get());
  return PyObject_IsTrue(answer.get()) == 1;
}

/// Writes a call. Returns false for one that is not plain.
bool write_call(PlainWriter& writer, PyObject* function, PyObject* arguments, PyObject* keywords) {
  if (!is_function(function) || PyDict_Size(keywords) != 0) return false;
  const auto count = static_cast<std::size_t>(PyTuple_Size(arguments));
  if (count > kValuesMax) return false;
  std::array<PyObject*, kValuesMax> values;
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = PyTuple_GetItem(arguments, static_cast<Py_ssize_t>(i));
  }
  const Object module = find_attribute(function, names().module);
  const Object name = find_attribute(function, names().qualname);
  return module && name &&
         writer.add_call(module.get(), name.get(), std::span(values).first(count)) &&
         is_found_by_name(function, module.get(), name.get());
}

/// A kind of call, as errors name it.
struct CallKind {
  const char* name;      // of the method
  const char* what;      // before the name of the function
  const char* argument;  // as `what`, of an argument
};
constexpr CallKind kCall{"call()", "a call of", "an argument of a call of"};
constexpr CallKind kSend{"send()", "a message for", "an argument of a message for"};
constexpr CallKind kSendTask{"send_task()", "a message for", "an argument of a message for"};

Payload dump_call(PyObject* function, PyObject* arguments, PyObject* keywords,
                  const CallKind& kind) {
  PlainWriter writer;
  if (write_call(writer, function, arguments, keywords)) {
    return {Block(writer.take()), {}};
  }
  const Object dumped = Object::own(PyObject_CallFunction(hooks().dump_call, "OOOs", function,
                                                          arguments, keywords, kind.argument));
  if (!dumped) throw_python_error();
  return to_payload(dumped.get());
}

/// Returns the rank of a call. **Errors**: PythonError for a rank that there is not, and a function
/// that cannot be called.
Rank to_rank(PyTeam& team, const Team& here, nb::handle rank, nb::handle function,
             const CallKind& kind) {
  if (PyLong_CheckExact(rank.ptr()) && PyCallable_Check(function.ptr()) == 1) {
    int overflow = 0;
    const long number = PyLong_AsLongAndOverflow(rank.ptr(), &overflow);
    if (overflow == 0 && number >= 0 && number < here.size()) return Rank(static_cast<int>(number));
  }
  const Object checked =
      Object::own(PyObject_CallFunction(hooks().check_call, "OOOss", nb::find(team).ptr(),
                                        rank.ptr(), function.ptr(), kind.what, kind.name));
  if (!checked) throw_python_error();
  return Rank(static_cast<int>(PyLong_AsLong(checked.get())));
}

// --- running

/// A plain call that has arrived.
class PlainCall {
 public:
  /// **Caller**: holds the GIL. **Errors**: DecodeError.
  explicit PlainCall(std::span<const char> bytes) {
    PlainReader reader(bytes.subspan(1));
    module_ = reader.next();
    name_ = reader.next();
    for (; !reader.is_at_end(); ++count_) {
      if (count_ == kValuesMax) PlainReader::refuse();
      values_[count_] = reader.next();
    }
  }

  /// Finds the function. Returns false after an exception of Python.
  bool find() {
    PyObject* interned = name_.release();
    PyUnicode_InternInPlace(&interned);  // lookups of such a name are fast
    name_ = Object::own(interned);
    PyObject* const place = PyDict_GetItemWithError(hooks().modules, module_.get());
    if (place != nullptr) function_ = find_attribute(place, name_.get());
    if (!function_) {
      PyErr_Clear();
      function_ = Object::own(
          PyObject_CallFunctionObjArgs(hooks().find_function, module_.get(), name_.get(), nullptr));
    }
    return static_cast<bool>(function_);
  }
  [[nodiscard]] PyObject* function() const { return function_.get(); }

  /// Calls the function in a context. Returns nothing after an exception of Python.
  [[nodiscard]] Object run(PyObject* context) const {
    std::array<PyObject*, kValuesMax + 3> words;  // the first one is the callee's to use
    words[1] = context;
    words[2] = function_.get();
    for (std::size_t i = 0; i < count_; ++i) words[3 + i] = values_[i].get();
    if (is_function(function_.get())) return run(words.data() + 1, count_ + 2);
    const Object arguments = Object::own(PyTuple_New(static_cast<Py_ssize_t>(count_)));
    if (!arguments) return {};
    for (std::size_t i = 0; i < count_; ++i) {
      Py_INCREF(words[3 + i]);
      PyTuple_SetItem(arguments.get(), static_cast<Py_ssize_t>(i), words[3 + i]);
    }
    const Object keywords = Object::own(PyDict_New());
    if (!keywords) return {};
    words[2] = hooks().invoke_any;
    words[3] = function_.get();
    words[4] = arguments.get();
    words[5] = keywords.get();
    return run(words.data() + 1, 5);
  }

 private:
  static Object run(PyObject* const* words, std::size_t count) {
    return Object::own(PyObject_VectorcallMethod(names().run, words,
                                                 count | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
  }

  Object module_;
  Object name_;
  Object function_;
  std::array<Object, kValuesMax> values_;
  std::size_t count_ = 0;
};

/// Returns a context in which the world is the current one.
Object make_context(PyObject* world) {
  auto& here = *nb::inst_ptr<PyWorld>(nb::handle(world));
  if (!here.context) {
    here.context = call(hooks().make_context, Object::own(PyTuple_Pack(1, world)).get());
  }
  PyObject* const self = here.context.get();
  Object made = Object::own(PyObject_VectorcallMethod(names().copy, &self, 1, nullptr));
  if (!made) throw_python_error();
  return made;
}

Outcome answer(PyObject* world, const Payload& payload) {
  if (!is_plain_call(payload.body.bytes())) {
    const auto [body, buffers] = to_python(payload);
    return to_outcome(call(hooks().serve, pack(world, body.get(), buffers.get()).get()).get());
  }
  PlainCall plain(payload.body.bytes());
  const Object context = make_context(world);
  Object result;
  if (plain.find()) result = plain.run(context.get());
  if (!result) {
    const Object error = take_raised();
    return to_outcome(call(hooks().refuse, pack(world, error.get()).get()).get());
  }
  PlainWriter writer;
  if (writer.add(result.get())) return {false, {Block(writer.take()), {}}};
  const Object arguments =
      Object::own(PyTuple_Pack(4, world, context.get(), result.get(), plain.function()));
  return to_outcome(call(hooks().finish_call, arguments.get()).get());
}

void deliver_here(PyObject* world, const Payload& payload) {
  if (!is_plain_call(payload.body.bytes())) {
    const auto [body, buffers] = to_python(payload);
    static_cast<void>(call(hooks().deliver, pack(world, body.get(), buffers.get()).get()));
    return;
  }
  PlainCall plain(payload.body.bytes());
  const Object context = make_context(world);
  Object result;
  if (plain.find()) result = plain.run(context.get());
  if (!result) throw_python_error();
  if (result.get() == Py_None) return;
  static_cast<void>(
      call(hooks().complete, pack(context.get(), result.get(), plain.function()).get()));
}

// --- handlers of other ranks' calls and messages

/// Gives a promise of this rank the exception that a call has raised.
void fail_call(Team& team, std::uint64_t number, const Payload& payload) {
  std::exception_ptr error;
  try {
    const InPython in_python;
    throw_python_exception(load(hooks().load_error, payload));
  } catch (...) {
    error = std::current_exception();
  }
  team::promises_of(team.core()).fail(number, std::move(error));
}

Outcome run_call(Team& team, const std::string& name, const Payload& payload) {
  return run_python(
      team,
      [&team, &payload] {
        const InPython in_python;
        return answer(object_of(world_of(team)).get(), payload);
      },
      name);
}

/// Runs a call, and sends the pickle of its result, or its exception. Team::call() would bring back
/// the exception as a text. `name`: that of name_call().
void serve(Team& team, RemotePromise<Value> reply, const std::string& name,
           const Payload& payload) {
  Outcome outcome;
  try {
    outcome = run_call(team, name, payload);
  } catch (const CancelledError&) {
    throw;  // the team has failed, and the caller hears of that
  } catch (const std::exception& error) {
    team::fail(team.core(), reply, "call()", error.what());
    return;
  }
  if (!outcome.is_error) {
    team::fulfill(team.core(), reply, Value(std::move(outcome.payload)));
    return;
  }
  const auto to = team::address_of(team.core(), reply.rank, reply.in_world != 0);
  team::send(to.core, to.member, am<&fail_call, Delivery::task>, reply.number,
             std::move(outcome.payload));
}

void deliver(Team& team, const Payload& payload) {
  const InPython in_python;
  deliver_here(object_of(world_of(team)).get(), payload);
}

void deliver_task(Team& team, const std::string& name, const Payload& payload) {
  run_python(
      team, [&team, &payload] { deliver(team, payload); }, name);
}

// --- methods of teams

PyFuture call_rank(PyTeam& team, nb::handle rank, nb::handle function, nb::handle arguments,
                   nb::handle keywords) {
  const auto here = team.get();
  const Rank to = to_rank(team, *here, rank, function, kCall);
  Payload encoded = dump_call(function.ptr(), arguments.ptr(), keywords.ptr(), kCall);
  const std::string name = name_call(function);
  const OutsidePython outside;
  team::PendingCall<Value> awaited(here->core());
  here->send(to, am<&serve, Delivery::task>, awaited.reply, name, std::move(encoded));
  return PyFuture(std::move(awaited.future).share(), team.run);
}

void send(PyTeam& team, nb::handle rank, nb::handle function, nb::handle arguments,
          nb::handle keywords) {
  const auto here = team.get();
  const Rank to = to_rank(team, *here, rank, function, kSend);
  Payload encoded = dump_call(function.ptr(), arguments.ptr(), keywords.ptr(), kSend);
  const OutsidePython outside;
  here->send(to, am<&deliver>, std::move(encoded));
}

void send_task(PyTeam& team, nb::handle rank, nb::handle function, nb::handle arguments,
               nb::handle keywords) {
  const auto here = team.get();
  const Rank to = to_rank(team, *here, rank, function, kSendTask);
  Payload encoded = dump_call(function.ptr(), arguments.ptr(), keywords.ptr(), kSendTask);
  const std::string name = name_call(function);
  const OutsidePython outside;
  here->send(to, am<&deliver_task, Delivery::task>, name, std::move(encoded));
}

}  // namespace

void bind_calls(nb::class_<PyTeam>& team) {
  const auto define = [&team](const char* name, auto method) {
    team.def(name, method, nb::arg("rank").none(), nb::arg("function").none(), nb::arg("arguments"),
             nb::arg("keywords"));
  };
  define("_call", &call_rank);
  define("_send", &send);
  define("_send_task", &send_task);
}

}  // namespace shoal::python
