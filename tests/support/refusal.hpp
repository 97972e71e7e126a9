#pragma once
// Errors of refused calls.

#include <shoal/detail/base/check.hpp>

#include <string>

namespace shoal::testing {

template <class F>
std::string refusal_of(F&& call) {
  try {
    call();
  } catch (const CheckError& error) {
    return error.what();
  }
  return "nothing was refused";
}

}  // namespace shoal::testing
