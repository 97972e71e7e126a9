// The kernels about loops on shoal.

#include <shoal/loops.hpp>
#include <shoal/run.hpp>

#include "loops/program.hpp"

namespace bench::loops {
namespace {

struct Shoal {
  static const char* name() { return "shoal"; }
  static std::vector<std::string> forms() { return {"plain"}; }
  static void start(int workers, const std::function<void()>& body) {
    const std::string count = std::to_string(workers);
    const std::vector<const char*> arguments{"loops_shoal", "--workers", count.c_str()};
    if (shoal::run(static_cast<int>(arguments.size()), arguments.data(),
                   [&](shoal::World&) { body(); }) != 0) {
      throw std::runtime_error("the run failed");
    }
  }
  template <class Body>
  static void loop(const std::string& /*form*/, std::int64_t count, const Body& body) {
    shoal::parallel_for(std::int64_t{0}, count, body);
  }
  static double sum(const std::string& /*form*/, const std::vector<double>& values) {
    return shoal::parallel_reduce(values, 0.0, [](double value) { return value; });
  }
  static void sort(const std::string& /*form*/, std::vector<std::uint32_t>& values) {
    shoal::parallel_sort(values);
  }
};

}  // namespace
}  // namespace bench::loops

int main(int argc, char** argv) {
  return bench::loops::Program<bench::loops::Shoal>().main(argc, argv);
}
