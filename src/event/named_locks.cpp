#include "event/core.hpp"

#include <shoal/detail/base/check.hpp>

#include <algorithm>
#include <functional>

namespace shoal::event {

/// Locks that one task holds, here or of other Events.
class NamedLocks::Held final : public sched::TaskLocal {
 public:
  explicit Held(const sched::Task& task) : task_(task) {}
  ~Held() override {
    for (Mutex* lock : locks) lock->unlock_for(task_);
  }
  std::vector<Mutex*> locks;
  std::vector<Mutex*> lost;  // given up for a wait, and not taken again yet, or never

  void add(Mutex& mutex) {
    std::erase(lost, &mutex);
    locks.push_back(&mutex);
  }

 private:
  const sched::Task& task_;
};

NamedLocks::~NamedLocks() {
  Held* const held = held_here(false);
  if (held == nullptr) return;
  const sync::Lock lock(mutex_);
  for (const auto& [name, mutex] : locks_) {
    std::erase(held->locks, mutex.get());
    std::erase(held->lost, mutex.get());
  }
}

Mutex& NamedLocks::find(std::string_view name) {
  return sync::locked(mutex_, [&]() SHOAL_REQUIRES(mutex_) -> Mutex& {
    const auto it = locks_.find(name);
    if (it != locks_.end()) return *it->second;
    auto made = std::make_unique<Mutex>(scheduler_, std::string(name));
    return *locks_.emplace(std::string(name), std::move(made)).first->second;
  });
}

// Threads of the program have none: they unlock themselves.
NamedLocks::Held* NamedLocks::held_here(bool make) {
  sched::Task* const task = sched::current_task();
  if (task == nullptr) return nullptr;
  if (auto* const held = task->find_local<Held>(); held != nullptr || !make) return held;
  task->add_local(std::make_unique<Held>(*task));
  return task->find_local<Held>();
}

void NamedLocks::lock(std::string_view name) {
  Mutex& mutex = find(name);
  Held* const held = held_here(true);
  mutex.lock();
  if (held != nullptr) held->add(mutex);
}

bool NamedLocks::try_lock(std::string_view name) {
  Mutex& mutex = find(name);
  Held* const held = held_here(true);
  if (!mutex.try_lock()) return false;
  if (held != nullptr) held->add(mutex);
  return true;
}

void NamedLocks::unlock(std::string_view name) {
  Mutex& mutex = find(name);
  Held* const held = held_here(false);
  if (held != nullptr && std::erase(held->lost, &mutex) > 0) return;
  mutex.unlock();
  if (held != nullptr) std::erase(held->locks, &mutex);
}

namespace {

/// The order in which all take theirs again: none waits for another in a circle. Locks of one name
/// are of several Events.
bool goes_before(const Mutex* a, const Mutex* b) {
  const int order = a->name().compare(b->name());
  return order != 0 ? order < 0 : std::less<>()(a, b);
}

}  // namespace

void NamedLocks::wait_without(FunctionRef<void()> wait) {
  Held* const held = held_here(false);
  if (held == nullptr) return wait();
  std::vector<Mutex*> locks = std::exchange(held->locks, {});
  std::sort(locks.begin(), locks.end(), goes_before);
  held->lost.insert(held->lost.end(), locks.begin(), locks.end());
  for (Mutex* lock : locks) lock->unlock();
  const auto lock_again = [&] {
    for (Mutex* lock : locks) {
      lock->lock();
      held->add(*lock);
    }
  };
  try {
    wait();
  } catch (const CancelledError&) {
    throw;  // no task may wait any more, not even for a lock
  } catch (...) {
    lock_again();
    throw;
  }
  lock_again();
}

}  // namespace shoal::event
