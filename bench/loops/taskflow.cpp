// The kernels about loops on Taskflow.

#include <taskflow/taskflow.hpp>
// Behind it: they use its parts.
#include <taskflow/algorithm/for_each.hpp>
#include <taskflow/algorithm/reduce.hpp>
#include <taskflow/algorithm/sort.hpp>

#include "loops/program.hpp"

namespace bench::loops {
namespace {

struct Taskflow {
  static const char* name() { return "taskflow"; }
  static std::vector<std::string> forms() { return {"guided", "static"}; }
  static void start(int workers, const std::function<void()>& body) {
    tf::Executor own(static_cast<std::size_t>(workers));
    executor = &own;
    body();
    executor = nullptr;
  }
  template <class Body>
  static void loop(const std::string& form, std::int64_t count, const Body& body) {
    tf::Taskflow graph;
    constexpr std::int64_t kFirst = 0;
    constexpr std::int64_t kStep = 1;
    if (form == "static") {
      graph.for_each_index(kFirst, count, kStep, body, tf::StaticPartitioner());
    } else {
      graph.for_each_index(kFirst, count, kStep, body, tf::GuidedPartitioner());
    }
    executor->run(graph).wait();
  }
  static double sum(const std::string& /*form*/, const std::vector<double>& values) {
    double sum = 0;
    tf::Taskflow graph;
    graph.reduce(values.begin(), values.end(), sum, std::plus<>());
    executor->run(graph).wait();
    return sum;
  }
  static void sort(const std::string& /*form*/, std::vector<std::uint32_t>& values) {
    tf::Taskflow graph;
    graph.sort(values.begin(), values.end());
    executor->run(graph).wait();
  }

  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): of this program's one run
  static inline tf::Executor* executor = nullptr;
};

}  // namespace
}  // namespace bench::loops

int main(int argc, char** argv) {
  return bench::loops::Program<bench::loops::Taskflow>().main(argc, argv);
}
