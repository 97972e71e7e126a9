#pragma once
// Settings of a run that concern the transport.

#include "net/mpi_transport.hpp"
#include "runtime/config.hpp"

namespace shoal::runtime {

/// Returns the options of the transport, without the communicator and the environment.
net::MpiOptions transport_options(const Config& config, int allowed_pus);

}  // namespace shoal::runtime
