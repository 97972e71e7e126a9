#include "insitu/summary.hpp"

#include <fmt/format.h>

namespace insitu {

std::string Summary::verdict() const {
  if (results != expected_results) {
    return fmt::format("there are {} instead of {}", results, expected_results);
  }
  return good() ? "good" : fmt::format("{} are wrong", wrong);
}

}  // namespace insitu
