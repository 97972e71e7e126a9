#pragma once
// Traces of tests: files that end with the test, and what stands in them.

#include <shoal/error.hpp>

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "trace/file.hpp"
#include "trace/recorder.hpp"

namespace shoal::testing {

/// A folder that is removed with all its files.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "shoal-trace-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw Error("no temporary folder: " + pattern);
    path_ = pattern;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] std::string file(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

/// All that a file holds.
struct TraceContent {
  trace::FileHeader header;
  std::vector<trace::Event> events;
  std::vector<trace::Detail> details;
  std::map<trace::NameId, std::string> names;
  std::vector<env::TickSample> clock;
  std::vector<trace::SyncPoint> sync;
  std::string identity;  // the last one
  std::string tracks;    // all, one behind the other
  std::string drops;     // the last one
  bool has_end = false;
  std::string damage;

  [[nodiscard]] std::vector<trace::Event> of(trace::Kind kind) const {
    std::vector<trace::Event> found;
    for (const trace::Event& event : events) {
      if (event.kind() == kind) found.push_back(event);
    }
    return found;
  }
};

inline TraceContent read_trace(const std::string& path) {
  using trace::ChunkType;
  trace::FileReader reader(path);
  TraceContent all;
  all.header = reader.header();
  const auto append = [&reader](auto& to) {
    std::remove_reference_t<decltype(to)> more;
    if (reader.records(more)) to.insert(to.end(), more.begin(), more.end());
  };
  std::string text;
  std::vector<std::pair<trace::NameId, std::string>> names;
  while (const trace::ChunkHeader* chunk = reader.next()) {
    switch (chunk->type) {
      case ChunkType::events:
        append(all.events);
        break;
      case ChunkType::details:
        append(all.details);
        break;
      case ChunkType::clock:
        append(all.clock);
        break;
      case ChunkType::sync:
        append(all.sync);
        break;
      case ChunkType::identity:
        static_cast<void>(reader.text(all.identity));
        break;
      case ChunkType::drops:
        static_cast<void>(reader.text(all.drops));
        break;
      case ChunkType::tracks:
        if (reader.text(text)) all.tracks += text;
        break;
      case ChunkType::names:
        if (reader.names(names)) {
          for (const auto& [id, name] : names) all.names[id] = name;
        }
        break;
      case ChunkType::end:
        all.has_end = true;
        break;
      default:
        break;
    }
  }
  all.damage = reader.damage();
  return all;
}

}  // namespace shoal::testing
