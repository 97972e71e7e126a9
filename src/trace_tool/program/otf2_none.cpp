#include "trace_tool/program/otf2.hpp"

#include <shoal/error.hpp>

namespace shoal::trace_tool {

void to_otf2(Input& /*input*/, const std::string& /*folder*/) {
  throw Error(
      "this shoal-trace was built without OTF2: install its library (Debian: "
      "libotf2-trace-dev) and build again");
}

}  // namespace shoal::trace_tool
