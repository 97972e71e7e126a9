// expect: shoal: workers that write bits of one std::vector<bool> overwrite each other
// lines: <= 25
#include <shoal/loops.hpp>

#include <functional>
#include <vector>

void any(std::vector<bool>& flags) {
  shoal::parallel_scan(flags.begin(), flags.end(), flags.begin(), std::logical_or<>());
}
