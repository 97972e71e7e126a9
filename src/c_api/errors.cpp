#include "c_api/errors.hpp"

#include "base/per_thread.hpp"

#include <shoal/detail/sched/park.hpp>

#include <exception>
#include <memory>

namespace shoal::c_api {

namespace {

/// Error text of a task, which may continue on another thread.
struct TaskErrorText final : sched::TaskLocal {
  std::string text;
};

/// Error text of a thread that runs no task: the caller provides no place for it.
struct ThreadErrorText {
  std::string text;
};

}  // namespace

std::string* error_text(bool is_new) {
  sched::Task* const task = sched::current_task();
  if (task == nullptr) return &of_this_thread<ThreadErrorText>().text;
  auto* found = task->find_local<TaskErrorText>();
  if (found == nullptr && is_new) {
    task->add_local(std::make_unique<TaskErrorText>());
    found = task->find_local<TaskErrorText>();
  }
  return found != nullptr ? &found->text : nullptr;
}

int fail(int code, const char* call, const char* text) noexcept {
  try {
    *error_text(true) = fmt::format("{}: {}", call, text);
  } catch (...) {  // no memory for the text: the code must do
  }
  return code;
}

int fail_with_current(const char* call) noexcept {
  try {
    throw;
  } catch (const TaskError& error) {
    return fail(SHOAL_ERROR_TASK, call, error.what());
  } catch (const StuckError& error) {
    return fail(SHOAL_ERROR_STUCK, call, error.what());
  } catch (const CancelledError& error) {
    return fail(SHOAL_ERROR_CANCELLED, call, error.what());
  } catch (const CheckError& error) {
    return fail(SHOAL_ERROR_USE, call, error.what());
  } catch (const std::exception& error) {
    return fail(SHOAL_ERROR_OTHER, call, error.what());
  } catch (...) {
    return fail(SHOAL_ERROR_OTHER, call, "an exception not derived from std::exception");
  }
}

}  // namespace shoal::c_api
