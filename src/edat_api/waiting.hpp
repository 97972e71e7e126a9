#pragma once
// Calls of edat.h that may wait.

#include "edat_api/program.hpp"

#include <shoal/event/events.hpp>

#include <string>
#include <vector>

namespace shoal::edat_api {

// All are made by a task, or by a thread of the program, and throw CheckError when they must not
// be made there.

/// Returns the events of the dependencies, which stay valid until the task ends. `number` may be
/// nullptr.
EDAT_Event* wait(Program& program, int* number, const std::vector<EventDependency>& dependencies);
/// Returns those that have arrived; nullptr if there are none.
EDAT_Event* retrieve_any(Program& program, int* number,
                         const std::vector<EventDependency>& dependencies);
void lock(Program& program, const std::string& name);

}  // namespace shoal::edat_api
