#pragma once
// One process's part of a trace: its tables and clock, and the places of its events.

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "trace/clocks.hpp"
#include "trace/file.hpp"

namespace shoal::trace {

/// Index of a part. Holds no events.
class Part {
 public:
  struct Track {
    int rank = 0;
    int worker = 0;
    std::string name;
    std::vector<std::uint64_t> event_chunks;  // offsets of their headers
  };

  /// Reads all but the events. **Errors**: Error when this is no part.
  explicit Part(const std::string& path);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const FileHeader& header() const { return header_; }
  [[nodiscard]] const ProcessClock& clock() const { return clock_; }
  /// Ticks at which it left the barriers.
  [[nodiscard]] const std::vector<std::uint64_t>& barriers() const { return barriers_; }
  [[nodiscard]] const nlohmann::ordered_json& identity() const { return identity_; }
  [[nodiscard]] const nlohmann::ordered_json& drops() const { return drops_; }
  [[nodiscard]] const std::map<std::uint32_t, Track>& tracks() const { return tracks_; }
  [[nodiscard]] const std::vector<std::pair<NameId, std::string>>& names() const { return names_; }
  [[nodiscard]] const std::vector<std::uint64_t>& detail_chunks() const { return details_; }
  /// Description of damage; empty without damage.
  [[nodiscard]] const std::string& damage() const { return damage_; }

  /// Forgets the table of names, once it has been merged.
  void drop_names() { names_ = {}; }

 private:
  void read(FileReader& file, const ChunkHeader& chunk);
  void read_tracks(FileReader& file);

  std::string path_;
  FileHeader header_;
  ProcessClock clock_;
  std::vector<std::uint64_t> barriers_;
  nlohmann::ordered_json identity_ = nlohmann::ordered_json::object();
  nlohmann::ordered_json drops_ = nlohmann::ordered_json::object();
  std::map<std::uint32_t, Track> tracks_;
  std::vector<std::pair<NameId, std::string>> names_;
  std::vector<std::uint64_t> details_;
  bool has_end_ = false;
  std::string damage_;
};

}  // namespace shoal::trace
