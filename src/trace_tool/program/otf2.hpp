#pragma once
// OTF2 archives, for Vampir, Cube and other tools of the Score-P family.

#include "trace_tool/input.hpp"

#include <string>

namespace shoal::trace_tool {

/// Writes the archive `folder`/traces.otf2: a location for each track, regions for tasks and
/// handlers, sends and receives for messages. **Errors**: Error when the folder is there already,
/// or cannot be written, or when this program was built without OTF2.
void to_otf2(Input& input, const std::string& folder);

}  // namespace shoal::trace_tool
