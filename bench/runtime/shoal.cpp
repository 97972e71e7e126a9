// The kernels about workers of a program on shoal.

#include <shoal/runtime.hpp>

#include "runtime/program.hpp"

#include <utility>

namespace bench::runtime {
namespace {

class Shoal {
 public:
  static const char* name() { return "shoal"; }
  explicit Shoal(int workers) : runtime_({.workers = workers}) {}

  template <class F>
  std::int64_t ask(F f) {
    return runtime_.async(std::move(f)).get();
  }
  template <class F>
  void give(F f) {
    runtime_.spawn(std::move(f));
  }

 private:
  shoal::Runtime runtime_;
};

}  // namespace
}  // namespace bench::runtime

int main(int argc, char** argv) {
  return bench::runtime::Program<bench::runtime::Shoal>().main(argc, argv);
}
