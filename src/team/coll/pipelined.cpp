// Operations on large arrays. Parts of them are on their way at once, and payloads go straight into
// place, or into memory for a few segments.

#include "team/coll/algorithms.hpp"

#include <algorithm>
#include <cstring>

namespace shoal::team {

namespace {

constexpr std::size_t kSegmentBytesMax = 256UL << 10U;
constexpr std::size_t kWindow = 4;  // segments that a member of a chain has memory for

/// Chunk `index`, modulo their number, of an array that is parted into as many as there are
/// members.
template <class T>
std::span<T> chunk_of(std::span<T> array, int index, int members, std::size_t element_bytes) {
  const auto i = static_cast<std::size_t>((index % members + members) % members);
  const auto n = static_cast<std::size_t>(members);
  const std::size_t count = array.size() / element_bytes;
  const std::size_t begin = count * i / n;
  return array.subspan(begin * element_bytes, (count * (i + 1) / n - begin) * element_bytes);
}

std::uint32_t phase_of(std::size_t index) { return static_cast<std::uint32_t>(index) + 1; }

/// Segments of an array, the same on all members: more than there are members in a chain, so that
/// all are busy, and large enough for payloads.
class Segments {
 public:
  Segments(const Array& array, int members) {
    const std::size_t wanted =
        std::clamp(array.bytes.size() / static_cast<std::size_t>(2 * members), kLargeMessageBytes,
                   kSegmentBytesMax);
    bytes_ = std::max<std::size_t>(wanted / array.element_bytes, 1) * array.element_bytes;
    count_ = (array.bytes.size() + bytes_ - 1) / bytes_;
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::size_t count() const { return count_; }
  template <class T>
  [[nodiscard]] std::span<T> of(std::span<T> array, std::size_t index) const {
    return array.subspan(index * bytes_, std::min(bytes_, array.size() - index * bytes_));
  }

 private:
  std::size_t bytes_ = 0;
  std::size_t count_ = 0;
};

/// Memory for kWindow segments.
class Window {
 public:
  explicit Window(std::size_t segment_bytes)
      : segment_bytes_(segment_bytes),
        memory_(std::make_unique_for_overwrite<std::byte[]>(kWindow * segment_bytes)) {}
  [[nodiscard]] std::span<std::byte> place(std::size_t index, std::size_t size_bytes) const {
    return {memory_.get() + index % kWindow * segment_bytes_, size_bytes};
  }

 private:
  const std::size_t segment_bytes_;
  const std::unique_ptr<std::byte[]> memory_;
};

}  // namespace

// Along a chain from the last rank to the first one, segment by segment; the first one sends them
// on to the root. The order of ranks is kept. The arrays of members other than the root do not
// change.
Operation::Body reduce_chain(Operation& op, Array mine, CombineInto combine) {
  constexpr std::uint32_t kResult = 1U << 28U;
  const Segments segments(mine, op.size());
  const std::size_t count = segments.count();
  const bool is_last = op.rank() == op.size() - 1;
  const bool is_first = op.rank() == 0;
  const bool keeps = is_first && op.root() == 0;
  const Rank target = is_first ? op.root() : op.neighbour(-1);
  const std::uint32_t offset = is_first ? kResult : 0;
  const auto part = [&](std::size_t i) { return segments.of(mine.bytes, i); };
  if (op.rank() == op.root() && !is_first) {
    for (std::size_t i = 0; i < count; ++i) op.expect(Rank(0), kResult + phase_of(i), part(i));
  }
  const Window arriving(is_last ? 0 : segments.bytes());
  const Window leaving(is_last || keeps ? 0 : segments.bytes());
  const auto expect = [&](std::size_t i) {
    if (!is_last && i < count) {
      op.expect(op.neighbour(1), phase_of(i), arriving.place(i, part(i).size()));
    }
  };
  for (std::size_t i = 0; i < kWindow; ++i) expect(i);
  for (std::size_t i = 0; i < count; ++i) {
    std::span<std::byte> combined = part(i);
    if (!is_last) {
      co_await op.receive(op.neighbour(1), phase_of(i));
      if (!keeps && i >= kWindow) co_await op.released(offset + phase_of(i - kWindow));
      if (!keeps) combined = leaving.place(i, combined.size());
      combine(combined, part(i), arriving.place(i, combined.size()));
      expect(i + kWindow);
    } else if (i >= kWindow) {
      co_await op.released(offset + phase_of(i - kWindow));
    }
    if (keeps) continue;
    co_await op.ready(target, offset + phase_of(i));
    op.send_payload(target, offset + phase_of(i), combined);
  }
  for (std::size_t i = count - std::min(count, kWindow); i < count && !keeps; ++i) {
    co_await op.released(offset + phase_of(i));
  }
  if (op.rank() != op.root() || is_first) co_return;
  for (std::size_t i = 0; i < count; ++i) co_await op.receive(Rank(0), kResult + phase_of(i));
}

// Along the chain of ranks, segment by segment, in their order.
Operation::Body scan_chain(Operation& op, Array mine, CombineInto combine) {
  const Segments segments(mine, op.size());
  const std::size_t count = segments.count();
  const bool is_first = op.rank() == 0;
  const bool is_last = op.rank() == op.size() - 1;
  const auto part = [&](std::size_t i) { return segments.of(mine.bytes, i); };
  const Window arriving(is_first ? 0 : segments.bytes());
  const auto expect = [&](std::size_t i) {
    if (!is_first && i < count) {
      op.expect(op.neighbour(-1), phase_of(i), arriving.place(i, part(i).size()));
    }
  };
  for (std::size_t i = 0; i < kWindow; ++i) expect(i);
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_first) {
      co_await op.receive(op.neighbour(-1), phase_of(i));
      combine(part(i), arriving.place(i, part(i).size()), part(i));
      expect(i + kWindow);
    }
    if (is_last) continue;
    if (i >= kWindow) co_await op.released(phase_of(i - kWindow));
    co_await op.ready(op.neighbour(1), phase_of(i));
    op.send_payload(op.neighbour(1), phase_of(i), part(i));
  }
  for (std::size_t i = count - std::min(count, kWindow); i < count && !is_last; ++i) {
    co_await op.released(phase_of(i));
  }
}

// Each chunk of the values goes round the ring twice: to be combined, and to be handed out.
// P. Patarasuk, X. Yuan, "Bandwidth optimal all-reduce algorithms", 2009.
Operation::Body allreduce_ring(Operation& op, Array mine, CombineInto combine) {
  const int n = op.size();
  const int rank = op.rank().value();
  const Rank next = op.neighbour(1);
  const Rank previous = op.neighbour(-1);
  const auto chunk = [&](int i) { return chunk_of(mine.bytes, i, n, mine.element_bytes); };
  const std::size_t chunk_bytes_max = chunk(n - 1).size();
  const auto scratch = std::make_unique_for_overwrite<std::byte[]>(chunk_bytes_max);
  for (int step = 0; step < 2 * (n - 1); ++step) {
    const bool combines = step < n - 1;
    const std::span<std::byte> target = chunk(rank - step - 1 + (combines ? 0 : n));
    const std::uint32_t phase = phase_of(static_cast<std::size_t>(step));
    const std::span place = combines ? std::span(scratch.get(), target.size()) : target;
    op.expect(previous, phase, place);
    co_await op.ready(next, phase);
    op.send_payload(next, phase, chunk(rank - step));
    co_await op.receive(previous, phase);
    if (combines) combine(target, target, place);
    co_await op.released(phase);
  }
}

Operation::Body gather_straight(Operation& op, std::span<const std::byte> mine,
                                std::span<std::byte> all) {
  if (op.rank() != op.root()) {
    co_await op.ready(op.root(), 1);
    op.send_payload(op.root(), 1, mine);
    co_await op.released(1);
    co_return;
  }
  const auto chunk = [&](Rank rank) { return chunk_of(all, rank.value(), op.size(), 1); };
  for (int i = 1; i < op.size(); ++i) op.expect(op.rank_of(i), 1, chunk(op.rank_of(i)));
  copy_bytes(mine, chunk(op.rank()));
  for (int i = 1; i < op.size(); ++i) co_await op.receive(op.rank_of(i), 1);
}

// Each chunk goes round the ring. A member has room for all of them from the beginning.
Operation::Body allgather_ring(Operation& op, std::span<const std::byte> mine,
                               std::span<std::byte> all) {
  const int steps = op.size() - 1;
  const auto chunk = [&](int step) {
    return chunk_of(all, op.rank().value() - step, op.size(), 1);
  };
  const auto phase = [](int step) { return phase_of(static_cast<std::size_t>(step)); };
  for (int step = 0; step < steps; ++step) {
    op.expect(op.neighbour(-1), phase(step), chunk(step + 1));
  }
  copy_bytes(mine, chunk(0));
  for (int step = 0; step < steps; ++step) {
    co_await op.ready(op.neighbour(1), phase(step));
    op.send_payload(op.neighbour(1), phase(step), chunk(step));
    co_await op.receive(op.neighbour(-1), phase(step));
  }
  for (int step = 0; step < steps; ++step) co_await op.released(phase(step));
}

Operation::Body alltoall_straight(Operation& op, std::span<const std::byte> mine,
                                  std::span<std::byte> theirs) {
  const int n = op.size();
  const auto place = [&](Rank rank) { return chunk_of(theirs, rank.value(), n, 1); };
  const auto value = [&](Rank rank) { return chunk_of(mine, rank.value(), n, 1); };
  const auto phase = [](int distance) { return phase_of(static_cast<std::size_t>(distance)); };
  for (int distance = 1; distance < n; ++distance) {
    op.expect(op.neighbour(-distance), phase(distance), place(op.neighbour(-distance)));
  }
  copy_bytes(value(op.rank()), place(op.rank()));
  for (int distance = 1; distance < n; ++distance) {
    const Rank target = op.neighbour(distance);
    co_await op.ready(target, phase(distance));
    op.send_payload(target, phase(distance), value(target));
  }
  for (int distance = 1; distance < n; ++distance) {
    co_await op.receive(op.neighbour(-distance), phase(distance));
    co_await op.released(phase(distance));
  }
}

// Each chunk goes round the ring, and ends at its owner. Two chunks arrive and leave at a time.
Operation::Body reduce_scatter_ring(Operation& op, std::span<const std::byte> values,
                                    std::span<std::byte> mine, CombineInto combine) {
  const int n = op.size();
  const int steps = n - 1;
  const std::size_t bytes = mine.size();
  const auto chunk = [&](int step) { return chunk_of(values, op.rank().value() - 1 - step, n, 1); };
  const auto memory = std::make_unique_for_overwrite<std::byte[]>(4 * bytes);
  const auto half = [&](int i) {
    return std::span(memory.get() + static_cast<std::size_t>(i) * bytes, bytes);
  };
  const auto arriving = [&](int step) { return half(step % 2); };
  const auto leaving = [&](int step) { return half(2 + step % 2); };
  const auto phase = [](int step) { return phase_of(static_cast<std::size_t>(step)); };
  const auto expect = [&](int step) {
    if (step < steps) op.expect(op.neighbour(-1), phase(step), arriving(step));
  };
  if (steps == 0) copy_bytes(values, mine);
  expect(0);
  expect(1);
  std::span<const std::byte> combined = chunk(0);
  for (int step = 0; step < steps; ++step) {
    co_await op.ready(op.neighbour(1), phase(step));
    op.send_payload(op.neighbour(1), phase(step), combined);
    co_await op.receive(op.neighbour(-1), phase(step));
    if (step > 0) co_await op.released(phase(step - 1));
    const std::span<std::byte> result = step == steps - 1 ? mine : leaving(step);
    combine(result, arriving(step), chunk(step + 1));
    combined = result;
    expect(step + 2);
  }
  if (steps > 0) co_await op.released(phase(steps - 1));
}

}  // namespace shoal::team
