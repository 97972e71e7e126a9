#include <shoal/detail/flow/task.hpp>

#include "base/bytes.hpp"
#include "flow/core.hpp"

#include <shoal/detail/base/check.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace shoal::flow {

const char* name_of(Mode mode) {
  switch (mode) {
    case Mode::read:
      return "read";
    case Mode::write:
      return "write";
    case Mode::read_write:
      return "read_write";
    case Mode::commutative:
      return "commutative";
    case Mode::reduction:
      return "reduction";
    case Mode::scratch:
      return "scratch";
  }
  return "";
}

namespace {

/// A name without indices: "A" for "A[3,2]", "tile" for "tile 7".
std::string_view family_of(std::string_view datum) {
  const std::size_t index = datum.find_first_of("[(");
  if (index != std::string_view::npos && index > 0) datum = datum.substr(0, index);
  const std::size_t last = datum.find_last_not_of("0123456789 _,#");
  return last == std::string_view::npos ? datum : datum.substr(0, last + 1);
}

bool is_spare(Mode mode) { return mode == Mode::reduction || mode == Mode::scratch; }

void* object_for(const Access& access) {
  Instance& instance = *access.instance;
  if (!is_spare(access.mode)) return instance.object();
  bool is_new = false;
  void* const object = instance.take_spare(is_new);
  const Handle& handle = instance.handle();
  if (is_new && access.mode == Mode::reduction) handle.extras->reduction->init(object);
  return object;
}

std::uint64_t hash_of(const Access& access) {
  const DataType& type = *access.instance->handle().type;
  const std::span<const std::byte> bytes = type.bytes(access.object);
  std::vector<std::byte> encoded;
  if (bytes.data() == nullptr) encoded = type.encode(access.object);
  const std::span<const std::byte> all = bytes.data() != nullptr ? bytes : as_span(encoded);
  return wire::fnv1a({reinterpret_cast<const char*>(all.data()), all.size()});
}

/// Hashes of what a task only reads.
std::vector<std::uint64_t> hashes_of_reads(const FlowTask& task) {
  std::vector<std::uint64_t> hashes;
  for (const Access& access : task.accesses()) {
    if (access.mode == Mode::read) hashes.push_back(hash_of(access));
  }
  return hashes;
}

void check_reads(const FlowTask& task, const std::vector<std::uint64_t>& before) {
  std::size_t next = 0;
  for (const Access& access : task.accesses()) {
    if (access.mode != Mode::read || hash_of(access) == before[next++]) continue;
    throw CheckError(
        fmt::format("flow '{}': {} has changed '{}', which it only reads: insert it with "
                    "read_write() instead of read()",
                    task.sequence().name(), task.name(), access.instance->handle().name()));
  }
}

}  // namespace

ValuesBefore::ValuesBefore(std::span<const Access> accesses) {
  for (const Access& access : accesses) {
    if (access.mode == Mode::read || access.mode == Mode::write || access.mode == Mode::scratch)
      continue;
    values_.push_back({access, access.instance->handle().type->encode(access.object)});
  }
}

void ValuesBefore::restore() {
  if (std::exchange(is_first_, false)) return;
  for (const auto& [access, bytes] : values_) {
    access.instance->handle().type->decode(access.object, bytes);
  }
}

FlowTask::FlowTask(Sequence& sequence, std::span<Access> accesses)
    : sequence_(sequence),
      accesses_(accesses.data()),
      access_count_(static_cast<std::uint32_t>(accesses.size())) {
  scope = &sequence.core().team();
}

void FlowTask::become_ready() {
  sched::Scheduler& scheduler = sequence_.core().scheduler();
  if (scheduler.memory_bound_limit() != nullptr && is_memory_bound()) [[unlikely]]
    scheduler.mark_memory_bound(*this);
  Dispatcher* const dispatcher = sequence_.core().dispatcher();
  if (dispatcher != nullptr && is_inserted()) [[unlikely]]
    return dispatcher->push(*this);
  scheduler.submit(std::unique_ptr<sched::Task>(this));
}

bool FlowTask::find_objects() {
  for (Access& access : accesses()) {
    if (is_spare(access.mode)) return false;
    access.object = access.instance->object();
  }
  return true;
}

// For a FlowScheduler, and for FlowOptions::check_reads.
void FlowTask::execute_watched() {
  if (!is_inserted()) return execute();
  if (sequence_.core().skips_tasks()) return;
  const bool checks = sequence_.options().check_reads;
  const std::vector<std::uint64_t> hashes =
      checks ? hashes_of_reads(*this) : std::vector<std::uint64_t>();
  {
    std::optional<Dispatcher::Running> running;
    if (sequence_.core().dispatcher() != nullptr) {
      running.emplace(*sequence_.core().dispatcher(), *this);
    }
    execute();
  }
  if (checks) check_reads(*this, hashes);
}

// Gives the objects of its own back also if the task throws; the other accesses stay granted: the
// team has failed then.
void FlowTask::run() {
  struct Spares {
    FlowTask& task;
    ~Spares() {
      for (const Access& access : task.accesses()) {
        if (is_spare(access.mode) && access.object != nullptr) {
          access.instance->put_spare(access.object);
        }
      }
    }
  };
  {
    const Spares spares{*this};
    for (Access& access : accesses()) access.object = nullptr;
    for (Access& access : accesses()) access.object = object_for(access);
    if (sequence_.watches()) [[unlikely]] {
      execute_watched();
    } else {
      execute();
    }
  }
  if (keeps_accesses()) return;
  for (const Access& access : accesses()) access.instance->release(access.mode);
  sequence_.count_finished();
}

std::string FlowTask::text_of_data() const {
  std::string text = "(";
  for (const Access& access : accesses()) {
    if (text.back() != '(') text += ", ";
    text += access.instance->handle().name();
  }
  return text + ")";
}

std::string FlowTask::name() const { return std::string(plain_name()) + text_of_data(); }

std::size_t FlowTask::write_family(std::span<char> text) const noexcept {
  if (is_inserted() || accesses().empty()) return 0;
  try {
    const std::string datum = accesses().front().instance->handle().name();
    const std::string all = fmt::format("{} {}", plain_name(), family_of(datum));
    return all.copy(text.data(), text.size());
  } catch (...) {
    return 0;  // no memory
  }
}

std::size_t FlowTask::write_key(std::span<char> text) const noexcept {
  try {
    const std::string all = text_of_data();
    return all.copy(text.data(), text.size());
  } catch (...) {
    return 0;  // no memory: the task has no key in the trace
  }
}

}  // namespace shoal::flow
