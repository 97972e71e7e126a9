// Tasks driven by events.

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <shoal/event/events.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "binding.hpp"
#include "future.hpp"

namespace shoal::python {

namespace {

using Dependencies = std::vector<std::pair<int, std::string>>;  // of a source and a name

constexpr int kSelf = -1;
constexpr int kAny = -2;
constexpr int kAll = -3;

EventPeer to_peer(int number) {
  if (number == kSelf) return self;
  if (number == kAny) return any;
  if (number == kAll) return all;
  return Rank(number);
}

std::vector<EventDependency> to_dependencies(const Dependencies& dependencies) {
  std::vector<EventDependency> result;
  for (const auto& [source, name] : dependencies) result.push_back({to_peer(source), name});
  return result;
}

/// Returns a list of tuples (source, name, value); events of the machine have None. **Caller**:
/// holds the GIL.
nb::object to_list(EventList& events) {
  nb::list list;
  for (const Event& event : events) {
    const nb::object value =
        event.has_value() ? loaded(event.get<Payload>()) : nb::object(nb::none());
    list.append(nb::make_tuple(int{event.source()}, event.name(), value));
  }
  return list;
}

/// Events of a rank, which end with its main function.
class PyEvents {
 public:
  PyEvents(PyTeam& team, const std::string& name) : team_(&*team.get()), name_(name) {
    const auto here = team.get();
    RankObjects& kept = rank_objects_of(team, "the object of events '" + name + "'");
    std::shared_ptr<Events> events;
    {
      const OutsidePython outside;
      events = std::make_shared<Events>(*here, name, MatchingRule::paper, std::source_location());
    }
    run_ = team.run;
    kept.add(events);
    events_ = events;
  }

  void submit(const Dependencies& dependencies, nb::handle function, const std::string& name,
              bool persistent, bool greedy, int priority, int retries, nb::handle place) {
    const auto events = get();
    record_place(name, place);
    events->submit(
        to_dependencies(dependencies),
        [team = team_, name, retries,
         body = std::make_shared<Object>(Object::share(function.ptr()))](EventList& arrived) {
          run_python(
              *team,
              [&] {
                run_attempts(retries, [&] {
                  const InPython in_python;
                  const nb::object list = to_list(arrived);  // of values of its own
                  const Object arguments = Object::own(PyTuple_Pack(1, list.ptr()));
                  static_cast<void>(call(body->get(), arguments.get()));
                });
              },
              name);
        },
        {.name = name, .persistent = persistent, .greedy = greedy, .priority = priority});
  }
  void fire(int target, const std::string& name, nb::handle payload, bool persistent) {
    const auto events = get();
    Payload encoded = to_payload(payload.ptr());
    const OutsidePython outside;
    if (persistent) {
      events->fire_persistent(to_peer(target), name, encoded);
    } else {
      events->fire(to_peer(target), name, std::move(encoded));
    }
  }
  std::uint64_t fire_after(double seconds, int target, const std::string& name,
                           nb::handle payload) {
    const auto events = get();
    const Payload encoded = to_payload(payload.ptr());
    const auto delay = PyFuture::to_duration(seconds);
    const OutsidePython outside;
    return events->fire_after(delay, to_peer(target), name, encoded);
  }
  std::uint64_t fire_when_readable(int descriptor, int target, const std::string& name) {
    const auto events = get();
    const OutsidePython outside;
    return events->fire_when_readable(descriptor, to_peer(target), name);
  }
  std::uint64_t fire_on_signal(int signal, int target, const std::string& name) {
    const auto events = get();
    const OutsidePython outside;
    return events->fire_on_signal(signal, to_peer(target), name);
  }
  std::uint64_t fire_when_memory_above(std::size_t size_bytes, int target,
                                       const std::string& name) {
    const auto events = get();
    const OutsidePython outside;
    return events->fire_when_memory_above(size_bytes, to_peer(target), name);
  }
  nb::object wait(const Dependencies& dependencies, bool for_any) {
    const auto events = get();
    const auto wanted = to_dependencies(dependencies);
    EventList arrived = [&] {
      const OutsidePython outside;
      return for_any ? events->wait_any(wanted) : events->wait(wanted);
    }();
    return to_list(arrived);
  }
  nb::object retrieve_any(const Dependencies& dependencies) {
    EventList arrived = get()->retrieve_any(to_dependencies(dependencies));
    return to_list(arrived);
  }
  void lock(const std::string& name) {
    const auto events = get();
    const OutsidePython outside;
    events->lock(name);
  }
  bool try_lock(const std::string& name) {
    const auto events = get();
    const OutsidePython outside;
    return events->try_lock(name);
  }
  void unlock(const std::string& name) {
    const auto events = get();
    const OutsidePython outside;
    events->unlock(name);
  }
  bool cancel(std::uint64_t number) { return get()->cancel(number); }
  bool remove(const std::string& task) { return get()->remove(task); }
  bool is_submitted(const std::string& task) { return get()->is_submitted(task); }

 private:
  [[nodiscard]] Entered<Events> get() const {
    return {run_, events_, [this] { return "the object of events '" + name_ + "'"; }};
  }

  Team* team_;
  std::string name_;
  RunEnd run_;
  std::weak_ptr<Events> events_;
};

}  // namespace

void bind_events(nb::module_& module) {
  nb::class_<PyEvents>(module, "_Events")
      .def(nb::init<PyTeam&, const std::string&>())
      .def("submit", &PyEvents::submit)
      .def("fire", &PyEvents::fire)
      .def("fire_after", &PyEvents::fire_after)
      .def("fire_when_readable", &PyEvents::fire_when_readable)
      .def("fire_on_signal", &PyEvents::fire_on_signal)
      .def("fire_when_memory_above", &PyEvents::fire_when_memory_above)
      .def("wait", &PyEvents::wait)
      .def("retrieve_any", &PyEvents::retrieve_any)
      .def("lock", &PyEvents::lock)
      .def("try_lock", &PyEvents::try_lock)
      .def("unlock", &PyEvents::unlock)
      .def("cancel", &PyEvents::cancel)
      .def("remove", &PyEvents::remove)
      .def("is_submitted", &PyEvents::is_submitted);
}

}  // namespace shoal::python
