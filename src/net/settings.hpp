#pragma once
// Settings that all processes of a world must share, and the processes of each value if they do
// not.

#include <string>
#include <vector>

#include "net/mpi_transport.hpp"

namespace shoal::net {

/// Encodes the settings of one process. Names and values have no tab and no line break.
std::string encode_settings(const std::string& host, const std::vector<Setting>& settings);

/// Error text for the first setting with different values: each value with its hosts and
/// processes. Empty if all agree. `all` holds encode_settings() of each process.
std::string find_disagreement(const std::vector<std::string>& all);

}  // namespace shoal::net
