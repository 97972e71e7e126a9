#pragma once
// Cost model of the simulated network.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shoal::sim {

/// LogGP (Alexandrov, Ionescu, Schauser, Scheiman: "LogGP: Incorporating Long Messages into the
/// LogP Model", SPAA 1995). A packet of k bytes keeps the sending process's network interface busy
/// for o + max(g, k * G). Its first byte arrives L + o after that has begun, and it keeps the
/// receiving interface busy for as long: where nothing else arrives, all of it is there L + o after
/// it has left. An interface sends and receives at the same time.
struct LogGP {
  double latency_ns = 0;          // L
  double overhead_ns = 0;         // o, at each side
  double gap_ns = 0;              // g, between packets
  double byte_gap_ns = 0;         // G
  std::uint64_t eager_bytes = 0;  // larger payloads wait until the receiver has a place for them

  /// Time that a packet keeps an interface busy, at each side.
  [[nodiscard]] std::uint64_t busy_ns(std::uint64_t bytes) const;
  /// Time from a byte's departure to its arrival.
  [[nodiscard]] std::uint64_t travel_ns() const;
  /// Returns whether no packet keeps an interface busy.
  [[nodiscard]] bool is_instant() const {
    return overhead_ns == 0 && gap_ns == 0 && byte_gap_ns == 0;
  }
};

/// Processes of one node have a faster way to each other than to those of other nodes, which they
/// reach through one interface that they share.
struct NetModel {
  LogGP far;
  LogGP near;
  int ranks_per_node = 1;

  [[nodiscard]] int node_of(int rank) const { return rank / ranks_per_node; }
};

/// "zero", "fixed:LATENCY,BANDWIDTH" or "loggp:L,o,g,G,EAGER": times with their unit (500ns, 2us),
/// BANDWIDTH in bytes per second with K, M or G (10G), G in picoseconds per byte as a time (100ps),
/// EAGER in bytes. Errors: ConfigError that says what is wrong and what is allowed.
LogGP parse_net_model(const std::string& text);

using Units = std::span<const std::pair<std::string_view, double>>;

/// Units of a time in nanoseconds: ps, ns, us, ms, s.
Units time_units();
/// Units of bytes: none, K, M, G.
Units byte_units();

/// "12.5us" is 12500 with time_units(). Nothing when it is no number of at least 0 with a unit.
std::optional<double> parse_value(const std::string& text, Units units);

/// "a,b,c" at the separator: never empty.
std::vector<std::string> split(const std::string& list, char separator);

}  // namespace shoal::sim
