#pragma once
// Waiting for several completions at once.

#include <shoal/detail/sched/completion.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace shoal::sched {

/// Counts the ends of several completions, and calls pass() when enough of them have come. Part of
/// a completion of its own, to which each place in a list refers.
///
/// Either pass() is called, in the context of the last end that it needs, or leave() has returned
/// true. Before both, it leaves the lists of the completions that have not ended.
class Gate {
 public:
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

 protected:
  Gate() = default;
  ~Gate() = default;

  /// nullptr among `parts` stands for one that has ended. They exist until pass() or leave().
  void watch(Completion& self, const std::vector<Completion*>& parts, std::size_t needed);
  /// Returns true if pass() will not be called. **Caller**: as the future of `self` goes.
  [[nodiscard]] bool leave() noexcept;

  virtual void pass() = 0;
  /// Number of the parts in traces, see Waitable::join().
  [[nodiscard]] std::uint64_t join_of_parts() const { return join_; }

 private:
  /// In the list of one completion.
  struct Place final : sync::Waiter {
    void wake() override { gate->end_one(join); }
    Gate* gate = nullptr;
    Completion* of = nullptr;
    std::uint64_t join = 0;  // of that one, in traces
  };
  static constexpr std::int64_t kWatching = std::int64_t{1} << 40U;

  void end_one(std::uint64_t join);
  template <bool kIsRecorded>
  std::int64_t enlist_in(const std::vector<Completion*>& parts);
  void try_to_pass();
  void leave_lists() noexcept;

  Completion* self_ = nullptr;
  std::unique_ptr<Place[]> places_;  // NOLINT(cppcoreguidelines-avoid-c-arrays): of fixed size
  std::size_t place_count_ = 0;
  std::uint64_t join_ = 0;  // of the parts, in traces; 0: not recorded
  // Ends that are missing; kWatching more until watch() has seen all parts.
  std::atomic<std::int64_t> missing_{0};
  std::atomic<bool> decided_{false};  // pass() or leave()
};

}  // namespace shoal::sched
