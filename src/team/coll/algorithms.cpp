#include "team/coll/algorithms.hpp"

#include <shoal/detail/base/check.hpp>

#include <algorithm>
#include <bit>
#include <cstring>

namespace shoal::team {

namespace {

/// A value of one rank among those of several: a large one is sent separately.
struct Entry {
  Block block;
  Announcement announcement;
};

constexpr std::uint64_t kIsAnnounced = ~std::uint64_t{0};  // as a length
constexpr std::uint32_t kSeparate = 1U << 27U;  // phase of values that are sent separately

bool is_large(const Operation& op, const Block& block) {
  return op.size() > 1 && op.goes_as_payload(block.size());
}

/// Entries of several ranks in one block.
Block pack(std::span<const Entry> entries) {
  std::size_t size = 0;
  for (const Entry& entry : entries) {
    size += sizeof(std::uint64_t);
    size += entry.announcement.size > 0 ? sizeof(Announcement) : entry.block.size();
  }
  Bytes bytes(size);
  std::byte* at = bytes.data();
  const auto put = [&at](const void* from, std::size_t count) {
    if (count > 0) std::memcpy(at, from, count);
    at += count;
  };
  for (const Entry& entry : entries) {
    const bool is_announced = entry.announcement.size > 0;
    const std::uint64_t length = is_announced ? kIsAnnounced : entry.block.size();
    put(&length, sizeof length);
    if (is_announced) {
      put(&entry.announcement, sizeof entry.announcement);
    } else {
      put(entry.block.bytes().data(), entry.block.size());
    }
  }
  return Block(std::move(bytes));
}

void unpack(const Block& packed, std::vector<Entry>& entries) {
  std::span<const std::byte> rest = packed.bytes();
  const auto take = [&rest](std::size_t count) {
    SHOAL_CHECK(count <= rest.size(), "a collective operation: corrupt values");
    const std::span<const std::byte> taken = rest.first(count);
    rest = rest.subspan(count);
    return taken;
  };
  while (!rest.empty()) {
    std::uint64_t length = 0;
    std::memcpy(&length, take(sizeof length).data(), sizeof length);
    Entry& entry = entries.emplace_back();
    if (length == kIsAnnounced) {
      std::memcpy(&entry.announcement, take(sizeof entry.announcement).data(),
                  sizeof entry.announcement);
    } else {
      entry.block = Block(take(length));
    }
  }
}

std::vector<Block> blocks_of(std::vector<Entry> entries) {
  std::vector<Block> blocks;
  blocks.reserve(entries.size());
  for (Entry& entry : entries) blocks.push_back(std::move(entry.block));
  return blocks;
}

}  // namespace

// D. Hensgen, R. Finkel, U. Manber, "Two algorithms for barrier synchronization", 1988.
// Dissemination. Pairs that exchange, where the size allows it, are neighbours first, which often
// share a core or a cache: so a wait is over when the neighbour has run.
Operation::Body barrier(Operation& op) {
  const bool in_pairs = std::has_single_bit(static_cast<unsigned>(op.size()));
  std::uint32_t phase = 0;
  for (int distance = 1; distance < op.size(); distance *= 2, ++phase) {
    const Rank partner(op.rank().value() ^ distance);
    op.send(in_pairs ? partner : op.neighbour(distance), phase);
    co_await op.receive(in_pairs ? partner : op.neighbour(-distance), phase);
  }
}

// A large value is announced, and follows in segments: see PayloadMulticasts.
Operation::Body broadcast(Operation& op, Block mine, std::optional<std::span<std::byte>> place) {
  if (op.rank() == op.root()) {
    const std::span<const std::byte> source = place.has_value() ? *place : mine.bytes();
    const bool is_announced =
        place.has_value() ? source.size() >= kLargeMessageBytes : op.goes_as_payload(source.size());
    if (op.size() > 1 && is_announced) {
      op.multicast(0, {}, {source.size(), op.begin_multicast(source, 0)});
      co_await op.released(0);
    } else if (op.size() > 1) {
      op.multicast(0, place.has_value() ? Block(source) : mine);
    }
    if (!place.has_value()) op.add_result(mine);
    co_return;
  }
  const Piece head = co_await op.receive(op.root(), 0);
  const std::size_t size = head.announced.size > 0 ? head.announced.size : head.block.size();
  SHOAL_CHECK(!place.has_value() || place->size() == size,
              "{}: the root gives {} bytes and this member room for {}: all must give the same",
              op.waited_operation().text(), size, place->size());
  if (head.announced.size == 0) {
    if (place.has_value()) {
      copy_bytes(head.block.bytes(), *place);
    } else {
      op.add_result(head.block);
    }
    co_return;
  }
  Bytes buffer;
  if (!place.has_value()) buffer.resize(size);
  co_await op.in_handler();
  op.join_multicast(op.root(), head.announced.multicast, place.value_or(std::span(buffer)), 0);
  co_await op.released(0);
  if (!place.has_value()) op.add_result(Block(std::move(buffer)));
}

// Along the tree of rank 0, in which each member stands for those that follow it.
Operation::Body reduce(Operation& op, Block mine, Combine combine) {
  constexpr std::uint32_t kResult = 1;
  int step = 1;
  for (; step < op.size() && (op.rank().value() & step) == 0; step *= 2) {
    if (op.rank().value() + step >= op.size()) continue;
    const Piece piece = co_await op.receive(op.neighbour(step), 0);
    mine = combine(mine, piece.block);
  }
  if (op.rank() != 0) {
    op.send(op.neighbour(-step), 0, mine);
  } else if (op.root() != 0) {
    op.send(op.root(), kResult, mine);
  }
  if (op.rank() != op.root()) co_return;
  if (op.rank() != 0) mine = (co_await op.receive(Rank(0), kResult)).block;
  op.add_result(mine);
}

// Recursive doubling: of the ranks beyond a power of two, each hands its value to its neighbour
// before and gets the result from it. All combine neighbouring blocks of ranks in their order.
Operation::Body allreduce(Operation& op, Block mine, Combine combine,
                          std::optional<std::span<std::byte>> place) {
  constexpr std::uint32_t kFold = 100;
  constexpr std::uint32_t kUnfold = 101;
  const int pairs = op.size() - static_cast<int>(std::bit_floor(static_cast<unsigned>(op.size())));
  const int rank = op.rank().value();
  const bool folds = rank < 2 * pairs && rank % 2 == 1;
  if (folds) {
    op.send(op.neighbour(-1), kFold, mine);
    mine = (co_await op.receive(op.neighbour(-1), kUnfold)).block;
  } else {
    if (rank < 2 * pairs) {
      const Piece piece = co_await op.receive(op.neighbour(1), kFold);
      mine = combine(mine, piece.block);
    }
    const int number = rank < 2 * pairs ? rank / 2 : rank - pairs;
    std::uint32_t phase = 0;
    for (int step = 1; step < op.size() - pairs; step *= 2, ++phase) {
      const int other = number ^ step;
      const Rank partner(other < pairs ? 2 * other : other + pairs);
      op.send(partner, phase, mine);
      const Piece piece = co_await op.receive(partner, phase);
      mine = other < number ? combine(piece.block, mine) : combine(mine, piece.block);
    }
    if (rank < 2 * pairs) op.send(op.neighbour(1), kUnfold, mine);
  }
  if (!place.has_value()) {
    op.add_result(mine);
  } else {
    SHOAL_CHECK(mine.size() == place->size(), "{}: the members give values of different sizes",
                op.waited_operation().text());
    copy_bytes(mine.bytes(), *place);
  }
}

// Along a tree; large values go straight to the root.
Operation::Body gather(Operation& op, Block mine) {
  const auto number = static_cast<unsigned>(op.number());
  const auto size = static_cast<unsigned>(op.size());
  const auto member = [&op](unsigned i) { return op.rank_of(static_cast<int>(i)); };
  std::vector<Entry> entries(1);  // of the subtree, in the order of numbers
  if (number > 0 && is_large(op, mine)) {
    op.send(op.root(), kSeparate, mine);
    entries[0].announcement.size = mine.size();
  } else {
    entries[0].block = std::move(mine);
  }
  unsigned step = 1;
  for (; step < size && (number & step) == 0; step *= 2) {
    if (number + step >= size) continue;
    const Piece piece = co_await op.receive(member(number + step), 0);
    unpack(piece.block, entries);
  }
  if (number > 0) {
    op.send(member(number - step), 0, pack(entries));
    co_return;
  }
  for (unsigned i = 1; i < size; ++i) {
    if (entries[i].announcement.size == 0) continue;
    entries[i].block = (co_await op.receive(member(i), kSeparate)).block;
  }
  std::rotate(entries.begin(), entries.end() - op.root().value(), entries.end());
  op.set_results(blocks_of(std::move(entries)));
}

// J. Bruck et al., "Efficient algorithms for all-to-all communications in multiport message-passing
// systems", 1997. Large values are announced in that way, and are all multicast at once.
Operation::Body allgather(Operation& op, Block mine) {
  std::vector<Entry> entries(1);  // of this rank and those that follow it, in a ring
  const bool shares = op.in_one_process();
  const bool is_announced = is_large(op, mine);
  const auto own_phase = kSeparate + static_cast<std::uint32_t>(op.rank().value());
  if (is_announced) {
    entries[0].announcement.size = mine.size();
    if (!shares) entries[0].announcement.multicast = op.begin_multicast(mine.bytes(), own_phase);
    if (shares) op.multicast(kSeparate, mine);
  } else {
    entries[0].block = mine;
  }
  std::uint32_t phase = 0;
  for (int have = 1; have < op.size(); have *= 2, ++phase) {
    const auto count = static_cast<std::size_t>(std::min(have, op.size() - have));
    op.send(op.neighbour(-have), phase, pack(std::span(entries).first(count)));
    const Piece piece = co_await op.receive(op.neighbour(have), phase);
    unpack(piece.block, entries);
  }
  std::rotate(entries.begin(), entries.end() - op.rank().value(), entries.end());
  std::vector<Bytes> arriving(entries.size());
  for (int i = 0; i < op.size(); ++i) {
    const auto index = static_cast<std::size_t>(i);
    const Announcement announced = entries[index].announcement;
    if (announced.size == 0 || i == op.rank()) continue;
    if (shares) {
      entries[index].block = (co_await op.receive(Rank(i), kSeparate)).block;
    } else {
      co_await op.in_handler();
      arriving[index].resize(announced.size);
      op.join_multicast(Rank(i), announced.multicast, arriving[index],
                        kSeparate + static_cast<std::uint32_t>(i));
    }
  }
  for (int i = 0; i < op.size() && !shares; ++i) {
    const auto index = static_cast<std::size_t>(i);
    if (entries[index].announcement.size == 0) continue;
    co_await op.released(kSeparate + static_cast<std::uint32_t>(i));
    if (i != op.rank()) entries[index].block = Block(std::move(arriving[index]));
  }
  if (is_announced) entries[static_cast<std::size_t>(op.rank().value())].block = mine;
  op.set_results(blocks_of(std::move(entries)));
}

// W. D. Hillis, G. L. Steele, "Data parallel algorithms", 1986.
Operation::Body scan(Operation& op, Block mine, Combine combine) {
  std::optional<Block> before;
  std::uint32_t phase = 0;
  for (int distance = 1; distance < op.size(); distance *= 2, ++phase) {
    if (op.rank().value() + distance < op.size()) op.send(op.neighbour(distance), phase, mine);
    if (op.rank().value() < distance) continue;
    const Piece piece = co_await op.receive(op.neighbour(-distance), phase);
    before = before.has_value() ? combine(piece.block, *before) : piece.block;
    mine = combine(piece.block, mine);
  }
  op.add_result(mine);
  if (before.has_value()) op.add_result(*before);
}

Operation::Body alltoall(Operation& op, std::vector<Block> mine) {
  SHOAL_CHECK(mine.size() == static_cast<std::size_t>(op.size()),
              "{} takes a value for each member: {} were given, {} are due",
              name_of(op.call().kind), mine.size(), op.size());
  for (int distance = 1; distance < op.size(); ++distance) {
    const Rank target = op.neighbour(distance);
    op.send(target, 0, mine[static_cast<std::size_t>(target.value())]);
  }
  std::vector<Block> theirs(mine.size());
  for (int rank = 0; rank < op.size(); ++rank) {
    Block& place = theirs[static_cast<std::size_t>(rank)];
    if (rank == op.rank().value()) {
      place = mine[static_cast<std::size_t>(rank)];
    } else {
      place = (co_await op.receive(Rank(rank), 0)).block;
    }
  }
  op.set_results(std::move(theirs));
}

}  // namespace shoal::team
