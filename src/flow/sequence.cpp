// Insertion: checks, the rank that runs a task, transfers, limits.

#include <shoal/flow/sequence.hpp>

#include "flow/core.hpp"

#include <shoal/base/check.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace shoal::flow {

Sequence::Sequence(Core& core, std::string name, const FlowOptions& options)
    : core_(core),
      name_(std::move(name)),
      options_(options),
      rank_(core.rank()),
      size_(core.size()),
      watches_(options.check_reads || core.dispatcher() != nullptr),
      load_(static_cast<std::size_t>(size_), 0),
      progress_(core.scheduler(), name_) {
  SHOAL_CHECK(options.tasks_max >= 1, "flow '{}': tasks_max must be at least 1", name_);
}

bool Sequence::begin(const std::shared_ptr<CodeletCore>& codelet, std::span<Request> requests,
                     const InsertOptions& options) {
  check(requests, codelet.get());
  if (progress_.created() - finished_seen_ >= options_.tasks_max ||
      core_.instances().copy_bytes() > options_.copy_bytes_max) [[unlikely]] {
    throttle();
  }
  if (codelet != nullptr && !core_.codelets().keeps(*codelet)) core_.codelets().keep(codelet);
  ++count_;
  const std::uint64_t name_hash = codelet != nullptr ? codelet->hash : wire::fnv1a("task");
  std::uint64_t hash = name_hash;
  for (const Request& request : requests) {
    hash = hash * 31 + request.handle->id * 8 + static_cast<std::uint64_t>(request.mode);
  }
  stamp(hash);
  task_priority_ = options.priority;
  if (size_ == 1) {
    if (options.rank > 0) static_cast<void>(place(requests, options));
    for (Request& request : requests) infer_one(request, 0);
    return true;
  }
  keep_digest(name_hash, requests.empty() ? nullptr : requests.back().handle);
  core_.open_handlers();
  task_rank_ = place(requests, options);
  ++load_[static_cast<std::size_t>(task_rank_)];
  infer(requests, task_rank_);
  if (task_rank_ == rank_) return true;
  bring_back(requests, task_rank_);
  return false;
}

void Sequence::submit(FlowTask* task, std::span<const Request> requests) {
  const std::span<Access> accesses = task->accesses();
  task->priority = task_priority_;
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    accesses[i].instance = requests[i].instance;
    accesses[i].task = task;
    accesses[i].mode = requests[i].mode;
  }
  enter_all(*task);
  if (size_ > 1) bring_back(requests, rank_);
}

void Sequence::note(const char* what, const Handle* handle) {
  ++count_;
  const std::uint64_t name_hash = wire::fnv1a(what);
  stamp(name_hash * 31 + (handle != nullptr ? handle->id : 0));
  if (size_ == 1) return;
  keep_digest(name_hash, handle);
  core_.open_handlers();
}

void Sequence::keep_digest(std::uint64_t name_hash, const Handle* handle) {
  Comparison* const comparison = core_.comparison();
  if (comparison == nullptr || this != &core_.main()) return;
  comparison->note({.fingerprint = fingerprint_,
                    .datum = handle != nullptr ? handle->id : 0,
                    .codelet = static_cast<std::uint32_t>(name_hash),
                    .has_datum = handle != nullptr ? 1U : 0U});
}

// --- checks

void Sequence::check(std::span<const Request> requests, const CodeletCore* codelet) const {
  const auto refuse = [&](const std::string& text) {
    throw CheckError(fmt::format("flow '{}': insert({}), task {}: {}", name_,
                                 codelet != nullptr ? codelet->name : "task", count_ + 1, text));
  };
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Request& one = requests[i];
    if (one.handle == nullptr) {
      refuse(fmt::format("argument {} is a datum that was never registered", i + 1));
    }
    if (one.handle->generation != one.generation || !one.handle->registered) [[unlikely]] {
      refuse(fmt::format("argument {} is a datum that was unregistered before", i + 1));
    }
    if (one.handle->partitioned) [[unlikely]] {
      refuse(fmt::format("'{}' is partitioned: use its parts, or unpartition() it first",
                         one.handle->name()));
    }
    if (one.mode == Mode::reduction &&
        (one.handle->extras == nullptr || one.handle->extras->reduction == nullptr)) [[unlikely]] {
      refuse(fmt::format("'{}' has no reduction: call set_reduction() first", one.handle->name()));
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (requests[j].handle != one.handle ||
          (one.mode == Mode::read && requests[j].mode == one.mode))
        continue;
      refuse(fmt::format("'{}' is given twice, as {} and as {}: give it once, as read_write",
                         one.handle->name(), name_of(requests[j].mode), name_of(one.mode)));
    }
  }
}

// --- the rank that runs a task

int Sequence::place(std::span<const Request> requests, const InsertOptions& options) const {
  if (options.rank >= 0) {
    SHOAL_CHECK(options.rank < size_, "flow '{}': on_rank({}): there are ranks 0 to {}", name_,
                options.rank, size_ - 1);
    return options.rank;
  }
  SHOAL_CHECK(options.rank == InsertOptions::kByOwner || options.rank == InsertOptions::kCheapest,
              "flow '{}': on_rank({}): there are ranks 0 to {}", name_, options.rank, size_ - 1);
  if (options.rank == InsertOptions::kCheapest) return cheapest(requests);
  int owner = -1;
  for (const Request& one : requests) {
    if (!writes(one.mode)) continue;
    if (owner >= 0 && one.handle->owner != owner) return cheapest(requests);
    owner = one.handle->owner;
  }
  if (owner >= 0) return owner;
  for (const Request& one : requests) {
    if (one.mode == Mode::read) return one.handle->owner;
  }
  return requests.empty() ? 0 : requests.front().handle->owner;
}

// Caches are left out: only an owner knows where its value is.
int Sequence::cheapest(std::span<const Request> requests) const {
  int best = 0;
  std::size_t best_bytes = 0;
  bool found = false;
  for (const Request& candidate : requests) {
    if (candidate.mode == Mode::scratch) continue;
    const int rank = candidate.handle->owner;
    std::size_t bytes = 0;
    for (const Request& one : requests) {
      if (one.handle->owner == rank || one.mode == Mode::scratch) continue;
      bytes += one.handle->size_bytes() * (static_cast<std::size_t>(reads(one.mode)) +
                                           static_cast<std::size_t>(one.mode != Mode::read));
    }
    const auto load = [&](int of) { return load_[static_cast<std::size_t>(of)]; };
    if (!found || bytes < best_bytes ||
        (bytes == best_bytes &&
         (load(rank) < load(best) || (load(rank) == load(best) && rank < best)))) {
      best = rank;
      best_bytes = bytes;
      found = true;
    }
  }
  return best;
}

// --- limits

// With nothing under way the bytes belong to caches: waiting would not free them.
void Sequence::throttle() {
  const std::uint64_t created = progress_.created();
  finished_seen_ = created - under_way();
  if (created - finished_seen_ >= options_.tasks_max) {
    wait_until(options_.tasks_max / 2, "insert() beyond tasks_max");
  }
  while (core_.instances().copy_bytes() > options_.copy_bytes_max) {
    const std::uint64_t under_way_now = under_way();
    if (under_way_now == 0) break;
    wait_until(under_way_now / 2, "insert() beyond copy_bytes_max");
  }
  finished_seen_ = progress_.created() - under_way();
}

void Sequence::wait_until(std::uint64_t count, const char* what) {
  if (size_ > 1) core_.open_handlers();
  progress_.wait_until(count, what);
}

}  // namespace shoal::flow
