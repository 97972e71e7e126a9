#include "top/figures.hpp"

#include <cstring>

namespace shoal::top {

std::vector<std::byte> to_bytes(const Sample& sample) {
  const std::size_t workers = sample.workers.size() * sizeof(WorkerFigures);
  std::vector<std::byte> bytes(sizeof(RankFigures) + workers);
  std::memcpy(bytes.data(), &sample.rank, sizeof(RankFigures));
  if (workers > 0) std::memcpy(bytes.data() + sizeof(RankFigures), sample.workers.data(), workers);
  return bytes;
}

bool from_bytes(std::span<const std::byte> bytes, Sample& sample) {
  if (bytes.size() < sizeof(RankFigures)) return false;
  const std::span<const std::byte> workers = bytes.subspan(sizeof(RankFigures));
  if (workers.size() % sizeof(WorkerFigures) != 0) return false;
  std::memcpy(&sample.rank, bytes.data(), sizeof(RankFigures));
  sample.workers.resize(workers.size() / sizeof(WorkerFigures));
  if (!workers.empty()) std::memcpy(sample.workers.data(), workers.data(), workers.size());
  return true;
}

}  // namespace shoal::top
