#pragma once
// One recording: its file, its streams, its names, and the thread that writes.

#include <shoal/detail/trace/event.hpp>

#include "env/alarm.hpp"
#include "trace/recorder.hpp"
#include "trace/stream.hpp"

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shoal::trace {

/// Any thread; under a lock. Numbers outlast recordings: a thread that looked a name up for one
/// recording may use it in the next one.
class Names {
 public:
  /// 0 when there are kMaxNames already.
  NameId intern(std::string_view text);
  /// Text of a number that intern() gave; "" for others. It lasts as long as this.
  [[nodiscard]] std::string_view view(NameId id) const;
  [[nodiscard]] std::string text(NameId id) const;

  /// Names of the process.
  static Names& of_process();

 private:
  mutable std::mutex mutex_;
  std::map<std::string, NameId, std::less<>> ids_;          // under mutex_
  std::deque<std::string_view> texts_{std::string_view()};  // by number, keys of ids_; under mutex_
};

/// Shared by a Recorder and by threads that look for a track or a name.
///
/// Locks, in this order: `file_mutex_` (file, streams' writing side), `mutex_` (lists below). The
/// thread that records takes them only for its first event.
class Session {
 public:
  Session(Options options, std::uint32_t number);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  [[nodiscard]] std::uint32_t number() const { return number_; }
  [[nodiscard]] const Options& options() const { return options_; }

  /// Starts the thread that writes, unless time is virtual. It calls `on_signal` after SIGUSR2.
  void start(void (*on_signal)());
  std::shared_ptr<Stream> make_stream(int rank, int worker, const std::string& name);
  /// A stream of a thread that is no worker.
  std::shared_ptr<Stream> make_thread_stream();
  void add_sync(std::span<const SyncPoint> points);
  void add_barrier(std::uint64_t local_ticks);
  void add_identity(const Identity& more);
  [[nodiscard]] Drops drops() const;
  /// Virtual time: called by a thread that found its buffer full.
  void write_from_recording_thread(Stream& stream) noexcept;
  /// Stops the thread, writes the rest, closes. Throws the first error so far.
  void finish();

 private:
  void run(void (*on_signal)());
  /// Writes the full buffers, or `all`; returns whether some buffer was so full that the next round
  /// should come soon.
  bool write_round(bool all);
  /// Memory for one more track, under mutex_; 0: there is none.
  [[nodiscard]] std::size_t next_buffer_bytes() const;
  void write_stream(Stream& stream);
  /// Writes the names that the file does not have yet.
  void write_names_of(std::span<const Event> events);
  void write_new_tracks();
  void write_drops();
  void write_clock();
  void write_identity();
  template <class Function>
  void guarded(Function function) noexcept;

  const Options options_;
  const std::uint32_t number_;
  env::Alarm alarm_;
  const env::AlarmOnSignal on_signal_;  // set before the file is there: scripts wait for that
  FileWriter file_;                     // under file_mutex_
  std::exception_ptr error_;            // under file_mutex_: nothing is written after it
  std::vector<bool> names_written_;     // by number, under file_mutex_
  bool wrote_ = false;                  // a stream, under file_mutex_
  std::uint64_t written_ = 0;           // events, under file_mutex_
  std::uint64_t last_all_ns_ = 0;       // under file_mutex_
  Drops drops_written_;                 // under file_mutex_
  std::mutex file_mutex_;

  mutable std::mutex mutex_;
  // All under mutex_:
  std::vector<std::shared_ptr<Stream>> streams_;
  std::vector<TrackInfo> new_tracks_;
  Identity identity_;
  Drops drops_of_ended_;
  std::uint32_t track_count_ = 0;
  std::map<int, std::uint32_t> tracks_of_rank_;
  int thread_count_ = 0;  // that are no workers
  std::size_t buffer_bytes_ = 0;

  std::atomic<bool> stops_{false};
  std::uint64_t writer_ns_ = 0;  // that the thread ran; set as it ends
  std::optional<env::Thread> thread_;
};

}  // namespace shoal::trace
