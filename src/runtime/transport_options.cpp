#include "runtime/transport_options.hpp"

#include "runtime/process_info.hpp"

namespace shoal::runtime {

net::MpiOptions transport_options(const Config& config, int allowed_pus) {
  net::MpiOptions options;
  options.ranks_per_process = config.ranks_per_process;
  options.progress = config.progress;
  options.link = {config.packet_bytes, config.window_bytes};
  options.flush_ns = config.flush_ns;
  options.node_processes = config.node_processes;
  options.remote_memory = config.global_rma_bytes > 0;
  options.shared_mpi = config.shared_mpi;
  options.exit_timeout_ns = config.stall_abort_ns;
  options.settings = agreed_settings(config);
  const bool one_worker = config.workers == 1 || (config.workers == 0 && allowed_pus == 1);
  options.single_threaded =
      config.ranks_per_process == 1 && one_worker && config.progress != net::ProgressPolicy::thread;
  return options;
}

}  // namespace shoal::runtime
