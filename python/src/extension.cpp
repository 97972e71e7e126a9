// Table of functions for extension modules in C++: see <shoal/python.hpp>.

#include <shoal/python.hpp>

#include <fmt/format.h>

#include <dlfcn.h>

#include "binding.hpp"
#include "thread_state.h"

namespace shoal::python {

namespace {

std::string file_of(const void* address) {
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return "a file without a name";
  return info.dli_fname;
}

std::string refuse_copy(const void* other) {
  return fmt::format(
      "two copies of shoal are in this process, one of the package in {}, and one of an extension "
      "module in {}: link the module with the shoal::shoal that find_package(shoal) takes from the "
      "folder of `python -m shoal cmake`",
      file_of(detail::library()), file_of(other));
}

Team* team_of_object(PyObject* object) {
  const nb::handle handle(object);
  if (!nb::isinstance<PyTeam>(handle)) {
    throw CheckError(
        fmt::format("{} is no World and no Team of the package shoal", nb::repr(handle).c_str()));
  }
  return &*nb::inst_ptr<PyTeam>(handle)->get();
}

}  // namespace

void bind_extension(nb::module_& module) {
  static const detail::Package package{SHOAL_VERSION,    detail::library(),          &refuse_copy,
                                       &team_of_object,  &shoal_detach_thread_state, &take_gil,
                                       &set_python_error};
  module.attr("_package") = nb::capsule(&package, detail::kPackage);
}

}  // namespace shoal::python
