// The functions of edat_binding.h.

#include <shoal/edat/edat_binding.h>

#include "edat_api/calls.hpp"
#include "edat_api/process.hpp"
#include "edat_api/waiting.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace shoal::edat_api {

namespace {

/// Function of a bound task. Its end tells the program that `user` is not needed any more.
class BoundFunction {
 public:
  BoundFunction(Program& program, const EDAT_Bound_Task& task)
      : program_(program), function_(task.function), user_(task.user) {}
  ~BoundFunction() { program_.released().add(user_); }
  BoundFunction(const BoundFunction&) = delete;
  BoundFunction& operator=(const BoundFunction&) = delete;

  void operator()(EventList& events) const {
    Shown shown(events, program_.addresses());
    program_.task_threads().run([&] { function_(shown.events(), shown.count(), user_); });
  }

 private:
  Program& program_;
  void (*const function_)(EDAT_Event*, int, void*);
  void* const user_;
};

}  // namespace

}  // namespace shoal::edat_api

using namespace shoal::edat_api;

// NOLINTBEGIN(readability-identifier-naming): the names of EDAT

void edatSubmitBoundTask(const EDAT_Bound_Task* task, int count, const int* sources,
                         const char* const* event_ids) {
  guarded("edatSubmitBoundTask", [&](Program& program) {
    const EDAT_Bound_Task& what = given(task, "the task");
    given(what.function, "the task's function");
    shoal::EventTaskOptions options;
    if (what.name != nullptr) options.name = what.name;
    options.persistent = what.persistent != 0;
    options.greedy = what.greedy != 0;
    const auto dependencies = to_dependencies(program, count, sources, event_ids);
    check_options(options, dependencies);
    program.events().submit(
        dependencies,
        [function = std::make_shared<const BoundFunction>(program, what)](
            shoal::EventList& events) { (*function)(events); },
        options);
  });
}

int edatTakeReleasedTasks(void** users, int capacity) {
  constexpr const char* kCall = "edatTakeReleasedTasks";
  if (capacity < 0) refuse(kCall, fmt::format("the capacity is {}", capacity));
  if (users == nullptr && capacity > 0) refuse(kCall, "the array of users is NULL");
  return running(kCall).released().take({users, static_cast<std::size_t>(capacity)});
}

EDAT_Event* edatWaitFor(int* number_retrieved, int count, const int* sources,
                        const char* const* event_ids) {
  return guarded_in_task("edatWait", [&](Program& program) {
    return wait(program, number_retrieved, to_dependencies(program, count, sources, event_ids));
  });
}

EDAT_Event* edatRetrieveAnyFor(int* number_retrieved, int count, const int* sources,
                               const char* const* event_ids) {
  return guarded_in_task("edatRetrieveAny", [&](Program& program) {
    return retrieve_any(program, number_retrieved,
                        to_dependencies(program, count, sources, event_ids));
  });
}

int edatFinaliseWithCode(void) {
  check_may_finish("edatFinalise");
  return finish();
}

int edatPauseWithCode(void) { return pause("edatPauseMainThread") ? 0 : finish(); }
// NOLINTEND(readability-identifier-naming)
