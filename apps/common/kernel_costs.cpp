#include "common/kernel_costs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "common/input_error.hpp"

namespace apps {

double flops_of(Kernel kernel, double n) {
  switch (kernel) {
    case Kernel::potrf:
      return n * n * n / 3 + n * n / 2 + n / 6;
    case Kernel::trsm:
      return n * n * n;
    case Kernel::syrk:
      return n * n * (n + 1);
    case Kernel::gemm:
      return 2 * n * n * n;
    case Kernel::add:
      break;
  }
  return n * n;
}

KernelCosts::KernelCosts(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw InputError(fmt::format("{}: cannot open this file of kernel rates", path));
  try {
    const nlohmann::json kernels = nlohmann::json::parse(file).at("kernels");
    for (std::size_t i = 0; i < kKernelNames.size(); ++i) {
      std::vector<Rate>& rates = rates_[static_cast<Kernel>(i)];
      for (const auto& entry : kernels.at(std::string(kKernelNames[i]))) {
        rates.push_back({entry.at("size").get<double>(), entry.at("gflops").get<double>() * 1e9});
        if (rates.back().flops_per_second <= 0) throw InputError("a rate is not positive");
      }
      if (rates.empty()) throw InputError("a kernel has no rates");
      std::ranges::sort(rates, {}, &Rate::size);
    }
  } catch (const std::exception& error) {
    throw InputError(
        fmt::format("{}: this file has no kernel rates ({}); `calibrate kernels` writes "
                    "them",
                    path, error.what()));
  }
}

shoal::Cost KernelCosts::cost(Kernel kernel, double n, double flops) const {
  const auto found = rates_.find(kernel);
  if (found == rates_.end()) return shoal::Cost::of_flops(flops);
  const std::vector<Rate>& rates = found->second;
  const auto above = std::ranges::lower_bound(rates, n, {}, &Rate::size);
  double rate = 0;
  if (above == rates.begin()) {
    rate = above->flops_per_second;
  } else if (above == rates.end()) {
    rate = rates.back().flops_per_second;
  } else {
    const Rate& below = *std::prev(above);
    const double part = (n - below.size) / (above->size - below.size);
    rate = below.flops_per_second + part * (above->flops_per_second - below.flops_per_second);
  }
  return shoal::Cost::of_seconds(flops / rate);
}

}  // namespace apps
