#include "flow/codelets.hpp"

#include <shoal/archive.hpp>
#include <shoal/detail/sched/dependencies.hpp>

#include <utility>

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

}  // namespace shoal::flow
