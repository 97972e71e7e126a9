#pragma once
// How long the kernels take, for simulated runs.

#include <shoal/cost.hpp>

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace apps {

enum class Kernel { potrf, trsm, syrk, gemm, add };
inline constexpr std::array<std::string_view, 5> kKernelNames{"potrf", "trsm", "syrk", "gemm",
                                                              "add"};

/// Operations of a kernel on tiles of n x n.
[[nodiscard]] double flops_of(Kernel kernel, double n);

/// The costs that tasks declare. Without rates, a kernel takes what its operations take at the rate
/// of --sim-flops.
class KernelCosts {
 public:
  KernelCosts() = default;
  /// Rates in the JSON file that `calibrate kernels` wrote. Errors: InputError naming the file.
  explicit KernelCosts(const std::string& path);

  /// Cost of `flops` operations of the kernel on tiles of about n x n: between the measured sizes,
  /// rates are interpolated.
  [[nodiscard]] shoal::Cost cost(Kernel kernel, double n, double flops) const;
  /// The same for whole tiles of n x n.
  [[nodiscard]] shoal::Cost cost(Kernel kernel, double n) const {
    return cost(kernel, n, flops_of(kernel, n));
  }

 private:
  struct Rate {
    double size;
    double flops_per_second;
  };
  std::map<Kernel, std::vector<Rate>> rates_;  // by size
};

}  // namespace apps
