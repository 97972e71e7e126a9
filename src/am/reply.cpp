#include <shoal/am/reply.hpp>

#include <shoal/am/messenger.hpp>
#include <shoal/base/check.hpp>

#include <fmt/format.h>

#include <unordered_map>

namespace shoal {

RemoteError::RemoteError(Rank rank, std::string text)
    : Error(fmt::format("a call on rank {} failed: {}", rank.value(), text)),
      rank_(rank),
      text_(std::move(text)) {}

Rank MessageContext::source() const { return channel_->from_world(world_source_); }

namespace messaging {

// nullptr: given up, and not fulfilled since.
struct PromiseTable::Entries : std::unordered_map<std::uint64_t, std::unique_ptr<EntryBase>> {};

PromiseTable::PromiseTable() : entries_(std::make_unique<Entries>()) {}
PromiseTable::~PromiseTable() = default;

std::uint64_t PromiseTable::add_entry(std::unique_ptr<EntryBase> entry, Channel& channel) {
  entry->team = channel.team();
  std::uint64_t number = 0;
  {
    const sync::Lock lock(mutex_);
    entries_->emplace(++numbers_, std::move(entry));
    number = numbers_;
  }
  // Either this sees the failure, or give_up() after it sees the promise.
  if (channel.scope().failed()) channel.scope().give_up_promises();
  return number;
}

void PromiseTable::give_up(std::uint64_t team, std::vector<GivenUp>& promises) {
  const sync::Lock lock(mutex_);
  for (auto& [number, entry] : *entries_) {
    if (entry == nullptr || entry->team != team) continue;
    promises.emplace_back([given = std::shared_ptr<EntryBase>(std::move(entry))](
                              const std::exception_ptr& error) { given->fail(error); });
  }
}

std::unique_ptr<PromiseTable::EntryBase> PromiseTable::take_entry(std::uint64_t number,
                                                                  std::uint32_t signature) {
  const sync::Lock lock(mutex_);
  const auto it = entries_->find(number);
  SHOAL_CHECK(it != entries_->end(),
              "promise {} of this rank cannot be fulfilled: it was fulfilled already, or never "
              "published",
              number);
  SHOAL_CHECK(it->second == nullptr || signature == 0 || it->second->signature == signature,
              "promise {} of this rank cannot be fulfilled with a value of another type", number);
  std::unique_ptr<EntryBase> entry = std::move(it->second);
  entries_->erase(it);
  return entry;
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
  const Rank member = channel.from_world(Rank(world_rank));
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
