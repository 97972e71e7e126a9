#pragma once
// Nested stretches of each track, as timelines of other tools want them: every end has its begin.

#include "trace_tool/input.hpp"

#include <shoal/detail/base/function.hpp>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace shoal::trace_tool {

/// Turns begins and ends of tasks, handlers, sleep, progress and windows into proper nesting. An
/// end also ends slices that were begun inside of it; an end without a begin is left out.
class Slices {
 public:
  struct Sink {
    Function<void(const Event& event, Kind kind, const std::string& name)> begin;
    Function<void(std::uint64_t time, std::uint32_t track)> end;
  };

  Slices(Input& input, Sink sink)
      : input_(input), sink_(std::move(sink)), open_(input.tracks().size()) {}

  /// Reads all events: of each, tells the sink first, and then `each`. At the end all slices are
  /// closed.
  void for_each(FunctionRef<void(const Event&)> each);

 private:
  struct Open {
    Kind kind = Kind::none;
    NameId name = 0;
  };
  void add(const Event& event);
  void close(std::uint64_t time, std::uint32_t track, Kind kind);

  Input& input_;
  const Sink sink_;
  std::vector<std::vector<Open>> open_;
  std::uint64_t last_ = 0;
  std::unordered_map<std::uint64_t, NameId> waiting_;  // names of tasks that will start or go on
};

/// Name of a slice: of the task or handler, or the worker's activity.
[[nodiscard]] std::string slice_name(Kind kind, const std::string& name);

}  // namespace shoal::trace_tool
