#include <shoal/remote_promise.hpp>

#include <shoal/detail/base/check.hpp>

#include <fmt/format.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "am/messenger.hpp"

namespace shoal {

RemoteError::RemoteError(Rank rank, std::string text)
    : Error(fmt::format("a call on rank {} failed: {}", rank.value(), text)),
      rank_(rank),
      text_(std::move(text)) {}

Rank MessageContext::source() const { return channel_->team().from_world(world_source_); }

namespace messaging {

// A promise has a slot, which another one gets later. Its number is that of the slot, with the
// number of promises that had the slot before: one that was taken is not found again.
struct PromiseTable::Entries {
  struct Slot {
    sched::AnyPromise promise;  // empty: free, or given up and not fulfilled since
    std::uint64_t number = 0;   // of the promise, or of the next one
    std::uint64_t team = 0;
    std::uint32_t signature = 0;
    std::uint32_t next_free = kUsed;  // another free slot, or kLast
  };
  static constexpr unsigned kSlotBits = 32;
  static constexpr std::uint64_t kReused = std::uint64_t{1} << kSlotBits;
  static constexpr std::uint32_t kLast = ~std::uint32_t{0};
  static constexpr std::uint32_t kUsed = kLast - 1;

  std::uint64_t add(sched::AnyPromise&& promise, std::uint64_t team, std::uint32_t signature) {
    if (first_free == kLast) [[unlikely]]
      grow();
    Slot& slot = slots[first_free];
    first_free = std::exchange(slot.next_free, kUsed);
    slot.promise = std::move(promise);
    slot.team = team;
    slot.signature = signature;
    return slot.number;
  }
  [[gnu::noinline]] void grow() {
    Slot& slot = slots.emplace_back();
    slot.number = ++count;
    slot.next_free = std::exchange(first_free, count - 1);
  }
  // nullptr: there is none.
  Slot* find(std::uint64_t number) {
    const std::uint32_t index = static_cast<std::uint32_t>(number) - 1;
    if (index >= count) return nullptr;
    Slot& slot = slots[index];
    return slot.number == number && slot.next_free == kUsed ? &slot : nullptr;
  }
  sched::AnyPromise take(Slot& slot) {
    const std::uint32_t index = static_cast<std::uint32_t>(slot.number) - 1;
    slot.number += kReused;
    slot.next_free = std::exchange(first_free, index);
    return std::move(slot.promise);
  }

  std::vector<Slot> slots;
  std::uint32_t count = 0;  // of them
  std::uint32_t first_free = kLast;
};

PromiseTable::PromiseTable() : entries_(std::make_unique<Entries>()) {}
PromiseTable::~PromiseTable() = default;

std::uint64_t PromiseTable::add_entry(sched::AnyPromise&& promise, std::uint32_t signature,
                                      Channel& channel) {
  const std::uint64_t team = channel.team().id();
  std::uint64_t number = 0;
  {
    const sync::Lock lock(mutex_);
    number = entries_->add(std::move(promise), team, signature);
  }
  // Either this sees the failure, or give_up() after it sees the promise.
  if (channel.scope().failed()) channel.scope().give_up_promises();
  return number;
}

void PromiseTable::give_up(std::uint64_t team, std::vector<GivenUp>& promises) {
  const sync::Lock lock(mutex_);
  for (Entries::Slot& slot : entries_->slots) {
    if (!slot.promise || slot.team != team) continue;
    promises.emplace_back([given = std::make_shared<sched::AnyPromise>(std::move(slot.promise))](
                              const std::exception_ptr& error) { given->fail(error); });
  }
}

sched::AnyPromise PromiseTable::take_entry(std::uint64_t number, std::uint32_t signature) {
  return sync::locked(mutex_, [&]() SHOAL_REQUIRES(mutex_) {
    Entries::Slot* const slot = entries_->find(number);
    SHOAL_CHECK(slot != nullptr,
                "promise {} of this rank cannot be fulfilled: it was fulfilled already, or never "
                "published",
                number);
    SHOAL_CHECK(!slot->promise || signature == 0 || slot->signature == signature,
                "promise {} of this rank cannot be fulfilled with a value of another type", number);
    return entries_->take(*slot);
  });
}

void PromiseTable::fail(std::uint64_t number, std::exception_ptr error) {
  sched::AnyPromise promise = take_entry(number, 0);
  if (promise) promise.fail(std::move(error));
}

PromiseTable& promises_of(const Channel& channel) { return channel.messenger().promises(); }

Services& services_of(const Channel& channel) { return channel.messenger().services(); }

int world_rank_of(const Channel& channel) { return channel.messenger().rank().value(); }

void Replies::accept_void(const MessageContext& context, std::uint64_t number) {
  promises_of(context.channel()).fulfill<void>(number);
}

void Replies::accept_error(const MessageContext& context, std::uint64_t number, int rank,
                           const std::string& text) {
  promises_of(context.channel())
      .fail(number, std::make_exception_ptr(RemoteError(Rank(rank), text)));
}

// A team that has failed drops its messages. A promise that was not published in it is owed an
// answer nevertheless; the others have the failure already, or get it.
Address address_of(Channel& channel, int world_rank) {
  const Rank member = channel.team().from_world(Rank(world_rank));
  if (member >= 0 && !channel.scope().failed()) return {channel, member};
  return {channel.messenger().world(), Rank(world_rank)};
}

void fulfill(Channel& channel, const RemotePromise<void>& promise) {
  const Address to = address_of(channel, promise.rank);
  send(to.channel, to.member, am<&Replies::accept_void>, promise.number);
}

void fail_promise(Channel& channel, int rank, std::uint64_t number, const std::string& text) {
  const Address to = address_of(channel, rank);
  send(to.channel, to.member, am<&Replies::accept_error>, number, world_rank_of(channel), text);
}

}  // namespace messaging
}  // namespace shoal
