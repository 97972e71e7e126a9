#pragma once
// The insertions of a sequence on one rank, kept for a comparison with those of other ranks.

#include <shoal/detail/sync/mutex.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shoal::flow {

/// One insertion.
struct Digest {
  static constexpr std::uint64_t kNoDatum = ~std::uint64_t{0};

  std::uint64_t fingerprint = 0;   // of this and all before it; given to add(): of the rest of this
  std::uint64_t datum = kNoDatum;  // the last of its arguments
  std::uint32_t codelet = 0;       // hash of the name
  std::int32_t rank = -1;          // that runs the task, or owns the datum
};

/// The last insertions of one sequence. **Caller**: any thread; one at a time adds.
class ProgramLog {
 public:
  /// Number of insertions, and the fingerprint of all.
  struct State {
    std::uint64_t count = 0;
    std::uint64_t fingerprint = 0;
  };

  ProgramLog(std::string name, std::uint32_t index) : name_(std::move(name)), index_(index) {}

  void add(Digest digest) {
    const sync::Lock lock(mutex_);
    const std::uint64_t id = digest.datum * 31 + digest.codelet;
    const std::uint64_t rest =
        digest.fingerprint * 31 + static_cast<std::uint64_t>(digest.rank + 1);
    std::uint64_t hash =
        (state_.fingerprint ^ (rest * 0xC2B2AE3D27D4EB4FU + id)) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 29U;
    digest.fingerprint = state_.fingerprint = hash;
    if (kept_.size() < kKept) {
      kept_.push_back(digest);
    } else {
      kept_[state_.count % kKept] = digest;
    }
    ++state_.count;
  }
  [[nodiscard]] State state() const {
    const sync::Lock lock(mutex_);
    return state_;
  }
  /// Returns insertion `number`, from 1; nothing if it is not kept any more, or does not exist yet.
  [[nodiscard]] std::optional<Digest> find(std::uint64_t number) const {
    const sync::Lock lock(mutex_);
    if (number < first_kept() || number > state_.count) return std::nullopt;
    return kept_[(number - 1) % kKept];
  }
  /// Returns the number of the first insertion that is kept.
  [[nodiscard]] std::uint64_t first() const {
    const sync::Lock lock(mutex_);
    return first_kept();
  }
  /// Returns all insertions that are kept, and the number of the first one.
  [[nodiscard]] std::pair<std::uint64_t, std::vector<Digest>> all() const {
    const sync::Lock lock(mutex_);
    std::vector<Digest> digests;
    for (std::uint64_t number = first_kept(); number <= state_.count; ++number) {
      digests.push_back(kept_[(number - 1) % kKept]);
    }
    return {first_kept(), std::move(digests)};
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  /// Number of its sequence in the flow.
  [[nodiscard]] std::uint32_t index() const { return index_; }

 private:
  static constexpr std::size_t kKept = 1U << 15U;
  [[nodiscard]] std::uint64_t first_kept() const SHOAL_REQUIRES(mutex_) {
    return state_.count > kKept ? state_.count - kKept + 1 : 1;
  }

  const std::string name_;
  const std::uint32_t index_;
  mutable sync::Mutex mutex_;
  State state_ SHOAL_GUARDED_BY(mutex_);
  std::vector<Digest> kept_ SHOAL_GUARDED_BY(mutex_);  // number n stands at (n - 1) % kKept
};

}  // namespace shoal::flow
