#include "trace_tool/input.hpp"

#include <shoal/error.hpp>

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <span>
#include <sstream>
#include <system_error>
#include <unordered_map>
#include <vector>

#include "trace/insertion.hpp"
#include "trace/merge.hpp"

namespace shoal::trace_tool {

using Json = nlohmann::ordered_json;
using trace::ChunkHeader;
using trace::ChunkType;

namespace {

std::string make_temporary() {
  std::string pattern = (std::filesystem::temp_directory_path() / "shoal-trace-XXXXXX").string();
  const int file = mkstemp(pattern.data());
  if (file < 0) throw Error(fmt::format("{}: cannot make a temporary file here", pattern));
  close(file);
  return pattern;
}

}  // namespace

std::string Input::find(const std::string& path, std::string& temporary) {
  std::vector<std::string> parts;
  if (std::filesystem::exists(path)) {
    if (trace::FileReader(path).header().clock == trace::ClockKind::merged) return path;
    parts = {path};
  } else {
    parts = trace::find_parts(path);
    if (parts.empty()) {
      throw Error(
          fmt::format("{}: there is no such trace, nor parts of it ({}.part0, ...)", path, path));
    }
  }
  temporary = make_temporary();
  try {
    trace::merge(parts, temporary);
  } catch (...) {
    std::filesystem::remove(temporary);
    throw;
  }
  return temporary;
}

std::string fact_of(const Json& process, const char* key) {
  const auto text = process.find(key);
  return text != process.end() && text->is_string() ? text->get<std::string>() : std::string();
}

Input::Input(const std::string& path) : path_(path), reader_(find(path, temporary_)) {
  try {
    read_tables();
  } catch (const Json::exception& error) {
    throw Error(fmt::format("{}: a table of this trace is damaged: {}", path, error.what()));
  }
}

Input::~Input() {
  std::error_code ignored;
  if (!temporary_.empty()) std::filesystem::remove(temporary_, ignored);
}

void Input::read_tables() {
  std::string text;
  std::vector<std::pair<NameId, std::string>> names;
  names_.emplace_back();
  while (const ChunkHeader* chunk = reader_.next()) {
    switch (chunk->type) {
      case ChunkType::identity:
        if (reader_.text(text)) identity_ = Json::parse(text);
        break;
      case ChunkType::tracks:
        if (reader_.text(text)) read_tracks(text);
        break;
      case ChunkType::names:
        if (!reader_.names(names)) break;
        for (auto& [id, name] : names) {
          if (id == names_.size()) names_.push_back(std::move(name));  // in sequence
        }
        break;
      case ChunkType::drops:
        if (reader_.text(text)) drops_ = Json::parse(text);
        break;
      case ChunkType::end:
        if (reader_.text(text)) end_ = Json::parse(text);
        break;
      default:
        break;
    }
  }
  damage_ = reader_.damage();
  if (const auto found = identity_.find("processes"); found != identity_.end()) {
    for (const Json& process : *found) {
      if (process.is_object()) processes_.push_back(process);
    }
  }
  place_tracks();
}

// Each process has listed the nodes of its workers, in rank order.
void Input::place_tracks() {
  for (const Json& process : processes_) {
    std::istringstream text(fact_of(process, "memory_nodes"));
    const std::vector<int> nodes(std::istream_iterator<int>(text), {});
    const auto workers = std::strtoull(fact_of(process, "workers").c_str(), nullptr, 10);
    if (workers == 0 || nodes.size() < workers) continue;
    const std::size_t ranks = nodes.size() / workers;
    for (TrackRow& track : tracks_) {
      if (track.process != process.value("process", 0) || track.worker < 0) continue;
      const std::size_t at = static_cast<std::size_t>(track.rank) % ranks * workers +
                             static_cast<std::size_t>(track.worker);
      if (at < nodes.size()) track.memory_node = nodes[at];
    }
  }
}

void Input::read_tracks(const std::string& text) {
  for (const Json& one : Json::parse(text)) {
    const auto number = one.at("track").get<std::size_t>();
    if (number != tracks_.size()) throw Error(path_ + ": the tracks are not in sequence");
    TrackRow track;
    track.rank = one.at("rank").get<int>();
    track.worker = one.at("worker").get<int>();
    track.process = one.value("process", 0);
    track.name = one.at("name").get<std::string>();
    rank_count_ = std::max(rank_count_, track.rank + 1);
    tracks_.push_back(std::move(track));
  }
}

const TrackRow& Input::track(std::uint32_t number) const {
  static const TrackRow nameless;
  return number < tracks_.size() ? tracks_[number] : nameless;
}

const std::string& Input::name(NameId id) const { return names_[id < names_.size() ? id : 0]; }

std::uint64_t Input::number_at_end(const char* key) const {
  const auto found = end_.find(key);
  return found != end_.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

std::uint32_t Input::categories() const {
  std::uint32_t all = 0;
  for (const Json& process : processes_) {
    all |= trace::parse_categories(fact_of(process, "categories")).value_or(0);
  }
  return all;
}

std::uint64_t Input::dropped_descriptions() const {
  const auto found = drops_.find("descriptions");
  return found != drops_.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

bool Input::has_losses() const {
  return end_.empty() || !damage_.empty() || number_at_end("parts_missing") > 0 ||
         number_at_end("dropped") > 0 || dropped_descriptions() > 0 ||
         !end_.value("damage", Json::array()).empty();
}

std::vector<std::string> Input::gaps() const {
  std::vector<std::string> all;
  const std::uint32_t recorded = categories();
  if (recorded != 0 && recorded != trace::kAllCategories) {
    std::string text;
    for (std::size_t i = 0; i < trace::kCategoryCount; ++i) {
      if ((recorded >> i & 1U) == 0) continue;
      text += (text.empty() ? "" : ", ") + std::string(name_of(static_cast<Category>(i)));
    }
    all.push_back(fmt::format("only these categories were recorded: {}", text));
    if ((recorded & trace::bit_of(Category::task)) != 0 &&
        (recorded & trace::bit_of(Category::message)) == 0) {
      all.emplace_back("handlers were not recorded, so that nothing is known of idle workers");
    }
  }
  if (end_.empty()) all.emplace_back("the trace has no end: it was cut off");
  if (!damage_.empty()) all.push_back(damage_);
  for (const Json& line : end_.value("damage", Json::array())) {
    if (line.is_string()) all.push_back(line.get<std::string>());
  }
  if (const std::uint64_t missing = number_at_end("parts_missing"); missing > 0) {
    all.push_back(fmt::format("the parts of {} processes are missing", missing));
  }
  if (const std::uint64_t dropped = number_at_end("dropped"); dropped > 0) {
    all.push_back(fmt::format("{} events were dropped because buffers were full", dropped));
  }
  if (const std::uint64_t dropped = dropped_descriptions(); dropped > 0) {
    all.push_back(
        fmt::format("{} keys, dependencies and other descriptions were dropped because buffers "
                    "were full",
                    dropped));
  }
  return all;
}

namespace {

/// Gives large messages their size. Senders record the payload first, and then the message with its
/// weight in the window.
class Sizes {
 public:
  explicit Sizes(const std::vector<std::string>& names)
      : announced_(
            static_cast<NameId>(std::ranges::find(names, "payload announced") - names.begin())) {}

  void correct(Event& event) {
    if (event.kind() == Kind::large_phase && event.name == announced_) {
      payloads_[event.id] = trace::size_bytes_of(event.value);
    } else if (event.kind() == Kind::message_sent && !payloads_.empty()) {
      const auto payload = payloads_.find(event.id);
      if (payload == payloads_.end()) return;
      const std::uint64_t size = trace::size_bytes_of(event.value);
      if (size < payload->second) {
        event.value =
            trace::peer_bytes(trace::peer_of(event.value),
                              size - std::min(size, trace::kPayloadWeightMax) + payload->second);
      }
      payloads_.erase(payload);
    }
  }

 private:
  const NameId announced_;
  std::unordered_map<std::uint64_t, std::uint64_t> payloads_;  // until their messages are sent
};

}  // namespace

void Input::for_each(FunctionRef<void(const Event&)> each) {
  reader_.rewind();
  Sizes sizes(names_);
  std::vector<Event> events;
  while (const ChunkHeader* chunk = reader_.next()) {
    if (chunk->type != ChunkType::events || !reader_.records(events)) continue;
    for (Event& event : events) {
      sizes.correct(event);
      each(event);
    }
  }
  damage_ = reader_.damage();
}

void Input::for_each_detail(FunctionRef<void(std::uint32_t, const Detail&)> each) {
  reader_.rewind();
  std::vector<Detail> details;
  while (const ChunkHeader* chunk = reader_.next()) {
    if (chunk->type != ChunkType::details) continue;
    const std::uint32_t track = chunk->track;
    if (!reader_.records(details)) continue;
    for (const Detail& detail : details) each(track, detail);
  }
}

namespace {

/// "7", or "(7, 1)" for several, as format_key() writes them.
std::string text_of_numbers(const Detail& detail) {
  std::array<std::int32_t, Detail::kNumbersMax> numbers{};
  const std::size_t count = std::min(detail.length / sizeof(std::int32_t), numbers.size());
  std::memcpy(numbers.data(), detail.bytes.data(), count * sizeof(std::int32_t));
  const std::string all = fmt::format("{}", fmt::join(std::span(numbers).first(count), ", "));
  return count == 1 ? all : "(" + all + ")";
}

}  // namespace

void Input::for_each_key(FunctionRef<void(std::uint64_t, std::string_view)> each) {
  for_each_text(Detail::Type::key, each);
  for_each_detail([&](std::uint32_t /*track*/, const Detail& detail) {
    if (detail.type == Detail::Type::numbers) each(detail.id, text_of_numbers(detail));
  });
}

void Input::for_each_fact(
    FunctionRef<void(trace::Fact, std::string_view name, std::string_view value)> each) {
  for_each_text(Detail::Type::fact, [&](std::uint64_t fact, std::string_view text) {
    const std::size_t tab = text.rfind('\t');
    if (tab == std::string_view::npos) return;
    each(static_cast<trace::Fact>(fact), text.substr(0, tab), text.substr(tab + 1));
  });
}

void Input::for_each_text(Detail::Type type,
                          FunctionRef<void(std::uint64_t, std::string_view)> each) {
  std::map<std::uint32_t, std::string> begun;  // by track
  for_each_detail([&](std::uint32_t track, const Detail& detail) {
    if (detail.type != type) return;
    std::string& text = begun[track];
    const std::size_t length =
        std::min<std::size_t>(detail.length & ~Detail::kGoesOn, Detail::kTextBytes);
    text.append(detail.bytes.data(), length);
    if ((detail.length & Detail::kGoesOn) != 0) return;
    each(detail.id, text);
    text.clear();
  });
}

void Input::for_each_relation(
    FunctionRef<void(Detail::Type type, std::uint64_t id, std::uint64_t other)> each) {
  for_each_detail([&](std::uint32_t /*track*/, const Detail& detail) {
    using Type = Detail::Type;
    const bool is_relation = detail.type == Type::depends_on || detail.type == Type::fulfilled ||
                             detail.type == Type::joined || detail.type == trace::kInserted;
    if (!is_relation) return;
    std::uint64_t other = 0;
    std::memcpy(&other, detail.bytes.data(), sizeof other);
    each(detail.type, detail.id, other);
  });
}

std::string time_text(double ns) {
  constexpr std::array<std::pair<double, const char*>, 3> kUnits = {
      {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}}};
  for (const auto& [size, unit] : kUnits) {
    if (ns >= size) return fmt::format("{:.4g} {}", ns / size, unit);
  }
  return fmt::format("{:.4g} ns", ns);
}

std::string bytes_text(double bytes) {
  constexpr double kStep = 1024;
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= kStep && unit + 1 < kUnits.size()) {
    bytes /= kStep;
    ++unit;
  }
  return fmt::format("{:.3g} {}", bytes, kUnits.at(unit));
}

std::string share_text(double part, double whole) {
  if (whole <= 0) return "0 %";
  const double percent = 100 * part / whole;
  return percent < 10 ? fmt::format("{:.2g} %", percent) : fmt::format("{:.0f} %", percent);
}

}  // namespace shoal::trace_tool
