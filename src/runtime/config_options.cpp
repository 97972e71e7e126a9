#include "runtime/config_options.hpp"

#include <shoal/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/faults.hpp"
#include "sim/net_model.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <system_error>
#include <utility>
#include <vector>

namespace shoal::runtime {

void refuse(const Setting& setting, std::string_view problem, std::string_view allowed) {
  throw ConfigError(fmt::format("{}: {}; allowed: {}", setting.where, problem, allowed));
}

std::string show(std::uint64_t value, std::span<const Unit> units) {
  for (const Unit& unit : units) {
    if (value >= unit.factor && value % unit.factor == 0) {
      return fmt::format("{}{}", value / unit.factor, unit.suffix);
    }
  }
  return fmt::format("{}{}", value, units.back().suffix);
}

std::string allowed_text(const NumberKind& kind) {
  return fmt::format("{} to {}{}", show(kind.min, kind.units), show(kind.max, kind.units),
                     kind.example);
}

std::uint64_t parse_number(const Setting& setting, const NumberKind& kind) {
  const std::string& text = setting.value;
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  const std::string_view suffix(rest, static_cast<std::size_t>(end - rest));
  const auto unit = std::find_if(kind.units.begin(), kind.units.end(),
                                 [&](const Unit& u) { return u.suffix == suffix; });
  if (rest == text.data() || unit == kind.units.end()) {
    refuse(setting, fmt::format("'{}' is not {}", text, kind.what), allowed_text(kind));
  }
  if (error == std::errc::result_out_of_range || number > kind.max / unit->factor ||
      number * unit->factor < kind.min) {
    refuse(setting, fmt::format("{} is out of range", text), allowed_text(kind));
  }
  return number * unit->factor;
}

namespace {

constexpr NumberKind ranks_kind{"a whole number", count_units, 1, 1 << 20, ""};
constexpr NumberKind log_kind{"a whole number", count_units, 0, 1'000'000, ""};
constexpr NumberKind node_kind{"a whole number", count_units, 0, 1 << 10, ""};
constexpr NumberKind workers_kind{"a whole number", count_units, 1, 1 << 12, ""};
constexpr std::string_view size_example = ", for example 16384, 16K or 1MiB";
constexpr std::string_view size_what = "a size in bytes";
constexpr NumberKind packet_kind{size_what, size_units, 1U << 9, 1U << 20, size_example};
constexpr NumberKind window_kind{size_what, size_units, 1U << 9, std::uint64_t{1} << 36,
                                 size_example};
constexpr NumberKind heap_kind{size_what, size_units, 1U << 16, std::uint64_t{1} << 44,
                               ", for example 64M or 16GiB"};
constexpr NumberKind rma_kind{size_what, size_units, 16, std::uint64_t{1} << 44,
                              ", for example 64K, or off"};
constexpr NumberKind stack_kind{size_what, size_units, 1U << 16, 1U << 30,
                                ", for example 256K or 8MiB"};
constexpr NumberKind seed_kind{"a whole number", count_units, 0,
                               std::numeric_limits<std::uint64_t>::max(), ""};
constexpr NumberKind step_kind{"a time with its unit", time_units, 1, 10'000'000'000,
                               ", for example 500ns or 1us"};
constexpr NumberKind rate_kind{"a rate in flops per second", rate_units, 1'000,
                               1'000'000'000'000'000, ", for example 20G"};
constexpr NumberKind flush_kind{"a time with its unit", time_units, 0, 10'000'000'000,
                                ", for example 500ns, 20us, 1ms or 2s"};

constexpr NumberKind long_kind{"a time with its unit", time_units, 0, 1'000'000'000'000'000,
                               ", for example 500ms, 30s or 10min"};

constexpr std::uint64_t kStallAbortMinNs = 100'000'000;

std::uint64_t parse_abort_time(const Setting& setting) {
  const std::uint64_t ns = parse_number(setting, long_kind);
  if (ns > 0 && ns < kStallAbortMinNs) {
    refuse(setting, fmt::format("{} is out of range", setting.value),
           fmt::format("0s (never), or {} to {}{}", show(kStallAbortMinNs, time_units),
                       show(long_kind.max, time_units), long_kind.example));
  }
  return ns;
}

template <class E, std::size_t N>
using Words = std::array<std::pair<std::string_view, E>, N>;
constexpr Words<Pin, 3> pin_words{{{"none", Pin::none}, {"core", Pin::core}, {"pu", Pin::pu}}};
using sim::OrderKind;
constexpr Words<OrderKind, 6> order_words{{{"time", OrderKind::time},
                                           {"uniform", OrderKind::uniform},
                                           {"priorities", OrderKind::priorities},
                                           {"slow-rank", OrderKind::slow_rank},
                                           {"slow-link", OrderKind::slow_link},
                                           {"late", OrderKind::late}}};
constexpr Words<sim::CostKind, 2> cost_words{
    {{"declared", sim::CostKind::declared}, {"measured", sim::CostKind::measured}}};
constexpr Words<bool, 6> flag_words{
    {{"true", true}, {"false", false}, {"on", true}, {"off", false}, {"1", true}, {"0", false}}};
constexpr Words<std::string_view, 4> flow_scheduler_words{{{"locality", "locality"},
                                                           {"fifo", "fifo"},
                                                           {"priority", "priority"},
                                                           {"completion", "completion"}}};
constexpr Words<std::string_view, 6> mpi_words{{{"auto", ""},
                                                {"openmpi", "openmpi"},
                                                {"mpich", "mpich"},
                                                {"mpich_abi", "mpich_abi"},
                                                {"system", "system"},
                                                {"abi", "abi"}}};
constexpr Words<net::ProgressPolicy, 3> progress_words{{{"worker", net::ProgressPolicy::worker},
                                                        {"main", net::ProgressPolicy::main},
                                                        {"thread", net::ProgressPolicy::thread}}};

template <class E, std::size_t N>
E parse_word(const Setting& setting, const Words<E, N>& words) {
  std::vector<std::string_view> known;
  for (const auto& [word, value] : words) {
    if (word == setting.value) {
      return value;
    }
    known.push_back(word);
  }
  refuse(setting, fmt::format("'{}' is unknown", setting.value),
         fmt::format("{}", fmt::join(known, ", ")));
}

template <class E, std::size_t N>
std::string show_word(E value, const Words<E, N>& words) {
  const auto found =
      std::find_if(words.begin(), words.end(), [&](const auto& w) { return w.second == value; });
  return std::string(found->first);
}

std::uint32_t parse_categories(const Setting& setting) {
  const std::optional<std::uint32_t> categories = trace::parse_categories(setting.value);
  if (!categories || *categories == 0) {
    refuse(setting, fmt::format("'{}' is not a list of categories", setting.value),
           "all, or some of task,message,sched,term,event,memory,user");
  }
  return *categories;
}

using C = Config;
using S = Setting;
// Kept as text, once `parse` has found it right.
template <class Parse>
void set_text(std::string& text, const Setting& setting, Parse parse) {
  try {
    static_cast<void>(parse(setting.value));
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("{}: {}", setting.where, error.what()));
  }
  text = setting.value;
}

/// A number, a word that stands for nothing, or `auto`.
std::optional<int> parse_auto(const Setting& setting, std::string_view nothing,
                              const NumberKind& kind) {
  if (setting.value == nothing) return std::nullopt;
  if (setting.value == "auto") return C::kAuto;
  try {
    return static_cast<int>(parse_number(setting, kind));
  } catch (const ConfigError&) {
    refuse(setting, fmt::format("'{}' is no such number", setting.value),
           fmt::format("{}, auto, {}", nothing, allowed_text(kind)));
  }
}

team::TreeCosts parse_tree_costs(const Setting& setting) {
  team::TreeCosts costs;
  if (setting.value == "off") return costs;
  if (std::ranges::count(setting.value, ',') != 3) {
    refuse(setting, "these are not four times", "off or SEND,HOP,SEGMENT,SEGMENT_HOP");
  }
  std::string rest = setting.value + ",";
  for (auto* field : {&costs.send_ns, &costs.hop_ns, &costs.segment_ns, &costs.segment_hop_ns}) {
    const std::string one = rest.substr(0, rest.find(','));
    *field = parse_number({setting.where, one}, step_kind);
    rest.erase(0, one.size() + 1);
  }
  return costs;
}

constexpr std::array<Option, 48> all_options{{
    {"ranks", "N", "ranks of an embedded run",
     [](C& c, const S& s) { c.ranks = static_cast<int>(parse_number(s, ranks_kind)); },
     [](const C&) { return std::string("1"); }},
    {"workers", "N", "workers of each rank",
     [](C& c, const S& s) { c.workers = static_cast<int>(parse_number(s, workers_kind)); },
     [](const C&) { return std::string("the CPUs shared by the ranks"); }},
    {"ranks-per-process", "N", "ranks in each process under MPI",
     [](C& c, const S& s) { c.ranks_per_process = static_cast<int>(parse_number(s, ranks_kind)); },
     [](const C& c) { return std::to_string(c.ranks_per_process); }},
    {"pin", "none|core|pu", "bind each worker to a core or to a hardware thread",
     [](C& c, const S& s) { c.pin = parse_word(s, pin_words); },
     [](const C& c) { return show_word(c.pin, pin_words); }},
    {"progress", "worker|main|thread",
     "threads that call MPI: any worker, the main thread, or one of its own",
     [](C& c, const S& s) { c.progress = parse_word(s, progress_words); },
     [](const C& c) { return show_word(c.progress, progress_words); }},
    {"node-processes", "N",
     "maximum number of processes per node that use shared memory (1 disables it)",
     [](C& c, const S& s) { c.node_processes = static_cast<int>(parse_number(s, ranks_kind)); },
     [](const C& c) { return std::to_string(c.node_processes); }},
    {"mpi", "auto|openmpi|mpich|mpich_abi|system|abi",
     "the MPI to use where the launcher does not tell",
     [](C& c, const S& s) { c.mpi = parse_word(s, mpi_words); },
     [](const C& c) { return c.mpi.empty() ? std::string("auto") : c.mpi; }},
    {"mpi-plugin", "NAME|FILE", "plug-in to load for MPI, whatever the launcher",
     [](C& c, const S& s) { c.mpi_plugin = s.value; },
     [](const C& c) { return c.mpi_plugin.empty() ? std::string("none") : c.mpi_plugin; }},
    {"shared-mpi", "", "the program calls MPI during the run, too (MPI_THREAD_MULTIPLE)",
     [](C& c, const S& s) { c.shared_mpi = parse_word(s, flag_words); },
     [](const C& c) { return show_word(c.shared_mpi, flag_words); }},
    {"packet-bytes", "SIZE", "size of the packets that small messages share",
     [](C& c, const S& s) { c.packet_bytes = parse_number(s, packet_kind); },
     [](const C& c) { return show(c.packet_bytes, size_units); }},
    {"window-bytes", "SIZE", "maximum number of bytes in flight to one destination",
     [](C& c, const S& s) { c.window_bytes = parse_number(s, window_kind); },
     [](const C& c) { return show(c.window_bytes, size_units); }},
    {"flush", "TIME", "longest time that a message waits for a busy MPI engine",
     [](C& c, const S& s) { c.flush_ns = parse_number(s, flush_kind); },
     [](const C& c) { return show(c.flush_ns, time_units); }},
    {"check-payloads", "", "detect payloads damaged between processes (always in simulations)",
     [](C& c, const S& s) { c.check_payloads = parse_word(s, flag_words); },
     [](const C& c) { return show_word(c.check_payloads, flag_words); }},
    {"check-graphs", "", "check uses of graphs and global memory (simulations, debug builds: on)",
     [](C& c, const S& s) { c.check_graphs = parse_word(s, flag_words); },
     [](const C& c) { return show_word(c.check_graphs.value_or(false), flag_words); }},
    {"multicast-costs", "off|TIMES",
     "times of `calibrate net` that decide between trees: SEND,HOP,SEGMENT,SEGMENT_HOP",
     [](C& c, const S& s) { c.multicast_costs = parse_tree_costs(s); },
     [](const C&) { return std::string("off"); }},
    {"flow-scheduler", "locality|fifo|priority|completion",
     "scheduler of the flows that choose none",
     [](C& c, const S& s) { c.flow_scheduler = parse_word(s, flow_scheduler_words); },
     [](const C& c) { return c.flow_scheduler; }},
    {"flow-models", "DIR", "keep run times of codelets for --flow-scheduler completion",
     [](C& c, const S& s) { c.flow_models = s.value; },
     [](const C&) { return std::string("off"); }},
    {"flow-dag", "FILE",
     "write the graph of each flow into FILE, FILE.2, ..., for Graphviz; its tasks do not run",
     [](C& c, const S& s) { c.flow_dag = s.value; }, [](const C&) { return std::string("off"); }},
    {"global-heap", "SIZE", "address space of the global heap of a rank (global memory)",
     [](C& c, const S& s) { c.global_heap_bytes = parse_number(s, heap_kind); },
     [](const C& c) { return show(c.global_heap_bytes, size_units); }},
    {"local-heap", "SIZE", "address space of the local heap of a rank (global memory)",
     [](C& c, const S& s) { c.local_heap_bytes = parse_number(s, heap_kind); },
     [](const C& c) { return show(c.local_heap_bytes, size_units); }},
    {"global-rma", "SIZE|off",
     "gets of at least SIZE from other nodes use MPI-3 RMA (global memory)",
     [](C& c, const S& s) {
       c.global_rma_bytes = s.value == "off" ? 0 : parse_number(s, rma_kind);
     },
     [](const C& c) {
       return c.global_rma_bytes == 0 ? std::string("off") : show(c.global_rma_bytes, size_units);
     }},
    {"stack-bytes", "SIZE", "address space of the stack of a task",
     [](C& c, const S& s) { c.stack_bytes = parse_number(s, stack_kind); },
     [](const C& c) { return show(c.stack_bytes, size_units); }},
    {"stall-report", "TIME",
     "time without progress after which waiting tasks are reported (0s: never)",
     [](C& c, const S& s) { c.stall_report_ns = parse_number(s, long_kind); },
     [](const C& c) { return show(c.stall_report_ns, time_units); }},
    {"stall-abort", "TIME", "time without progress after which the run ends (0s: never)",
     [](C& c, const S& s) { c.stall_abort_ns = parse_abort_time(s); },
     [](const C& c) { return c.stall_abort_ns == 0 ? "0s" : show(c.stall_abort_ns, time_units); }},
    {"memory-bound-max", "off|auto|N",
     "maximum number of memory-bound tasks that a process runs beside large transfers",
     [](C& c, const S& s) { c.memory_bound_max = parse_auto(s, "off", workers_kind); },
     [](const C&) { return std::string("off"); }},
    {"buffer-node", "any|auto|N",
     "NUMA node of large receive buffers (0: the first one of the workers' socket)",
     [](C& c, const S& s) { c.buffer_node = parse_auto(s, "any", node_kind); },
     [](const C&) { return std::string("any"); }},
    {"memory-model", "FILE", "model of `contention calibrate` that decides on `auto`",
     [](C& c, const S& s) { c.memory_model = s.value; },
     [](const C&) { return std::string("none"); }},
    {"trace", "FILE", "record the run into FILE, for `shoal-trace report FILE`",
     [](C& c, const S& s) { c.trace_path = s.value; }, [](const C&) { return std::string("off"); }},
    {"trace-categories", "LIST", "categories to record: task,message,sched,term,event,memory,user",
     [](C& c, const S& s) { c.trace_categories = parse_categories(s); },
     [](const C&) { return std::string("all"); }},
    {"trace-paused", "", "begin without recording; shoal::trace::resume() or SIGUSR2 starts it",
     [](C& c, const S& s) { c.trace_paused = parse_word(s, flag_words); },
     [](const C& c) { return show_word(c.trace_paused, flag_words); }},
    {"info", "", "print the ranks, workers, processors and transport of a run, and stop",
     [](C& c, const S& s) { c.info = parse_word(s, flag_words); },
     [](const C& c) { return show_word(c.info, flag_words); }},
    {"sim", "", "simulate all ranks in one thread, in virtual time",
     [](C& c, const S& s) { c.sim = parse_word(s, flag_words); },
     [](const C& c) { return show_word(c.sim, flag_words); }},
    {"sim-races", "", "simulate; ThreadSanitizer reports data races between tasks",
     [](C& c, const S& s) { c.sim_races = parse_word(s, flag_words); },
     [](const C& c) { return show_word(c.sim_races, flag_words); }},
    {"sim-check", "", "simulate twice and compare every event",
     [](C& c, const S& s) { c.sim_check = parse_word(s, flag_words); },
     [](const C& c) { return show_word(c.sim_check, flag_words); }},
    {"sim-seed", "N", "seed of all scheduling decisions",
     [](C& c, const S& s) { c.sim_seed = parse_number(s, seed_kind); },
     [](const C& c) { return std::to_string(c.sim_seed); }},
    {"sim-order", "time|uniform|priorities|slow-rank|slow-link|late", "how the seed disturbs a run",
     [](C& c, const S& s) { c.sim_order = parse_word(s, order_words); },
     [](const C& c) { return show_word(c.sim_order, order_words); }},
    {"sim-net", "MODEL", "zero, fixed:LATENCY,BANDWIDTH or loggp:L,o,g,G,EAGER",
     [](C& c, const S& s) { set_text(c.sim_net, s, sim::parse_net_model); },
     [](const C& c) { return c.sim_net; }},
    {"sim-node-ranks", "N", "ranks of each node, which have a network of their own",
     [](C& c, const S& s) { c.sim_node_ranks = static_cast<int>(parse_number(s, ranks_kind)); },
     [](const C& c) { return std::to_string(c.sim_node_ranks); }},
    {"sim-node-net", "MODEL", "the network within a node",
     [](C& c, const S& s) { set_text(c.sim_node_net, s, sim::parse_net_model); },
     [](const C& c) { return c.sim_node_net; }},
    {"sim-memory", "FILE",
     "memory of each node: model of `contention calibrate`; costs in bytes take their time",
     [](C& c, const S& s) { c.sim_memory = s.value; },
     [](const C&) { return std::string("none"); }},
    {"sim-cost", "declared|measured", "cost of work: as the program declares it, or measured",
     [](C& c, const S& s) { c.sim_cost = parse_word(s, cost_words); },
     [](const C& c) { return show_word(c.sim_cost, cost_words); }},
    {"sim-dry", "", "simulate; work with a declared cost takes its virtual time, but is skipped",
     [](C& c, const S& s) { c.sim_dry = parse_word(s, flag_words); },
     [](const C& c) { return show_word(c.sim_dry, flag_words); }},
    {"sim-faults", "PLAN", "plan of faults: KIND:key=value,...;..., or @FILE",
     [](C& c, const S& s) { set_text(c.sim_faults, s, sim::parse_fault_plan); },
     [](const C&) { return std::string("nothing"); }},
    {"sim-log", "N", "write the last N events at the end of the run",
     [](C& c, const S& s) { c.sim_log = static_cast<int>(parse_number(s, log_kind)); },
     [](const C& c) { return std::to_string(c.sim_log); }},
    {"sim-log-detection", "", "include events of completion detection in --sim-log",
     [](C& c, const S& s) { c.sim_log_detection = parse_word(s, flag_words); },
     [](const C& c) { return show_word(c.sim_log_detection, flag_words); }},
    {"sim-flops", "RATE", "operations per second of a worker, for costs in flops",
     [](C& c, const S& s) { c.sim_flops = static_cast<double>(parse_number(s, rate_kind)); },
     [](const C& c) { return show(static_cast<std::uint64_t>(c.sim_flops), rate_units); }},
    {"sim-step", "TIME", "duration of one step of a worker",
     [](C& c, const S& s) { c.sim_step_ns = parse_number(s, step_kind); },
     [](const C& c) { return show(c.sim_step_ns, time_units); }},
    {"sim-limit", "TIME", "maximum virtual time of a run; longer ones end with a report (0s: none)",
     [](C& c, const S& s) { c.sim_limit_ns = parse_number(s, long_kind); },
     [](const C& c) { return c.sim_limit_ns == 0 ? "none" : show(c.sim_limit_ns, time_units); }},
}};

std::string help_line(std::string_view name, std::string_view value_name, std::string_view help) {
  const std::string left = fmt::format("--{} {}", name, value_name);
  if (left.size() > 31) return fmt::format("  {}\n{:34}{}\n", left, "", help);
  return fmt::format("  {:<32}{}\n", left, help);
}

}  // namespace

std::span<const Option> options() { return all_options; }

std::string show_size(std::uint64_t size_bytes) { return show(size_bytes, size_units); }

std::string make_help_text(const std::string& program) {
  std::string text = fmt::format(
      "Usage: {} [options of shoal] [arguments of the program] [-- ...]\n"
      "\nOptions of shoal:\n",
      program);
  for (const Option& option : options()) {
    text += help_line(option.name, option.value_name,
                      fmt::format("{} (default: {})", option.help, option.show_default(Config{})));
  }
  text += help_line("config", "FILE", "read options from lines `key = value`");
  text += help_line("help", "", "print this and stop");
  text += help_line("version", "", "print the version of shoal and stop");
  text +=
      "\n--shoal-X is the same as --X. An option also comes from the variable SHOAL_X "
      "(SHOAL_RANKS,\n"
      "SHOAL_STACK_BYTES, SHOAL_CONFIG) or from the file; the command line wins over the\n"
      "environment, and the environment over the file. Arguments after -- go to the program.\n";
  return text;
}

}  // namespace shoal::runtime
