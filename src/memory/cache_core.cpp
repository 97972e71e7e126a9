#include <shoal/detail/memory/cache_core.hpp>

#include <shoal/error.hpp>
#include <shoal/team.hpp>

#include <fmt/format.h>

namespace shoal::memory {

void barrier(Team& team) { team.barrier(); }

CacheCore::CacheCore(sched::Scheduler& scheduler, std::string name,
                     std::unique_ptr<AnyPolicy> policy, Fetch fetch)
    : scheduler_(scheduler),
      name_(std::move(name)),
      fetch_name_(fmt::format("cache '{}': a fetch of ", name_)),
      policy_(std::move(policy)),
      notes_use_(policy_->notes_use()),
      fetch_(std::move(fetch)) {}
// Its fetches may be answered, or broken off with their memory, later.
CacheCore::~CacheCore() { self_->store(nullptr, std::memory_order_release); }

void CacheCore::note_use(const CacheKey& key) { policy_->on_use(key); }

CacheCore::SharedFetch CacheCore::begin(const CacheKey& key) {
  ++statistics_.fetches;
  auto fetch = std::make_shared<Fetching>(
      Fetching{key, Promise<Copy>(scheduler_, fetch_name_ + to_string(key)), {}, phase_, self_});
  fetch->result = fetch->promise.future().shared_state();
  if (FetchRef* const older = current_.find(key)) {
    *older = fetch;
  } else {
    current_.insert(key, fetch);
  }
  return {std::move(fetch), true};
}

CacheCore::SharedFetch CacheCore::join(const CacheKey& key) {
  const FetchRef* const fetch = current_.find(key);
  if (fetch == nullptr) return begin(key);
  return {*fetch, false};
}

// A request that is refused at the call ends its fetch, as others may wait for it already.
void CacheCore::send(const CacheKey& key, const SharedFetch& awaited) {
  if (!awaited.begins) return;
  try {
    fetch_(key, awaited.fetch);
  } catch (...) {
    failed(awaited.fetch, std::current_exception());
  }
}

Copy CacheCore::await(const CacheKey& key, const SharedFetch& awaited) {
  send(key, awaited);
  sched::CompletionOf<Copy>& result = *awaited.fetch->result;
  if (!result.is_ready()) result.await();
  result.rethrow_error();
  return *result.value;
}

CacheCore::Found CacheCore::get(const CacheKey& key) {
  SharedFetch awaited;
  {
    const sync::StoreReleaseLock lock(mutex_);
    if (const Entry* const entry = fresh(key)) return {entry->copy, true, entry->fetched_in};
    ++statistics_.misses;
    awaited = join(key);
  }
  return {await(key, awaited), false, 0};
}

CacheCore::Found CacheCore::find_phased(const CacheKey& key) {
  const sync::StoreReleaseLock lock(mutex_);
  const Entry* const entry = fresh(key);
  return entry != nullptr ? Found{entry->copy, true, entry->fetched_in} : Found();
}

Copy CacheCore::fetch(const CacheKey& key) {
  SharedFetch awaited;
  {
    const sync::StoreReleaseLock lock(mutex_);
    ++statistics_.misses;
    // A fetch that is in progress does not count: its request may have been answered before the
    // change because of which the caller wants a new copy.
    awaited = begin(key);
  }
  return await(key, awaited);
}

void CacheCore::prefetch(const CacheKey& key) {
  SharedFetch awaited;
  {
    const sync::StoreReleaseLock lock(mutex_);
    if (entries_.find(key) != nullptr) return;
    awaited = join(key);
  }
  send(key, awaited);
}

void CacheCore::remove(const CacheKey& key) {
  auto* const slot = entries_.locate(key);
  if (!slot->used()) return;
  statistics_.bytes -= slot->value().size_bytes;
  --statistics_.copies;
  policy_->on_remove(key);
  entries_.erase(slot);
}

void CacheCore::evict() {
  for (std::size_t tries = entries_.size(); tries > 0; --tries) {
    const std::optional<CacheKey> victim = policy_->victim();
    if (!victim) return;
    const Entry* const entry = entries_.find(*victim);
    if (entry != nullptr && entry->copy.use_count() > 1) {
      policy_->on_use(*victim);  // referenced
      continue;
    }
    ++statistics_.evictions;
    remove(*victim);
  }
}

bool CacheCore::forget_current(const FetchRef& fetch) {
  auto* const current = current_.locate(fetch->key);
  if (!current->used() || current->value() != fetch) return false;
  current_.erase(current);
  return true;
}

bool CacheCore::end(const FetchRef& fetch, const Copy* copy, std::size_t size_bytes) {
  const sync::StoreReleaseLock lock(mutex_);
  if (std::exchange(fetch->ended, true)) return false;
  if (!forget_current(fetch) || copy == nullptr || !policy_->keeps()) return true;
  const CacheKey& key = fetch->key;
  remove(key);
  entries_.insert(key, Entry{*copy, size_bytes, fetch->begun_in});
  statistics_.bytes += size_bytes;
  ++statistics_.copies;
  policy_->on_insert(key, size_bytes);
  evict();
  return true;
}

void CacheCore::arrived(const FetchRef& fetch, Copy copy, std::size_t size_bytes) {
  // acquire pairs with the release in the destructor
  CacheCore* const cache = fetch->cache->load(std::memory_order_acquire);
  if (cache != nullptr && cache->end(fetch, &copy, size_bytes)) {
    fetch->promise.set_value(std::move(copy));
  }
}

void CacheCore::failed(const FetchRef& fetch, std::exception_ptr error) {
  CacheCore* const cache = fetch->cache->load(std::memory_order_acquire);
  if (cache != nullptr && cache->end(fetch, nullptr, 0)) {
    fetch->promise.set_exception(std::move(error));
  }
}

void CacheCore::invalidate(const CacheKey& key) {
  const sync::StoreReleaseLock lock(mutex_);
  remove(key);
  current_.erase(key);
}

void CacheCore::next_phase() {
  const sync::StoreReleaseLock lock(mutex_);
  ++phase_;
  entries_.for_each(
      [this](const CacheKey& key, const Entry& /*entry*/) { policy_->on_remove(key); });
  entries_.clear();
  statistics_.copies = statistics_.bytes = 0;
  current_.clear();
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
