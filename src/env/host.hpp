#pragma once
// Names of the machine.

#include <string>

namespace shoal::env {

/// The node that the process runs on: equal for two processes exactly if they share a machine.
std::string host_name();

}  // namespace shoal::env
