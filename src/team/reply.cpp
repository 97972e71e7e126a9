#include <shoal/remote_promise.hpp>

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/sched/attempt.hpp>

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "team/messenger.hpp"

namespace shoal {

RemoteError::RemoteError(Rank rank, Rank caller, std::string function, std::string text)
    : Error(fmt::format("{} failed on rank {}, called by rank {}: {}",
                        function.empty() ? "a call" : function, rank.value(), caller.value(),
                        text)),
      rank_(rank),
      function_(std::move(function)),
      text_(std::move(text)) {}

Rank MessageContext::source() const { return core_->from_world(world_source_); }

namespace team {

std::uint64_t PromiseTable::add_entry(sched::AnyPromise&& promise, std::uint32_t signature,
                                      TeamCore& core) {
  sched::refuse_in_attempt("call() or publish()");
  const std::uint64_t number = entries_.add({std::move(promise), core.id(), signature});
  // Either this sees the failure, or give_up() after it sees the promise.
  if (core.failed()) core.give_up_promises();
  return number;
}

void PromiseTable::give_up(std::uint64_t team, std::vector<GivenUp>& promises) {
  entries_.for_each([&](Entry& entry) {
    if (!entry.promise || entry.team != team) return;
    promises.emplace_back([given = std::make_shared<sched::AnyPromise>(std::move(entry.promise))](
                              const std::exception_ptr& error) { given->fail(error); });
  });
}

sched::AnyPromise PromiseTable::take_entry(std::uint64_t number, std::uint32_t signature) {
  bool fits = true;
  std::optional<Entry> entry = entries_.take_if(number, [&](const Entry& found) {
    return fits = !found.promise || signature == 0 || found.signature == signature;
  });
  SHOAL_CHECK(fits,
              "a promise of this rank cannot be fulfilled with a value of another type: it takes "
              "the type that it was published with");
  SHOAL_CHECK(entry.has_value(),
              "a promise of this rank cannot be fulfilled: it was fulfilled already, or never "
              "published: fulfil or fail it once, on one rank");
  return std::move(entry->promise);
}

void PromiseTable::fail(std::uint64_t number, std::exception_ptr error) {
  sched::AnyPromise promise = take_entry(number, 0);
  if (promise) promise.fail(std::move(error));
}

PromiseTable& promises_of(const TeamCore& core) { return core.messenger().promises(); }

Services& services_of(const TeamCore& core) { return core.messenger().services(); }

int world_rank_of(const TeamCore& core) { return core.messenger().rank().value(); }

void Replies::accept_void(const MessageContext& context, std::uint64_t number) {
  promises_of(context.core()).fulfill<void>(number);
}

void Replies::accept_error(const MessageContext& context, std::uint64_t number, int rank,
                           const std::string& function, const std::string& text) {
  const Rank caller(world_rank_of(context.core()));
  promises_of(context.core())
      .fail(number, std::make_exception_ptr(RemoteError(Rank(rank), caller, function, text)));
}

// A team that has failed drops its messages, and a rank that has not made it keeps them waiting. A
// promise that was published in another team must get its answer nevertheless; the others have the
// failure already, or get it.
Address address_of(TeamCore& core, int world_rank, bool in_world) {
  const bool is_other = in_world && core.id() != 0;
  const Rank member = core.from_world(Rank(world_rank));
  if (!is_other && member >= 0 && !core.failed()) return {core, member};
  return {core.messenger().world(), Rank(world_rank)};
}

void fulfill(TeamCore& core, const RemotePromise<void>& promise) {
  const Address to = address_of(core, promise.rank, promise.in_world != 0);
  send(to.core, to.member, am<&Replies::accept_void>, promise.number);
}

void fail_promise(TeamCore& core, int rank, bool in_world, std::uint64_t number,
                  const std::string& function, const std::string& text) {
  const Address to = address_of(core, rank, in_world);
  send(to.core, to.member, am<&Replies::accept_error>, number, world_rank_of(core), function, text);
}

}  // namespace team
}  // namespace shoal
