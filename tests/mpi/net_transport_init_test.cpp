// The transport over MPI in a program that leaves MPI to it: it is initialized once, and finalized
// when the process exits.

#include "mpi/transport_harness.hpp"
#include "support/joined_program.hpp"

#include <fmt/core.h>

namespace net_transport_init_test {

using namespace shoal;
using namespace shoal::net;

void run() {
  test::Node node({});
  test::require(mpi_library() != "none", "no MPI is loaded");
  test::require(node.layout().process_count() == test::world_processes(), "{} of {} processes",
                node.layout().process_count(), test::world_processes());
  for (int target = 0; target < node.layout().world_size; ++target) {
    node.send(node.local(), Rank(target), Lane::normal, 100);
  }
  const auto due = static_cast<std::uint64_t>(node.layout().world_size);
  node.pump_until([&] { return node.received() == due; });
  node.finish();
  if (shoal::testing::launch_is_finalized())
    test::fail("MPI is finalized: there could be no second world");
}

/// A communicator before MPI_Init is none.
void refuse_communicators() {
  const auto env = env::make_thread_env();
  MpiOptions options;
  options.env = env.get();
  options.communicator = shoal::testing::communicator_of_launch();
  const auto is_refused = [](auto&& call) {
    test::require_contains(
        test::text_thrown_by<ConfigError>("a communicator before MPI_Init", call),
        "MPI is not initialized: call MPI_Init_thread first");
  };
  is_refused([&] { make_mpi_transport(options); });
  is_refused([] { communicator_of_fortran(0); });
}

int program(int /*argc*/, char** /*argv*/) {
  try {
    refuse_communicators();
    run();
    run();
    const auto env = env::make_thread_env();
    MpiOptions options;
    options.env = env.get();
    shoal::testing::finalize_launch();  // by the program
    try {
      make_mpi_transport(options);
      fmt::print(stderr, "FAILED: a start after MPI_Finalize was not refused\n");
      return 1;
    } catch (const ConfigError& error) {
      if (std::string(error.what()).find("has called MPI_Finalize") != std::string::npos) return 0;
      throw;
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "FAILED: {}\n", error.what());
    return 1;
  }
}

const shoal::testing::JoinedProgram kProgram("net_transport_init_test", &program);

}  // namespace net_transport_init_test
