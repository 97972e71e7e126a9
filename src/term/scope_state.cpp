#include "term/scope_state.hpp"

#include <fmt/format.h>

namespace shoal::term {

std::string Standing::text() const {
  if (is_wait()) return "wait()";
  if (number == 0) return name;
  return fmt::format("{}{} (collective number {})", name,
                     root < 0 ? "" : fmt::format(" with root {}", root), number);
}

}  // namespace shoal::term
