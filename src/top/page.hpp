#pragma once
// The page that each process of a run publishes: a header, and a slot for each rank of the world.

#include "env/published_memory.hpp"
#include "top/figures.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace shoal::top {

/// Name of the memory.
inline constexpr const char* kPageName = "shoal-top";

/// Facts of a process that do not change.
struct Facts {
  std::int32_t world_size = 1;
  std::int32_t first_rank = 0;  // of the process
  std::int32_t rank_count = 1;  // of the process
  std::int32_t workers = 1;     // of a rank, at most
  std::int64_t pid = 0;
  Text<96> job;  // the same in all processes of a run, and in no other run
  Text<256> program;
};

/// Bytes that one process writes and others read at the same time. The sequence is odd while the
/// bytes change; 0: they were never written. Each word is written with release and read with
/// acquire: a reader that sees a new word also sees that the sequence has changed.
class Slot {
 public:
  static constexpr std::size_t kHeaderWords = 2;  // sequence, size

  explicit Slot(std::span<std::atomic<std::uint64_t>> words) : words_(words) {}

  /// Writes the bytes; those that do not fit are cut off. **Caller**: one thread at a time.
  void write(std::span<const std::byte> bytes);
  /// Reads the bytes; returns nothing if they were never written, or changed during each attempt.
  [[nodiscard]] static std::optional<std::vector<std::byte>> read(
      std::span<const std::atomic<std::uint64_t>> words);

 private:
  const std::span<std::atomic<std::uint64_t>> words_;
};

/// The page of this process.
class Page {
 public:
  /// Publishes a page. **Errors**: Error when the system refuses the memory.
  explicit Page(const Facts& facts);

  /// Writes the sample of a rank. **Caller**: one thread at a time for each rank.
  void write(int rank, std::span<const std::byte> sample);
  /// A reader looks at the page now.
  [[nodiscard]] bool is_watched() const { return memory_.is_held(); }

 private:
  const Facts facts_;
  const env::PublishedMemory memory_;
};

/// The page of another process.
class PageView {
 public:
  /// Maps the page of another process. **Errors**: Error if it cannot be mapped, or is of another
  /// version of shoal.
  explicit PageView(const env::PublishedPlace& place);

  [[nodiscard]] const Facts& facts() const { return facts_; }
  /// Lets the process know that a reader looks. False: try again later.
  [[nodiscard]] bool watch() const { return memory_.hold(); }
  /// Reads the sample of a rank; returns nothing if the rank has not reported yet.
  [[nodiscard]] std::optional<Sample> read(int rank) const;
  /// Returns whether the page belongs to the process at the place, and not to one from which that
  /// was forked.
  [[nodiscard]] bool is_own() const { return own_; }

 private:
  const env::PublishedView memory_;
  Facts facts_;
  bool own_ = false;
};

/// Pages of the user's processes on this host, by process. `others` counts processes of other
/// versions of shoal, which are left out.
std::vector<std::unique_ptr<PageView>> find_pages(int& others);

}  // namespace shoal::top
