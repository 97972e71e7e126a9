// The kernels about loops on oneTBB.

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>
#include <tbb/parallel_sort.h>
#include <tbb/task_arena.h>

#include "loops/program.hpp"

namespace bench::loops {
namespace {

struct OneTbb {
  static const char* name() { return "tbb"; }
  static std::vector<std::string> forms() { return {"plain"}; }
  static void start(int workers, const std::function<void()>& body) {
    const tbb::global_control control(tbb::global_control::max_allowed_parallelism,
                                      static_cast<std::size_t>(workers));
    tbb::task_arena arena(workers);
    arena.execute(body);
  }
  template <class Body>
  static void loop(const std::string& /*form*/, std::int64_t count, const Body& body) {
    tbb::parallel_for(std::int64_t{0}, count, body);
  }
  static double sum(const std::string& /*form*/, const std::vector<double>& values) {
    return tbb::parallel_reduce(
        tbb::blocked_range<std::size_t>(0, values.size()), 0.0,
        [&](const tbb::blocked_range<std::size_t>& range, double sum) {
          for (std::size_t i = range.begin(); i != range.end(); ++i) sum += values[i];
          return sum;
        },
        std::plus<>());
  }
  static void sort(const std::string& /*form*/, std::vector<std::uint32_t>& values) {
    tbb::parallel_sort(values.begin(), values.end());
  }
};

}  // namespace
}  // namespace bench::loops

int main(int argc, char** argv) {
  return bench::loops::Program<bench::loops::OneTbb>().main(argc, argv);
}
