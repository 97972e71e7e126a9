#pragma once
// Tables E.1 to E.9 of Swartvagher's thesis: parameters of nine platforms, with the cores of one
// socket and the NUMA nodes from its appendix C.

#include <shoal/contention/model.hpp>

#include <vector>

namespace shoal::contention {

/// As published, except one number: table E.7 gives N_par^max of the remote model as 11. Its own
/// T_par^max, T_par^max2 and delta_l say 2, since (16936.1 - 15217.8) / 859.1 = 2 cores below
/// N_seq^max = 4; and with 11 equation 6.1 would never use delta_l.
inline std::vector<Model> published_models() {
  return {
      {"billy",
       32,
       2,
       1,
       {32, 95555.5, 32, 84420.4, 95555.5, 0.0, 0.0, 2808.8, 12793.0, 0.842},
       {32, 75276.9, 32, 76466.4, 75276.9, 0.0, 0.0, 2746.5, 18898.9, 0.593}},
      {"bora",
       18,
       2,
       1,
       {18, 83849.6, 18, 80107.7, 83849.6, 0.0, 0.0, 4489.2, 9948.4, 0.951},
       {8, 32315.3, 8, 32733.3, 32315.3, 0.0, 1.6, 4487.6, 8784.7, 0.936}},
      {"dahu",
       16,
       2,
       1,
       {11, 72147.6, 14, 70072.9, 71509.2, 212.8, 656.8, 6656.5, 11341.2, 0.959},
       {5, 32102.5, 5, 32677.4, 32102.5, 0.0, -38.4, 7171.3, 10607.0, 0.949}},
      {"diablo",
       32,
       2,
       1,
       {32, 81846.8, 32, 70092.1, 81846.8, 0.0, 0.0, 2221.1, 12139.7, 0.967},
       {32, 87081.5, 32, 67694.6, 87081.5, 0.0, 0.0, 2210.2, 22394.3, 0.908}},
      {"grvingt",
       16,
       2,
       1,
       {14, 75015.2, 15, 73818.4, 74398.4, 616.8, 649.2, 6698.7, 9628.8, 0.953},
       {5, 31928.2, 5, 32576.8, 31928.2, 0.0, -10.6, 7178.5, 9345.7, 0.971}},
      {"henri",
       18,
       2,
       1,
       {17, 73423.0, 18, 72589.9, 73387.7, 35.3, 0.0, 4455.4, 11481.1, 0.915},
       {5, 31629.7, 7, 29130.7, 31278.1, 175.8, 119.8, 4455.2, 11459.6, 0.761}},
      {"henrisubnuma",
       18,
       4,
       2,
       {8, 42487.7, 11, 43655.6, 39718.9, 922.9, 191.7, 4456.4, 11450.4, 0.853},
       {2, 16936.1, 4, 14726.2, 15217.8, 859.1, 103.3, 4455.4, 11410.0, 0.270}},
      {"occigen",
       14,
       2,
       1,
       {14, 53948.2, 14, 47817.2, 53948.2, 0.0, 0.0, 3417.6, 6220.0, 1.000},
       {7, 24706.4, 7, 21137.3, 24706.4, 0.0, 39.9, 3417.8, 6219.5, 1.000}},
      {"pyxis",
       32,
       2,
       1,
       {24, 64626.9, 26, 62462.7, 64566.2, 30.3, 56.9, 3211.5, 4958.6, 0.990},
       {25, 36737.2, 31, 32649.8, 36696.7, 6.8, -8.4, 3030.8, 4390.1, 0.945}},
  };
}

/// The published model of one platform.
inline Model published_model(const std::string& machine) {
  for (Model& model : published_models()) {
    if (model.machine == machine) return model;
  }
  return {};
}

}  // namespace shoal::contention
