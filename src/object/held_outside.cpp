// Invocations from outside that came before rank 0 of the object's team had made it.

#include <shoal/detail/object/objects.hpp>

#include "object/outside.hpp"
#include "team/messenger.hpp"

#include <fmt/format.h>

#include <utility>

namespace shoal::object {

std::string describe(const Outside& outside) {
  return fmt::format("{}, invoked by rank {} of the world on object {}",
                     messaging::static_handlers()[outside.handler].name, outside.origin,
                     outside.address.number);
}

HeldOutside& HeldOutside::of(const messaging::Channel& channel) {
  messaging::Channel& world = channel.messenger().world();
  return world.services().obtain<HeldOutside>(
      [&world] { return std::make_unique<HeldOutside>(static_cast<TeamCore&>(world.scope())); });
}

// Some are left if the world has failed.
HeldOutside::~HeldOutside() {
  if (!held_.empty()) world_.remove(*this);
}

// The scope queries this with its own lock held. Handlers run one at a time, so the two steps of
// hold() and take() do not mix.
void HeldOutside::hold(const Outside& outside, std::vector<std::byte> arguments, PassOn pass_on) {
  bool is_first = false;
  {
    const sync::Lock lock(mutex_);
    pass_on_ = pass_on;
    is_first = held_.empty();
    held_[outside.address.team].push_back({outside, std::move(arguments)});
  }
  if (is_first) world_.add(*this);
}

std::vector<HeldOutside::Held> HeldOutside::take(std::uint64_t team) {
  std::vector<Held> taken;
  {
    const sync::Lock lock(mutex_);
    const auto it = held_.find(team);
    if (it == held_.end()) return {};
    taken = std::move(it->second);
    held_.erase(it);
    if (!held_.empty()) return taken;
  }
  world_.remove(*this);
  return taken;
}

void HeldOutside::object_made(Team& team) const {
  PassOn pass_on = nullptr;
  const std::uint64_t id = team.scope().id();
  {
    const sync::Lock lock(mutex_);
    if (held_.contains(id)) pass_on = pass_on_;
  }
  if (pass_on != nullptr) pass_on(team);
}

std::uint64_t HeldOutside::unsatisfied_count() const {
  const sync::Lock lock(mutex_);
  std::uint64_t count = 0;
  for (const auto& [team, all] : held_) count += all.size();
  return count;
}

std::vector<std::string> HeldOutside::describe_unsatisfied() const {
  const sync::Lock lock(mutex_);
  std::vector<std::string> lines;
  lines.reserve(held_.size());
  for (const auto& [team, all] : held_) {
    lines.push_back(fmt::format(
        "invocation {}: rank 0 of its team has not made it yet{}", describe(all.front().outside),
        all.size() == 1 ? "" : fmt::format(" ({} more behind it)", all.size() - 1)));
  }
  return lines;
}

}  // namespace shoal::object
