#include "runtime/tracing.hpp"

#include <shoal/detail/sync/asymmetric_barrier.hpp>
#include <shoal/version.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "env/host.hpp"
#include "runtime/clock_sync.hpp"
#include "runtime/count.hpp"
#include "runtime/end_report.hpp"
#include "trace/clocks.hpp"
#include "trace/file.hpp"
#include "trace/merge.hpp"

namespace shoal::runtime {

namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

// A worktree has a file that names its folder; that has a file that names the common one.
fs::path folder_of(const fs::path& dot_git) {
  constexpr std::string_view kPrefix = "gitdir: ";
  std::error_code error;
  if (fs::is_directory(dot_git, error)) return dot_git;
  const std::string line = first_line(dot_git);
  if (!line.starts_with(kPrefix)) return {};
  return dot_git.parent_path() / line.substr(kPrefix.size());
}

std::string packed(const fs::path& folder, const std::string& name) {
  std::ifstream in(folder / "packed-refs");
  for (std::string line; std::getline(in, line);) {
    const std::size_t space = line.find(' ');
    if (space != std::string::npos && line.substr(space + 1) == name) return line.substr(0, space);
  }
  return {};
}

std::string head_of(const fs::path& folder) {
  constexpr std::string_view kPrefix = "ref: ";
  const std::string head = first_line(folder / "HEAD");
  if (!head.starts_with(kPrefix)) return head;
  const std::string name = head.substr(kPrefix.size());
  const std::string common = first_line(folder / "commondir");
  const fs::path shared = common.empty() ? folder : folder / common;
  const std::string hash = first_line(shared / name);
  return hash.empty() ? packed(shared, name) : hash;
}

/// Hash of the commit that is checked out in the folder of `file`, or in one above; "" where that
/// is no checkout of git. Runs no program. Changes since the commit are not seen.
std::string commit_of(const std::string& file) {
  std::error_code error;
  for (fs::path folder = fs::path(file).parent_path(); !folder.empty();
       folder = folder.parent_path()) {
    const fs::path dot_git = folder / ".git";
    if (fs::exists(dot_git, error)) return head_of(folder_of(dot_git));
    if (folder == folder.root_path()) break;
  }
  return {};
}

std::string names_of(std::uint32_t categories) {
  std::string names;
  for (std::size_t i = 0; i < trace::kCategoryCount; ++i) {
    const auto category = static_cast<trace::Category>(i);
    if ((categories & trace::bit_of(category)) == 0) continue;
    if (!names.empty()) names += ',';
    names += trace::name_of(category);
  }
  return names;
}

/// Fact `virtual_machine` of a run: virtual time has no host that holds processors.
std::string virtual_machine_of(const Config& config) {
  if (config.simulate()) return "no";
  const std::optional<bool> is_virtual = env::is_virtual_machine();
  if (!is_virtual.has_value()) return "unknown";
  return *is_virtual ? "yes" : "no";
}

trace::Identity identity_of(const Config& config, const TracedRun& run) {
  std::vector<std::string> arguments(config.args.begin(), config.args.end());
  if (!arguments.empty()) arguments.erase(arguments.begin());
  return {{"program", config.args.empty() ? std::string() : config.args.front()},
          {"arguments", fmt::format("{}", fmt::join(arguments, " "))},
          {"options", config.command_line},
          {"commit", commit_of(env::program_path())},
          {"build", env::program_id()},
          {"shoal", SHOAL_VERSION},
          {"host", run.host},
          {"ranks", std::to_string(run.layout.world_size)},
          {"workers", std::to_string(run.workers)},
          {"cores", std::to_string(run.cores)},
          {"processors", std::to_string(run.processors)},
          {"mask", run.mask},
          {"pin", config.pin == env::Pin::none ? "none" : "yes"},
          {"virtual_machine", virtual_machine_of(config)},
          {"memory_nodes", fmt::format("{}", fmt::join(run.memory_nodes, " "))},
          {"categories", names_of(config.trace_categories)},
          {"simulated", config.simulate() ? "yes" : "no"}};
}

trace::Options options_of(const Config& config, const TracedRun& run, env::Env* virtual_time) {
  trace::Options options;
  const auto process = static_cast<std::uint32_t>(virtual_time != nullptr ? 0 : run.layout.process);
  options.path = trace::part_path(config.trace_path, process);
  options.categories = config.trace_categories;
  options.paused = config.trace_paused;
  options.process = process;
  options.processes =
      virtual_time != nullptr ? 1 : static_cast<std::uint32_t>(run.layout.process_count());
  options.first_rank = virtual_time != nullptr ? 0 : run.layout.first_local();
  options.identity = identity_of(config, run);
  options.virtual_time = virtual_time;
  return options;
}

}  // namespace

Tracing::Tracing(const Config& config, const TracedRun& run, net::MpiTransport* transport,
                 env::Env* virtual_time)
    : path_(config.trace_path),
      run_(run),
      transport_(transport),
      is_simulated_(config.simulate()),
      recorder_(options_of(config, run, virtual_time)) {
  // If this run is killed, a trace of an earlier run would be mistaken for its own.
  if (run_.layout.process == 0) {
    trace::remove_output(path_);
    for (const std::string& part : trace::find_parts(path_)) {
      if (is_stale(part)) trace::remove_output(part);
    }
  }
  compare_clocks();
}

// Whether the part belongs to a run with more processes.
bool Tracing::is_stale(const std::string& part) const {
  const int processes = transport_ == nullptr ? 1 : run_.layout.process_count();
  for (int process = 0; process < processes; ++process) {
    if (part == trace::part_path(path_, static_cast<std::uint32_t>(process))) return false;
  }
  return true;
}

Tracing::~Tracing() = default;

// The fastest of many round trips counts: the more there are, the less an interruption matters.
void Tracing::compare_clocks() {
  constexpr int kRoundTrips = 100;
  if (transport_ == nullptr || run_.layout.process_count() == 1) return;
  const net::ReadClock read = [this] { return recorder_.now_ticks(); };
  const net::ClockTrips trips = transport_->compare_clocks(read, kRoundTrips);
  ComparedClock mine;
  if (!trips.trips.empty()) {
    std::vector<trace::PingPong> all;
    all.reserve(trips.trips.size());
    for (const net::RoundTrip& trip : trips.trips) {
      all.push_back({trip.start_ticks, trip.remote_ticks, trip.end_ticks});
    }
    mine.parent = trips.parent;
    mine.point = trace::best_of(all, static_cast<std::uint32_t>(trips.parent));
    recorder_.add_sync({&mine.point, 1});
  }
  mine.ticks_per_ns = ticks_per_ns();
  const auto moment = leave_together(*transport_, run_.layout.process, mine, read);
  if (moment.has_value()) recorder_.add_barrier(*moment);
}

double Tracing::ticks_per_ns() const {
  const env::TickSample now = env::sample_ticks(env::tick_source());
  return static_cast<double>(now.ticks - begin_.ticks) /
         static_cast<double>(now.raw_ns - begin_.raw_ns);
}

void Tracing::add_stolen() {
  if (is_simulated_) return;
  recorder_.add_identity({{"stolen_ns", std::to_string(env::stolen_ns() - stolen_ns_)}});
}

void Tracing::finish() {
  std::string problem;
  try {
    compare_clocks();
    add_stolen();
    recorder_.finish();
  } catch (const Error& error) {
    problem = error.what();
  }
  if (!problem.empty()) say("warning: " + problem);
  // Also a barrier: the parts are complete.
  if (transport_ != nullptr) static_cast<void>(transport_->exchange(problem));
  if (run_.layout.process == 0) merge_parts();
}

void Tracing::merge_parts() {
  try {
    std::vector<std::string> parts;
    for (const std::string& part : trace::find_parts(path_)) {
      if (!is_stale(part)) parts.push_back(part);
    }
    const trace::MergeReport report = trace::merge(parts, path_);
    for (const std::string& damage : report.damage) say("warning: " + damage);
    if (report.parts_missing > 0) {
      say(fmt::format(
          "warning: {}: {} of the run are not on this host; bring them here and call `shoal-trace "
          "merge`",
          path_, count(report.parts_missing, "part")));
      return;
    }
    if (report.dropped > 0) {
      say(
          fmt::format("warning: {}: {} were dropped, because they came faster than the disk "
                      "takes them; record fewer with --trace-categories",
                      path_, count(report.dropped, "event")));
    }
    if (!report.damage.empty()) return;
    for (const std::string& part : parts) trace::remove_output(part);
  } catch (const Error& error) {
    say(fmt::format("warning: the trace is not merged: {}. `shoal-trace` reads its parts",
                    error.what()));
  }
}

std::unique_ptr<Tracing> make_tracing(const Config& config, const TracedRun& run,
                                      net::MpiTransport* transport, env::Env* virtual_time) {
  if (config.trace_path.empty()) return nullptr;
  // Before the recorder starts a thread: Linux takes 10 ms and more to set it up for several.
  static_cast<void>(sync::has_asymmetric_barrier());
  return std::make_unique<Tracing>(config, run, transport, virtual_time);
}

}  // namespace shoal::runtime
