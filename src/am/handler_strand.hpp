#pragma once
// Order of the handlers of a rank: one at a time.

#include <shoal/detail/sync/strand.hpp>
#include <shoal/rank.hpp>

namespace shoal::messaging {

/// **Caller**: the worker that handles packets.
class HandlerStrand {
 public:
  /// `opened`: token that is published when handlers are opened.
  HandlerStrand(Rank rank, const void* opened) : rank_(rank), opened_(opened) {}

  /// Runs f() as a handler of this rank. It is ordered after the publication of `token`, and after
  /// everything before the opening of the handlers.
  template <class F>
  [[gnu::always_inline]] void run(const void* token, F f) {
    strand_.run([opened = opened_, token, f] {
      sync::observe(opened);
      sync::observe(token);
      f();
    });
    if (sync::watches_strands()) set_name();
  }

 private:
  void set_name();

  const Rank rank_;
  const void* const opened_;
  sync::Strand strand_;
};

}  // namespace shoal::messaging
