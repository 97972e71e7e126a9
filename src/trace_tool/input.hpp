#pragma once
// A trace as the tools read it: merged, or merged on the way from the parts of a run.

#include <shoal/detail/base/function.hpp>
#include <shoal/detail/trace/event.hpp>

#include <nlohmann/json.hpp>

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/file.hpp"

namespace shoal::trace_tool {

using trace::Category;
using trace::Detail;
using trace::Event;
using trace::Kind;
using trace::NameId;
using trace::Role;

struct TrackRow {
  int rank = 0;
  int worker = 0;
  int process = 0;
  int memory_node = -1;  // NUMA node of the worker; -1: of several, or not recorded
  std::string name;
};

/// A fact of Input::processes(); "": it is not there.
std::string fact_of(const nlohmann::ordered_json& process, const char* key);

/// Tables of a trace, and its events one by one.
class Input {
 public:
  /// `path`: a merged trace, one part, or the name that was given to --trace when only its parts
  /// are there; these are merged into a temporary file. **Errors**: Error when there is no trace.
  explicit Input(const std::string& path);
  ~Input();
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const nlohmann::ordered_json& identity() const { return identity_; }
  /// Identities of the processes of the run, each an object; without any, an empty list.
  [[nodiscard]] const nlohmann::ordered_json& processes() const { return processes_; }
  /// Chunk `end`: empty when the trace has none.
  [[nodiscard]] const nlohmann::ordered_json& end() const { return end_; }
  [[nodiscard]] const nlohmann::ordered_json& drops() const { return drops_; }
  [[nodiscard]] const std::string& damage() const { return damage_; }
  /// Bits of the categories that were recorded; 0: the trace does not say.
  [[nodiscard]] std::uint32_t categories() const;
  /// Sentences on parts that the trace lacks by its tables; empty: it has all.
  [[nodiscard]] std::vector<std::string> gaps() const;
  /// Number of descriptions, such as keys and dependencies, for which buffers had no room.
  [[nodiscard]] std::uint64_t dropped_descriptions() const;
  /// Returns whether parts or events are missing that were recorded, or were to be.
  [[nodiscard]] bool has_losses() const;
  [[nodiscard]] const std::vector<TrackRow>& tracks() const { return tracks_; }
  /// The track of that number; a nameless one if the table is damaged.
  [[nodiscard]] const TrackRow& track(std::uint32_t number) const;
  [[nodiscard]] int rank_count() const { return rank_count_; }
  /// Text of a name; "" for 0.
  [[nodiscard]] const std::string& name(NameId id) const;
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

  /// Calls for each event, in the order of time. Messages have their size: large ones, of which
  /// windows count a part only, that of their payload.
  void for_each(FunctionRef<void(const Event&)> each);
  /// Calls for each task that has a key, in no order.
  void for_each_key(FunctionRef<void(std::uint64_t, std::string_view)> each);
  /// Calls for each fact about the tasks or handlers of a name, in no order.
  void for_each_fact(
      FunctionRef<void(trace::Fact, std::string_view name, std::string_view value)> each);
  /// Calls for each dependency and part of one, see Detail::Type, and insertion, see kInserted, in
  /// no order.
  void for_each_relation(
      FunctionRef<void(Detail::Type type, std::uint64_t id, std::uint64_t other)> each);

 private:
  static std::string find(const std::string& path, std::string& temporary);
  void read_tables();
  void read_tracks(const std::string& text);
  void place_tracks();
  [[nodiscard]] std::uint64_t number_at_end(const char* key) const;
  void for_each_text(Detail::Type type, FunctionRef<void(std::uint64_t, std::string_view)> each);
  void for_each_detail(FunctionRef<void(std::uint32_t, const Detail&)> each);

  std::string path_;
  std::string temporary_;  // removed at the end
  trace::FileReader reader_;
  nlohmann::ordered_json identity_ = nlohmann::ordered_json::object();
  nlohmann::ordered_json processes_ = nlohmann::ordered_json::array();  // of identity_
  nlohmann::ordered_json end_ = nlohmann::ordered_json::object();
  nlohmann::ordered_json drops_ = nlohmann::ordered_json::object();
  std::vector<TrackRow> tracks_;
  std::vector<std::string> names_;
  int rank_count_ = 0;
  std::string damage_;
};

/// Calls for an event, or for the creation and the readiness of a task that one event stands for.
template <class Each>
void for_each_part(Event event, Each each) {
  if (event.kind() == Kind::task_submitted) {
    event.value = 0;
    event.set(event.track(), Kind::task_created);
    each(std::as_const(event));
    event.name = 0;
    event.set(event.track(), Kind::task_ready);
  }
  each(std::as_const(event));
}

/// "1.234 ms": four digits and a unit.
[[nodiscard]] std::string time_text(double ns);
/// "12.3 KiB".
[[nodiscard]] std::string bytes_text(double bytes);
/// "38 %".
[[nodiscard]] std::string share_text(double part, double whole);

}  // namespace shoal::trace_tool
