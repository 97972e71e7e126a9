#include "trace/part.hpp"

#include <shoal/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace shoal::trace {

namespace {

template <class Record>
void append(FileReader& file, std::vector<Record>& to) {
  std::vector<Record> more;
  if (file.records(more)) to.insert(to.end(), more.begin(), more.end());
}

}  // namespace

Part::Part(const std::string& path) : path_(path) {
  FileReader file(path);
  header_ = file.header();
  if (header_.clock == ClockKind::merged) {
    throw Error(
        fmt::format("{}: this trace is merged already; give the parts that the processes "
                    "wrote, which are called {}",
                    path, "NAME.part0, NAME.part1, ..."));
  }
  clock_.process = header_.process;
  clock_.clock = header_.clock;
  try {
    while (const ChunkHeader* chunk = file.next()) read(file, *chunk);
  } catch (const nlohmann::json::exception& error) {
    throw Error(fmt::format("{}: a table of this trace is damaged: {}", path, error.what()));
  }
  if (const auto host = identity_.find("host"); host != identity_.end() && host->is_string()) {
    clock_.host = host->get<std::string>();
  }
  damage_ = file.damage();
  if (damage_.empty() && !has_end_) {
    damage_ = "the run was killed: its last events are missing";
  }
}

void Part::read(FileReader& file, const ChunkHeader& chunk) {
  std::string text;
  std::vector<std::pair<NameId, std::string>> names;
  const std::uint64_t offset = file.payload_offset() - sizeof(ChunkHeader);
  switch (chunk.type) {
    case ChunkType::identity:
      if (file.text(text)) identity_ = nlohmann::ordered_json::parse(text);
      break;
    case ChunkType::tracks:
      read_tracks(file);
      break;
    case ChunkType::names:
      if (file.names(names)) {
        names_.insert(names_.end(), std::make_move_iterator(names.begin()),
                      std::make_move_iterator(names.end()));
      }
      break;
    case ChunkType::events:
      tracks_[chunk.track].event_chunks.push_back(offset);
      break;
    case ChunkType::details:
      details_.push_back(offset);
      break;
    case ChunkType::clock:
      append(file, clock_.samples);
      break;
    case ChunkType::sync:
      append(file, clock_.sync);
      break;
    case ChunkType::barrier:
      append(file, barriers_);
      break;
    case ChunkType::drops:
      if (file.text(text)) drops_ = nlohmann::ordered_json::parse(text);
      break;
    case ChunkType::end:
      has_end_ = true;
      break;
    case ChunkType::kinds:
    default:
      break;  // newer chunks are none of this reader's business
  }
}

void Part::read_tracks(FileReader& file) {
  std::string text;
  if (!file.text(text)) return;
  for (const auto& one : nlohmann::ordered_json::parse(text)) {
    Track& track = tracks_[one.at("track").get<std::uint32_t>()];
    track.rank = one.at("rank").get<int>();
    track.worker = one.at("worker").get<int>();
    track.name = one.at("name").get<std::string>();
  }
}

FileReader& PartFile::open(std::uint64_t offset) {
  if (file_ == nullptr) file_ = std::make_unique<FileReader>(path_);
  file_->go_to(offset);
  return *file_;
}

void PartFile::close() {
  if (!file_->damage().empty()) damage_ = file_->damage();
  if (!keep_open_) file_.reset();
}

bool PartFile::read_events(std::uint64_t offset, std::size_t first, std::size_t count,
                           std::vector<Event>& events) {
  FileReader& file = open(offset);
  std::vector<Event> all;
  const bool readable = file.next() != nullptr &&
                        (first == 0 ? file.records(all) : file.some_records(first, count, all));
  if (readable) {
    const std::size_t have = std::min(count, all.size());
    events.insert(events.end(), all.begin(), all.begin() + static_cast<std::ptrdiff_t>(have));
  }
  close();
  return readable;
}

bool PartFile::read_details(std::uint64_t offset, std::vector<Detail>& details,
                            std::uint32_t& track) {
  FileReader& file = open(offset);
  const ChunkHeader* const chunk = file.next();
  const bool readable = chunk != nullptr && file.records(details);
  if (readable) track = chunk->track;
  close();
  return readable;
}

Cursor::Cursor(const Source& source, std::size_t buffer_events)
    : source_(source), buffer_events_(buffer_events) {
  refill();
}

void Cursor::refill() {
  events_.clear();
  position_ = 0;
  while (events_.empty() && chunk_ < source_.chunks->size()) {
    const std::size_t wanted = buffer_events_;
    if (!source_.file->read_events((*source_.chunks)[chunk_], first_, wanted, events_)) {
      chunk_ = source_.chunks->size();  // what stands behind it would be out of its context
      break;
    }
    first_ += events_.size();
    if (events_.size() < wanted) {
      ++chunk_;
      first_ = 0;
    }
  }
  if (!events_.empty()) translate();
}

void Cursor::translate() {
  current_ = events_[position_];
  const std::int64_t time = (*source_.map)(current_.time);
  if (started_ && time < time_) {
    ++steps_back_;
  } else {
    time_ = time;
  }
  started_ = true;
  current_.set(source_.track, current_.kind());
  const bool known = current_.name < source_.names->size();
  current_.name = known ? (*source_.names)[current_.name] : 0;
}

void Cursor::advance() {
  ++position_;
  if (position_ == events_.size()) {
    refill();
  } else {
    translate();
  }
}

}  // namespace shoal::trace
