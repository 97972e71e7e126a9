#include "value.hpp"

#include "binding.hpp"
#include "env/freed_memory.hpp"
#include "errors.hpp"

namespace nb = nanobind;

namespace shoal::python {

namespace {

constexpr Py_ssize_t kLargeBytes = 16L << 10U;  // as net::kPieceBytes: it travels apart

bool is_constant(PyObject* buffer) {
  const Object answer =
      Object::own(PyObject_CallFunctionObjArgs(hooks().is_constant, buffer, nullptr));
  if (!answer) throw_python_error();
  return PyObject_IsTrue(answer.get()) == 1;
}

Block to_block(PyObject* object) {
  Py_buffer view;
  if (PyObject_GetBuffer(object, &view, PyBUF_SIMPLE) != 0) throw_python_error();
  struct Release {
    Py_buffer& view;
    ~Release() { PyBuffer_Release(&view); }
  } const release{view};
  char* const data = static_cast<char*>(view.buf);
  if (view.len < kLargeBytes || view.readonly == 0 || !is_constant(object)) {
    std::vector<char> copy;
    copy.reserve(static_cast<std::size_t>(view.len));
    env::prefer_huge_pages(copy.data(), copy.capacity());
    copy.assign(data, data + view.len);
    return Block(std::move(copy));
  }
  Object kept = Object::own(PyMemoryView_FromObject(object));
  if (!kept) throw_python_error();
  return {std::move(kept), std::span(data, static_cast<std::size_t>(view.len))};
}

Object to_object(const Block& block) {
  if (block.view() != nullptr) return Object::share(block.view());
  auto bytes = std::make_unique<Bytes>(Bytes{block.share()});
  return Object::own(nb::cast(bytes.release(), nb::rv_policy::take_ownership).release().ptr());
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  const std::span<char> bytes = nb::inst_ptr<Bytes>(self)->block.bytes();
  return PyBuffer_FillInfo(view, self, bytes.data(), static_cast<Py_ssize_t>(bytes.size()), 0,
                           flags);
}

}  // namespace

Payload to_payload(PyObject* pair) {
  Payload payload;
  payload.body = to_block(PyTuple_GetItem(pair, 0));
  PyObject* const buffers = PyTuple_GetItem(pair, 1);
  const Py_ssize_t count = PyList_Size(buffers);
  payload.buffers.reserve(static_cast<std::size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    payload.buffers.push_back(to_block(PyList_GetItem(buffers, i)));
  }
  return payload;
}

std::pair<Object, Object> to_python(const Payload& payload) {
  const std::span<char> bytes = payload.body.bytes();
  const auto size = static_cast<Py_ssize_t>(bytes.size());
  Object body = size < kLargeBytes ? Object::own(PyBytes_FromStringAndSize(bytes.data(), size))
                                   : to_object(payload.body);
  Object buffers = Object::own(PyList_New(0));
  if (!body || !buffers) throw_python_error();
  for (const Block& block : payload.buffers) {
    const Object item = to_object(block);
    if (PyList_Append(buffers.get(), item.get()) != 0) throw_python_error();
  }
  return {std::move(body), std::move(buffers)};
}

// The GIL may change hands while it is made: then the first one made is the value.
PyObject* Value::new_reference() const {
  if (!held_->object) {
    Object made = load(hooks().load, held_->payload);
    if (!held_->object) held_->object = std::move(made);
  }
  PyObject* const object = held_->object.get();
  Py_INCREF(object);
  return object;
}

void bind_bytes(nb::module_& module) {
  static PyType_Slot slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(&get_buffer)},
                                {0, nullptr}};
  nb::class_<Bytes>(module, "Bytes", nb::type_slots(slots),
                    "Memory that owns its bytes, with the buffer protocol.");
}

}  // namespace shoal::python
