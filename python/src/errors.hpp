#pragma once
// Exceptions that pass between Python and shoal.

#include <shoal/error.hpp>

#include <memory>
#include <string>

#include "interpreter.hpp"

namespace shoal::python {

/// Exception of Python code on its way through C++. what() has type, message and traceback.
class PythonError : public Error {
 public:
  PythonError(const std::string& text, Object exception)
      : Error(text), exception_(std::make_shared<Object>(std::move(exception))) {}
  [[nodiscard]] PyObject* exception() const { return exception_->get(); }

 private:
  std::shared_ptr<Object> exception_;
};

/// Returns a text of shoal with what a program in Python is told to do, in place of one in C++.
[[nodiscard]] std::string for_python(std::string text);

/// Returns the Python exception that is set, which is not any more. **Caller**: holds the GIL.
[[nodiscard]] Object take_raised();
/// Throws the Python exception that is set as a C++ one: PythonError, or that of shoal which it
/// stands for. **Caller**: holds the GIL.
[[noreturn]] void throw_python_error();
/// Throws a Python exception object, as throw_python_error(). **Caller**: holds the GIL.
[[noreturn]] void throw_python_exception(Object exception);

/// Returns whether what raised it may succeed later: it is an Exception, and no CheckError.
/// **Caller**: holds the GIL.
[[nodiscard]] bool may_succeed_later(const PythonError& error);

/// Calls a Python object with positional arguments and, unless nullptr, keywords. **Caller**: holds
/// the GIL. **Errors**: as throw_python_error().
[[nodiscard]] Object call(PyObject* function, PyObject* arguments, PyObject* keywords = nullptr);

/// Sets the Python exception for a C++ exception of shoal; rethrows others. **Caller**: holds the
/// GIL.
void set_python_error(const std::exception_ptr& error);

}  // namespace shoal::python
