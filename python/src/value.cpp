#include "value.hpp"

#include "errors.hpp"

namespace nb = nanobind;

namespace shoal::python {

namespace {

std::vector<char> copy_buffer(PyObject* object) {
  Py_buffer view;
  if (PyObject_GetBuffer(object, &view, PyBUF_SIMPLE) != 0) throw_python_error();
  const char* const data = static_cast<const char*>(view.buf);
  std::vector<char> copy(data, data + view.len);
  PyBuffer_Release(&view);
  return copy;
}

Object make_bytes(std::vector<char>&& data) {
  auto bytes = std::make_unique<Bytes>(Bytes{std::move(data)});
  return Object::own(nb::cast(bytes.release(), nb::rv_policy::take_ownership).release().ptr());
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  auto& data = nb::inst_ptr<Bytes>(self)->data;
  return PyBuffer_FillInfo(view, self, data.data(), static_cast<Py_ssize_t>(data.size()), 0, flags);
}

}  // namespace

Payload to_payload(PyObject* pair) {
  Payload payload;
  payload.body = copy_buffer(PyTuple_GetItem(pair, 0));
  PyObject* const buffers = PyTuple_GetItem(pair, 1);
  const Py_ssize_t count = PyList_Size(buffers);
  payload.buffers.reserve(static_cast<std::size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    payload.buffers.push_back(copy_buffer(PyList_GetItem(buffers, i)));
  }
  return payload;
}

std::pair<Object, Object> to_python(Payload&& payload) {
  Object body = make_bytes(std::move(payload.body));
  Object buffers = Object::own(PyList_New(0));
  for (auto& data : payload.buffers) {
    const Object bytes = make_bytes(std::move(data));
    if (!buffers || PyList_Append(buffers.get(), bytes.get()) != 0) throw_python_error();
  }
  return {std::move(body), std::move(buffers)};
}

void bind_bytes(nb::module_& module) {
  static PyType_Slot slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(&get_buffer)},
                                {0, nullptr}};
  nb::class_<Bytes>(module, "Bytes", nb::type_slots(slots),
                    "Memory that owns its bytes, with the buffer protocol.");
}

}  // namespace shoal::python
