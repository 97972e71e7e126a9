#pragma once
// Start-up of StarPU, for the programs of that side.

#include <starpu.h>

#include <stdexcept>
#include <string>

namespace bench {

/// Throws if a function of StarPU has returned an error.
inline void require(int result, const char* what) {
  if (result != 0) throw std::runtime_error(std::string(what) + " failed");
}

/// Configuration with so many workers on CPUs and no accelerators.
inline starpu_conf starpu_on_cpus(int workers) {
  starpu_conf conf{};
  starpu_conf_init(&conf);
  conf.ncpus = workers;
  conf.ncuda = 0;
  conf.nopencl = 0;
  return conf;
}

/// StarPU between its start and its shutdown.
class StarPuRun {
 public:
  explicit StarPuRun(int workers) {
    starpu_conf conf = starpu_on_cpus(workers);
    require(starpu_init(&conf), "starpu_init()");
  }
  ~StarPuRun() { starpu_shutdown(); }
  StarPuRun(const StarPuRun&) = delete;
  StarPuRun& operator=(const StarPuRun&) = delete;
};

}  // namespace bench
