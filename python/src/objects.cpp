// Distributed objects.

#include <nanobind/nanobind.h>

#include <shoal/distributed_object.hpp>

#include <memory>
#include <string>
#include <utility>

#include "binding.hpp"
#include "future.hpp"

namespace shoal::python {

namespace {

/// Representative of a distributed object on a rank: an object of Python.
class Representative : public DistributedObject<Representative> {
 public:
  Representative(Team& team, python::Object object)
      : DistributedObject(team), object_(std::move(object)) {}

  /// `name`: that of name_call().
  Outcome invoke(const std::string& name, const Payload& payload) {
    return run_python(
        team(),
        [this, &payload] {
          const InPython in_python;
          const auto [body, buffers] = to_python(payload);
          const python::Object here = object_of(world_of(team()));
          const python::Object arguments = python::Object::own(
              PyTuple_Pack(4, here.get(), object_.get(), body.get(), buffers.get()));
          if (!arguments) throw_python_error();
          return to_outcome(python::call(hooks().invoke, arguments.get()).get());
        },
        name);
  }
  /// As invoke(); an exception fails the team.
  void notify(const std::string& name, const Payload& payload) {
    const Outcome outcome = invoke(name, payload);
    if (!outcome.is_error) return;
    const InPython in_python;
    throw_python_exception(load(hooks().load_error, outcome.payload));
  }

 private:
  python::Object object_;
};

/// A distributed object, whose representatives end with the main functions.
class PyObjectHandle {
 public:
  PyObjectHandle(PyTeam& team, nb::handle object) {
    const auto here = team.get();
    RankObjects& kept = rank_objects_of(team, "a distributed object");
    python::Object held = python::Object::share(object.ptr());
    std::shared_ptr<Representative> made;
    {
      const OutsidePython outside;  // invocations that have come already may run first
      made = std::make_shared<Representative>(*here, std::move(held));
    }
    kept.add(made);
    representative_ = made;
    run_ = team.run;
  }

  PyFuture call(int rank, nb::handle payload, nb::handle method) {
    const auto here = get();
    Payload encoded = to_payload(payload.ptr());
    const std::string name = name_call(method);
    const OutsidePython outside;
    return PyFuture(here->call<&Representative::invoke>(Rank(rank), name, std::move(encoded))
                        .then(&take_outcome, "the result of an invocation")
                        .share(),
                    run_);
  }
  void send(int rank, nb::handle payload, nb::handle method) {
    const auto here = get();
    Payload encoded = to_payload(payload.ptr());
    const std::string name = name_call(method);
    const OutsidePython outside;
    here->async<&Representative::notify>(Rank(rank), name, std::move(encoded));
  }
  void fence() {
    const auto here = get();
    const OutsidePython outside;
    here->fence();
  }

 private:
  [[nodiscard]] Entered<Representative> get() const {
    return {run_, representative_, [] { return std::string("a distributed object"); }};
  }

  std::weak_ptr<Representative> representative_;
  RunEnd run_;
};

}  // namespace

void bind_objects(nb::module_& module) {
  nb::class_<PyObjectHandle>(module, "_Object")
      .def(nb::init<PyTeam&, nb::handle>())
      .def("call", &PyObjectHandle::call)
      .def("send", &PyObjectHandle::send)
      .def("fence", &PyObjectHandle::fence);
}

}  // namespace shoal::python
