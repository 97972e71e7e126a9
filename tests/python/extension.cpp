// An extension module that sends messages of C++ in a world of Python. Linked with the library of
// the package, or, which is refused, with one of its own.

#include <shoal/python.hpp>

#include <shoal/shoal.hpp>

#include <atomic>
#include <exception>

namespace {

std::atomic<long> g_sum{0};  // of the ranks of this process

void add(long value) { g_sum += value; }

PyObject* send_to_all(PyObject* /*module*/, PyObject* world) {
  try {
    shoal::Team& team = shoal::python::team_of(world);
    const shoal::python::WithoutGil others_run;
    for (int rank = 0; rank < team.size(); ++rank) {
      team.send(shoal::Rank(rank), shoal::am<add>, long{team.rank().value() + 1});
    }
  } catch (...) {
    shoal::python::set_error(std::current_exception());
    return nullptr;
  }
  Py_RETURN_NONE;
}

PyObject* sum(PyObject* /*module*/, PyObject* /*unused*/) { return PyLong_FromLong(g_sum); }

PyMethodDef g_functions[] = {{"send_to_all", &send_to_all, METH_O, nullptr},
                             {"sum", &sum, METH_NOARGS, nullptr},
                             {nullptr, nullptr, 0, nullptr}};
PyModuleDef g_module = {PyModuleDef_HEAD_INIT,
                        "extension",
                        nullptr,
                        -1,
                        g_functions,
                        nullptr,
                        nullptr,
                        nullptr,
                        nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_extension() { return PyModule_Create(&g_module); }
