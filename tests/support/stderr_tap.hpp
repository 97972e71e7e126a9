#pragma once
// Standard error of this process, readable by the test while the program still runs.

#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace shoal::testing {

/// Collects output to standard error while it lives.
class StderrTap {
 public:
  StderrTap() : before_(dup(STDERR_FILENO)) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) throw std::runtime_error("no pipe");
    read_end_ = ends[0];
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    reader_ = std::thread([this] { read_all(); });
  }
  ~StderrTap() { stop(); }
  StderrTap(const StderrTap&) = delete;
  StderrTap& operator=(const StderrTap&) = delete;

  /// Returns when `part` has been written `count` times; false if that takes minutes.
  bool await(const std::string& part, int count = 1) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::minutes(2), [&] {
      return occurrences(part) >= count || ended_;
    }) && occurrences(part) >= count;
  }
  /// All that was written; nothing more is read.
  std::string stop() {
    if (reader_.joinable()) {
      dup2(before_, STDERR_FILENO);  // closes the pipe's last writing end
      close(before_);
      reader_.join();
      close(read_end_);
    }
    return text_;
  }

 private:
  [[nodiscard]] int occurrences(const std::string& part) const {
    int count = 0;
    for (std::size_t at = text_.find(part); at != std::string::npos;
         at = text_.find(part, at + part.size())) {
      ++count;
    }
    return count;
  }
  void read_all() {
    std::array<char, 4096> buffer{};
    while (true) {
      const ssize_t n = ::read(read_end_, buffer.data(), buffer.size());
      if (n < 0 && errno == EINTR) continue;
      const std::lock_guard lock(mutex_);
      if (n <= 0) {
        ended_ = true;
        changed_.notify_all();
        return;
      }
      text_.append(buffer.data(), static_cast<std::size_t>(n));
      changed_.notify_all();
    }
  }

  const int before_;
  int read_end_ = -1;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_;    // guarded by mutex_ while the reader runs
  bool ended_ = false;  // guarded by mutex_
  std::thread reader_;
};

}  // namespace shoal::testing
