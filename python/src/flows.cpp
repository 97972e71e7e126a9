// Sequential task flow: data are Python objects.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <shoal/archive.hpp>
#include <shoal/detail/sched/attempt.hpp>
#include <shoal/flow.hpp>

#include <cstddef>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "binding.hpp"
#include "flow/core.hpp"

namespace shoal::python {

namespace {

/// Value of a datum on one rank; none before it has come or was written.
struct FlowValue {
  Object object;
};

}  // namespace

}  // namespace shoal::python

namespace shoal::flow {

/// Values travel as pickles. One that arrives is copied into the array that stands in its place, if
/// there is one of its shape: see adopt() in python/shoal/_flow.py. **Caller**: without the GIL.
template <>
struct DataTraits<python::FlowValue> {
  using Value = python::FlowValue;

  static void* make(const Shape& /*shape*/) { return new Value(); }
  static void destroy(void* object) { delete static_cast<Value*>(object); }
  static std::span<std::byte> bytes(void* /*object*/) { return {}; }
  static python::Payload dump(const void* object) {
    const python::InPython in_python;
    PyObject* const value = static_cast<const Value*>(object)->object.get();
    return python::dump(value != nullptr ? value : Py_None);
  }
  static std::vector<std::byte> encode(const void* object) {
    return encoded<python::Payload>(dump(object));
  }
  static void decode(void* object, std::span<const std::byte> bytes) {
    ReadArchive archive(bytes);
    const auto payload = wire::load<python::Payload>(archive);
    archive.finish();
    auto& place = static_cast<Value*>(object)->object;
    const python::InPython in_python;
    python::Object value = python::load(python::hooks().load, payload);
    PyObject* const before = place ? place.get() : Py_None;
    place = python::call(python::hooks().adopt, python::pack(before, value.get()).get());
  }
  /// A copy that is independent of the datum.
  static python::Object copy(void* object) {
    const python::Payload payload = dump(object);
    const python::InPython in_python;
    return python::load(python::hooks().load, payload);
  }
  static constexpr std::size_t kElementBytes = 64;
};

}  // namespace shoal::flow

namespace shoal::python {

namespace {

/// A registered datum.
struct PyDatum {
  Data<FlowValue> data;
};

/// A kind of tasks, by its name.
struct PyCodelet {
  explicit PyCodelet(const std::string& name) : core(std::make_shared<flow::CodeletCore>(name)) {}
  std::shared_ptr<flow::CodeletCore> core;
};

/// Places of the accesses of a task, which exist before its base class.
struct Accesses {
  explicit Accesses(std::size_t count) : list(count) {}
  std::vector<flow::Access> list;
};

/// A task that calls body(values), which returns the values afterwards; again, with the values from
/// before, after it has raised an Exception.
class PyFlowTask final : private Accesses, public flow::FlowTask {
 public:
  PyFlowTask(flow::Sequence& sequence, std::size_t count, Team& team, Object body, int retries,
             std::shared_ptr<flow::CodeletCore> codelet)
      : Accesses(count),
        FlowTask(sequence, std::span(Accesses::list)),
        team_(team),
        body_(std::move(body)),
        retries_(retries),
        codelet_(std::move(codelet)) {}

  [[nodiscard]] std::string_view plain_name() const noexcept override { return codelet_->name; }
  [[nodiscard]] bool is_inserted() const override { return true; }

 private:
  void execute() override {
    run_python(
        team_,
        [this] {
          if (retries_ == 0) {
            run_body();
          } else {
            flow::ValuesBefore before(accesses());
            run_attempts(retries_, [&] {
              before.restore();
              run_body();
            });
          }
          body_ = {};
        },
        plain_name());
  }
  void run_body() {
    const InPython in_python;
    const Object before = values();
    const Object arguments = Object::own(PyTuple_Pack(1, before.get()));
    if (!arguments) throw_python_error();
    const Object after = call(body_.get(), arguments.get());
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (!flow::writes(list[i].mode) && list[i].mode != flow::Mode::scratch) continue;
      static_cast<FlowValue*>(list[i].object)->object =
          Object::share(PyList_GetItem(after.get(), static_cast<Py_ssize_t>(i)));
    }
  }
  /// Returns a list with None for values that there are not.
  [[nodiscard]] Object values() const {
    Object values = Object::own(PyList_New(static_cast<Py_ssize_t>(list.size())));
    if (!values) throw_python_error();
    for (std::size_t i = 0; i < list.size(); ++i) {
      PyObject* const held = static_cast<FlowValue*>(list[i].object)->object.get();
      PyObject* const value = held != nullptr ? held : Py_None;
      Py_INCREF(value);
      PyList_SetItem(values.get(), static_cast<Py_ssize_t>(i), value);
    }
    return values;
  }

  Team& team_;
  Object body_;
  const int retries_;
  const std::shared_ptr<flow::CodeletCore> codelet_;
};

flow::Mode to_mode(char letter) {
  switch (letter) {
    case 'r':
      return flow::Mode::read;
    case 'w':
      return flow::Mode::write;
    case 'c':
      return flow::Mode::commutative;
    case 's':
      return flow::Mode::scratch;
    default:
      return flow::Mode::read_write;
  }
}

/// A flow, which ends with the main function of its rank.
class PyFlow {
 public:
  PyFlow(PyTeam& team, const std::string& name, std::size_t tasks_max, bool check_reads)
      : team_(&*team.get()), name_(name) {
    RankObjects* const kept = &rank_objects_of(team, "flow '" + name + "'");
    FlowOptions options;
    options.tasks_max = tasks_max;
    options.check_reads = check_reads;
    std::shared_ptr<Flow> made;
    {
      const OutsidePython outside;
      made = {new Flow(*team_, name, options, std::source_location()), [kept](Flow* ended) {
                try {
                  delete ended;
                } catch (...) {
                  kept->fail(std::current_exception());
                }
              }};
    }
    run_ = team.run;
    kept->add(made);
    flow_ = made;
  }

  /// `form`: type and shape of an array, which are the same on all ranks; "" of other values.
  PyDatum data(nb::handle value, int owner, const std::string& name, const std::string& form) {
    const auto flow = get();
    FlowValue initial;
    if (int{team_->rank()} == owner) initial.object = Object::share(value.ptr());
    const char* const form_name = form.empty() ? nullptr : name_of_form(*flow, form);
    const OutsidePython outside;
    PyDatum datum{flow->data(std::move(initial), {.owner = Rank(owner), .name = name})};
    // As an insertion, which the flow compares between the ranks.
    if (form_name != nullptr) flow->sequence().note(form_name, datum.data.handle());
    return datum;
  }
  /// Returns whether the task runs on this rank.
  bool insert(const PyCodelet& codelet, const nb::list& data, const std::string& modes,
              nb::handle body, int priority, std::optional<int> rank, int retries,
              nb::handle place) {
    const auto flow = get();
    sched::check_retries(retries, codelet.core->name);
    record_place(codelet.core->name, place);
    std::vector<flow::Request> requests;
    for (std::size_t i = 0; i < modes.size(); ++i) {
      const Data<FlowValue>& one = nb::cast<const PyDatum&>(data[i]).data;
      requests.push_back(
          {.handle = one.handle(), .generation = one.generation(), .mode = to_mode(modes[i])});
    }
    flow::InsertOptions options;
    options.priority = priority;
    if (rank) options.rank = *rank;
    Object held = Object::share(body.ptr());
    const OutsidePython outside;
    flow::Sequence& sequence = flow->sequence();
    if (!sequence.begin(codelet.core, requests, options)) return false;
    sequence.submit(
        new PyFlowTask(sequence, requests.size(), *team_, std::move(held), retries, codelet.core),
        requests);
    return true;
  }
  void wait() {
    const auto flow = get();
    const OutsidePython outside;
    flow->wait();
  }
  void wait_for(const PyDatum& datum) {
    const auto flow = get();
    const OutsidePython outside;
    flow->wait(datum.data);
  }
  nb::object value(const PyDatum& datum) {
    const auto flow = get();
    Object copy;
    {
      const OutsidePython outside;
      copy = flow->get(datum.data);
    }
    return nb::steal(copy.release());
  }
  void migrate(const PyDatum& datum, int rank) {
    const auto flow = get();
    const OutsidePython outside;
    flow->migrate(datum.data, Rank(rank));
  }
  void unregister(const PyDatum& datum) {
    const auto flow = get();
    const OutsidePython outside;
    flow->unregister(datum.data);
  }

 private:
  /// Name that lasts as long as the flow, as those of codelets do. **Caller**: has the GIL.
  const char* name_of_form(Flow& flow, const std::string& form) {
    std::shared_ptr<flow::CodeletCore>& named = forms_[form];
    if (named == nullptr) {
      named = std::make_shared<flow::CodeletCore>("array " + form);
      flow.sequence().core().codelets().keep(named);
    }
    return named->name.c_str();
  }
  [[nodiscard]] Entered<Flow> get() const {
    return {run_, flow_, [this] { return "flow '" + name_ + "'"; }};
  }

  Team* team_;
  std::string name_;
  RunEnd run_;
  std::weak_ptr<Flow> flow_;
  std::map<std::string, std::shared_ptr<flow::CodeletCore>> forms_;
};

}  // namespace

void bind_flows(nb::module_& module) {
  nb::class_<PyDatum>(module, "_Datum");
  nb::class_<PyCodelet>(module, "_Codelet").def(nb::init<const std::string&>());
  nb::class_<PyFlow>(module, "_Flow")
      .def(nb::init<PyTeam&, const std::string&, std::size_t, bool>())
      .def("data", &PyFlow::data, nb::arg().none(), nb::arg(), nb::arg(), nb::arg())
      .def("insert", &PyFlow::insert, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
           nb::arg().none(), nb::arg(), nb::arg())
      .def("wait", &PyFlow::wait)
      .def("wait_for", &PyFlow::wait_for)
      .def("value", &PyFlow::value)
      .def("migrate", &PyFlow::migrate)
      .def("unregister", &PyFlow::unregister);
}

}  // namespace shoal::python
