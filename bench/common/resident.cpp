#include "common/resident.hpp"

#include <fstream>
#include <stdexcept>
#include <string>

namespace bench {

namespace {

std::int64_t bytes_of(const std::string& path, const std::string& label) {
  std::ifstream file(path);
  for (std::string word; file >> word;) {
    std::int64_t kib = 0;
    if (word == label && file >> kib) return kib * 1024;
  }
  throw std::runtime_error(path + " has no " + label);
}

}  // namespace

// Unlike /proc/self/statm it leaves out nothing that a thread counted for itself.
std::int64_t resident_bytes() { return bytes_of("/proc/self/smaps_rollup", "Rss:"); }

// Unlike getrusage() it does not count the process that started this one.
std::int64_t peak_bytes() { return bytes_of("/proc/self/status", "VmHWM:"); }

}  // namespace bench
