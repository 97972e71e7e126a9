#include "term/scope_state.hpp"

#include <fmt/format.h>

namespace shoal::term {

std::string Standing::text() const {
  if (is_wait()) return "wait()";
  return number == 0 ? name : fmt::format("{} (collective number {})", name, number);
}

}  // namespace shoal::term
