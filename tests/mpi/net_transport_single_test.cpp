// The transport over MPI in a program that called MPI_Init for a single thread: refused when more
// than one thread would call MPI, else it works.

#include "mpi/transport_harness.hpp"
#include "support/joined_program.hpp"

#include <fmt/core.h>

namespace net_transport_single_test {

using namespace shoal;
using namespace shoal::net;

void exchange(const MpiOptions& options) {
  test::Node node(options);
  test::require(node.transport().policy() == ProgressPolicy::main, "policy is not main");
  const Layout layout = node.layout();
  for (int target = 0; target < layout.world_size; ++target) {
    for (int i = 0; i < 100; ++i) node.send(node.local(), Rank(target), Lane::normal, 100);
  }
  const auto due = std::uint64_t{100} * static_cast<std::uint64_t>(layout.world_size);
  node.pump_until([&] { return node.received() == due && node.all_acknowledged(); });
  node.finish();
}

void run() {
  const auto env = env::make_thread_env();
  MpiOptions options;
  options.env = env.get();
  const std::string text =
      test::text_thrown_by<ConfigError>("MPI_THREAD_SINGLE", [&] { make_mpi_transport(options); });
  test::require_contains(text, "MPI_THREAD_SINGLE");
  test::require_contains(text, "MPI_Init_thread");

  options.single_threaded = true;
  exchange(options);
  options.single_threaded = false;
  options.progress = ProgressPolicy::main;
  exchange(options);
}

int program(int argc, char** argv) {
  if (shoal::testing::init_launch(argc, argv, SHOAL_MPI_SINGLE)) {
    try {
      run();
    } catch (const std::exception& error) {
      test::fail(fmt::format("uncaught: {}", error.what()));
    }
  }
  shoal::testing::finalize_launch();
  return 0;
}

const shoal::testing::JoinedProgram kProgram("net_transport_single_test", &program);

}  // namespace net_transport_single_test
