#include "runtime/process_info.hpp"

#include <shoal/am/archive.hpp>
#include <shoal/am/handler.hpp>

#include "env/host.hpp"
#include "runtime/rank_report.hpp"

#include <fmt/format.h>

#include <utility>

namespace shoal::runtime {

namespace {

template <class T>
std::string to_text(const T& value) {
  std::vector<std::byte> bytes(encoded_size<T>(value));
  encode<T>(std::span(bytes), value);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <class T>
T from_text(const std::string& text) {
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  const std::vector<std::byte> aligned(first, first + text.size());
  return std::get<0>(decode<T>(std::span<const std::byte>(aligned)));
}

}  // namespace

std::vector<ProcessInfo> exchange_info(net::Transport* transport, const ProcessInfo& mine) {
  if (transport == nullptr) return {mine};
  std::vector<ProcessInfo> all;
  for (const std::string& text : transport->exchange(to_text(mine))) {
    all.push_back(from_text<ProcessInfo>(text));
  }
  return all;
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
