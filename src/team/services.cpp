#include <shoal/detail/team/services.hpp>

#include <vector>

namespace shoal::team {

Services::~Services() {
  clear();
  Entry* entry = first_.load(std::memory_order_acquire);
  while (entry != nullptr) {
    const std::unique_ptr<Entry> owned(entry);
    entry = entry->next.load(std::memory_order_acquire);
  }
}

void Services::set(const void* key, void* object, std::unique_ptr<Owner> owner) {
  std::atomic<Entry*>* slot = &first_;
  Entry* entry = slot->load(std::memory_order_acquire);
  while (entry != nullptr && entry->key != key) {
    slot = &entry->next;
    entry = slot->load(std::memory_order_acquire);
  }
  if (entry != nullptr) {
    entry->owner = std::move(owner);
    entry->object.store(object, std::memory_order_release);
    return;
  }
  auto added = std::make_unique<Entry>();
  added->key = key;
  added->object.store(object, std::memory_order_relaxed);  // published by the next store
  added->owner = std::move(owner);
  slot->store(added.release(), std::memory_order_release);
}

// Without the lock: the objects may look for others.
void Services::clear() {
  std::vector<std::unique_ptr<Owner>> owners;
  {
    const sync::Lock lock(mutex_);
    for (Entry* entry = first_.load(std::memory_order_acquire); entry != nullptr;
         entry = entry->next.load(std::memory_order_acquire)) {
      if (entry->owner == nullptr) continue;
      entry->object.store(nullptr, std::memory_order_release);
      owners.push_back(std::move(entry->owner));
    }
  }
  while (!owners.empty()) owners.pop_back();
}

void Services::refuse(const std::string& type) {
  throw CheckError("no service of type " + type +
                   " on this rank: provide it before messages for it are handled");
}

}  // namespace shoal::team
