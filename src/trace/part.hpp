#pragma once
// One process's part of a trace: its tables and clock, and the places of its events.

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
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

/// A part's file, kept open while there are few of them. Holds one chunk at most, while reading.
class PartFile {
 public:
  PartFile(std::string path, bool keep_open) : path_(std::move(path)), keep_open_(keep_open) {}

  /// Appends records [first, first + count) of the chunk whose header is at `offset`, as far as it
  /// has them. The chunk is verified when `first` is 0. False: it is damaged.
  [[nodiscard]] bool read_events(std::uint64_t offset, std::size_t first, std::size_t count,
                                 std::vector<Event>& events);
  [[nodiscard]] bool read_details(std::uint64_t offset, std::vector<Detail>& details,
                                  std::uint32_t& track);
  [[nodiscard]] const std::string& damage() const { return damage_; }

 private:
  [[nodiscard]] FileReader& open(std::uint64_t offset);
  void close();

  std::string path_;
  bool keep_open_;
  std::unique_ptr<FileReader> file_;
  std::string damage_;
};

/// Position in the events of one track of one part, in the time of the run.
class Cursor {
 public:
  struct Source {
    PartFile* file = nullptr;
    const std::vector<std::uint64_t>* chunks = nullptr;
    const TimeMap* map = nullptr;
    const std::vector<NameId>* names = nullptr;  // of the merged file, by number in the part
    std::uint32_t track = 0;                     // of the merged file
  };
  Cursor(const Source& source, std::size_t buffer_events);

  [[nodiscard]] bool at_end() const { return position_ == events_.size(); }
  /// The event here, in the terms of the merged file. **Precondition**: not at_end().
  [[nodiscard]] const Event& here() const { return current_; }
  [[nodiscard]] std::int64_t time() const { return time_; }
  void advance();
  [[nodiscard]] std::uint64_t steps_back() const { return steps_back_; }

 private:
  void refill();
  void translate();

  Source source_;
  std::size_t buffer_events_;
  std::size_t chunk_ = 0;  // the next to read from
  std::size_t first_ = 0;  // record of it
  std::vector<Event> events_;
  std::size_t position_ = 0;
  Event current_;
  std::int64_t time_ = 0;
  bool started_ = false;
  std::uint64_t steps_back_ = 0;
};

}  // namespace shoal::trace
