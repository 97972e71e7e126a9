#pragma once
// A progress bar on the terminal, drawn by rank 0.

#include <atomic>
#include <cstdint>
#include <string>

namespace shoal {
class World;
}

namespace apps {

/// Shows which part of rank 0's own work is done: it knows about the others only what they send.
/// Nothing is shown on other ranks, nor when the standard error is not a terminal.
class ProgressBar {
 public:
  /// `wanted` is false to show nothing in any case.
  ProgressBar(shoal::World& world, std::string title, bool wanted);
  /// Clears the line, should an error have left it.
  ~ProgressBar() { finish(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// Begins anew with `total` units of work to do. Caller: main, while no task runs.
  void start(std::uint64_t total);
  /// One unit is done. Redraws at most ten times a second. Caller: any thread.
  void advance();
  /// Clears the line. Caller: main, while no task runs.
  void finish() const;

 private:
  void draw(std::uint64_t done) const;

  shoal::World& world_;
  std::string title_;
  bool shown_;
  std::uint64_t total_ = 0;
  std::atomic<std::uint64_t> done_ = 0;
  std::atomic<std::uint64_t> next_draw_ns_ = 0;
};

}  // namespace apps
