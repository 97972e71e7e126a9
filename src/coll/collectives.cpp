#include <shoal/coll/collectives.hpp>

#include <shoal/base/check.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace shoal::coll {

namespace {

constexpr int kArity = term::Tree::kArity;

using Packed = std::vector<std::pair<int, Bytes>>;

Bytes to_bytes(const Packed& packed) {
  Bytes bytes(encoded_size<Packed>(packed));
  encode<Packed>(std::span(bytes), packed);
  return bytes;
}

Packed from_bytes(const Bytes& bytes) {
  auto [packed] = decode<Packed>(bytes);
  return std::move(packed);
}

}  // namespace

/// Messages that have come and that nobody has taken yet.
struct Collectives::Arrivals {
  struct Arrival {
    std::string what;
    Bytes bytes;
  };
  std::map<Slot, Arrival> by_slot;
  std::set<std::uint64_t> given_up;  // operations
};

Collectives::Collectives(term::Scope& scope)
    : scope_(scope),
      rank_(scope.rank()),
      size_(scope.size()),
      arrivals_(std::make_unique<Arrivals>()),
      message_(
          scope.channel(),
          [this](std::uint64_t sequence, const std::string& what, int direction, int source,
                 Bytes bytes) { on_message(sequence, what, direction, source, std::move(bytes)); },
          AmOptions{Delivery::inlined, 0, "collective operation"}) {
  scope_.add(*this);
}

Collectives::~Collectives() { scope_.remove(*this); }

std::vector<Rank> Collectives::children(Rank root) const {
  const int virtual_rank = (rank_ - root + size_) % size_;
  std::vector<Rank> result;
  for (const Rank child : term::Tree{Rank(virtual_rank), size_}.children()) {
    result.emplace_back((child + root) % size_);
  }
  return result;
}

Rank Collectives::parent(Rank root) const {
  const int virtual_rank = (rank_ - root + size_) % size_;
  return Rank(((virtual_rank - 1) / kArity + root) % size_);
}

void Collectives::begin(const std::string& what, Rank root) {
  scope_.check_member(what.c_str());
  SHOAL_CHECK(root >= 0 && root < size_, "{}: rank {} is out of range: {} has ranks 0 to {}", what,
              root.value(), scope_.describe(), size_ - 1);
  ++sequence_;
  what_ = what;
  const sync::Lock lock(mutex_);
  begun_ = sequence_;
}

void Collectives::give_up() {
  const sync::Lock lock(mutex_);
  awaited_.clear();
  arrivals_->given_up.insert(sequence_);
  std::erase_if(arrivals_->by_slot,
                [this](const auto& entry) { return entry.first.first == sequence_; });
}

void Collectives::send(Direction direction, Rank target, const Bytes& bytes) {
  message_.send(target, sequence_, what_, static_cast<int>(direction), rank_.value(), bytes);
  // The main function may leave the operation now, and block its thread outside shoal.
  scope_.messenger().flush();
}

void Collectives::on_message(std::uint64_t sequence, const std::string& what, int direction,
                             int source, Bytes bytes) {
  bool complete = false;
  {
    const sync::Lock lock(mutex_);
    if (arrivals_->given_up.contains(sequence)) return;
    arrivals_->by_slot[{sequence, {direction, source}}] = {what, std::move(bytes)};
    complete = !awaited_.empty() && all_here();
    if (complete) awaited_.clear();
  }
  if (complete) scope_.unpark_main();
}

bool Collectives::all_here() const {
  for (const Slot& slot : awaited_) {
    if (!arrivals_->by_slot.contains(slot)) return false;
  }
  return true;
}

// --- what did not fit

bool Collectives::is_mismatch(const Slot& slot) const {
  return slot.first <= begun_ &&
         std::find(awaited_.begin(), awaited_.end(), slot) == awaited_.end();
}

std::uint64_t Collectives::unsatisfied_count() const {
  const sync::Lock lock(mutex_);
  std::uint64_t count = 0;
  for (const auto& [slot, arrival] : arrivals_->by_slot) count += is_mismatch(slot) ? 1 : 0;
  return count;
}

std::vector<std::string> Collectives::describe_unsatisfied() const {
  const sync::Lock lock(mutex_);
  std::vector<std::string> lines;
  for (const auto& [slot, arrival] : arrivals_->by_slot) {
    if (!is_mismatch(slot)) continue;
    lines.push_back(fmt::format(
        "collective number {} is {} on rank {} and does not fit what was called here: all ranks "
        "must call the same operations with the same root, in the same order",
        slot.first, arrival.what, slot.second.second));
  }
  return lines;
}

// --- the operations

std::vector<Bytes> Collectives::receive(Direction direction, const std::vector<Rank>& sources) {
  std::vector<Slot> keys;
  keys.reserve(sources.size());
  for (const Rank source : sources) {
    keys.push_back({sequence_, {static_cast<int>(direction), source.value()}});
  }
  if (keys.empty()) return {};
  // Looked at only when parked: else the message that completes could come in between.
  const auto look = [&] {
    const sync::Lock lock(mutex_);
    awaited_ = keys;
    const bool complete = all_here();
    if (complete) awaited_.clear();
    return complete;
  };
  try {
    scope_.park_main(fmt::format("{} (collective number {})", what_, sequence_), look);
  } catch (...) {
    give_up();
    throw;
  }
  std::vector<Bytes> result;
  const auto take = [this](const Slot& key) {
    const sync::Lock lock(mutex_);
    return arrivals_->by_slot.extract(key);
  };
  for (const auto& key : keys) {
    auto node = take(key);
    SHOAL_CHECK(node.mapped().what == what_,
                "collective number {} is {} on rank {} and {} on rank {}: all ranks must call the "
                "same operations in the same order",
                sequence_, what_, rank_.value(), node.mapped().what, key.second.second);
    result.push_back(std::move(node.mapped().bytes));
  }
  return result;
}

Bytes Collectives::reduce_to(Rank root, Bytes mine, Combine combine) {
  for (Bytes& part : receive(Direction::up, children(root))) {
    mine = combine(std::move(mine), std::move(part));
  }
  if (rank_ != root) send(Direction::up, parent(root), mine);
  return mine;
}

Bytes Collectives::send_down(Rank root, Bytes value) {
  if (rank_ != root) value = std::move(receive(Direction::down, {parent(root)}).front());
  for (const Rank child : children(root)) send(Direction::down, child, value);
  return value;
}

Bytes Collectives::all_reduce(const std::string& what, Bytes mine, Combine combine) {
  begin(what, Rank(0));
  return send_down(Rank(0), reduce_to(Rank(0), std::move(mine), combine));
}

Bytes Collectives::broadcast(const std::string& what, Bytes mine, Rank root) {
  begin(what, root);
  return send_down(root, std::move(mine));
}

Bytes Collectives::pack(Rank rank, const Bytes& bytes) { return to_bytes({{rank.value(), bytes}}); }

std::vector<Bytes> Collectives::unpack(const Bytes& packed, int size) {
  std::vector<Bytes> result(static_cast<std::size_t>(size));
  for (auto& [rank, bytes] : from_bytes(packed)) {
    result[static_cast<std::size_t>(rank)] = std::move(bytes);
  }
  return result;
}

namespace {

constexpr auto kConcatenate = [](const Bytes& a, const Bytes& b) {
  Packed all = from_bytes(a);
  for (auto& part : from_bytes(b)) all.push_back(std::move(part));
  return to_bytes(all);
};

}  // namespace

std::vector<Bytes> Collectives::gather(const std::string& what, const Bytes& mine, Rank root) {
  begin(what, root);
  const Bytes all = reduce_to(root, pack(rank_, mine), kConcatenate);
  return rank_ == root ? unpack(all, size_) : std::vector<Bytes>();
}

std::vector<Bytes> Collectives::all_gather(const std::string& what, const Bytes& mine) {
  begin(what, Rank(0));
  return unpack(send_down(Rank(0), reduce_to(Rank(0), pack(rank_, mine), kConcatenate)), size_);
}

}  // namespace shoal::coll
