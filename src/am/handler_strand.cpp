#include "am/handler_strand.hpp"

#include <fmt/format.h>

namespace shoal::messaging {

[[gnu::noinline]] void HandlerStrand::set_name() {
  strand_.set_name(fmt::format("handlers of rank {}", rank_.value()));
}

}  // namespace shoal::messaging
