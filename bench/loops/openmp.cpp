// The kernels about loops on OpenMP. Compiled with gcc for libgomp and with clang for libomp:
// BENCH_SIDE says which.

#include <omp.h>

#ifdef __clang__
#include <algorithm>
#else
#include <parallel/algorithm>
#endif

#include "loops/program.hpp"

namespace bench::loops {
namespace {

struct OpenMp {
  static const char* name() { return BENCH_SIDE; }
  static std::vector<std::string> forms() { return {"static", "guided", "dynamic"}; }
  static void start(int workers, const std::function<void()>& body) {
    omp_set_dynamic(0);
    omp_set_num_threads(workers);
    body();
  }
  template <class Body>
  static void loop(const std::string& form, std::int64_t count, const Body& body) {
    if (form == "static") {
#pragma omp parallel for schedule(static)
      for (std::int64_t i = 0; i < count; ++i) body(i);
    } else if (form == "guided") {
#pragma omp parallel for schedule(guided)
      for (std::int64_t i = 0; i < count; ++i) body(i);
    } else {
#pragma omp parallel for schedule(dynamic)
      for (std::int64_t i = 0; i < count; ++i) body(i);
    }
  }
  static double sum(const std::string& /*form*/, const std::vector<double>& values) {
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (std::size_t i = 0; i < values.size(); ++i) sum += values[i];
    return sum;
  }
  static void sort(const std::string& /*form*/, std::vector<std::uint32_t>& values) {
#ifdef __clang__
    std::sort(values.begin(), values.end());  // clang's library has none for OpenMP
#else
    __gnu_parallel::sort(values.begin(), values.end());
#endif
  }
};

}  // namespace
}  // namespace bench::loops

int main(int argc, char** argv) {
  return bench::loops::Program<bench::loops::OpenMp>().main(argc, argv);
}
