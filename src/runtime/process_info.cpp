#include "runtime/process_info.hpp"

#include <shoal/detail/team/handler.hpp>

#include "env/host.hpp"
#include "runtime/exchange.hpp"
#include "runtime/rank_report.hpp"

#include <fmt/format.h>

#include <utility>

namespace shoal::runtime {

std::vector<ProcessInfo> exchange_info(net::Transport* transport, const ProcessInfo& mine) {
  if (transport == nullptr) return {mine};
  return exchange_all(*transport, mine);
}

void check_ranks(const std::vector<ProcessInfo>& all, const net::Layout& layout) {
  for (std::size_t process = 0; process < all.size(); ++process) {
    const int asked = all[process].ranks_asked;
    if (asked == 0 || asked == layout.world_size) continue;
    throw ConfigError(fmt::format(
        "process {} was told --ranks {}, but the launcher started {} processes with {} ranks each: "
        "leave --ranks out, or start a matching number of processes",
        process, asked, layout.process_count(), layout.ranks_per_process));
  }
}

std::vector<net::Setting> agreed_settings(const Config& config) {
  return {{"the program", env::program_id()},
          {"the table of active messages", fmt::format("{:x}", messaging::static_fingerprint())},
          {"--window-bytes", std::to_string(config.window_bytes)},
          {"--check-payloads", config.check_payloads ? "on" : "off"},
          {"--global-rma", std::to_string(config.global_rma_bytes)},
          {"--trace", config.trace_path},
          {"--stall-report", show_time(config.stall_report_ns)},
          {"--stall-abort", show_time(config.stall_abort_ns)}};
}

}  // namespace shoal::runtime
