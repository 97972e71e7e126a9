#include "flow/instance.hpp"

#include "flow/dag.hpp"
#include "flow/transfer_tasks.hpp"

#include <utility>

namespace shoal::flow {

namespace {

std::int64_t bytes_of(const Handle& handle) {
  return static_cast<std::int64_t>(handle.size_bytes());
}

}  // namespace

Instance& Instance::make(Instances& store, Handle& handle, void* object, bool owns_object) {
  Instance& instance = store.take();
  handle.instances.fetch_add(1, std::memory_order_relaxed);
  instance.store_ = &store;
  instance.handle_ = &handle;
  instance.object_ = object;
  instance.owns_object_ = owns_object || object == nullptr;
  instance.at_home_ = false;
  instance.set_last_worker(-1);
  const sync::StoreReleaseLock lock(instance.mutex_);
  instance.detached_ = false;
  return instance;
}

void Instance::end() {
  std::vector<void*> spares;
  {
    const sync::StoreReleaseLock lock(mutex_);
    spares = std::move(spares_);
    spares_.clear();
    open_send_ = nullptr;
  }
  for (void* const spare : spares) handle_->type->destroy(spare);
  if (counted_) store_->count_copy_bytes(-bytes_of(*handle_));
  counted_ = false;
  if (object_ != nullptr && owns_object_) handle_->type->destroy(object_);
  object_ = nullptr;
}

void Instance::recycle() {
  Handle& handle = *handle_;
  end();
  // release pairs with the acquire in Handles::add()
  handle.instances.fetch_sub(1, std::memory_order_release);
  store_->put_back(*this);
}

void Instance::hold() {
  const sync::StoreReleaseLock lock(mutex_);
  granted_ = 1;
  kind_ = Mode::read_write;
}

bool Instance::enter_locked(Access& access) {
  // A send behind it is of another version.
  if (access.mode != Mode::read && open_send_ != nullptr) open_send_ = nullptr;
  if (admits(access.mode)) {
    ++granted_;
    kind_ = access.mode;
    return true;
  }
  access.next = nullptr;
  (first_ != nullptr ? last_->next : first_) = &access;
  last_ = &access;
  return false;
}

bool Instance::enter(Access& access) {
  const sync::StoreReleaseLock lock(mutex_);
  return enter_locked(access);
}

bool Instance::join_send(const Destination& to) {
  const sync::StoreReleaseLock lock(mutex_);
  if (open_send_ == nullptr) return false;
  open_send_->to.push_back(to);
  return true;
}

bool Instance::enter_send(SendTask& task) {
  const sync::StoreReleaseLock lock(mutex_);
  const bool granted = enter_locked(task.access());
  open_send_ = task.list();
  return granted;
}

std::vector<Destination> Instance::close_send(const std::shared_ptr<SendList>& list) {
  const sync::StoreReleaseLock lock(mutex_);
  if (open_send_ == list) open_send_ = nullptr;
  return std::move(list->to);
}

// The next group: one exclusive access, or all shared ones of a kind up to another one.
Access* Instance::grant_next() {
  Access* const group = first_;
  if (group == nullptr) return nullptr;
  kind_ = group->mode;
  Access* last = group;
  ++granted_;
  if (is_shared(kind_)) {
    while (last->next != nullptr && last->next->mode == kind_) {
      last = last->next;
      ++granted_;
    }
  }
  first_ = std::exchange(last->next, nullptr);
  return group;
}

void Instance::release(Mode mode) {
  if (mode == Mode::commutative) end_turn();
  Access* group = nullptr;
  bool ends = false;
  {
    const sync::StoreReleaseLock lock(mutex_);
    if (--granted_ == 0) {
      group = grant_next();
      ends = detached_ && group == nullptr;
    }
  }
  if (ends) recycle();
  satisfy_all(group);
}

void Instance::share() {
  Access* group = nullptr;
  {
    const sync::StoreReleaseLock lock(mutex_);
    kind_ = Mode::read;
    if (first_ != nullptr && first_->mode == Mode::read) group = grant_next();
  }
  satisfy_all(group);
}

void Instance::satisfy_all(Access* group) {
  while (group != nullptr) {
    Access* const next = group->next;  // the task may be gone once it is granted
    satisfy(*group->task);
    group = next;
  }
}

void Instance::detach() {
  bool ends = false;
  {
    const sync::StoreReleaseLock lock(mutex_);
    detached_ = true;
    ends = granted_ == 0;
  }
  if (ends) recycle();
}

bool Instance::try_take_turn() {
  const sync::StoreReleaseLock lock(mutex_);
  return !std::exchange(turn_taken_, true);
}

bool Instance::wait_for_turn(Access& access) {
  const sync::StoreReleaseLock lock(mutex_);
  if (!turn_taken_) return false;
  access.next = turns_;
  turns_ = &access;
  return true;
}

void Instance::end_turn() {
  Access* next = nullptr;
  {
    const sync::StoreReleaseLock lock(mutex_);
    turn_taken_ = false;
    next = turns_;
    if (next != nullptr) turns_ = next->next;
  }
  if (next != nullptr) make_ready(*next->task);
}

void* Instance::object() {
  if (object_ == nullptr) {
    object_ = handle_->type->make(handle_->shape);
    counted_ = !at_home_;  // the handle may have been removed meanwhile
    if (counted_) store_->count_copy_bytes(bytes_of(*handle_));
  }
  return object_;
}

void* Instance::take_spare(bool& is_new) {
  {
    const sync::StoreReleaseLock lock(mutex_);
    if (!spares_.empty()) {
      void* const object = spares_.back();
      spares_.pop_back();
      is_new = false;
      return object;
    }
  }
  is_new = true;
  return handle_->type->make(handle_->shape);
}

void Instance::put_spare(void* object) {
  const sync::StoreReleaseLock lock(mutex_);
  spares_.push_back(object);
}

std::vector<void*> Instance::take_all_spares() {
  const sync::StoreReleaseLock lock(mutex_);
  return std::exchange(spares_, {});
}

Instance::State Instance::state(bool with_name) const {
  const sync::StoreReleaseLock lock(mutex_);
  State state;
  state.granted = granted_;
  state.acquired = acquired_.load(std::memory_order_relaxed);
  state.mode = kind_;
  for (const Access* one = first_; one != nullptr; one = one->next) ++state.waiting;
  for (const Access* one = turns_; one != nullptr; one = one->next) ++state.waiting;
  const Access* const first = first_ != nullptr ? first_ : turns_;
  if (with_name && first != nullptr) state.first = first->task->name();
  return state;
}

Access* Instance::take_waiting() {
  const sync::StoreReleaseLock lock(mutex_);
  Access*& list = first_ != nullptr ? first_ : turns_;
  Access* const access = list;
  if (access != nullptr) list = access->next;
  return access;
}

void make_ready(FlowTask& task) {
  const std::span<Access> accesses = task.accesses();
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    if (accesses[i].mode != Mode::commutative || accesses[i].instance->try_take_turn()) continue;
    for (std::size_t j = 0; j < i; ++j) {
      if (accesses[j].mode == Mode::commutative) accesses[j].instance->end_turn();
    }
    if (accesses[i].instance->wait_for_turn(accesses[i])) return;
    return make_ready(task);
  }
  task.become_ready();
}

Instance& Instances::take() {
  const sync::Lock lock(mutex_);
  if (free_.empty()) return instances_.emplace_back();
  Instance* const instance = free_.back();
  free_.pop_back();
  if (dependencies_ != nullptr) dependencies_->forget(*instance);
  return *instance;
}

void Instances::put_back(Instance& instance) {
  const sync::Lock lock(mutex_);
  free_.push_back(&instance);
}

}  // namespace shoal::flow
