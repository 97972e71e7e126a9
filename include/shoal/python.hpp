#pragma once
// For extension modules of Python that run tasks in the worlds of the package shoal. The only
// public header that includes Python.h, which is to come first: include this one before others.
// Link the modules with the shoal::shoal of the package, so that a process has one copy of shoal.

#include <Python.h>

#include <shoal/detail/team/handler.hpp>
#include <shoal/error.hpp>
#include <shoal/team.hpp>
#include <shoal/version.hpp>

#include <atomic>
#include <exception>
#include <string>
#include <string_view>

namespace shoal::python {

namespace detail {

/// Name of the capsule in which extension modules find the address of the package's table.
inline constexpr const char* kPackage = "shoal._core._package";
/// Table of functions that the package gives to extension modules.
struct Package {
  const char* version;
  const void* library;  // library() of the package
  std::string (*refuse_copy)(const void* other);
  Team* (*team_of)(PyObject* object);
  PyThreadState* (*leave)();
  void (*enter)(PyThreadState* state);
  void (*set_error)(const std::exception_ptr& error);
};

/// Address of the copy of shoal that the caller is linked with.
inline const void* library() { return reinterpret_cast<const void*>(&team::static_handlers); }

/// Returns the table of the package, or nullptr with a Python exception if it cannot be imported.
/// In a table of another version only the version may be read.
inline const Package* find_package() {
  static std::atomic<const Package*> found{nullptr};
  if (const Package* const known = found.load(std::memory_order_acquire)) return known;
  const auto* const package = static_cast<const Package*>(PyCapsule_Import(kPackage, 0));
  found.store(package, std::memory_order_release);
  return package;
}

/// Sets the Python exception of a class of the package; a RuntimeError where there is no package.
inline void set_error(const char* name, const char* text) {
  PyObject* const module = PyImport_ImportModule("shoal");
  PyObject* const type = module != nullptr ? PyObject_GetAttrString(module, name) : nullptr;
  PyErr_Clear();
  PyErr_SetString(type != nullptr ? type : PyExc_RuntimeError, text);
  Py_XDECREF(type);
  Py_XDECREF(module);
}

/// Returns the table of the package. **Errors**: ConfigError if the package is not there, or is not
/// the one that the caller was built for.
inline const Package& package() {
  const Package* const found = find_package();
  if (found == nullptr) {
    PyErr_Clear();
    throw ConfigError("this extension module needs the package shoal " SHOAL_VERSION
                      ", and none can be imported here that knows extension modules: install it");
  }
  if (std::string_view(found->version) != SHOAL_VERSION) {
    throw ConfigError(std::string("this extension module was compiled for shoal " SHOAL_VERSION
                                  ", and the package here is ") +
                      found->version + ": build the module again");
  }
  if (found->library != library()) throw ConfigError(found->refuse_copy(library()));
  return *found;
}

}  // namespace detail

/// Returns the team, or the World, that an object of the package stands for. **Caller**: holds the
/// GIL. **Errors**: CheckError for other objects, and for a world or team that has ended;
/// ConfigError if the module is linked with a copy of shoal of its own, or was built for another
/// version.
[[nodiscard]] inline Team& team_of(PyObject* object) { return *detail::package().team_of(object); }

/// Section of a function that Python has called, without the GIL: around each call of shoal that
/// may wait, such as a collective operation, a loop, or get() of a future. A task may continue on
/// another thread, or others on this one: a function that pybind11 binds must not wait, because
/// pybind11 has a stack of the calls of each thread. **Caller**: holds the GIL, and has called
/// team_of().
class WithoutGil {
 public:
  WithoutGil() : package_(detail::package()), state_(package_.leave()) {}
  ~WithoutGil() { package_.enter(state_); }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  const detail::Package& package_;
  PyThreadState* const state_;
};

/// Sets the Python exception for an exception of shoal: that of the package. **Caller**: holds the
/// GIL. **Errors**: rethrows exceptions that are not of shoal.
inline void set_error(const std::exception_ptr& error) {
  const detail::Package* const package = detail::find_package();
  if (package != nullptr && std::string_view(package->version) == SHOAL_VERSION) {
    package->set_error(error);
    return;
  }
  try {
    std::rethrow_exception(error);
  } catch (const ConfigError& wrong_version) {
    detail::set_error("ConfigError", wrong_version.what());
  } catch (const Error& of_shoal) {
    detail::set_error("Error", of_shoal.what());
  }
}

}  // namespace shoal::python
