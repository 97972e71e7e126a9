#include "coll/operation.hpp"

#include <shoal/base/check.hpp>

#include <algorithm>
#include <bit>

namespace shoal::coll {

namespace {

// Blocks of several ranks in one.
Block pack(const std::vector<Block>& blocks) {
  std::size_t size = 0;
  for (const Block& block : blocks) size += sizeof(std::uint64_t) + block.size();
  Bytes bytes(size);
  std::byte* at = bytes.data();
  for (const Block& block : blocks) {
    const std::uint64_t length = block.size();
    std::memcpy(at, &length, sizeof length);
    at += sizeof length;
    if (length > 0) std::memcpy(at, block.bytes().data(), length);
    at += length;
  }
  return Block(std::move(bytes));
}

void unpack(const Block& packed, std::vector<Block>& blocks) {
  std::span<const std::byte> rest = packed.bytes();
  while (rest.size() >= sizeof(std::uint64_t)) {
    std::uint64_t length = 0;
    std::memcpy(&length, rest.data(), sizeof length);
    rest = rest.subspan(sizeof length);
    SHOAL_CHECK(length <= rest.size(), "a collective operation: corrupt values");
    blocks.emplace_back(rest.first(length));
    rest = rest.subspan(length);
  }
}

void copy(std::span<const std::byte> from, std::span<std::byte> to) {
  if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
}

}  // namespace

bool Operation::Receive::take_from(std::vector<Piece>& pieces) {
  const auto it = std::find_if(pieces.begin(), pieces.end(),
                               [this](const Piece& piece) { return fits(piece); });
  if (it == pieces.end()) return false;
  piece_ = std::move(*it);
  pieces.erase(it);
  return true;
}

Operation::Receive Operation::receive(Rank source, std::uint32_t phase) {
  return {*this, source, phase};
}

PieceHeader Operation::header(std::uint32_t phase) const {
  return {.sequence = sequence_,
          .phase = phase,
          .source = rank_.value(),
          .root = call_.root.value(),
          .type = call_.type,
          .kind = call_.kind};
}

void Operation::send(Rank target, std::uint32_t phase, const Block& block) {
  PieceHeader header = this->header(phase);
  if (block.shared()) {
    in_.piece().send(target, header, block.shared());
  } else {
    header.inline_size = static_cast<std::uint16_t>(block.size());
    copy(block.bytes(), header.place);
    in_.short_piece().send(target, header);
  }
}

std::vector<Rank> Operation::others() const {
  std::vector<Rank> others;
  others.reserve(static_cast<std::size_t>(size_));
  for (int number = 1; number < size_; ++number) others.push_back(rank_of(number));
  return others;
}

void Operation::multicast(const Block& block, const Announcement& announced) {
  const Recipients to(others());
  PieceHeader header = this->header(0);
  header.announced = announced;
  if (block.object().value != nullptr) {
    in_.object_piece().multicast(to, header, block.object());
  } else if (block.shared()) {
    in_.piece().multicast(to, header, block.shared());
  } else {
    header.inline_size = static_cast<std::uint16_t>(block.size());
    copy(block.bytes(), header.place);
    in_.short_piece().multicast(to, header);
  }
}

void Operation::send_payload(Rank target, std::uint32_t phase, std::span<const std::byte> bytes) {
  in_.payload().send(
      target, bytes, header(phase),
      on_release([&in = in_, released = header(kReleased)] { in.on_piece(released, {}); }));
}

messaging::CastPlace Operation::cast_place() const {
  const std::vector<Rank> members = others();
  const MulticastTree tree = messaging::resolve({}, members.size());
  const messaging::TreePlace place = messaging::place_in(tree, call_.root, members, rank_);
  const messaging::Channel& channel = in_.scope().channel();
  messaging::CastPlace cast{channel.to_world(place.parent), place.parent == call_.root, {}};
  for (const Rank child : place.children) cast.children.push_back(channel.to_world(child));
  return cast;
}

// D. Hensgen, R. Finkel, U. Manber, "Two algorithms for barrier synchronization", 1988.
Operation::Body Operation::barrier() {
  std::uint32_t phase = 0;
  for (int distance = 1; distance < size_; distance *= 2, ++phase) {
    send(neighbour(distance), phase);
    co_await receive(neighbour(-distance), phase);
  }
}

// A large value is announced, and follows in segments: see PayloadCasts.
Operation::Body Operation::broadcast(Block mine, std::optional<std::span<std::byte>> place) {
  const bool is_root = rank_ == call_.root;
  messaging::Channel& channel = in_.scope().channel();
  messaging::PayloadCasts& casts = messaging::PayloadCasts::of(channel);
  const auto ended = [&in = in_, over = header(kReleased)] { in.on_piece(over, {}); };
  if (is_root) {
    const std::span<const std::byte> source = place.has_value() ? *place : mine.bytes();
    if (source.size() < kLargeMessageBytes || size_ == 1) {
      if (size_ > 1) multicast(place.has_value() ? Block(source) : mine, {});
    } else {
      const messaging::CastKey key = casts.begin(source, cast_place().children, ended);
      multicast({}, {source.size(), key.number});
      co_await receive(rank_, kReleased);
    }
    if (!place.has_value()) results_.push_back(mine);
    co_return;
  }
  const Piece head = co_await receive(call_.root, 0);
  const std::size_t size = head.announced.size > 0 ? head.announced.size : head.block.size();
  SHOAL_CHECK(!place.has_value() || place->size() == size,
              "{}: the root gives {} bytes and this member room for {}: all must give the same",
              describe(), size, place->size());
  if (head.announced.size == 0) {
    if (place.has_value()) {
      copy(head.block.bytes(), *place);
    } else {
      results_.push_back(head.block);
    }
    co_return;
  }
  Bytes buffer;
  if (!place.has_value()) buffer.resize(size);
  casts.join({channel.to_world(call_.root).value(), head.announced.cast, false}, cast_place(),
             place.value_or(std::span(buffer)), ended);
  co_await receive(rank_, kReleased);
  if (!place.has_value()) results_.push_back(Block(std::move(buffer)));
}

// Along the tree of rank 0, in which each member stands for those that follow it.
Operation::Body Operation::reduce(Block mine, Combine combine) {
  constexpr std::uint32_t kResult = 1;
  int step = 1;
  for (; step < size_ && (rank_.value() & step) == 0; step *= 2) {
    if (rank_.value() + step >= size_) continue;
    const Piece piece = co_await receive(neighbour(step), 0);
    mine = combine(mine, piece.block);
  }
  if (rank_ != 0) {
    send(neighbour(-step), 0, mine);
  } else if (call_.root != 0) {
    send(call_.root, kResult, mine);
  }
  if (rank_ != call_.root) co_return;
  if (rank_ != 0) mine = (co_await receive(Rank(0), kResult)).block;
  results_.push_back(mine);
}

// Recursive doubling: of the ranks beyond a power of two, each hands its value to its neighbour
// before and gets the result from it. All combine neighbouring blocks of ranks in their order.
Operation::Body Operation::allreduce(Block mine, Combine combine,
                                     std::optional<std::span<std::byte>> place) {
  constexpr std::uint32_t kFold = 100;
  constexpr std::uint32_t kUnfold = 101;
  const int pairs = size_ - static_cast<int>(std::bit_floor(static_cast<unsigned>(size_)));
  const int rank = rank_.value();
  const bool folds = rank < 2 * pairs && rank % 2 == 1;
  if (folds) {
    send(neighbour(-1), kFold, mine);
    mine = (co_await receive(neighbour(-1), kUnfold)).block;
  } else {
    if (rank < 2 * pairs) {
      const Piece piece = co_await receive(neighbour(1), kFold);
      mine = combine(mine, piece.block);
    }
    const int number = rank < 2 * pairs ? rank / 2 : rank - pairs;
    std::uint32_t phase = 0;
    for (int step = 1; step < size_ - pairs; step *= 2, ++phase) {
      const int other = number ^ step;
      const Rank partner(other < pairs ? 2 * other : other + pairs);
      send(partner, phase, mine);
      const Piece piece = co_await receive(partner, phase);
      mine = other < number ? combine(piece.block, mine) : combine(mine, piece.block);
    }
    if (rank < 2 * pairs) send(neighbour(1), kUnfold, mine);
  }
  if (!place.has_value()) {
    results_.push_back(mine);
  } else {
    SHOAL_CHECK(mine.size() == place->size(), "{}: the members give values of different sizes",
                describe());
    copy(mine.bytes(), *place);
  }
}

// Each chunk of the values goes round the ring twice: to be combined, and to be handed out.
// P. Patarasuk, X. Yuan, "Bandwidth optimal all-reduce algorithms", 2009.
Operation::Body Operation::allreduce_ring(std::span<std::byte> place, std::size_t element_bytes,
                                          CombineInto combine) {
  const std::size_t count = place.size() / element_bytes;
  const auto chunk = [&, n = static_cast<std::size_t>(size_)](int index) {
    const auto i = static_cast<std::size_t>((index % size_ + size_) % size_);
    const std::size_t begin = count * i / n;
    return place.subspan(begin * element_bytes, (count * (i + 1) / n - begin) * element_bytes);
  };
  const std::size_t scratch_bytes = (count / static_cast<std::size_t>(size_) + 1) * element_bytes;
  const auto scratch = std::make_unique_for_overwrite<std::byte[]>(scratch_bytes);
  const int rank = rank_.value();
  const int half = size_ - 1;
  for (int step = 0; step < 2 * half; ++step) {
    const bool combines = step < half;
    const std::span<std::byte> target = chunk(combines ? rank - step - 1 : rank - (step - half));
    const std::span<std::byte> mine = chunk(combines ? rank - step : rank + 1 - (step - half));
    const auto phase = static_cast<std::uint32_t>(step) + 1;
    place_ = combines ? std::span(scratch.get(), target.size()) : target;
    send(neighbour(-1), kReady + phase);
    co_await receive(neighbour(1), kReady + phase);
    send_payload(neighbour(1), phase, mine);
    co_await receive(neighbour(-1), phase);
    if (combines) combine(target, place_);
    co_await receive(rank_, kReleased);
  }
}

Operation::Body Operation::gather(Block mine) {
  std::vector<Block> blocks{std::move(mine)};  // of the subtree, in the order of numbers
  const auto number = static_cast<unsigned>(this->number());
  unsigned step = 1;
  for (; step < static_cast<unsigned>(size_) && (number & step) == 0; step *= 2) {
    if (number + step >= static_cast<unsigned>(size_)) continue;
    const Piece piece = co_await receive(rank_of(static_cast<int>(number + step)), 0);
    unpack(piece.block, blocks);
  }
  if (rank_ != call_.root) {
    send(rank_of(static_cast<int>(number - step)), 0, pack(blocks));
    co_return;
  }
  std::rotate(blocks.begin(), blocks.end() - call_.root.value(), blocks.end());
  results_ = std::move(blocks);
}

// J. Bruck et al., "Efficient algorithms for all-to-all communications in multiport message-passing
// systems", 1997.
Operation::Body Operation::allgather(Block mine) {
  std::vector<Block> blocks{std::move(mine)};  // of this rank and those that follow it, in a ring
  std::uint32_t phase = 0;
  for (int have = 1; have < size_; have *= 2, ++phase) {
    const auto count = static_cast<std::size_t>(std::min(have, size_ - have));
    const auto end = blocks.begin() + static_cast<std::ptrdiff_t>(count);
    send(neighbour(-have), phase, pack({blocks.begin(), end}));
    const Piece piece = co_await receive(neighbour(have), phase);
    unpack(piece.block, blocks);
  }
  std::rotate(blocks.begin(), blocks.end() - rank_.value(), blocks.end());
  results_ = std::move(blocks);
}

// W. D. Hillis, G. L. Steele, "Data parallel algorithms", 1986.
Operation::Body Operation::scan(Block mine, Combine combine) {
  std::optional<Block> before;
  std::uint32_t phase = 0;
  for (int distance = 1; distance < size_; distance *= 2, ++phase) {
    if (rank_.value() + distance < size_) send(neighbour(distance), phase, mine);
    if (rank_.value() < distance) continue;
    const Piece piece = co_await receive(neighbour(-distance), phase);
    before = before.has_value() ? combine(piece.block, *before) : piece.block;
    mine = combine(piece.block, mine);
  }
  results_.push_back(mine);
  if (before.has_value()) results_.push_back(*before);
}

Operation::Body Operation::alltoall(std::vector<Block> mine) {
  SHOAL_CHECK(mine.size() == static_cast<std::size_t>(size_),
              "{} takes a value for each member: {} were given, {} are due", name_of(call_.kind),
              mine.size(), size_);
  for (int distance = 1; distance < size_; ++distance) {
    const Rank target = neighbour(distance);
    send(target, 0, mine[static_cast<std::size_t>(target.value())]);
  }
  std::vector<Block> theirs(mine.size());
  for (int rank = 0; rank < size_; ++rank) {
    Block& place = theirs[static_cast<std::size_t>(rank)];
    if (rank == rank_.value()) {
      place = mine[static_cast<std::size_t>(rank)];
    } else {
      place = (co_await receive(Rank(rank), 0)).block;
    }
  }
  results_ = std::move(theirs);
}

}  // namespace shoal::coll
