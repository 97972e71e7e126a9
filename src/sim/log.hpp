#pragma once
// The last happenings of a simulated run, for people to read.

#include <shoal/detail/env/env.hpp>
#include <shoal/detail/net/packet.hpp>

#include "sim/trace.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

namespace shoal::sim {

/// Keeps the last events: of tasks and handlers by name, and of packets by their messages. Events
/// of completion detection are recorded on request only.
class Log {
 public:
  /// The names of the messages in a packet.
  using Names = std::function<std::vector<std::string>(const net::Packet&)>;

  /// Keeps up to `count` happenings from now on.
  void keep(std::size_t count, bool detection, Names names);
  [[nodiscard]] bool is_kept() const { return count_max_ > 0; }

  /// Logs an event of a task or handler at a worker.
  void add(std::uint64_t time_ns, int rank, int worker, env::Happening what,
           const std::string& name);
  /// A packet leaves or arrives.
  void add(const TraceEvent& event, const net::Packet& packet);
  /// Anything else that a trace has.
  void add(const TraceEvent& event);

  /// Returns the lines in the order of time, with a column for each rank if there are few.
  [[nodiscard]] std::vector<std::string> lines(int ranks) const;

 private:
  struct Entry {
    std::uint64_t time_ns = 0;
    std::uint32_t rank = 0;
    char sign = ' ';
    std::string text;
  };
  void add(Entry entry);

  std::size_t count_max_ = 0;
  bool detection_ = false;
  Names names_;
  std::deque<Entry> entries_;
};

}  // namespace shoal::sim
