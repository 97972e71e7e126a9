#include "flow/core.hpp"

#include <shoal/archive.hpp>
#include <shoal/detail/base/check.hpp>
#include <shoal/detail/sched/dependencies.hpp>

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "sched/traced.hpp"

namespace shoal::flow {

CodeletCore::CodeletCore(std::string text) : name(std::move(text)), hash(wire::fnv1a(name)) {}

Codelets::~Codelets() {
  const sync::Lock lock(mutex_);
  for (const auto& [address, codelet] : codelets_) {
    const void* mine = this;
    codelet->keeper.compare_exchange_strong(mine, nullptr, std::memory_order_relaxed);
  }
}

void Codelets::keep(const std::shared_ptr<CodeletCore>& codelet) {
  sched::record_place(codelet->name, codelet->place);
  if (codelet->colour != 0) sched::record_colour(codelet->name, codelet->colour);
  const sync::Lock lock(mutex_);
  codelets_.try_emplace(codelet.get(), codelet);
  codelet->keeper.store(this, std::memory_order_relaxed);
}

std::string Codelets::text_of(std::uint32_t hash) const {
  for (const char* const other : {"task", "register", "get", "wait", "migrate", "flush",
                                  "unregister", "partition", "unpartition", "sub_flow"}) {
    if (wire::fnv1a(other) == hash) return other;
  }
  const sync::Lock lock(mutex_);
  for (const auto& [address, codelet] : codelets_) {
    if (static_cast<std::uint32_t>(codelet->hash) == hash) return codelet->name;
  }
  return "a codelet of another name";
}

namespace {

constexpr std::uint64_t kTagBit = 1ULL << 63U;
constexpr std::uint64_t kTagsMax = 1ULL << 47U;
constexpr unsigned kLifeShift = 47;
constexpr std::uint64_t kLivesMax = 1U << 16U;

/// The part of an id that is a tag, or the number of a datum without one, with the bit for tags.
constexpr std::uint64_t kNumberBits = kTagBit | (kTagsMax - 1);

/// Name of a datum that the program gave none, or that is not registered here.
std::string name_by_id(std::uint64_t id) {
  const std::uint64_t number = id & (kTagsMax - 1);
  return (id & kTagBit) != 0 ? fmt::format("data of tag {}", number)
                             : fmt::format("data {}", number);
}

/// Name and type of a datum, which are the same on all ranks.
std::uint64_t signature_of(const DataType& type, const std::string& name) {
  const std::uint32_t hash = wire::fnv1a(type.spelled) * 31 + wire::fnv1a(name);
  return (hash ^ hash >> 16U) % kLivesMax;
}

}  // namespace

std::string Handle::name() const { return !text.empty() ? text : name_by_id(id); }

std::string Handle::describe_type() const {
  const std::string called = naming::readable(type->spelled, "T");
  if (shape.rows == 1 && shape.columns == 1) return called;
  if (shape.columns == 1) return fmt::format("{} of {} elements", called, shape.rows);
  return fmt::format("{} of {} x {} elements", called, shape.rows, shape.columns);
}

std::string Handle::former_name(std::uint32_t ended) const {
  const bool is_known = flow == nullptr && generation == ended + 1;  // else another has taken it
  return is_known ? fmt::format(", '{}'", name()) : "";
}

Peer& Handle::peer(int rank) {
  for (Peer& one : peers) {
    if (one.rank == rank) return one;
  }
  return peers.emplace_back(Peer{.rank = rank});
}

Handle& Handles::add(const DataType& type, const Shape& shape, const DataOptions& options,
                     void* object, bool owns_object) {
  bool is_kept = false;
  const auto destroy = [&type, &is_kept](void* unused) {
    if (!is_kept) type.destroy(unused);
  };
  std::unique_ptr<void, decltype(destroy)> refused(owns_object ? object : nullptr, destroy);
  const int owner = options.owner;
  const auto datum = [&options] {
    return options.name.empty() ? std::string("a datum") : fmt::format("'{}'", options.name);
  };
  if (owner < 0 || owner >= team_.size())
    team_.refuse_rank(fmt::format("flow '{}': owner of {}", flow_, datum()), owner);
  const std::uint64_t signature = pruned_ ? signature_of(type, options.name) : 0;
  Handle* handle = nullptr;
  sync::locked(mutex_, [&]() SHOAL_REQUIRES(mutex_) {
    // acquire pairs with the release in Instance::recycle()
    if (!free_.empty() && free_.front()->instances.load(std::memory_order_acquire) == 0) {
      handle = free_.front();
      free_.pop_front();
    } else {
      handle = &handles_.emplace_back();
    }
    if (options.tag.has_value()) {
      SHOAL_CHECK(*options.tag < kTagsMax,
                  "flow '{}': the tag {} of {} is too large: at most 2^47 - 1", flow_, *options.tag,
                  datum());
      Tag& tag = tags_[*options.tag];
      if (tag.handle != nullptr) {
        const std::string other = tag.handle->name();
        free_.push_back(handle);
        throw CheckError(fmt::format(
            "flow '{}': '{}' is registered with tag {}, which '{}' has already: each datum needs a "
            "tag of its own until it is unregistered",
            flow_, options.name, *options.tag, other));
      }
      tag.handle = handle;
      const std::uint64_t life = tag.lives++ % kLivesMax;
      handle->id = kTagBit | (life ^ signature) << kLifeShift | *options.tag;
    } else {
      handle->id = signature << kLifeShift | next_id_++;
    }
    handle->flow = &instances_;
  });
  is_kept = true;
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
  if (owner == rank_) {
    handle->current = handle->at_home = &Instance::make(instances_, *handle, object, owns_object);
    handle->at_home->set_at_home();
    if (trace::on<trace::Category::task>()) describe(*handle);
  } else if (object != nullptr && owns_object) {
    type.destroy(object);
  }
  return *handle;
}

// For traces.
void Handles::describe(const Handle& handle) const {
  trace::describe_name(
      trace::Fact::datum, handle.name(),
      fmt::format("{} {}", handle.size_bytes(), team_.to_world(Rank(handle.owner)).value()));
}

Handle& Handles::add_part(Handle& whole, const Shape& shape, std::size_t index, void* object) {
  Handle& part = add(*whole.type, shape,
                     {.owner = Rank(whole.owner),
                      .name = whole.text.empty() ? "" : fmt::format("{}[{}]", whole.text, index)},
                     object, true);
  part.whole = &whole;
  return part;
}

void Handles::remove(Handle& handle) {
  if (handle.extras != nullptr) {
    if (handle.extras->reducing != nullptr) handle.extras->reducing->detach();
    if (handle.extras->scratch != nullptr) handle.extras->scratch->detach();
  }
  if (handle.current != nullptr && handle.current != handle.at_home) handle.current->detach();
  if (handle.at_home != nullptr) handle.at_home->detach();
  handle.current = handle.at_home = nullptr;
  const sync::Lock lock(mutex_);
  handle.flow = nullptr;
  ++handle.generation;
  if ((handle.id & kTagBit) != 0) tags_[handle.id & (kTagsMax - 1)].handle = nullptr;
  free_.push_back(&handle);
}

void Handles::remove_all() {
  for (Handle& handle : handles_) {
    if (handle.flow != nullptr) remove(handle);
  }
}

std::string Handles::name_of(std::uint64_t id) const {
  const sync::Lock lock(mutex_);
  for (const Handle& handle : handles_) {
    if (handle.id == id) return handle.name();
  }
  return name_by_id(id);
}

std::string Handles::instead_of(std::uint64_t id) const {
  if (!pruned_) return "";
  const sync::Lock lock(mutex_);
  for (const Handle& handle : handles_) {
    if (handle.flow == nullptr || (handle.id & kNumberBits) != (id & kNumberBits)) continue;
    if (handle.id == id) return "";
    return fmt::format(
        " (which is '{}', a {}, here: all ranks register their data with the same names, types and "
        "tags, and those without tags in the same order)",
        handle.name(), handle.describe_type());
  }
  return "";
}

std::string Handles::type_of(std::uint64_t id) const {
  const sync::Lock lock(mutex_);
  for (const Handle& handle : handles_) {
    if (handle.id == id && handle.flow != nullptr) return handle.describe_type();
  }
  return "unregistered since";
}

std::string Handles::number_of(std::uint64_t id) { return name_by_id(id); }

}  // namespace shoal::flow
