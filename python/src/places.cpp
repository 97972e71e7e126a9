// Places in the source where tasks of Python are, for reports.

#include <nanobind/nanobind.h>

#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "binding.hpp"
#include "env/start_thread.hpp"
#include "interpreter.hpp"
#include "sched/parked.hpp"
#include "thread_state.h"

namespace shoal::python {

namespace {

// Code in C may keep the GIL for long: a report goes on without the places.
constexpr std::chrono::milliseconds kPatience(500);

std::string place_of(PyObject* frame) {
  try {
    const Object arguments = Object::own(PyTuple_Pack(1, frame));
    const Object text = call(hooks().frame_place, arguments.get());
    return text.get() == Py_None ? "" : nb::cast<std::string>(nb::handle(text.get()));
  } catch (const std::exception&) {
    PyErr_Clear();
    return "";  // the report is about something else
  }
}

/// **Caller**: holds the GIL.
void fill(sched::TaskPlaces& places) {
  const nb::error_scope scope;  // of a caller that holds the GIL
  const auto is_asked = [&places](const sched::Task* task) { return places.contains(task); };
  for (const TaskFrame& one : frames_of(is_asked)) {
    std::string& place = places.at(one.task);
    if (place.empty()) place = place_of(one.frame.get());
  }
}

/// Answers of a thread that asks for the GIL, which may take it long.
class Asker {
 public:
  void find(sched::TaskPlaces& places) {
    const std::lock_guard lock(mutex_);
    if (answer_.valid() && !is_there(std::chrono::milliseconds(0))) return;
    auto promise = std::make_shared<std::promise<sched::TaskPlaces>>();
    answer_ = promise->get_future();
    // The answer is there when the thread has left Python: the process may end then.
    const auto ask = [promise = std::move(promise), places]() mutable {
      {
        const InPython in_python;
        fill(places);
      }
      promise->set_value_at_thread_exit(std::move(places));
    };
    env::start_thread("shoal places", "the lines of Python in a report", ask).detach();
    if (is_there(kPatience)) places = answer_.get();
  }

 private:
  [[nodiscard]] bool is_there(std::chrono::milliseconds patience) const {
    return answer_.wait_for(patience) == std::future_status::ready;
  }

  std::mutex mutex_;
  std::future<sched::TaskPlaces> answer_;  // guarded by mutex_
};

void find_places(sched::TaskPlaces& places) {
  if (shoal_holds_gil() != 0) return fill(places);
  static auto* const asker = new Asker;  // never freed: a thread may ask at the end of the process
  try {
    asker->find(places);
  } catch (const std::exception&) {
    return;  // no thread or no memory: the report goes on
  }
}

}  // namespace

void bind_places() { sched::set_place_finder(&find_places); }

}  // namespace shoal::python
