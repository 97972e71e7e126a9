#include "bfs/roots.hpp"

#include <algorithm>
#include <cstddef>

#include "common/random_matrix.hpp"

namespace bfs {
namespace {

struct Candidate {
  std::uint64_t key;
  Vertex vertex;
};

/// Leaves the candidates with the smallest keys, in order.
void keep_first(std::vector<Candidate>& candidates, int count) {
  const std::size_t kept = std::min(candidates.size(), static_cast<std::size_t>(count));
  const auto end = candidates.begin() + static_cast<std::ptrdiff_t>(kept);
  std::ranges::partial_sort(candidates, end, {}, &Candidate::key);
  candidates.resize(kept);
}

}  // namespace

// Each vertex has a random key, no two the same one, since mixing is a permutation. The vertices
// with the smallest keys are the sample: each rank knows which of its own may be among them.
std::vector<Vertex> sample_roots(shoal::World& world, const LocalGraph& graph, std::uint64_t seed,
                                 int count) {
  const std::uint64_t salt = apps::mix_bits(seed + 1);
  std::vector<Candidate> own;
  const Vertex end = graph.first() + static_cast<Vertex>(graph.size());
  for (Vertex vertex = graph.first(); vertex < end; ++vertex) {
    if (graph.neighbours(vertex).empty()) continue;
    own.push_back({apps::mix_bits(salt ^ static_cast<std::uint64_t>(vertex)), vertex});
  }
  keep_first(own, count);
  std::vector<Candidate> all;
  for (const auto& some : world.allgather(own)) all.insert(all.end(), some.begin(), some.end());
  keep_first(all, count);
  std::vector<Vertex> roots;
  roots.reserve(all.size());
  for (const Candidate& candidate : all) roots.push_back(candidate.vertex);
  return roots;
}

}  // namespace bfs
