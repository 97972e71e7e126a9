#include "am/early_messages.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace shoal::messaging {

void Early::disown_all() {
  for (; disowned < packets.size(); ++disowned) packets[disowned].part.packet->disown();
}

std::uint64_t EarlyMessages::count_of(std::uint64_t team) const {
  if (count() == 0) return 0;
  std::uint64_t sum = 0;
  const sync::Lock lock(mutex_);
  for (const auto& [stream, early] : streams_) sum += stream.team == team ? early.count : 0;
  return sum;
}

bool EarlyMessages::empty() const {
  const sync::Lock lock(mutex_);
  return streams_.empty();
}

bool EarlyMessages::has(const Stream& stream) const {
  const sync::Lock lock(mutex_);
  return streams_.contains(stream);
}

bool EarlyMessages::are_passed_on(const Stream& stream) const {
  const sync::Lock lock(mutex_);
  const auto found = streams_.find(stream);
  return found != streams_.end() && found->second.passed_on;
}

bool EarlyMessages::add(const Stream& stream, PacketPart part, std::uint64_t messages,
                        bool passed_on, FunctionRef<void()> then) {
  const sync::Lock lock(mutex_);
  const auto [found, is_first] = streams_.try_emplace(stream);
  Early& early = found->second;
  if (is_first) early.passed_on = passed_on;
  early.count += messages;
  early.packets.push_back({std::move(part), numbers_++});
  if (open_windows_ > 0) early.disown_all();
  count_.fetch_add(messages, std::memory_order_release);
  if (is_first) then();
  return is_first;
}

PacketParts EarlyMessages::take(std::uint64_t team, std::int32_t source,
                                FunctionRef<bool()> unless) {
  PacketParts taken;
  const sync::Lock lock(mutex_);
  if (unless()) return taken;
  for (auto it = streams_.begin(); it != streams_.end();) {
    const auto here = it++;
    if (here->first.team != team || here->first.source != source) continue;
    count_.fetch_sub(here->second.count, std::memory_order_release);
    for (Early::Kept& one : here->second.packets) taken.push_back(std::move(one.part));
    streams_.erase(here);
  }
  return taken;
}

PacketParts EarlyMessages::take_all(FunctionRef<void()> then) {
  std::vector<Early::Kept> all;
  {
    const sync::Lock lock(mutex_);
    for (auto& [stream, early] : streams_)
      std::ranges::move(early.packets, std::back_inserter(all));
    streams_.clear();
    count_.store(0, std::memory_order_release);
    then();
  }
  std::ranges::sort(all, {}, &Early::Kept::number);
  PacketParts parts;
  for (Early::Kept& one : all) parts.push_back(std::move(one.part));
  return parts;
}

EarlyMessages::~EarlyMessages() {
  for (auto& [stream, early] : streams_) {
    for (const Early::Kept& one : early.packets) one.part.packet->owner = nullptr;
  }
}

void EarlyMessages::open_windows(int change) {
  const sync::Lock lock(mutex_);
  open_windows_ += change;
  if (change <= 0) return;
  for (auto& [stream, early] : streams_) early.disown_all();
}

bool EarlyMessages::disown_all(FunctionRef<bool()> unless) {
  const sync::Lock lock(mutex_);
  if (unless()) return false;
  for (auto& [stream, early] : streams_) early.disown_all();
  return true;
}

void EarlyMessages::for_each(
    FunctionRef<void(const Stream&, const PacketPart& first)> visit) const {
  const sync::Lock lock(mutex_);
  for (const auto& [stream, early] : streams_) visit(stream, early.packets.front().part);
}

}  // namespace shoal::messaging
