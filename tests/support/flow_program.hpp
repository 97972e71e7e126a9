#pragma once
// Random programs of a sequential flow: tasks over data of several types, migrations, parts,
// acquisitions. Run in a world, and one statement after the other as the reference.

#include "support/flow_plan.hpp"

#include <shoal/shoal.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace shoal::testing {

/// The values of a datum.
using FlowWords = std::vector<std::uint64_t>;

/// The values of all data after the program.
std::vector<FlowWords> run_sequentially(const FlowProgram& program);

/// Runs a program on one rank; all ranks do. "" if all values are those of `expected`. Tasks take
/// `task_seconds` between reading and writing, in a simulated world.
std::string run_flow_program(World& world, const FlowProgram& program, const FlowOptions& options,
                             const std::vector<FlowWords>& expected, double task_seconds = 0);

}  // namespace shoal::testing
