#include "trace/recorder.hpp"

#include <shoal/detail/base/check.hpp>
#include <shoal/trace.hpp>

#include "base/per_thread.hpp"
#include "env/host.hpp"
#include "trace/file.hpp"
#include "trace/insertion.hpp"
#include "trace/session.hpp"
#include "trace/stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <unordered_map>

namespace shoal::trace {

namespace detail {
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): what every probe reads
constinit std::atomic<std::uint32_t> g_flags{0};
/// Address of g_flags, through which programs outside of a shared library read it.
extern "C" {
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
extern std::atomic<std::uint32_t>* const shoal_trace_flags;
constinit std::atomic<std::uint32_t>* const shoal_trace_flags = &g_flags;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)
}
}  // namespace detail

namespace {

constexpr std::uint32_t kSessionShift = 8;
constexpr std::uint32_t kCategoryMask = kAllCategories;

/// The session and its categories; the bit for steps stays.
void set_flags(std::uint32_t session, std::uint32_t categories) {
  std::uint32_t old = detail::g_flags.load();
  const std::uint32_t wanted = (session << kSessionShift) | categories;
  while (!detail::g_flags.compare_exchange_weak(old, wanted | (old & detail::kSteppedBit))) {
  }
}

std::uint32_t session_now() {
  return detail::g_flags.load(std::memory_order_relaxed) >> kSessionShift;
}

/// Finds the recording of the process. Under its lock: a thread's first event, the begin and the
/// end of a recording.
struct Registry {
  std::mutex mutex;
  std::shared_ptr<Session> active;
  std::uint32_t sessions = 0;
};
Registry& registry() {
  // Never destroyed: threads record until the process ends.
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): see above
  static auto* const registry = new Registry;
  return *registry;
}

/// Track of the calling thread. Valid while the session is the one that records.
struct Current {
  Stream* stream = nullptr;
  std::uint32_t session = 0;
};
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): of one thread
[[gnu::tls_model("initial-exec")]] constinit thread_local Current t_current;

/// The track that a thread got by its first event, and the names that it knows.
struct OfThread {
  std::shared_ptr<Stream> stream;
  std::unordered_map<std::string, NameId> names;

  /// Names that were looked up last, by the address of their text, which is mostly the same. The
  /// text is compared as well.
  struct Recent {
    const char* at = nullptr;
    std::string_view text;  // of Names
    NameId id = 0;
  };
  static constexpr std::size_t kRecent = 64;
  std::array<Recent, kRecent> recent{};
  Recent& recent_of(std::string_view text) {
    const auto address = reinterpret_cast<std::uintptr_t>(text.data());
    return recent[(address >> 4U ^ address >> 10U ^ text.size()) % kRecent];
  }

  /// Places in the source that were recorded last.
  struct Placed {
    std::size_t name = 0;  // hash
    const char* file = nullptr;
    std::uint32_t line = 0;
    std::uint32_t session = 0;
    std::uint64_t id = 0;  // see place_id()
    [[nodiscard]] bool is(const Placed& other) const {
      return name == other.name && file == other.file && line == other.line &&
             session == other.session;
    }
  };
  /// Places of a set: those that alternate do not displace each other.
  static constexpr std::size_t kWays = 4;
  std::array<Placed, kRecent> placed{};

  OfThread() = default;
  ~OfThread() { reset(); }
  OfThread(const OfThread&) = delete;
  OfThread& operator=(const OfThread&) = delete;

  void reset() {
    if (stream == nullptr) return;
    if (t_current.stream == stream.get()) t_current = {};
    stream->end();
    stream.reset();
  }
};

/// The stream to record on; nullptr when nothing is recorded any more.
[[gnu::noinline]] Stream* attach() noexcept {
  try {
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    if (all.active == nullptr) return nullptr;
    OfThread& mine = of_this_thread<OfThread>();
    if (mine.stream == nullptr || mine.stream->session() != all.active->number()) {
      mine.reset();
      mine.stream = all.active->make_thread_stream();
    }
    t_current = {mine.stream.get(), mine.stream->session()};
    return t_current.stream;
  } catch (...) {
    return nullptr;  // no memory: the event is not recorded
  }
}

/// The track that the thread has, without a call; nullptr: attach() may find one.
Stream* known_stream() noexcept {
  return t_current.session == session_now() ? t_current.stream : nullptr;
}

Stream* current_stream() noexcept {
  Stream* const stream = known_stream();
  return stream != nullptr ? stream : attach();
}

/// The last parts of a path, by which a reader finds the file.
std::string_view end_of_path(std::string_view path) {
  constexpr int kParts = 3;
  std::size_t at = path.size();
  for (int part = 0; part < kParts && at != std::string_view::npos && at > 0; ++part) {
    at = path.rfind('/', at - 1);
  }
  return at == std::string_view::npos || at == 0 ? path : path.substr(at + 1);
}

/// Returns the number of a name; 0 if there are too many names.
NameId find_name(OfThread& mine, std::string_view text) {
  std::string key(text);
  const auto known = mine.names.find(key);
  if (known != mine.names.end()) return known->second;
  const NameId id = Names::of_process().intern(text);
  mine.names.emplace(std::move(key), id);
  return id;
}

}  // namespace

namespace detail {

namespace {

[[gnu::noinline]] void record_first(Kind kind, std::uint64_t id, std::uint64_t value,
                                    NameId name) noexcept {
  Stream* const stream = attach();
  if (stream != nullptr) stream->record(kind, id, value, name);
}

}  // namespace

// Calls nothing where it ends, so that it saves no registers.
void record(Kind kind, std::uint64_t id, std::uint64_t value, NameId name) noexcept {
  Stream* const stream = known_stream();
  if (stream == nullptr) [[unlikely]]
    return record_first(kind, id, value, name);
  stream->record(kind, id, value, name);
}

NameId name_of(std::string_view text) noexcept {
  try {
    OfThread& mine = of_this_thread<OfThread>();
    OfThread::Recent& recent = mine.recent_of(text);
    if (recent.at == text.data() && recent.text == text) [[likely]]
      return recent.id;
    const NameId id = find_name(mine, text);
    recent = {text.data(), Names::of_process().view(id), id};
    return id;
  } catch (...) {
    return 0;  // no memory: the event has no name
  }
}

}  // namespace detail

std::uint64_t new_id() noexcept {
  if ((detail::g_flags.load(std::memory_order_relaxed) & kCategoryMask) == 0) return 0;
  Stream* const stream = current_stream();
  return stream == nullptr ? 0 : stream->new_id();
}

void describe_task(std::uint64_t task, std::string_view key) noexcept {
  if (!on(Category::task)) return;
  Stream* const stream = current_stream();
  if (stream != nullptr) stream->describe(Detail::Type::key, task, key);
}

void describe_task(std::uint64_t task, std::span<const std::int32_t> key) noexcept {
  if (!on(Category::task)) return;
  Stream* const stream = current_stream();
  if (stream != nullptr) stream->describe(Detail::Type::numbers, task, std::as_bytes(key));
}

void describe_name(Fact fact, std::string_view name, std::string_view value) noexcept {
  if (is_paused()) return;
  Stream* const stream = current_stream();
  if (stream == nullptr) return;
  try {
    stream->describe(Detail::Type::fact, static_cast<std::uint64_t>(fact),
                     fmt::format("{}\t{}", name, value));
  } catch (...) {
    return;  // no memory: it is not described
  }
}

namespace {

/// Describes the place, if the thread has not done so just before. Returns its place_id(); 0 if
/// there is none.
std::uint64_t described_place(std::string_view name, const std::source_location& place) noexcept {
  if (place.line() == 0) return 0;
  try {
    const std::size_t hash = std::hash<std::string_view>{}(name);
    OfThread::Placed now = {hash, place.file_name(), place.line(), session_now()};
    constexpr std::size_t kSets = OfThread::kRecent / OfThread::kWays;
    const std::span set =
        std::span(of_this_thread<OfThread>().placed)
            .subspan((hash ^ place.line()) % kSets * OfThread::kWays, OfThread::kWays);
    for (const OfThread::Placed& known : set) {
      if (known.is(now)) return known.id;
    }
    const std::string text = fmt::format("{}:{}", end_of_path(place.file_name()), place.line());
    now.id = place_id(text);
    std::shift_right(set.begin(), set.end(), 1);
    set.front() = now;
    describe_name(Fact::place, name, text);
    return now.id;
  } catch (...) {
    return 0;  // no memory: it is not described
  }
}

[[gnu::noinline]] void relate_first(Detail::Type type, std::uint64_t id,
                                    std::uint64_t other) noexcept {
  Stream* const stream = attach();
  if (stream != nullptr) stream->relate(type, id, other);
}

void relate(Detail::Type type, std::uint64_t id, std::uint64_t other) noexcept {
  if (!on(Category::task)) return;
  Stream* const stream = known_stream();
  if (stream == nullptr) [[unlikely]]
    return relate_first(type, id, other);
  stream->relate(type, id, other);
}

}  // namespace

void describe_place(std::string_view name, const std::source_location& place) noexcept {
  static_cast<void>(described_place(name, place));
}

void describe_insertion(std::uint64_t task, std::string_view name,
                        const std::source_location& place) noexcept {
  const std::uint64_t id = described_place(name, place);
  if (id != 0) relate(kInserted, task, id);
}

void depends_on(std::uint64_t task, std::uint64_t other) noexcept {
  relate(Detail::Type::depends_on, task, other);
}

void fulfilled(std::uint64_t join, std::uint64_t by) noexcept {
  relate(Detail::Type::fulfilled, join, by);
}

void joined(std::uint64_t task, std::uint64_t join) noexcept {
  relate(Detail::Type::joined, task, join);
}

NameId intern(std::string_view text) noexcept {
  if ((detail::g_flags.load(std::memory_order_relaxed) & kCategoryMask) == 0) return 0;
  return detail::name_of(text);
}

NameId Name::find() const noexcept {
  const NameId id = detail::name_of(text_);
  if (id != 0) known_.store(id, std::memory_order_relaxed);
  return id;
}

bool is_paused() { return (detail::g_flags.load(std::memory_order_relaxed) & kCategoryMask) == 0; }

void resume() {
  {
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    if (all.active == nullptr || !is_paused()) return;
    detail::g_flags.fetch_or(all.active->options().categories & kAllCategories);
  }
  detail::record(Kind::region_begin, 0, 0, 0);
}

void pause() {
  if (is_paused()) return;
  detail::record(Kind::region_end, 0, 0, 0);
  detail::g_flags.fetch_and(~kCategoryMask);
}

std::string part_path(const std::string& path, std::uint32_t process) {
  return fmt::format("{}.part{}", path, process);
}

std::uint64_t Drops::total() const {
  return std::accumulate(events.begin(), events.end(), std::uint64_t{0});
}

Track::Track(std::shared_ptr<Stream> stream) : stream_(std::move(stream)) {}
Track::Track(Track&&) noexcept = default;

Track& Track::operator=(Track&& other) noexcept {
  std::swap(stream_, other.stream_);
  return *this;
}

Track::~Track() {
  if (stream_ == nullptr) return;
  if (t_current.stream == stream_.get()) leave();
  stream_->end();
}

void Track::enter() const noexcept {
  if (stream_ != nullptr) t_current = {stream_.get(), stream_->session()};
}

void Track::leave() noexcept { t_current = {}; }

Recorder::Recorder(Options options) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  if (all.active != nullptr) {
    throw Error(
        fmt::format("{}: this process records a trace already, into {}. End that recording "
                    "first",
                    options.path, all.active->options().path));
  }
  if (const std::string problem = problem_of_output(options.path); !problem.empty()) {
    throw Error(fmt::format("{}: {}: a trace needs a regular file", options.path, problem));
  }
  const bool paused = options.paused;
  const std::uint32_t categories = options.categories & kAllCategories;
  session_ = std::make_shared<Session>(std::move(options), all.sessions + 1);
  session_->start([] { trace::is_paused() ? trace::resume() : trace::pause(); });
  ++all.sessions;
  all.active = session_;
  set_flags(all.sessions, paused ? 0 : categories);
}

Recorder::~Recorder() {
  try {
    finish();
  } catch (const std::exception& error) {
    env::write_to_standard_error(fmt::format("shoal: {}\n", error.what()));
  }
}

Track Recorder::make_track(int rank, int worker, const std::string& name) {
  SHOAL_CHECK(!finished_, "a track of a recording that has ended");
  return Track(session_->make_stream(rank, worker, name));
}

void Recorder::resume() {
  if (!finished_) trace::resume();
}

void Recorder::pause() {
  if (!finished_) trace::pause();
}

bool Recorder::is_paused() const { return trace::is_paused(); }

std::uint64_t Recorder::now_ticks() const {
  SHOAL_CHECK(!finished_, "the clock of a recording that has ended");
  const Options& options = session_->options();
  return options.virtual_time != nullptr ? options.virtual_time->now_ns()
                                         : env::read_ticks(options.ticks);
}

void Recorder::add_sync(std::span<const SyncPoint> points) {
  SHOAL_CHECK(!finished_, "points in time for a recording that has ended");
  session_->add_sync(points);
}

void Recorder::add_barrier(std::uint64_t local_ticks) {
  SHOAL_CHECK(!finished_, "a barrier of a recording that has ended");
  session_->add_barrier(local_ticks);
}

void Recorder::add_identity(const Identity& more) {
  SHOAL_CHECK(!finished_, "facts about a recording that has ended");
  session_->add_identity(more);
}

Drops Recorder::drops() const { return session_->drops(); }

const std::string& Recorder::path() const { return session_->options().path; }

void Recorder::finish() {
  if (finished_) return;
  finished_ = true;
  {
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    all.active = nullptr;
    ++all.sessions;  // what threads know of the old session is void
    set_flags(all.sessions, 0);
  }
  session_->finish();
}

}  // namespace shoal::trace
