#include "errors.hpp"

#include <shoal/future.hpp>
#include <shoal/remote_promise.hpp>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

namespace shoal::python {

namespace {

/// Attribute of the module shoal._errors.
Object find(const char* name) {
  const Object module = Object::own(PyImport_ImportModule("shoal._errors"));
  return module ? Object::own(PyObject_GetAttrString(module.get(), name)) : Object();
}

/// UTF-8 text of a str; `otherwise` for nullptr and after an error, which it clears.
std::string text_of(PyObject* text, const char* otherwise) {
  const char* const bytes = text != nullptr ? PyUnicode_AsUTF8AndSize(text, nullptr) : nullptr;
  PyErr_Clear();
  return bytes != nullptr ? bytes : otherwise;
}

std::string describe_python(PyObject* exception) {
  const Object format = find("format_exception");
  Object text;
  if (format) text = Object::own(PyObject_CallFunctionObjArgs(format.get(), exception, nullptr));
  return text_of(text.get(), "a Python exception whose text cannot be made");
}

std::string attribute(PyObject* object, const char* name) {
  const Object value = Object::own(PyObject_GetAttrString(object, name));
  return text_of(value.get(), "");
}

bool is_a(PyObject* exception, const char* name) {
  const Object type = find(name);
  const bool is = type && PyObject_IsInstance(exception, type.get()) == 1;
  PyErr_Clear();
  return is;
}

std::string plain_text(PyObject* exception) {
  const Object text = Object::own(PyObject_Str(exception));
  return text_of(text.get(), "");
}

/// What a program in C++ is told to do, and what one in Python can do.
constexpr std::pair<std::string_view, std::string_view> kRemedies[] = {
    {"Deliver the message as a task (Delivery::task), or go on in then()",
     "Send it by send_task(), or go on in add_done_callback()"},
    {"call get() or then()", "call result() or add_done_callback()"},
    {" (or make the flow with FlowOptions::pruned)", ""},
    {" (call set_repeating() if tasks of the graph may run again before wait() has returned)", ""},
    {", or GlobalMemoryOptions::heap_bytes", ""},
    {", GlobalMemoryOptions::heap_bytes", ""},
    {", GlobalMemoryOptions::local_heap_bytes", ""},
    {"shoal::run()", "shoal.run()"},
    {"shoal::Runtime", "shoal.Runtime"},
    {"sleep_for(", "sleep("},
    {"work to the runtime by async()", "work to the runtime by submit()"},
};

/// A text, which may quote words that are no UTF-8.
Object to_str(const std::string& text) {
  return Object::own(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
}

/// Raises the class of shoal._errors with the text of a C++ exception.
void raise_text(PyObject* type, const std::exception& error) {
  const Object text = to_str(for_python(error.what()));
  if (text) PyErr_SetObject(type, text.get());
}

void raise_task_error(PyObject* type, const std::exception& exception) {
  const auto& error = static_cast<const TaskError&>(exception);
  const Object what = to_str(for_python(error.what()));
  const Object name = to_str(error.task_name());
  const Object text = to_str(error.text());
  if (!what || !name || !text) return;
  const Object made = Object::own(
      PyObject_CallFunction(type, "OiOO", what.get(), int{error.rank()}, name.get(), text.get()));
  if (made) PyErr_SetObject(type, made.get());
}

void raise_retry_error(PyObject* type, const std::exception& exception) {
  const auto& error = static_cast<const RetryError&>(exception);
  Object last;
  try {
    set_python_error(error.last());
    last = take_raised();
  } catch (const std::exception& other) {
    last = Object::own(PyObject_CallFunction(PyExc_RuntimeError, "s", other.what()));
  } catch (...) {
    last = Object::own(PyObject_CallFunction(PyExc_RuntimeError, "s", error.what()));
  }
  if (!last) return;
  const Object made = Object::own(PyObject_CallFunction(type, "iO", error.attempts(), last.get()));
  if (made) PyErr_SetObject(type, made.get());
}

template <class E>
[[noreturn]] void throw_with_text(PyObject* exception) {
  throw E(plain_text(exception));
}

[[noreturn]] void throw_task_error(PyObject* exception) {
  const Object rank = Object::own(PyObject_GetAttrString(exception, "rank"));
  const long number = rank ? PyLong_AsLong(rank.get()) : -1;
  PyErr_Clear();
  throw TaskError(Rank(static_cast<int>(number)), attribute(exception, "task"),
                  attribute(exception, "text"));
}

template <class E>
bool is(const std::exception& error) {
  return dynamic_cast<const E*>(&error) != nullptr;
}

/// An exception of shoal and its class in shoal._errors.
struct ErrorClass {
  const char* name;
  bool (*matches)(const std::exception&);
  void (*raise)(PyObject* type, const std::exception&) = &raise_text;
  /// From Python to C++; nullptr: it travels as a PythonError.
  void (*throw_cpp)(PyObject* exception) = nullptr;
};

/// Derived classes before their bases.
constexpr ErrorClass kinds[] = {
    {"CancelledError", &is<CancelledError>, &raise_text, &throw_with_text<CancelledError>},
    {"TaskError", &is<TaskError>, &raise_task_error, &throw_task_error},
    {"RetryError", &is<RetryError>, &raise_retry_error},
    {"StuckError", &is<StuckError>, &raise_text, &throw_with_text<StuckError>},
    {"CheckError", &is<CheckError>},
    {"ConfigError", &is<ConfigError>},
    {"DecodeError", &is<DecodeError>},
    {"TransportError", &is<TransportError>},
    {"BrokenPromise", &is<BrokenPromise>},
    {"RemoteError", &is<RemoteError>},
    {"Error", &is<Error>},
};

}  // namespace

std::string for_python(std::string text) {
  for (const auto& [cpp, python] : kRemedies) {
    for (auto at = text.find(cpp); at != text.npos; at = text.find(cpp, at + python.size()))
      text.replace(at, cpp.size(), python);
  }
  return text;
}

Object take_raised() {
#if PY_VERSION_HEX >= 0x030C0000
  return Object::own(PyErr_GetRaisedException());
#else
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback != nullptr) PyException_SetTraceback(value, traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  return Object::own(value);
#endif
}

void throw_python_exception(Object exception) {
  for (const ErrorClass& kind : kinds) {
    if (kind.throw_cpp != nullptr && is_a(exception.get(), kind.name)) {
      kind.throw_cpp(exception.get());
    }
  }
  const std::string text = describe_python(exception.get());
  throw PythonError(text, std::move(exception));
}

void throw_python_error() { throw_python_exception(take_raised()); }

bool may_succeed_later(const PythonError& error) {
  return PyObject_IsInstance(error.exception(), PyExc_Exception) == 1 &&
         !is_a(error.exception(), "CheckError");
}

Object call(PyObject* function, PyObject* arguments, PyObject* keywords) {
  Object result = Object::own(PyObject_Call(function, arguments, keywords));
  if (!result) throw_python_error();
  return result;
}

void set_python_error(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const PythonError& error) {
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.exception())), error.exception());
  } catch (const std::exception& error) {
    const auto* const kind =
        std::ranges::find_if(kinds, [&](const ErrorClass& one) { return one.matches(error); });
    if (kind == std::end(kinds)) throw;
    const Object type = find(kind->name);
    if (type) kind->raise(type.get(), error);
  }
}

}  // namespace shoal::python
