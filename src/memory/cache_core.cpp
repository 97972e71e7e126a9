#include <shoal/detail/memory/cache_core.hpp>

#include <shoal/error.hpp>

#include <fmt/format.h>

namespace shoal::memory {

CacheCore::CacheCore(sched::Scheduler& scheduler, std::string name,
                     std::unique_ptr<AnyPolicy> policy, Fetch fetch)
    : scheduler_(scheduler),
      name_(std::move(name)),
      fetch_name_(fmt::format("cache '{}': a fetch of ", name_)),
      policy_(std::move(policy)),
      notes_use_(policy_->notes_use()),
      fetch_(std::move(fetch)) {}
CacheCore::~CacheCore() = default;

void CacheCore::note_use(const CacheKey& key) { policy_->on_use(key); }

CacheCore::Awaited CacheCore::begin(const CacheKey& key) {
  ++statistics_.fetches;
  const std::uint64_t ticket = ++tickets_;
  Fetching fetching{key, Promise<Copy>(scheduler_, fetch_name_ + to_string(key)), {}, phase_};
  const Awaited awaited{fetching.promise.future().shared_state(), ticket};
  fetching.result = awaited.result;
  fetching_.emplace(ticket, std::move(fetching));
  if (std::uint64_t* const older = current_.find(key)) {
    *older = ticket;
  } else {
    current_.insert(key, ticket);
  }
  return awaited;
}

CacheCore::Awaited CacheCore::join(const CacheKey& key) {
  const std::uint64_t* const ticket = current_.find(key);
  if (ticket == nullptr) return begin(key);
  return {fetching_.at(*ticket).result, 0};
}

// A request that is refused at the call ends its fetch: others may wait for it by now.
void CacheCore::send(const CacheKey& key, const Awaited& awaited) {
  if (awaited.ticket == 0) return;
  try {
    fetch_(key, awaited.ticket);
  } catch (...) {
    failed(awaited.ticket, std::current_exception());
  }
}

Copy CacheCore::await(const CacheKey& key, const Awaited& awaited) {
  send(key, awaited);
  if (!awaited.result->is_ready()) awaited.result->await();
  awaited.result->rethrow_error();
  return *awaited.result->value;
}

CacheCore::Found CacheCore::get(const CacheKey& key) {
  Awaited awaited;
  {
    const sync::StoreReleaseLock lock(mutex_);
    if (const Kept* const kept = fresh(key)) return {kept->copy, true, kept->fetched_in};
    ++statistics_.misses;
    awaited = join(key);
  }
  return {await(key, awaited), false, 0};
}

Copy CacheCore::fetch(const CacheKey& key) {
  Awaited awaited;
  {
    const sync::StoreReleaseLock lock(mutex_);
    ++statistics_.misses;
    // Not one that is under way: its request may have been answered before the caller's reason to
    // want a new copy.
    awaited = begin(key);
  }
  return await(key, awaited);
}

void CacheCore::prefetch(const CacheKey& key) {
  Awaited awaited;
  {
    const sync::StoreReleaseLock lock(mutex_);
    if (kept_.find(key) != nullptr) return;
    awaited = join(key);
  }
  send(key, awaited);
}

void CacheCore::remove(const CacheKey& key) {
  auto* const slot = kept_.locate(key);
  if (!slot->used()) return;
  statistics_.bytes -= slot->value().size_bytes;
  --statistics_.copies;
  policy_->on_remove(key);
  kept_.erase(slot);
}

void CacheCore::evict() {
  for (std::size_t tries = kept_.size(); tries > 0; --tries) {
    const std::optional<CacheKey> victim = policy_->victim();
    if (!victim) return;
    const Kept* const kept = kept_.find(*victim);
    if (kept != nullptr && kept->copy.use_count() > 1) {
      policy_->on_use(*victim);  // referenced
      continue;
    }
    ++statistics_.evictions;
    remove(*victim);
  }
}

std::optional<CacheCore::Fetching> CacheCore::take(std::uint64_t ticket) {
  const auto found = fetching_.find(ticket);
  if (found == fetching_.end()) return std::nullopt;
  std::optional<Fetching> fetching = std::move(found->second);
  fetching_.erase(found);
  return fetching;
}

bool CacheCore::forget_current(const CacheKey& key, std::uint64_t ticket) {
  auto* const current = current_.locate(key);
  if (!current->used() || current->value() != ticket) return false;
  current_.erase(current);
  return true;
}

void CacheCore::arrived(std::uint64_t ticket, Copy copy, std::size_t size_bytes) {
  std::optional<Fetching> fetching;
  {
    const sync::StoreReleaseLock lock(mutex_);
    fetching = take(ticket);
    if (!fetching) return;
    const CacheKey key = fetching->key;
    if (forget_current(key, ticket)) {
      if (policy_->keeps()) {
        remove(key);
        kept_.insert(key, Kept{copy, size_bytes, fetching->begun_in});
        statistics_.bytes += size_bytes;
        ++statistics_.copies;
        policy_->on_insert(key, size_bytes);
        evict();
      }
    }
  }
  fetching->promise.set_value(std::move(copy));
}

void CacheCore::failed(std::uint64_t ticket, std::exception_ptr error) {
  std::optional<Fetching> fetching;
  {
    const sync::StoreReleaseLock lock(mutex_);
    fetching = take(ticket);
    if (!fetching) return;
    forget_current(fetching->key, ticket);
  }
  fetching->promise.set_exception(std::move(error));
}

void CacheCore::invalidate(const CacheKey& key) {
  const sync::StoreReleaseLock lock(mutex_);
  remove(key);
  current_.erase(key);
}

void CacheCore::next_phase() {
  const sync::StoreReleaseLock lock(mutex_);
  ++phase_;
  kept_.for_each([this](const CacheKey& key, const Kept& /*kept*/) { policy_->on_remove(key); });
  kept_.clear();
  statistics_.copies = statistics_.bytes = 0;
  current_.clear();
}

CacheCore::Comparison CacheCore::begin_comparison() {
  Promise<Compared> promise(scheduler_, fmt::format("cache '{}': a comparison", name_));
  Future<Compared> result = promise.future();
  const sync::StoreReleaseLock lock(mutex_);
  const std::uint64_t number = ++tickets_;
  comparisons_.emplace(number, std::move(promise));
  return {number, std::move(result)};
}

void CacheCore::end_comparison(std::uint64_t number, const Compared& result) {
  std::optional<Promise<Compared>> promise;
  {
    const sync::StoreReleaseLock lock(mutex_);
    const auto found = comparisons_.find(number);
    if (found == comparisons_.end()) return;
    promise = std::move(found->second);
    comparisons_.erase(found);
  }
  promise->set_value(result);
}

std::uint64_t CacheCore::phase() const {
  const sync::StoreReleaseLock lock(mutex_);
  return phase_;
}

CacheStatistics CacheCore::statistics() const {
  const sync::StoreReleaseLock lock(mutex_);
  return statistics_;
}

}  // namespace shoal::memory
