#include "trace_tool/program/otf2.hpp"

#include <shoal/error.hpp>

#include "trace_tool/model.hpp"
#include "trace_tool/slices.hpp"

#include <fmt/format.h>
#include <otf2/otf2.h>

#include <array>
#include <charconv>
#include <cstdarg>
#include <cstdio>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

namespace shoal::trace_tool {

namespace {

void require(OTF2_ErrorCode code, const std::string& what) {
  if (code == OTF2_SUCCESS) return;
  throw Error(fmt::format("{}: OTF2 refuses: {}", what, OTF2_Error_GetDescription(code)));
}

/// Keeps the first error as a text: OTF2 tells that a file cannot be written by this alone, as it
/// ends, and returns success.
OTF2_ErrorCode keep_error(void* first, const char* /*file*/, std::uint64_t /*line*/,
                          const char* /*function*/, OTF2_ErrorCode code, const char* format,
                          std::va_list values) {
  auto& kept = *static_cast<std::string*>(first);
  if (code > OTF2_SUCCESS && kept.empty()) {
    std::array<char, 512> text{};
    std::vsnprintf(text.data(), text.size(), format, values);
    kept = fmt::format("{}: {}", OTF2_Error_GetDescription(code), text.data());
  }
  return code;
}

OTF2_FlushType flush_when_full(void* /*data*/, OTF2_FileType /*type*/,
                               OTF2_LocationRef /*location*/, void* /*caller*/, bool /*final*/) {
  return OTF2_FLUSH;
}
OTF2_TimeStamp time_of_flush(void* data, OTF2_FileType /*type*/, OTF2_LocationRef /*location*/) {
  return *static_cast<const OTF2_TimeStamp*>(data);
}

/// Writes one archive. Locations are tracks; regions are numbered as they come.
class Otf2 {
 public:
  Otf2(Input& input, const std::string& folder)
      : input_(input), model_(input), counts_(input.tracks().size()) {
    if (std::filesystem::exists(folder)) {
      throw Error(folder + ": this exists already; OTF2 archives need a folder of their own");
    }
    OTF2_Error_RegisterCallback(&keep_error, &error_);
    archive_ = OTF2_Archive_Open(folder.c_str(), "traces", OTF2_FILEMODE_WRITE, 1024UL * 1024,
                                 4UL * 1024 * 1024, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    if (archive_ == nullptr) {
      throw Error(fmt::format("{}: OTF2 cannot create this archive: {}", folder, error_));
    }
    require(OTF2_Archive_SetFlushCallbacks(archive_, &flush_, &now_), folder);
    require(OTF2_Archive_SetSerialCollectiveCallbacks(archive_), folder);
    path_ = folder;
  }
  ~Otf2() {
    if (archive_ != nullptr) OTF2_Archive_Close(archive_);
    OTF2_Error_RegisterCallback(nullptr, nullptr);
    std::error_code ignored;
    if (!is_whole_) std::filesystem::remove_all(path_, ignored);  // as TextFile
  }
  Otf2(const Otf2&) = delete;
  Otf2& operator=(const Otf2&) = delete;

  void run() {
    write_events();
    write_definitions();
    require(OTF2_Archive_Close(std::exchange(archive_, nullptr)), path_);
    if (!error_.empty()) throw Error(fmt::format("{}: OTF2 fails: {}", path_, error_));
    is_whole_ = true;
  }

 private:
  void write_events() {
    require(OTF2_Archive_OpenEvtFiles(archive_), path_);
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      writers_.push_back(OTF2_Archive_GetEvtWriter(archive_, i));
    }
    for (const Message& message : model_.messages) {
      const bool whole = message.sent != kNever && message.to_track != kNone;
      if (whole) messages_[message.id] = &message;
    }
    Slices slices(input_, {[this](const Event& event, Kind kind, const std::string& name) {
                             const std::uint32_t track = event.track();
                             count(track, event.time);
                             require(OTF2_EvtWriter_Enter(writers_[track], nullptr, event.time,
                                                          region_of(kind, name)),
                                     path_);
                             open_[track].push_back(region_of(kind, name));
                           },
                           [this](std::uint64_t time, std::uint32_t track) {
                             count(track, time);
                             require(OTF2_EvtWriter_Leave(writers_[track], nullptr, time,
                                                          open_[track].back()),
                                     path_);
                             open_[track].pop_back();
                           }});
    slices.for_each([this](const Event& event) { add_message(event); });
    for (OTF2_EvtWriter* const writer : writers_) {
      require(OTF2_Archive_CloseEvtWriter(archive_, writer), path_);
    }
    require(OTF2_Archive_CloseEvtFiles(archive_), path_);
  }

  void add_message(const Event& event) {
    const auto found = messages_.find(event.id);
    if (found == messages_.end()) return;
    const Message& message = *found->second;
    const auto tag = static_cast<std::uint32_t>(event.id & 0x7fffffffU);
    const bool received = message.received != kNever;
    const Kind arrival = received ? Kind::message_received : Kind::message_handled;
    if (event.kind() == Kind::message_sent) {
      count(event.track(), event.time);
      require(OTF2_EvtWriter_MpiSend(writers_[event.track()], nullptr, event.time, message.to_track,
                                     0, tag, message.size_bytes),
              path_);
    } else if (event.kind() == arrival) {
      count(event.track(), event.time);
      require(OTF2_EvtWriter_MpiRecv(writers_[event.track()], nullptr, event.time,
                                     message.from_track, 0, tag, message.size_bytes),
              path_);
    }
  }

  void count(std::uint32_t track, std::uint64_t time) {
    ++counts_[track];
    now_ = time;
  }

  OTF2_RegionRef region_of(Kind kind, const std::string& name) {
    const auto [entry, is_new] =
        regions_.try_emplace({kind, name}, static_cast<OTF2_RegionRef>(regions_.size()));
    return entry->second;
  }

  OTF2_StringRef text(const std::string& value) {
    const auto [entry, is_new] =
        strings_.try_emplace(value, static_cast<OTF2_StringRef>(strings_.size()));
    if (is_new) {
      require(OTF2_GlobalDefWriter_WriteString(definitions_, entry->second, value.c_str()), path_);
    }
    return entry->second;
  }

  void write_definitions() {
    constexpr std::uint64_t kTicksPerSecond = 1'000'000'000;
    definitions_ = OTF2_Archive_GetGlobalDefWriter(archive_);
    if (definitions_ == nullptr) throw Error(path_ + ": OTF2 cannot write definitions");
    require(OTF2_GlobalDefWriter_WriteClockProperties(definitions_, kTicksPerSecond, 0,
                                                      static_cast<std::uint64_t>(model_.whole) + 1,
                                                      OTF2_UNDEFINED_TIMESTAMP),
            path_);
    std::vector<const std::pair<Kind, std::string>*> regions(regions_.size());
    for (const auto& [key, region] : regions_) regions[region] = &key;
    for (OTF2_RegionRef region = 0; region < regions.size(); ++region) {  // readers want this order
      write_region(region, regions[region]->first, regions[region]->second);
    }
    require(OTF2_GlobalDefWriter_WriteSystemTreeNode(definitions_, 0, text("run"), text("machine"),
                                                     OTF2_UNDEFINED_SYSTEM_TREE_NODE),
            path_);
    write_locations();
  }

  /// A place in the source; line 0: it is not known.
  struct Place {
    std::string file;
    std::uint32_t line = 0;
  };

  void write_region(OTF2_RegionRef region, Kind kind, const std::string& name) {
    const bool is_message = kind == Kind::message_handled;
    const Place place = place_of(name);
    const auto colour = model_.colours.find(name);
    const std::string description =
        colour == model_.colours.end() ? "" : fmt::format("#{}", colour->second);
    const OTF2_StringRef named = text(name);
    require(OTF2_GlobalDefWriter_WriteRegion(
                definitions_, region, named, named, text(description),
                is_message ? OTF2_REGION_ROLE_FUNCTION : OTF2_REGION_ROLE_TASK, OTF2_PARADIGM_USER,
                OTF2_REGION_FLAG_NONE, text(place.file), place.line, place.line),
            path_);
  }

  [[nodiscard]] Place place_of(const std::string& name) const {
    const auto found = model_.places.find(name);
    if (found == model_.places.end()) return {};
    const std::string& all = found->second.front();
    const std::size_t colon = all.rfind(':');
    if (colon == std::string::npos) return {};
    Place place;
    place.file = all.substr(0, colon);
    std::from_chars(all.data() + colon + 1, all.data() + all.size(), place.line);
    return place;
  }

  void write_locations() {
    std::set<int> ranks;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      const TrackRow& track = input_.tracks()[i];
      const auto group = static_cast<OTF2_LocationGroupRef>(track.rank);
      if (ranks.insert(track.rank).second) {
        require(OTF2_GlobalDefWriter_WriteLocationGroup(
                    definitions_, group, text(fmt::format("rank {}", track.rank)),
                    OTF2_LOCATION_GROUP_TYPE_PROCESS, 0, OTF2_UNDEFINED_LOCATION_GROUP),
                path_);
      }
      require(OTF2_GlobalDefWriter_WriteLocation(definitions_, i, text(track.name),
                                                 OTF2_LOCATION_TYPE_CPU_THREAD, counts_[i], group),
              path_);
    }
    // Messages go from track to track: each is a member of its own.
    std::vector<std::uint64_t> members(counts_.size());
    std::iota(members.begin(), members.end(), std::uint64_t{0});
    const auto count = static_cast<std::uint32_t>(members.size());
    require(OTF2_GlobalDefWriter_WriteGroup(definitions_, 0, text("tracks"),
                                            OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI,
                                            OTF2_GROUP_FLAG_NONE, count, members.data()),
            path_);
    require(OTF2_GlobalDefWriter_WriteGroup(definitions_, 1, text("all tracks"),
                                            OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI,
                                            OTF2_GROUP_FLAG_NONE, count, members.data()),
            path_);
    require(OTF2_GlobalDefWriter_WriteComm(definitions_, 0, text("world"), 1, OTF2_UNDEFINED_COMM,
                                           OTF2_COMM_FLAG_NONE),
            path_);
    for (std::size_t i = 0; i < counts_.size(); ++i) {  // readers expect a file for each
      OTF2_DefWriter* const writer = OTF2_Archive_GetDefWriter(archive_, i);
      require(OTF2_Archive_CloseDefWriter(archive_, writer), path_);
    }
  }

  Input& input_;
  const Model model_;
  OTF2_Archive* archive_ = nullptr;
  const OTF2_FlushCallbacks flush_ = {flush_when_full,
                                      time_of_flush};  // the archive keeps a pointer
  OTF2_GlobalDefWriter* definitions_ = nullptr;        // the archive's
  std::vector<OTF2_EvtWriter*> writers_;               // the archive's, by track
  std::vector<std::uint64_t> counts_;                  // events, by track
  std::map<std::uint32_t, std::vector<OTF2_RegionRef>> open_;
  std::map<std::pair<Kind, std::string>, OTF2_RegionRef> regions_;
  std::map<std::string, OTF2_StringRef> strings_;
  std::unordered_map<std::uint64_t, const Message*> messages_;
  OTF2_TimeStamp now_ = 0;
  std::string path_;
  std::string error_;  // the first one; "": none
  bool is_whole_ = false;
};

}  // namespace

void to_otf2(Input& input, const std::string& folder) { Otf2(input, folder).run(); }

}  // namespace shoal::trace_tool
