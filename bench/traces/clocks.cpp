// Error of the clocks of a merged trace: a token goes round a ring of processes, and each of them
// records what the clock says that all of them share. With TEST_CLOCK_SKEW, the processes record by
// clocks that are seconds apart and drift; without it, they still have clocks of their own only on
// several hosts, which share no clock that could tell the truth.

#include <shoal/shoal.hpp>
#include <shoal/trace.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>
#include "cli/command_line.hpp"

#include "common/result.hpp"
#include "env/ticks.hpp"
#include "ranks/program.hpp"
#include "trace/file.hpp"

namespace {

using shoal::trace::Event;
using shoal::trace::Kind;

struct Options {
  bench::RunOptions run;
  double seconds = 60;
};

constinit const shoal::trace::Name kBefore("before");
constinit const shoal::trace::Name kAfter("after");

/// Two marks with the true times around the first one.
void note_time() {
  const std::uint64_t before_ns = shoal::env::monotonic_raw_ns();
  shoal::trace::mark(kBefore, before_ns);
  shoal::trace::mark(kAfter, shoal::env::monotonic_raw_ns());
}

void run_ring(shoal::World& world, const Options& options) {
  const shoal::Rank next((world.rank().value() + 1) % world.size());
  std::function<void(int)> pass;
  const auto token = world.make_am([&](int hops) { pass(hops); });
  pass = [&](int hops) {
    note_time();
    if (hops > 0) token.send(next, hops - 1);
  };
  world.barrier();
  const auto end_ns = world.now_ns() + static_cast<std::uint64_t>(options.seconds * 1e9);
  while (world.rank() == 0 && world.now_ns() < end_ns) {
    pass(4 * world.size());
    shoal::sleep_for(std::chrono::milliseconds(1));
  }
  world.wait();
}

struct Moment {
  double true_ns = 0;
  double merged_ns = 0;
};

struct Found {
  std::uint64_t uncertainty_ns = 0;
  std::map<int, std::vector<Moment>> moments;      // by rank
  std::vector<std::pair<double, double>> flights;  // sent, and how long on the way
};

Found read(const std::string& path) {
  constexpr std::uint64_t kSureNs = 300;  // the marks were not interrupted
  Found found;
  shoal::trace::FileReader reader(path);
  std::map<shoal::trace::NameId, std::string> names;
  std::map<std::uint32_t, int> rank_of;
  std::map<std::uint32_t, Event> before;
  std::unordered_map<std::uint64_t, std::uint64_t> sent;
  std::vector<Event> events;
  std::vector<std::pair<shoal::trace::NameId, std::string>> more;
  std::string text;
  while (const auto* chunk = reader.next()) {
    if (chunk->type == shoal::trace::ChunkType::names && reader.names(more)) {
      names.insert(more.begin(), more.end());
    } else if (chunk->type == shoal::trace::ChunkType::tracks && reader.text(text)) {
      for (const auto& track : nlohmann::json::parse(text)) rank_of[track["track"]] = track["rank"];
    } else if (chunk->type == shoal::trace::ChunkType::end && reader.text(text)) {
      found.uncertainty_ns = nlohmann::json::parse(text).value("uncertainty_ns", 0U);
    } else if (chunk->type == shoal::trace::ChunkType::events && reader.records(events)) {
      for (const Event& event : events) {
        if (event.kind() == Kind::message_sent) {
          sent[event.id] = event.time;
        } else if (event.kind() == Kind::message_received && sent.contains(event.id)) {
          const auto begin = static_cast<double>(sent[event.id]);
          found.flights.emplace_back(begin, static_cast<double>(event.time) - begin);
          sent.erase(event.id);
        } else if (event.kind() == Kind::mark && names[event.name] == kBefore.text()) {
          before[event.track()] = event;
        } else if (event.kind() == Kind::mark && names[event.name] == kAfter.text()) {
          const Event& first = before[event.track()];
          if (event.value - first.value > kSureNs) continue;
          found.moments[rank_of[event.track()]].push_back(
              {static_cast<double>(first.value + event.value) / 2,
               static_cast<double>(first.time)});
        }
      }
    }
  }
  return found;
}

/// The merged time of a moment, by those of rank 0 around it.
double on_reference(const std::vector<Moment>& reference, double true_ns) {
  const auto after = std::ranges::lower_bound(reference, true_ns, {}, &Moment::true_ns);
  const auto high = std::clamp(after, reference.begin() + 1, reference.end() - 1);
  const Moment& a = *(high - 1);
  const Moment& b = *high;
  return a.merged_ns +
         (true_ns - a.true_ns) * (b.merged_ns - a.merged_ns) / (b.true_ns - a.true_ns);
}

/// The fastest flights of a tenth of the run.
double fastest(const std::vector<std::pair<double, double>>& flights, double begin, double end) {
  double least = 1e18;
  for (const auto& [sent, duration] : flights) {
    if (sent >= begin && sent < end) least = std::min(least, duration);
  }
  return least;
}

int report(const std::string& path, int size, const Options& options) {
  Found found = read(path);
  double error_ns = 0;
  std::size_t count = 0;
  for (auto& [rank, moments] : found.moments) {
    if (rank == 0) continue;
    for (const Moment& moment : moments) {
      error_ns = std::max(
          error_ns, std::abs(moment.merged_ns - on_reference(found.moments[0], moment.true_ns)));
      ++count;
    }
  }
  double early_ns = 0;
  double end = 0;
  for (const auto& [sent, duration] : found.flights) {
    early_ns = std::max(early_ns, -duration);
    end = std::max(end, sent);
  }
  const double change_ns =
      fastest(found.flights, 0.9 * end, end) - fastest(found.flights, 0, 0.1 * end);
  const auto jitter_ns = static_cast<double>(found.uncertainty_ns);
  const bool is_good = count > 0 && found.moments.size() == static_cast<std::size_t>(size) &&
                       error_ns <= 1000 + jitter_ns && early_ns <= 1000 + jitter_ns;
  if (!is_good) {
    std::fprintf(stderr, "error %.0f ns, early %.0f ns, jitter %.0f ns, %zu moments of %zu ranks\n",
                 error_ns, early_ns, jitter_ns, count, found.moments.size());
  }
  return bench::finish({"clocks",
                        "shoal",
                        {{"error_ns", error_ns},
                         {"jitter_ns", jitter_ns},
                         {"beyond_jitter_ns", std::max(0.0, error_ns - jitter_ns)},
                         {"early_ns", early_ns},
                         {"flight_change_ns", change_ns}},
                        {{"ranks", std::int64_t{size}}, {"seconds", options.seconds}}},
                       is_good);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string path =
      (std::filesystem::temp_directory_path() / "shoal_bench_clocks.trace").string();
  std::vector<const char*> arguments(argv, argv + argc);
  for (const char* word : {"--workers", "1", "--trace", path.c_str()}) arguments.push_back(word);
  Options options;
  int rank = 0;
  int size = 1;
  const int status =
      shoal::run(static_cast<int>(arguments.size()), arguments.data(), [&](shoal::World& world) {
        rank = world.rank().value();
        size = world.size();
        const bench::Program program{"trace_clocks", "Clocks of the processes of a trace.",
                                     [&](cli::App& app) {
                                       add_run_options(app, options.run);
                                       app.add_option("--seconds", options.seconds, "of the run")
                                           ->check(cli::positive_number());
                                     },
                                     [&] {
                                       bench::limit_time(options.run);
                                       run_ring(world, options);
                                       return 0;
                                     }};
        return bench::run_program(program, {world.args().begin() + 1, world.args().end()},
                                  rank == 0);
      });
  if (status != 0 || rank != 0) return status;
  const int exit_code = report(path, size, options);
  std::filesystem::remove(path);
  return exit_code;
}
