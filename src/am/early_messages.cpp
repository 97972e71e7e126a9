#include <shoal/am/early_messages.hpp>

namespace shoal::messaging {

void Early::disown_all() {
  net::Packet* packet = last_disowned == nullptr ? packets.front() : last_disowned->next;
  for (; packet != nullptr; packet = packet->next) {
    packet->disown();
    last_disowned = packet;
  }
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

bool EarlyMessages::add_behind(const Stream& stream, net::Packet* packet, std::uint64_t messages) {
  const sync::Lock lock(mutex_);
  const auto it = streams_.find(stream);
  if (it == streams_.end()) return false;
  count_.fetch_add(messages, std::memory_order_release);
  it->second.count += messages;
  it->second.packets.push_back(net::Packet::compact(packet));
  return true;
}

bool EarlyMessages::add(const Stream& stream, net::Packet* packet, Early begin,
                        FunctionRef<void()> then) {
  const std::uint64_t messages = begin.count;
  const sync::Lock lock(mutex_);
  const auto [found, is_first] = streams_.try_emplace(stream, std::move(begin));
  if (!is_first) found->second.count += messages;
  found->second.packets.push_back(packet);
  count_.fetch_add(messages, std::memory_order_release);
  then();
  return is_first;
}

bool EarlyMessages::are_passed_on(const Stream& stream) const {
  const sync::Lock lock(mutex_);
  const auto found = streams_.find(stream);
  return found != streams_.end() && found->second.passed_on;
}

EarlyMessages::Streams EarlyMessages::take(std::uint64_t team, std::int32_t source,
                                           FunctionRef<bool()> unless) {
  Streams taken;
  const sync::Lock lock(mutex_);
  if (unless()) return taken;
  for (auto it = streams_.begin(); it != streams_.end();) {
    const auto here = it++;
    if (here->first.team != team || here->first.source != source) continue;
    count_.fetch_sub(here->second.count, std::memory_order_release);
    taken.insert(streams_.extract(here));
  }
  return taken;
}

EarlyMessages::Streams EarlyMessages::take_all(FunctionRef<void()> then) {
  Streams all;
  const sync::Lock lock(mutex_);
  all.swap(streams_);
  count_.store(0, std::memory_order_release);
  then();
  return all;
}

bool EarlyMessages::disown_all(FunctionRef<bool()> unless) {
  const sync::Lock lock(mutex_);
  if (unless()) return false;
  for (auto& [stream, early] : streams_) early.disown_all();
  return true;
}

void EarlyMessages::for_each(FunctionRef<void(const Stream&)> visit) const {
  const sync::Lock lock(mutex_);
  for (const auto& [stream, early] : streams_) visit(stream);
}

}  // namespace shoal::messaging
