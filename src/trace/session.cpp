#include "trace/session.hpp"

#include <shoal/error.hpp>
#include <shoal/trace.hpp>

#include <nlohmann/json.hpp>

#include "env/start_thread.hpp"
#include "trace/json_text.hpp"

#include <algorithm>
#include <csignal>
#include <type_traits>
#include <utility>

namespace shoal::trace {

NameId Names::intern(std::string_view text) {
  const std::lock_guard lock(mutex_);
  const auto known = ids_.find(text);
  if (known != ids_.end()) return known->second;
  if (texts_.size() == kMaxNames) return 0;
  const auto id = static_cast<NameId>(texts_.size());
  texts_.push_back(ids_.emplace(text, id).first->first);
  return id;
}

std::string Names::text(NameId id) const { return std::string(view(id)); }

std::string_view Names::view(NameId id) const {
  const std::lock_guard lock(mutex_);
  return id < texts_.size() ? texts_[id] : std::string_view();
}

Names& Names::of_process() {
  // Never destroyed: threads record until the process ends.
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): see above
  static auto* const names = new Names;
  return *names;
}

namespace {

using Json = nlohmann::ordered_json;

ClockKind clock_of(const Options& options) {
  if (options.virtual_time != nullptr) return ClockKind::virtual_time;
  return options.ticks == env::TickSource::tsc ? ClockKind::tsc : ClockKind::monotonic_raw;
}

FileHeader header_of(const Options& options) {
  FileHeader header;
  header.clock = clock_of(options);
  header.process = options.process;
  header.processes = options.processes;
  return header;
}

constexpr int kNoSignal = 0;

std::string table_of_kinds() {
  constexpr std::array<const char*, 4> kRoles = {"instant", "begin", "end", "counter"};
  Json all = Json::array();
  for (const KindInfo& kind : kinds()) {
    all.push_back({{"kind", static_cast<int>(kind.kind)},
                   {"category", std::string(name_of(kind.category))},
                   {"role", kRoles.at(static_cast<std::size_t>(kind.role))},
                   {"name", std::string(kind.name)}});
  }
  return text_of(all);
}

}  // namespace

Session::Session(Options options, std::uint32_t number)
    : options_(std::move(options)),
      number_(number),
      on_signal_(options_.virtual_time == nullptr ? SIGUSR2 : kNoSignal, alarm_),
      file_(options_.path, header_of(options_)),
      identity_(options_.identity) {
  file_.write_text(ChunkType::kinds, table_of_kinds());
  write_identity();
  write_clock();
}

Session::~Session() = default;

void Session::start(void (*on_signal)()) {
  if (options_.virtual_time != nullptr) return;
  thread_.emplace("shoal-trace", "the writer of the trace", [this, on_signal] { run(on_signal); });
}

void Session::run(void (*on_signal)()) {
  env::unbind_current_thread();
  constexpr std::uint64_t kShortestNs = 1'000'000;
  constexpr std::uint64_t kLongestNs = 8'000'000;
  std::uint64_t pause_ns = kShortestNs;
  while (!stops_.load(std::memory_order_acquire)) {
    if (alarm_.wait(pause_ns).by_signal) on_signal();
    const std::lock_guard lock(file_mutex_);
    bool soon = false;
    guarded([&] {
      const std::uint64_t now_ns = env::monotonic_raw_ns();
      const bool all = now_ns - last_all_ns_ >= options_.flush_ns;
      if (all) last_all_ns_ = now_ns;
      soon = write_round(all);
    });
    pause_ns = soon ? kShortestNs : std::min(2 * pause_ns, kLongestNs);
  }
  writer_ns_ = env::times_of_this_thread().ran_ns;
}

template <class Function>
void Session::guarded(Function function) noexcept {
  if (error_ != nullptr) return;
  try {
    function();
  } catch (...) {
    error_ = std::current_exception();
  }
}

bool Session::write_round(bool all) {
  std::vector<std::shared_ptr<Stream>> streams;
  {
    const std::lock_guard lock(mutex_);
    streams = streams_;
  }
  bool soon = false;
  for (const auto& stream : streams) {
    const bool ended = stream->has_ended();
    const std::uint64_t capacity = stream->events().capacity();
    const std::uint64_t size = stream->events().size();
    const bool details = 4 * stream->details().size() >= stream->details().capacity();
    soon = soon || 4 * size >= capacity || details;
    if (all || ended || details || 16 * size >= capacity) write_stream(*stream);
    if (!ended) continue;
    const std::lock_guard lock(mutex_);
    stream->add_drops(drops_of_ended_);
    buffer_bytes_ -=
        stream->events().capacity() * sizeof(Event) + stream->details().capacity() * sizeof(Detail);
    std::erase(streams_, stream);
  }
  if (all) {
    write_clock();
    write_drops();
  }
  return soon;
}

void Session::write_stream(Stream& stream) {
  if (!std::exchange(wrote_, true)) write_clock();  // the second sample: ticks have a rate
  const std::uint32_t track = stream.info().track;
  const auto write_all = [&](auto& ring, ChunkType type) {
    std::uint64_t left = ring.size();  // no more: a thread that records fast would hold us here
    while (left > 0) {
      auto slots = ring.front();
      slots = slots.first(std::min<std::size_t>({slots.size(), left, kChunkRecordsMax}));
      write_new_tracks();
      if constexpr (std::is_same_v<std::decay_t<decltype(slots[0])>, Event>) write_names_of(slots);
      file_.write_records(type, slots, track);
      if (type == ChunkType::events) written_ += slots.size();
      left -= slots.size();
      ring.pop(slots.size());
    }
  };
  write_all(stream.details(), ChunkType::details);
  write_all(stream.events(), ChunkType::events);
}

void Session::write_names_of(std::span<const Event> events) {
  for (const Event& event : events) {
    if (event.name == 0 || event.name >= kMaxNames) continue;
    if (event.name >= names_written_.size()) names_written_.resize(event.name + std::size_t{1});
    if (names_written_[event.name]) continue;
    names_written_[event.name] = true;
    file_.write_name(event.name, Names::of_process().text(event.name));
  }
}

void Session::write_new_tracks() {
  std::vector<TrackInfo> tracks;
  {
    const std::lock_guard lock(mutex_);
    tracks.swap(new_tracks_);
  }
  if (tracks.empty()) return;
  Json all = Json::array();
  for (const TrackInfo& info : tracks) {
    all.push_back(
        {{"track", info.track}, {"rank", info.rank}, {"worker", info.worker}, {"name", info.name}});
  }
  file_.write_text(ChunkType::tracks, text_of(all));
}

void Session::write_drops() {
  const Drops now = drops();
  if (now == drops_written_) return;
  drops_written_ = now;
  Json all = Json::object();
  for (std::size_t i = 0; i < kCategoryCount; ++i) {
    all[std::string(name_of(static_cast<Category>(i)))] = now.events[i];
  }
  all["descriptions"] = now.details;
  file_.write_text(ChunkType::drops, text_of(all));
}

void Session::write_clock() {
  if (options_.virtual_time != nullptr) return;
  const env::TickSample sample = env::sample_ticks(options_.ticks);
  file_.write_records(ChunkType::clock, std::span(&sample, 1));
}

void Session::write_identity() {
  Json all = Json::object();
  for (const auto& [name, value] : identity_) all[name] = value;
  file_.write_text(ChunkType::identity, text_of(all));
}

std::size_t Session::next_buffer_bytes() const {
  constexpr std::size_t kSmallestBytes = std::size_t{4} << 10U;
  constexpr std::size_t kVirtualBytes = std::size_t{64} << 10U;  // there may be very many tracks
  constexpr std::size_t kShare = 32;  // of what is left: late tracks get less, but not nothing
  const bool is_virtual = options_.virtual_time != nullptr;
  const std::size_t left = options_.memory_bytes - std::min(options_.memory_bytes, buffer_bytes_);
  const std::size_t wanted =
      is_virtual ? std::min(options_.buffer_bytes, kVirtualBytes) : options_.buffer_bytes;
  const std::size_t bytes = std::max(std::min(wanted, left / kShare), kSmallestBytes);
  return bytes <= left || is_virtual ? bytes : 0;
}

std::shared_ptr<Stream> Session::make_stream(int rank, int worker, const std::string& name) {
  TrackInfo info;
  std::size_t bytes = 0;
  std::size_t detail_bytes = 0;
  {
    const std::lock_guard lock(mutex_);
    if (track_count_ == kMaxTracks) {
      throw Error("the trace has 16777216 tracks, as many as it can. Start fewer threads");
    }
    bytes = next_buffer_bytes();
    detail_bytes = bytes / 4;
    buffer_bytes_ += SlotRing<Event>::capacity_in(bytes - detail_bytes) * sizeof(Event) +
                     SlotRing<Detail>::capacity_in(detail_bytes) * sizeof(Detail);
    info = {track_count_++, rank, worker, tracks_of_rank_[rank]++, name};
    new_tracks_.push_back(info);
  }
  // Takes milliseconds, in which other threads make theirs: the memory is touched.
  auto stream = std::make_shared<Stream>(info, number_, bytes - detail_bytes, detail_bytes);
  if (options_.virtual_time != nullptr) {
    stream->use_virtual_time(*options_.virtual_time, *this);
  } else {
    stream->use_ticks(options_.ticks);
  }
  const std::lock_guard lock(mutex_);
  streams_.push_back(stream);
  return stream;
}

std::shared_ptr<Stream> Session::make_thread_stream() {
  int number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = ++thread_count_;
  }
  return make_stream(options_.first_rank, -1, "thread " + std::to_string(number));
}

void Session::add_sync(std::span<const SyncPoint> points) {
  const std::lock_guard lock(file_mutex_);
  guarded([&] { file_.write_records(ChunkType::sync, points); });
}

void Session::add_barrier(std::uint64_t local_ticks) {
  const std::lock_guard lock(file_mutex_);
  const std::span<const std::uint64_t> one(&local_ticks, 1);
  guarded([&] { file_.write_records(ChunkType::barrier, one); });
}

void Session::add_identity(const Identity& more) {
  const std::lock_guard lock(file_mutex_);
  for (const auto& fact : more) {
    std::erase_if(identity_, [&](const auto& old) { return old.first == fact.first; });
    identity_.push_back(fact);
  }
  guarded([&] { write_identity(); });
}

Drops Session::drops() const {
  const std::lock_guard lock(mutex_);
  Drops sum = drops_of_ended_;
  for (const auto& stream : streams_) stream->add_drops(sum);
  return sum;
}

void Session::write_from_recording_thread(Stream& stream) noexcept {
  const std::lock_guard lock(file_mutex_);
  guarded([&] { write_stream(stream); });
}

void Session::finish() {
  stops_.store(true, std::memory_order_release);
  alarm_.ring();
  thread_.reset();
  const std::lock_guard lock(file_mutex_);
  guarded([&] {
    write_round(true);
    write_new_tracks();
    if (options_.virtual_time == nullptr) {
      identity_.emplace_back("writer_ns", std::to_string(writer_ns_));
      write_identity();
    }
    file_.write_text(ChunkType::end, text_of(Json{{"events", written_}}));
    file_.close();
  });
  if (error_ != nullptr) std::rethrow_exception(error_);
}

}  // namespace shoal::trace
