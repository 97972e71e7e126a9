#pragma once
// The error of a bad option or a bad input file: every rank sees the same one, and rank 0 prints
// it.

#include <stdexcept>

namespace apps {

/// Unusable input of the user; what() says what was wrong, where, and what to do.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace apps
