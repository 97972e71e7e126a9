// The transport over MPI in a program that asked for MPI_THREAD_FUNNELED: it falls back to the
// policy main.

#include "mpi/transport_harness.hpp"
#include "support/joined_program.hpp"

#include <fmt/core.h>

namespace net_transport_funneled_test {

using namespace shoal;
using namespace shoal::net;

void run() {
  MpiOptions options;
  options.progress = ProgressPolicy::thread;
  test::Node node(options);
  test::require(node.transport().policy() == ProgressPolicy::main, "policy is not main");
  test::require(node.transport().engine() == nullptr, "an engine although only main may call MPI");
  test::require(node.transport().notes().size() == 1, "{} notes", node.transport().notes().size());
  test::require_contains(node.transport().notes().front(), "MPI_THREAD_FUNNELED");
  const Layout layout = node.layout();
  for (int target = 0; target < layout.world_size; ++target) {
    for (int i = 0; i < 100; ++i) node.send(node.local(), Rank(target), Lane::normal, 100);
  }
  const auto due = std::uint64_t{100} * static_cast<std::uint64_t>(layout.world_size);
  node.pump_until([&] { return node.received() == due && node.all_acknowledged(); });
  node.finish();
}

int program(int argc, char** argv) {
  if (shoal::testing::init_launch(argc, argv, SHOAL_MPI_FUNNELED)) {
    try {
      run();
    } catch (const std::exception& error) {
      test::fail(fmt::format("uncaught: {}", error.what()));
    }
  }
  shoal::testing::finalize_launch();
  return 0;
}

const shoal::testing::JoinedProgram kProgram("net_transport_funneled_test", &program);

}  // namespace net_transport_funneled_test
