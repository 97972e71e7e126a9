#pragma once
// A world in virtual time: --sim.

#include "runtime/config.hpp"

#include <shoal/run.hpp>

#include <memory>

namespace shoal::runtime {

/// Runs all ranks in this thread, by the options that begin with sim; returns the result of run().
/// With sim_check it runs them twice, the first time in a child process that writes nothing.
/// Errors: Error when the two runs differ; Error when nothing can ever happen again although some
/// ranks have not ended.
int run_simulated(const std::shared_ptr<const Config>& config, const MainFunction& main_function);

}  // namespace shoal::runtime
