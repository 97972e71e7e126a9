#include "errors.hpp"

#include <shoal/future.hpp>
#include <shoal/remote_promise.hpp>

namespace shoal::python {

namespace {

/// Attribute of the module shoal._errors.
Object find(const char* name) {
  const Object module = Object::own(PyImport_ImportModule("shoal._errors"));
  return module ? Object::own(PyObject_GetAttrString(module.get(), name)) : Object();
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

/// UTF-8 text of a str; `otherwise` for nullptr and after an error, which it clears.
std::string text_of(PyObject* text, const char* otherwise) {
  const char* const bytes = text != nullptr ? PyUnicode_AsUTF8(text) : nullptr;
  PyErr_Clear();
  return bytes != nullptr ? bytes : otherwise;
}

std::string describe_python(PyObject* exception) {
  const Object format = find("format_exception");
  const Object text = format ? Object::own(PyObject_CallOneArg(format.get(), exception)) : Object();
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

void set(const char* name, const std::exception& error) {
  const Object type = find(name);
  if (type) PyErr_SetString(type.get(), error.what());
}

void set(const TaskError& error) {
  const Object type = find("TaskError");
  if (!type) return;
  const Object exception =
      Object::own(PyObject_CallFunction(type.get(), "siss", error.what(), int{error.rank()},
                                        error.task_name().c_str(), error.text().c_str()));
  if (exception) PyErr_SetObject(type.get(), exception.get());
}

}  // namespace

void throw_python_exception(Object exception) {
  if (is_a(exception.get(), "CancelledError")) throw CancelledError(plain_text(exception.get()));
  if (is_a(exception.get(), "StuckError")) throw StuckError(plain_text(exception.get()));
  if (is_a(exception.get(), "TaskError")) {
    const Object rank = Object::own(PyObject_GetAttrString(exception.get(), "rank"));
    const long number = rank ? PyLong_AsLong(rank.get()) : -1;
    PyErr_Clear();
    throw TaskError(Rank(static_cast<int>(number)), attribute(exception.get(), "task"),
                    attribute(exception.get(), "text"));
  }
  const std::string text = describe_python(exception.get());
  throw PythonError(text, std::move(exception));
}

void throw_python_error() { throw_python_exception(take_raised()); }

Object call(PyObject* function, PyObject* arguments, PyObject* keywords) {
  Object result = Object::own(PyObject_Call(function, arguments, keywords));
  if (!result) throw_python_error();
  return result;
}

void set_python_error(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const PythonError& e) {
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(e.exception())), e.exception());
  } catch (const CancelledError& e) {
    set("CancelledError", e);
  } catch (const TaskError& e) {
    set(e);
  } catch (const StuckError& e) {
    set("StuckError", e);
  } catch (const CheckError& e) {
    set("CheckError", e);
  } catch (const ConfigError& e) {
    set("ConfigError", e);
  } catch (const DecodeError& e) {
    set("DecodeError", e);
  } catch (const TransportError& e) {
    set("TransportError", e);
  } catch (const BrokenPromise& e) {
    set("BrokenPromise", e);
  } catch (const RemoteError& e) {
    set("RemoteError", e);
  } catch (const Error& e) {
    set("Error", e);
  }
}

}  // namespace shoal::python
