#pragma once
// Errors of calls.

#include <shoal/detail/base/check.hpp>

#include <string>

namespace shoal::testing {

/// The text of the Error that `call` throws; `none` if it throws none.
template <class Error, class F>
std::string text_of(F&& call, const char* none = "") {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return none;
}

template <class F>
std::string refusal_of(F&& call) {
  return text_of<CheckError>(call, "nothing was refused");
}

}  // namespace shoal::testing
