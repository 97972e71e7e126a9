#include "flow/core.hpp"

#include <shoal/base/check.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

namespace shoal::flow {

namespace {

constexpr std::uint64_t kTagBit = 1ULL << 63U;
constexpr std::uint64_t kTagsMax = 1ULL << 47U;
constexpr unsigned kLifeShift = 47;
constexpr std::uint64_t kLivesMax = 1U << 16U;

}  // namespace

CodeletCore::CodeletCore(std::string text) : name(std::move(text)), hash(wire::fnv1a(name)) {}

std::string Handle::name() const {
  if (!text.empty()) return text;
  if ((id & kTagBit) != 0) return fmt::format("data of tag {}", id & (kTagsMax - 1));
  return fmt::format("data {}", id);
}

Peer& Handle::peer(int rank) {
  for (Peer& one : peers) {
    if (one.rank == rank) return one;
  }
  return peers.emplace_back(Peer{.rank = rank});
}

Core::Core(term::Scope& scope, std::string name, const FlowOptions& options)
    : scope_(scope), name_(std::move(name)), transfers_(*this, options.early_bytes_max) {
  std::shared_ptr<FlowScheduler> order = options.scheduler;
  const auto* const defaults = scope.messenger().services().find<Defaults>();
  if (order == nullptr && defaults != nullptr) {
    order = make_flow_scheduler(defaults->scheduler, defaults->models);
  }
  if (order != nullptr) dispatcher_ = std::make_unique<Dispatcher>(scheduler(), std::move(order));
  if (scope.size() > 1 && !options.pruned) comparison_ = std::make_unique<Comparison>(*this);
  static_cast<void>(add_sequence(name_, options));
  reports_ = std::make_unique<Sequence>(*this, name_ + ", reports", options);
  scope_.add(*this);
}

Core::~Core() {
  scope_.remove(*this);
  drop_waiting_tasks();
  {
    const sync::Lock lock(codelets_mutex_);
    for (const auto& [address, codelet] : codelets_) {
      const void* mine = this;
      codelet->keeper.compare_exchange_strong(mine, nullptr, std::memory_order_relaxed);
    }
  }
  for (Handle& handle : handles_) {
    if (handle.registered) remove_handle(handle);
  }
  const sync::Lock lock(instances_mutex_);
  for (Instance& instance : instances_) instance.end();
}

// Drops the tasks that a failed scope has left: each is in one queue or more.
void Core::drop_waiting_tasks() {
  const sync::Lock lock(instances_mutex_);
  std::vector<FlowTask*> tasks;
  for (Instance& instance : instances_) {
    while (Access* const access = instance.take_waiting()) tasks.push_back(access->task);
  }
  transfers_.add_waiting_tasks(tasks);
  std::ranges::sort(tasks);
  tasks.erase(std::unique(tasks.begin(), tasks.end()), tasks.end());
  // An acquire() that was never granted was given up before: Acquired ends before the flow.
  for (FlowTask* const task : tasks) delete task;
}

Sequence& Core::add_sequence(std::string name, const FlowOptions& options) {
  return *sequences_.emplace_back(std::make_unique<Sequence>(*this, std::move(name), options));
}

// --- handles

Handle& Core::add_handle(const DataType& type, const Shape& shape, const DataOptions& options,
                         void* object, bool owns_object) {
  const auto destroy = [&type](void* unused) { type.destroy(unused); };
  std::unique_ptr<void, decltype(destroy)> refused(owns_object ? object : nullptr, destroy);
  const int owner = options.owner;
  SHOAL_CHECK(owner >= 0 && owner < size(),
              "flow '{}': the owner of a datum is rank {}: there are ranks 0 to {}", name_, owner,
              size() - 1);
  Handle* handle = nullptr;
  {
    const sync::Lock lock(handles_mutex_);
    // acquire pairs with the release in recycle()
    if (!free_handles_.empty() &&
        free_handles_.front()->instances.load(std::memory_order_acquire) == 0) {
      handle = free_handles_.front();
      free_handles_.pop_front();
    } else {
      handle = &handles_.emplace_back();
    }
    if (options.tag.has_value()) {
      SHOAL_CHECK(*options.tag < kTagsMax, "flow '{}': the tag {} is too large: at most 2^47 - 1",
                  name_, *options.tag);
      Tag& tag = tags_[*options.tag];
      if (tag.handle != nullptr) {
        const std::string other = tag.handle->name();
        free_handles_.push_back(handle);
        throw CheckError(fmt::format(
            "flow '{}': '{}' is registered with tag {}, which '{}' has already: each datum needs a "
            "tag of its own until it is unregistered",
            name_, options.name, *options.tag, other));
      }
      tag.handle = handle;
      handle->id = kTagBit | (tag.lives++ % kLivesMax) << kLifeShift | *options.tag;
    } else {
      handle->id = next_id_++;
    }
    handle->registered = true;
  }
  static_cast<void>(refused.release());
  handle->type = &type;
  handle->shape = shape;
  handle->owner = handle->home = owner;
  handle->text = options.name;
  handle->partitioned = handle->is_reducing = false;
  handle->whole = nullptr;
  handle->current = handle->at_home = nullptr;
  handle->extras = nullptr;
  handle->peers.clear();
  handle->epoch = 1;
  handle->sent_epoch = 0;
  if (owner == rank()) {
    handle->current = handle->at_home = &add_instance(*handle, object, owns_object);
    handle->at_home->set_at_home();
  } else if (object != nullptr && owns_object) {
    type.destroy(object);
  }
  return *handle;
}

Handle& Core::add_part(Handle& whole, const Shape& shape, std::size_t index, void* object) {
  Handle& part =
      add_handle(*whole.type, shape,
                 {.owner = Rank(whole.owner),
                  .name = whole.text.empty() ? "" : fmt::format("{}[{}]", whole.text, index)},
                 object, true);
  part.whole = &whole;
  return part;
}

void Core::remove_handle(Handle& handle) {
  if (handle.extras != nullptr) {
    if (handle.extras->reducing != nullptr) handle.extras->reducing->detach();
    if (handle.extras->scratch != nullptr) handle.extras->scratch->detach();
  }
  if (handle.current != nullptr && handle.current != handle.at_home) handle.current->detach();
  if (handle.at_home != nullptr) handle.at_home->detach();
  handle.current = handle.at_home = nullptr;
  const sync::Lock lock(handles_mutex_);
  handle.registered = false;
  ++handle.generation;
  if ((handle.id & kTagBit) != 0) tags_[handle.id & (kTagsMax - 1)].handle = nullptr;
  free_handles_.push_back(&handle);
}

Instance& Core::add_instance(Handle& handle, void* object, bool owns_object) {
  Instance* instance = nullptr;
  {
    const sync::Lock lock(instances_mutex_);
    if (free_instances_.empty()) {
      instance = &instances_.emplace_back();
    } else {
      instance = free_instances_.back();
      free_instances_.pop_back();
    }
  }
  handle.instances.fetch_add(1, std::memory_order_relaxed);
  instance->begin(*this, handle, object, owns_object);
  return *instance;
}

void Core::recycle(Instance& instance) {
  Handle& handle = instance.handle();
  instance.end();
  // release pairs with the acquire in add_handle()
  handle.instances.fetch_sub(1, std::memory_order_release);
  const sync::Lock lock(instances_mutex_);
  free_instances_.push_back(&instance);
}

void Core::count_copy_bytes(const Handle& handle, int sign) {
  const auto bytes = static_cast<std::int64_t>(handle.size_bytes());
  copy_bytes_.fetch_add(sign * bytes, std::memory_order_relaxed);
}

void Core::keep(const std::shared_ptr<CodeletCore>& codelet) {
  const sync::Lock lock(codelets_mutex_);
  codelets_.try_emplace(codelet.get(), codelet);
  codelet->keeper.store(this, std::memory_order_relaxed);
}

std::string Core::text_of_insertion(std::uint32_t hash) const {
  for (const char* const other : {"task", "register", "get", "wait", "migrate", "flush",
                                  "unregister", "partition", "unpartition"}) {
    if (wire::fnv1a(other) == hash) return other;
  }
  const sync::Lock lock(codelets_mutex_);
  for (const auto& [address, codelet] : codelets_) {
    if (static_cast<std::uint32_t>(codelet->hash) == hash) return codelet->name;
  }
  return "a codelet that rank 0 does not have";
}

std::string Core::name_of_handle(std::uint64_t id) const {
  const sync::Lock lock(handles_mutex_);
  for (const Handle& handle : handles_) {
    if (handle.id == id) return handle.name();
  }
  return fmt::format("data {}", id);
}

// --- tasks

void Core::make_ready(FlowTask& task) {
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

// --- reports

std::uint64_t Core::unsatisfied_count() const {
  std::uint64_t count = 0;
  {
    const sync::Lock lock(instances_mutex_);
    for (const Instance& instance : instances_) count += instance.state().waiting;
  }
  return count + transfers_.unmatched_count();
}

std::vector<std::string> Core::describe_unsatisfied() const {
  constexpr std::size_t kLinesMax = 16;
  std::vector<std::string> lines;
  std::uint64_t more = 0;
  const auto add = [&](std::string line) {
    if (lines.size() < kLinesMax) {
      lines.push_back(std::move(line));
    } else {
      ++more;
    }
  };
  {
    const sync::Lock lock(instances_mutex_);
    for (const Instance& instance : instances_) {
      const Instance::State state = instance.state(true);
      if (state.waiting == 0) continue;
      add(fmt::format("flow '{}': {} accesses wait for '{}', which {} tasks hold in mode {}{}",
                      name_, state.waiting, instance.handle().name(), state.granted,
                      name_of(state.mode), fmt::format("; the first to wait is {}", state.first)));
    }
  }
  transfers_.describe_unmatched(name_, add);
  if (more > 0) lines.push_back(fmt::format("flow '{}': and {} more", name_, more));
  return lines;
}

}  // namespace shoal::flow
