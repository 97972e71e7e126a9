#include "trace/merge.hpp"

#include <shoal/error.hpp>

#include "trace/file.hpp"
#include "trace/json_text.hpp"
#include "trace/part.hpp"
#include "trace/recorder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

namespace shoal::trace {

namespace {

using Json = nlohmann::ordered_json;

class Merging {
 public:
  Merging(const std::vector<std::string>& paths, const std::string& output,
          const MergeOptions& options)
      : options_(options), output_(output) {
    read_parts(paths);
    relate_clocks();
    FileHeader header;
    header.clock = ClockKind::merged;
    header.processes = static_cast<std::uint32_t>(parts_.size());
    file_ = std::make_unique<FileWriter>(output, header);
  }

  MergeReport run() {
    try {
      write_all();
    } catch (...) {
      file_.reset();
      remove_output(output_);  // half a trace would be taken for the run
      throw;
    }
    return report_;
  }

 private:
  void write_all() {
    write_identity();
    write_tracks();
    write_names();
    write_details();
    write_events();
    write_drops();
    for (std::size_t i = 0; i < parts_.size(); ++i) note_damage(i);
    write_end();
    file_->close();
  }

  struct Line {
    std::size_t part = 0;
    std::uint32_t track = 0;  // of the part
  };

  void read_parts(const std::vector<std::string>& paths) {
    constexpr std::size_t kOpenMax = 256;
    if (paths.empty()) throw Error("no parts of a trace to merge");
    for (const std::string& path : paths) parts_.emplace_back(path);
    std::sort(parts_.begin(), parts_.end(),
              [](const Part& a, const Part& b) { return a.header().process < b.header().process; });
    std::uint32_t processes = 0;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (i > 0 && parts_[i].header().process == parts_[i - 1].header().process) {
        throw Error(fmt::format("{} and {} are both of process {}: give the parts of one run",
                                parts_[i - 1].path(), parts_[i].path(),
                                parts_[i].header().process));
      }
      processes = std::max(processes, parts_[i].header().processes);
      files_.emplace_back(parts_[i].path(), parts_.size() <= kOpenMax);
    }
    report_.parts = static_cast<std::uint32_t>(parts_.size());
    report_.parts_missing = processes - std::min(processes, report_.parts);
  }

  void relate_clocks() {
    std::vector<ProcessClock> clocks;
    std::vector<std::size_t> with_clock;
    maps_.resize(parts_.size());
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      // A process that was killed before it wrote anything has no events either.
      const bool no_samples =
          parts_[i].clock().clock == ClockKind::tsc && parts_[i].clock().samples.size() < 2;
      if (no_samples) continue;
      clocks.push_back(parts_[i].clock());
      with_clock.push_back(i);
    }
    Agreement agreement = agree(clocks);
    std::uint64_t largest = 0;
    std::uint64_t second = 0;
    for (std::size_t i = 0; i < with_clock.size(); ++i) {
      maps_[with_clock[i]] = std::move(agreement.maps[i]);
      const std::uint64_t own = agreement.uncertainty_ns[i];
      second = std::max(second, std::min(own, largest));
      largest = std::max(largest, own);
    }
    report_.uncertainty_ns = largest + second;
    report_.unsynchronized = std::move(agreement.unsynchronized);
    look_at_barriers(with_clock);
  }

  void look_at_barriers(const std::vector<std::size_t>& with_clock) {
    std::size_t count = with_clock.size() > 1 ? std::numeric_limits<std::size_t>::max() : 0;
    for (const std::size_t i : with_clock) count = std::min(count, parts_[i].barriers().size());
    report_.barriers = count;
    for (std::size_t barrier = 0; barrier < count; ++barrier) {
      std::int64_t first = std::numeric_limits<std::int64_t>::max();
      std::int64_t last = std::numeric_limits<std::int64_t>::min();
      for (const std::size_t i : with_clock) {
        const std::int64_t left_ns = maps_[i](parts_[i].barriers()[barrier]);
        first = std::min(first, left_ns);
        last = std::max(last, left_ns);
      }
      const auto spread_ns = static_cast<std::uint64_t>(last - first);
      report_.barrier_spread_ns = std::max(report_.barrier_spread_ns, spread_ns);
      // Two processes may be off in opposite directions.
      const std::uint64_t both_ns = 2 * deadline_error_ns(with_clock, barrier);
      report_.barrier_uncertainty_ns = std::max(report_.barrier_uncertainty_ns, both_ns);
    }
  }

  /// By how much a process misses the deadline of a barrier, at most: what the comparisons before
  /// it are uncertain by, and the drift since then, along the tree.
  [[nodiscard]] std::uint64_t deadline_error_ns(const std::vector<std::size_t>& with_clock,
                                                std::size_t barrier) const {
    constexpr double kDrift = 1e-4;  // of one quartz against another
    struct Known {
      std::size_t index = 0;
      std::uint64_t error_ns = 0;
    };
    std::map<std::uint32_t, Known> all;  // by process; parents come first
    std::uint64_t most = 0;
    for (const std::size_t i : with_clock) {
      const ProcessClock& clock = parts_[i].clock();
      const std::uint64_t deadline = parts_[i].barriers()[barrier];
      Known& known = all[clock.process];
      known.index = i;
      const SyncPoint* last = nullptr;  // the root has none
      for (const SyncPoint& point : clock.sync) {
        if (point.local_ticks <= deadline) last = &point;
      }
      if (last == nullptr) continue;
      const Known& parent = all[last->reference];
      const TimeMap& theirs = maps_[parent.index];
      const std::int64_t trip_ns =
          theirs(last->reference_ticks + last->uncertainty_ticks) - theirs(last->reference_ticks);
      const auto since_ns = static_cast<double>(maps_[i](deadline) - maps_[i](last->local_ticks));
      known.error_ns = parent.error_ns + static_cast<std::uint64_t>(trip_ns) +
                       static_cast<std::uint64_t>(since_ns * kDrift);
      most = std::max(most, known.error_ns);
    }
    return most;
  }

  void write_identity() {
    Json all = Json::object();
    Json processes = Json::array();
    for (const Part& part : parts_) {
      Json one = part.identity();
      one["process"] = part.header().process;
      processes.push_back(std::move(one));
    }
    all["processes"] = std::move(processes);
    file_->write_text(ChunkType::identity, text_of(all));
  }

  void write_tracks() {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      for (const auto& [number, track] : parts_[i].tracks()) lines_.push_back({i, number});
    }
    const auto key = [this](const Line& line) {
      const Part::Track& track = parts_[line.part].tracks().at(line.track);
      // Threads that are no workers come last.
      const int worker = track.worker < 0 ? std::numeric_limits<int>::max() : track.worker;
      return std::tuple(track.rank, worker, line.part, line.track);
    };
    std::sort(lines_.begin(), lines_.end(),
              [&](const Line& a, const Line& b) { return key(a) < key(b); });
    if (lines_.size() > kMaxTracks) {
      throw Error(fmt::format("{} tracks, and a trace has at most {}", lines_.size(), kMaxTracks));
    }
    constexpr std::size_t kTracksOfChunk = 1024;
    Json all = Json::array();
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const Part& part = parts_[lines_[i].part];
      const Part::Track& track = part.tracks().at(lines_[i].track);
      all.push_back({{"track", i},
                     {"rank", track.rank},
                     {"worker", track.worker},
                     {"name", track.name},
                     {"process", part.header().process}});
      if (all.size() < kTracksOfChunk && i + 1 < lines_.size()) continue;
      file_->write_text(ChunkType::tracks, text_of(all));
      all.clear();
    }
  }

  void write_names() {
    std::map<std::string, NameId> known;
    names_.resize(parts_.size());
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      std::vector<NameId>& numbers = names_[i];
      for (const auto& [id, text] : parts_[i].names()) {
        const auto [entry, is_new] = known.try_emplace(text, static_cast<NameId>(known.size() + 1));
        if (is_new) file_->write_name(entry->second, text);
        if (id >= kMaxNames) continue;  // damage
        if (id >= numbers.size()) numbers.resize(id + std::size_t{1});
        numbers[id] = entry->second;
      }
      parts_[i].drop_names();
    }
  }

  void write_details() {
    std::map<std::pair<std::size_t, std::uint32_t>, std::uint32_t> numbers;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      numbers[{lines_[i].part, lines_[i].track}] = static_cast<std::uint32_t>(i);
    }
    std::vector<Detail> details;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      for (const std::uint64_t offset : parts_[i].detail_chunks()) {
        std::uint32_t track = 0;
        if (!files_[i].read_details(offset, details, track)) break;
        const auto number = numbers.find({i, track});
        file_->write_records(ChunkType::details, std::span<const Detail>(details),
                             number == numbers.end() ? 0 : number->second);
      }
    }
  }

  [[nodiscard]] std::size_t buffer_events() const {
    constexpr std::size_t kFewest = 16;
    const std::size_t tracks = std::max<std::size_t>(lines_.size(), 1);
    return std::clamp(options_.memory_bytes / sizeof(Event) / tracks, kFewest, kChunkRecordsMax);
  }

  void write_events() {
    std::vector<Cursor> cursors;
    cursors.reserve(lines_.size());
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const std::size_t part = lines_[i].part;
      const Cursor::Source source{&files_[part],
                                  &parts_[part].tracks().at(lines_[i].track).event_chunks,
                                  &maps_[part], &names_[part], static_cast<std::uint32_t>(i)};
      cursors.emplace_back(source, buffer_events());
    }
    using Head = std::pair<std::int64_t, std::size_t>;  // time, cursor
    std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
    for (std::size_t i = 0; i < cursors.size(); ++i) {
      if (!cursors[i].at_end()) heads.emplace(cursors[i].time(), i);
    }
    const std::int64_t begin = heads.empty() ? 0 : heads.top().first;
    std::vector<Event> ready;
    ready.reserve(kChunkRecordsMax);
    while (!heads.empty()) {
      Cursor& cursor = cursors[heads.top().second];
      const std::size_t index = heads.top().second;
      heads.pop();
      ready.push_back(cursor.here());
      ready.back().time = static_cast<std::uint64_t>(cursor.time() - begin);
      if (ready.size() == kChunkRecordsMax) flush(ready);
      cursor.advance();
      if (!cursor.at_end()) heads.emplace(cursor.time(), index);
    }
    flush(ready);
    for (const Cursor& cursor : cursors) report_.steps_back += cursor.steps_back();
  }

  void flush(std::vector<Event>& events) {
    if (events.empty()) return;
    file_->write_records(ChunkType::events, std::span<const Event>(events));
    report_.events += events.size();
    events.clear();
  }

  void write_drops() {
    Json all = Json::object();
    for (const Part& part : parts_) {
      for (const auto& [category, count] : part.drops().items()) {
        if (!count.is_number_unsigned()) continue;
        const auto before = all.value(category, std::uint64_t{0});
        all[category] = before + count.get<std::uint64_t>();
        if (category != "descriptions") report_.dropped += count.get<std::uint64_t>();
      }
    }
    file_->write_text(ChunkType::drops, text_of(all));
  }

  void note_damage(std::size_t index) {
    std::string damage = parts_[index].damage();
    if (!files_[index].damage().empty()) damage = files_[index].damage();
    if (!damage.empty()) report_.damage.push_back(parts_[index].path() + ": " + damage);
  }

  void write_end() {
    file_->write_text(ChunkType::end,
                      text_of(Json{{"events", report_.events},
                                   {"parts", report_.parts},
                                   {"parts_missing", report_.parts_missing},
                                   {"dropped", report_.dropped},
                                   {"steps_back", report_.steps_back},
                                   {"uncertainty_ns", report_.uncertainty_ns},
                                   {"barriers", report_.barriers},
                                   {"barrier_spread_ns", report_.barrier_spread_ns},
                                   {"barrier_uncertainty_ns", report_.barrier_uncertainty_ns},
                                   {"unsynchronized", report_.unsynchronized},
                                   {"damage", report_.damage}}));
  }

  const MergeOptions options_;
  const std::string output_;
  MergeReport report_;
  std::vector<Part> parts_;
  std::vector<PartFile> files_;             // by part
  std::vector<TimeMap> maps_;               // by part
  std::vector<std::vector<NameId>> names_;  // by part
  std::vector<Line> lines_;                 // by track of the merged file
  std::unique_ptr<FileWriter> file_;
};

}  // namespace

std::vector<std::string> find_parts(const std::string& path) {
  // The parts are found by listing the folder, not by counting up, as parts may be missing.
  const std::filesystem::path whole(path);
  const std::string prefix = whole.filename().string() + ".part";
  const auto folder = whole.has_parent_path() ? whole.parent_path() : std::filesystem::path(".");
  std::map<std::uint64_t, std::string> parts;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix)) continue;
    const std::string number = name.substr(prefix.size());
    constexpr std::size_t kDigitsMax = 9;
    if (number.empty() || number.size() > kDigitsMax ||
        number.find_first_not_of("0123456789") != std::string::npos) {
      continue;
    }
    parts[std::stoull(number)] = path + ".part" + number;
  }
  std::vector<std::string> all;
  all.reserve(parts.size());
  for (auto& [number, name] : parts) all.push_back(std::move(name));
  return all;
}

MergeReport merge(const std::vector<std::string>& parts, const std::string& output,
                  const MergeOptions& options) {
  return Merging(parts, output, options).run();
}

}  // namespace shoal::trace
