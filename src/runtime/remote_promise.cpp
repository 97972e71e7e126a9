#include <shoal/runtime/remote_promise.hpp>

#include <fmt/format.h>

#include <unordered_map>

namespace shoal {

RemoteError::RemoteError(Rank rank, std::string text)
    : Error(fmt::format("a call on rank {} failed: {}", rank.value(), text)),
      rank_(rank),
      text_(std::move(text)) {}

namespace runtime {

struct PromiseTable::Entries : std::unordered_map<std::uint64_t, std::unique_ptr<EntryBase>> {};

PromiseTable::PromiseTable() : entries_(std::make_unique<Entries>()) {}
PromiseTable::~PromiseTable() = default;

std::uint64_t PromiseTable::add_entry(std::unique_ptr<EntryBase> entry) {
  const sync::Lock lock(mutex_);
  entries_->emplace(++numbers_, std::move(entry));
  return numbers_;
}

std::unique_ptr<PromiseTable::EntryBase> PromiseTable::take_entry(std::uint64_t number,
                                                                  std::uint32_t signature) {
  const sync::Lock lock(mutex_);
  const auto it = entries_->find(number);
  SHOAL_CHECK(it != entries_->end(),
              "promise {} of this rank cannot be fulfilled: it was fulfilled already, or never "
              "published",
              number);
  SHOAL_CHECK(signature == 0 || it->second->signature == signature,
              "promise {} of this rank cannot be fulfilled with a value of another type", number);
  std::unique_ptr<EntryBase> entry = std::move(it->second);
  entries_->erase(it);
  return entry;
}

void PromiseTable::fail(std::uint64_t number, std::exception_ptr error) {
  take_entry(number, 0)->fail(std::move(error));
}

}  // namespace runtime
}  // namespace shoal
