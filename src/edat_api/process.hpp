#pragma once
// The one program of a process, and how the calls of edat.h end it.

#include "c_api/payload.hpp"
#include "edat_api/program.hpp"
#include "edat_api/task_thread.hpp"

#include <shoal/error.hpp>

#include <fmt/format.h>

#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace shoal::edat_api {

/// State of the process for which edat.h has no handle. Written by the thread that calls edatInit
/// and edatFinalise, while no other is in a call.
struct Process {
  std::unique_ptr<Program> program;
  int rank = -1;  // kept for calls after edatFinalise, which the original answers too
  int size = -1;
  c_api::Contexts contexts;  // never freed, as in the original: programs use them to their end
};
Process& process();

/// Begins the program on the processes of `communicator`, which may be nullptr. Does not return
/// after an error.
void start(const char* call, const std::vector<std::pair<std::string, std::string>>& pairs,
           std::shared_ptr<const void> communicator);
/// Refuses the call if edatFinalise must not be called here.
void check_may_finish(const char* call);
/// Ends it. Returns its exit code.
[[nodiscard]] int finish();
/// Waits until nothing can run any more, see Program::pause(). Refuses the call where it must not
/// be made.
[[nodiscard]] bool pause(const char* call);
/// Ends the process if the code is not 0.
void exit_after_error(int exit_code);

/// Writes the text and ends the process: the interface has no errors to return.
[[noreturn]] void refuse(const char* call, const std::string& text);

Program& running(const char* call);
/// Returns the program, for calls that only the thread of main() may make.
Program& in_main(const char* call);

/// Reason of the failure of the world, reported to a task that waited.
std::string reason_of_failure(const Program& program, const std::exception& error);

/// Calls `body(program)`; no exception gets into code that may be C.
template <class Body>
auto guarded(const char* call, const Body& body) noexcept {
  Program& program = running(call);
  try {
    return body(program);
  } catch (const CancelledError& error) {
    refuse(call, reason_of_failure(program, error));
  } catch (const std::exception& error) {
    refuse(call, error.what());
  }
}

/// Runs the body of a call as guarded() does, in the task of the caller: for calls that may wait,
/// or depend on the task that makes them.
template <class Body>
auto guarded_in_task(const char* call, const Body& body) noexcept {
  return in_task_of_caller([&] { return guarded(call, body); });
}

template <class T>
T& given(T* pointer, const char* what) {
  if (pointer == nullptr) throw CheckError(fmt::format("{} is NULL", what));
  return *pointer;
}

inline std::string text_of(const char* text, const char* what) { return &given(text, what); }

}  // namespace shoal::edat_api
