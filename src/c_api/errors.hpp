#pragma once
// Codes and texts of errors for C.

#include <shoal/c_api/event.h>
#include <shoal/error.hpp>

#include <fmt/format.h>

#include <string>

namespace shoal::c_api {

/// The caller's last error, or nullptr. With `is_new`, a place for its text is made if need be.
std::string* error_text(bool is_new);
/// Keeps the text of an error, and returns its code.
int fail(int code, const char* call, const char* text) noexcept;
/// Inside a catch block: the code of the exception.
int fail_with_current(const char* call) noexcept;

/// Calls `body`; returns the code of its exception.
template <class Body>
int guarded(const char* call, const Body& body) noexcept {
  try {
    body();
    return SHOAL_OK;
  } catch (...) {
    return fail_with_current(call);
  }
}

/// Calls `body`, which returns a number; an error that it throws is recorded and returned as a
/// negative number.
template <class Body>
int guarded_number(const char* call, const Body& body) noexcept {
  try {
    return static_cast<int>(body());
  } catch (...) {
    return -fail_with_current(call);
  }
}

template <class T>
T& given(T* pointer, const char* what) {
  if (pointer == nullptr) throw CheckError(fmt::format("{} is NULL", what));
  return *pointer;
}

}  // namespace shoal::c_api
