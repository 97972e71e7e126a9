#include "contention/session.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "common/input_error.hpp"
#include "common/output_file.hpp"
#include "contention/counters.hpp"
#include "contention/figures.hpp"
#include "contention/selection.hpp"

namespace contention {
namespace {

using apps::InputError;
using shoal::Rank;

constexpr int kMaxMebibytes = 1 << 16;

void check(const shoal::World& world) {
  if (world.launch() == shoal::Launch::simulated) {
    throw InputError("a simulated world is not measured: leave --sim out");
  }
  if (world.size() != 2) {
    throw InputError(
        fmt::format("measured between 2 ranks, not {}: start 2 processes, or one without --ranks",
                    world.size()));
  }
  if (world.worker_count() != 1) {
    throw InputError("measured with one worker in each rank: leave --workers out");
  }
}

std::uint64_t hash_of_host() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return std::hash<std::string_view>()(name.data());
}

Peer peer_of(shoal::World& world) {
  const std::uint64_t mine = hash_of_host();
  const std::uint64_t first = world.broadcast(mine, Rank(0));
  const bool same = world.allreduce(mine == first ? 1 : 0, std::plus<>()) == world.size();
  return same ? Peer::same_host : Peer::other_host;
}

/// "measured.csv" gives "measured.svg".
std::string picture_path(const std::string& path) {
  constexpr std::string_view kSuffix = ".csv";
  const bool has_suffix = path.ends_with(kSuffix);
  return (has_suffix ? path.substr(0, path.size() - kSuffix.size()) : path) + ".svg";
}

}  // namespace

void add_measure_options(cli::App& app, MeasureOptions& options) {
  app.add_option("-o,--output", options.output, "CSV file to write, or to continue")
      ->required()
      ->option_text("FILE");
  app.add_flag("--quick", options.extent.quick, "Fewer and shorter measurements");
  app.add_option("--repetitions", options.repetitions, "of each measurement")
      ->check(cli::range(1, 1000))
      ->option_text("N [as many as fit in 3 minutes, 3 to 7; quick: 3]");
  app.add_option("--duration", options.duration_ms, "of a repetition, in milliseconds")
      ->check(cli::range(1, 60'000))
      ->option_text("N [60; quick: 40]");
  app.add_option("--message-bytes", options.extent.message_bytes_max, "largest message")
      ->check(cli::range(std::uint64_t{64}, std::uint64_t{1} << 30))
      ->option_text(fmt::format("N [{}]", options.extent.message_bytes_max));
  app.add_option_function<std::size_t>(
         "--memory", [&options](std::size_t size_mib) { options.memory_bytes = size_mib << 20; },
         "of each computing core, in MiB; more than its share of the caches")
      ->check(cli::range(1, kMaxMebibytes))
      ->option_text(fmt::format("N [{}]", options.memory_bytes >> 20));
  app.add_option("--counters", options.counters,
                 "PAPI events of 64 bytes of memory traffic each, in place of those found")
      ->delimiter(',')
      ->option_text("EVENT[,EVENT...]");
  app.add_flag_callback(
      "--no-bar", [&options] { options.bar = false; }, "No progress bar on a terminal");
}

template <class Step>
void Session::on_tested_rank(shoal::World& world, Step step) {
  std::exception_ptr error;
  try {
    if (world.rank() == 0) step();
  } catch (const InputError&) {
    error = std::current_exception();
  }
  const bool good = world.broadcast(error == nullptr, Rank(0));
  if (error != nullptr) std::rethrow_exception(error);
  if (!good) throw InputError("rank 0 has an error");
}

void Session::measure_with_shoal(shoal::World& world) {
  check(world);
  options = completed(options);
  const bool with_mpi = world.launch() == shoal::Launch::mpi;  // measures as much again
  if (with_mpi && options.time_limit) *options.time_limit /= 2;
  host_.emplace(peer_of(world));
  options.extent.thread_node = host_->default_thread_node();
  world.barrier();  // in one process: hosts are looked at before threads are bound
  on_tested_rank(world, [&] {
    std::vector<std::string> notes = host_->notes();
    notes.push_back(Counters(options.counters, host_->socket_processors()).note());
    if (world.launch() == shoal::Launch::embedded) {
      notes.emplace_back("MPI alone is not measured: mpirun -n 2 starts measurements with it");
    }
    file_ = std::make_unique<DataFile>(options.output, host_->machine(), notes);
  });
  if (world.rank() == 1) {
    const bool shares_host = world.launch() == shoal::Launch::embedded;
    const auto core = host_->communication_core(host_->default_thread_node(), true);
    static_cast<void>(shares_host || core ? host_->bind_thread(core) : false);
  }
  std::exception_ptr error;
  with_shoal_link(world, *host_, options.extent.message_bytes_max, [&](Link& link) {
    try {
      make_measurements(*host_, link, plan_of(host_->machine(), options.extent, false), options,
                        *file_);
    } catch (const InputError&) {
      error = std::current_exception();
    }
  });
  on_tested_rank(world, [&] {
    if (error != nullptr) std::rethrow_exception(error);
  });
}

void Session::measure_with_mpi(Link& link) {
  make_measurements(*host_, link, plan_of(host_->machine(), options.extent, true), options, *file_);
}

void Session::report() const {
  if (apps::is_standard_output(options.output)) return;
  const Measurements& all = file_->measurements();
  fmt::print("{}: {} samples of {}, {}\n", options.output, all.samples.size(), all.machine.name,
             all.machine.processor);
  for (const std::string& note : all.notes) fmt::print("  note: {}\n", note);
  const Selection selection = resolve(all, {});
  const Calibrated calibrated = calibrate(all, selection, 0);
  for (const std::string& warning : calibrated.warnings) fmt::print("  warning: {}\n", warning);
  const std::string picture = picture_path(options.output);
  apps::OutputFile file(picture);
  file.write(to_svg(placements_figure({&calibrated.model, &all, {}})));
  if (!file.is_good()) throw InputError(fmt::format("{}: cannot write this file", picture));
  fmt::print("{}: measurements, and the model that calibrate makes of them\n", picture);
}

}  // namespace contention
