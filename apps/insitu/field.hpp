#pragma once
// The data of the model, and what is computed from them.

#include <cstdint>
#include <span>
#include <vector>

namespace insitu {

/// Diagnostics of one field at one timestep, or of a part of its values.
struct Diagnostics {
  double min = 0;
  double max = 0;
  double sum = 0;
  double square_sum = 0;
  std::int64_t count = 0;
  bool operator==(const Diagnostics&) const = default;
};

/// Diagnostics of `values`, which may be empty.
[[nodiscard]] Diagnostics analyse(std::span<const double> values);
/// Diagnostics of the values of both.
[[nodiscard]] Diagnostics merge(const Diagnostics& a, const Diagnostics& b);

/// One field at one timestep.
struct Item {
  int timestep = 0;
  int field = 0;
};

/// The values that one compute rank has of an item: the same on every machine.
[[nodiscard]] std::vector<double> make_field(std::uint64_t seed, int compute_rank, const Item& item,
                                             int size);

/// The order in which a compute rank sends its items: by timestep, and within one as the seed says.
[[nodiscard]] std::vector<Item> item_order(std::uint64_t seed, int compute_rank, int timesteps,
                                           int fields);

}  // namespace insitu
