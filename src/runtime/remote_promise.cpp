#include <shoal/runtime/remote_promise.hpp>

#include <fmt/format.h>

#include <unordered_map>

namespace shoal {

RemoteError::RemoteError(Rank rank, std::string text)
    : Error(fmt::format("a call on rank {} failed: {}", rank.value(), text)),
      rank_(rank),
      text_(std::move(text)) {}

namespace runtime {

// nullptr: given up, and not fulfilled since.
struct PromiseTable::Entries : std::unordered_map<std::uint64_t, std::unique_ptr<EntryBase>> {};

PromiseTable::PromiseTable(term::Scope& world)
    : world_(world), entries_(std::make_unique<Entries>()) {
  world_.add(*this);
}
PromiseTable::~PromiseTable() { world_.remove(*this); }

std::uint64_t PromiseTable::add_entry(std::unique_ptr<EntryBase> entry, term::Scope& scope) {
  entry->team = scope.channel().team();
  std::uint64_t number = 0;
  {
    const sync::Lock lock(mutex_);
    entries_->emplace(++numbers_, std::move(entry));
    number = numbers_;
  }
  if (scope.failed()) scope.give_up_promises();
  return number;
}

void PromiseTable::give_up(const term::Scope& failed, std::vector<term::GivenUp>& promises) {
  const sync::Lock lock(mutex_);
  for (auto& [number, entry] : *entries_) {
    if (entry == nullptr || entry->team != failed.channel().team()) continue;
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

}  // namespace runtime
}  // namespace shoal
