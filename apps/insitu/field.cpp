#include "insitu/field.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <random>

#include "common/random_matrix.hpp"

namespace insitu {

Diagnostics analyse(std::span<const double> values) {
  if (values.empty()) return {};
  Diagnostics result{values[0], values[0], 0, 0, static_cast<std::int64_t>(values.size())};
  for (const double value : values) {
    result.min = std::min(result.min, value);
    result.max = std::max(result.max, value);
    result.sum += value;
    result.square_sum += value * value;
  }
  return result;
}

Diagnostics merge(const Diagnostics& a, const Diagnostics& b) {
  if (a.count == 0) return b;
  if (b.count == 0) return a;
  return {std::min(a.min, b.min), std::max(a.max, b.max), a.sum + b.sum,
          a.square_sum + b.square_sum, a.count + b.count};
}

std::vector<double> make_field(std::uint64_t seed, int compute_rank, const Item& item, int size) {
  std::uint64_t state = apps::mix_bits(seed);
  for (const int part : {compute_rank, item.timestep, item.field}) {
    state = apps::mix_bits(state ^ static_cast<std::uint64_t>(part));
  }
  std::vector<double> values(static_cast<std::size_t>(size));
  for (double& value : values) {
    state += 0x9e3779b97f4a7c15U;
    value = static_cast<double>(apps::mix_bits(state) >> 11U) * 0x1p-53;
  }
  return values;
}

std::vector<Item> item_order(std::uint64_t seed, int compute_rank, int timesteps, int fields) {
  std::mt19937_64 random(apps::mix_bits(seed ^ static_cast<std::uint64_t>(compute_rank + 1)));
  std::vector<Item> items;
  std::vector<int> order(static_cast<std::size_t>(fields));
  std::iota(order.begin(), order.end(), 0);
  for (int timestep = 0; timestep < timesteps; ++timestep) {
    // Not std::shuffle: what that does differs between standard libraries.
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
    for (const int field : order) items.push_back({timestep, field});
  }
  return items;
}

}  // namespace insitu
