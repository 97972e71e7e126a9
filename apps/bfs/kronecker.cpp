#include "bfs/kronecker.hpp"

#include "common/random_matrix.hpp"

namespace bfs {
namespace {

constexpr double kA = 0.57;
constexpr double kB = 0.19;
constexpr double kC = 0.19;

/// A 32-bit random number is below this with the given probability.
constexpr std::uint32_t threshold(double probability) {
  return static_cast<std::uint32_t>(probability * 4294967296.0);
}

// The bit of the first vertex is 0 in the upper half (A, B) of the matrix; the bit of the second
// one is 0 in the left column, given the half.
constexpr std::uint32_t kUpper = threshold(kA + kB);
constexpr std::uint32_t kLeftOfUpper = threshold(kA / (kA + kB));
constexpr std::uint32_t kLeftOfLower = threshold(kC / (1 - (kA + kB)));

}  // namespace

Scramble::Scramble(int bits, std::uint64_t seed)
    : mask_((std::uint64_t{1} << static_cast<unsigned>(bits)) - 1), shift_((bits + 1) / 2) {
  for (int round = 0; round < kRounds; ++round) {
    seed = apps::mix_bits(seed);
    factors_[round] = seed | 1U;
    seed = apps::mix_bits(seed);
    offsets_[round] = seed;
  }
}

// Each step can be undone modulo 2^bits. A product carries differences of low bits to the high ones
// only, the shift brings them back.
Vertex Scramble::operator()(Vertex vertex) const {
  auto x = static_cast<std::uint64_t>(vertex);
  for (int round = 0; round < kRounds; ++round) {
    x = (x * factors_[round] + offsets_[round]) & mask_;
    x ^= x >> static_cast<unsigned>(shift_);
  }
  return static_cast<Vertex>(x);
}

Kronecker::Kronecker(int scale, int edge_factor, std::uint64_t seed)
    : scale_(scale), edge_factor_(edge_factor), seed_(seed), scramble_(scale, ~seed) {}

Edge Kronecker::edge(std::int64_t index) const {
  const Edge plain = plain_edge(index);
  return {scramble_(plain.a), scramble_(plain.b)};
}

Edge Kronecker::plain_edge(std::int64_t index) const {
  std::uint64_t state = apps::mix_bits(apps::mix_bits(seed_) ^ static_cast<std::uint64_t>(index));
  Edge edge{0, 0};
  for (int bit = 0; bit < scale_; ++bit) {
    state = apps::mix_bits(state);
    const bool lower = static_cast<std::uint32_t>(state >> 32U) >= kUpper;
    const bool right = static_cast<std::uint32_t>(state) >= (lower ? kLeftOfLower : kLeftOfUpper);
    edge.a = 2 * edge.a + (lower ? 1 : 0);
    edge.b = 2 * edge.b + (right ? 1 : 0);
  }
  return edge;
}

}  // namespace bfs
