#include "trace/cursor.hpp"

#include <algorithm>
#include <utility>

namespace shoal::trace {

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
