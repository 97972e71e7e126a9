#include <shoal/am/reply.hpp>

#include <shoal/am/messenger.hpp>
#include <shoal/base/check.hpp>

#include <fmt/format.h>

#include <cstddef>
#include <utility>
#include <vector>

namespace shoal {

RemoteError::RemoteError(Rank rank, std::string text)
    : Error(fmt::format("a call on rank {} failed: {}", rank.value(), text)),
      rank_(rank),
      text_(std::move(text)) {}

Rank MessageContext::source() const { return channel_->team().from_world(world_source_); }

namespace messaging {

// A promise has a slot, which another one gets later. Its number is that of the slot, with the
// number of promises before it that got a used one: one that was taken is not found again.
struct PromiseTable::Entries {
  struct Slot {
    std::unique_ptr<EntryBase> entry;  // nullptr: free, or given up and not fulfilled since
    std::uint64_t number = 0;          // 0: free
  };
  static constexpr unsigned kSlotBits = 32;
  static constexpr std::uint64_t kSlotMask = (std::uint64_t{1} << kSlotBits) - 1;

  // `total`: promises so far, with this one.
  std::uint64_t add(std::unique_ptr<EntryBase> entry, std::uint64_t total) {
    if (free.empty()) {
      free.push_back(slots.size());
      slots.emplace_back();
    }
    const std::size_t index = free.back();
    free.pop_back();
    slots[index] = {std::move(entry), ((total - slots.size()) << kSlotBits) + index + 1};
    return slots[index].number;
  }
  // nullptr: there is none.
  Slot* find(std::uint64_t number) {
    const std::uint64_t index = (number & kSlotMask) - 1;
    return index < slots.size() && slots[index].number == number ? &slots[index] : nullptr;
  }
  std::unique_ptr<EntryBase> take(Slot& slot) {
    slot.number = 0;
    free.push_back(static_cast<std::size_t>(&slot - slots.data()));
    return std::move(slot.entry);
  }

  std::vector<Slot> slots;
  std::vector<std::size_t> free;  // indices
};

PromiseTable::PromiseTable() : entries_(std::make_unique<Entries>()) {}
PromiseTable::~PromiseTable() = default;

std::uint64_t PromiseTable::add_entry(std::unique_ptr<EntryBase> entry, Channel& channel) {
  entry->team = channel.team().id();
  std::uint64_t number = 0;
  {
    const sync::Lock lock(mutex_);
    number = entries_->add(std::move(entry), ++numbers_);
  }
  // Either this sees the failure, or give_up() after it sees the promise.
  if (channel.scope().failed()) channel.scope().give_up_promises();
  return number;
}

void PromiseTable::give_up(std::uint64_t team, std::vector<GivenUp>& promises) {
  const sync::Lock lock(mutex_);
  for (Entries::Slot& slot : entries_->slots) {
    if (slot.entry == nullptr || slot.entry->team != team) continue;
    promises.emplace_back([given = std::shared_ptr<EntryBase>(std::move(slot.entry))](
                              const std::exception_ptr& error) { given->fail(error); });
  }
}

std::unique_ptr<PromiseTable::EntryBase> PromiseTable::take_entry(std::uint64_t number,
                                                                  std::uint32_t signature) {
  const sync::Lock lock(mutex_);
  Entries::Slot* const slot = entries_->find(number);
  SHOAL_CHECK(slot != nullptr,
              "promise {} of this rank cannot be fulfilled: it was fulfilled already, or never "
              "published",
              number);
  SHOAL_CHECK(slot->entry == nullptr || signature == 0 || slot->entry->signature == signature,
              "promise {} of this rank cannot be fulfilled with a value of another type", number);
  return entries_->take(*slot);
}

void PromiseTable::fail(std::uint64_t number, std::exception_ptr error) {
  const std::unique_ptr<EntryBase> entry = take_entry(number, 0);
  if (entry != nullptr) entry->fail(std::move(error));
}

PromiseTable& promises_of(const Channel& channel) { return channel.messenger().promises(); }

Services& services_of(const Channel& channel) { return channel.messenger().services(); }

int world_rank_of(const Channel& channel) { return channel.messenger().rank().value(); }

void Replies::accept_void(const MessageContext& context, std::uint64_t number) {
  if (auto promise = promises_of(context.channel()).take<void>(number)) promise->set_value();
}

void Replies::accept_error(const MessageContext& context, std::uint64_t number, int rank,
                           const std::string& text) {
  promises_of(context.channel())
      .fail(number, std::make_exception_ptr(RemoteError(Rank(rank), text)));
}

Address address_of(Channel& channel, int world_rank) {
  const Rank member = channel.team().from_world(Rank(world_rank));
  if (member >= 0) return {channel, member};
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
