// Spans, marks and counters of a program, which --trace records.
#include <shoal/shoal.hpp>
#include <shoal/trace.hpp>

#include <cstdio>

// [events]
namespace {

constinit const shoal::trace::Name kAssembly("assembly");

double assemble(int rows) {
  const shoal::trace::Span span(kAssembly);  // until the end of the function
  double residual = 1;
  for (int row = 0; row < rows; ++row) residual /= 2;
  shoal::trace::counter("residual", residual);
  if (residual < 0.01) shoal::trace::mark("converged");
  return residual;
}

}  // namespace
// [/events]

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    double residual = 0;
    world.spawn([&residual] { residual = assemble(10); }, {.name = "assemble"});
    world.wait();

    // [iterations]
    for (unsigned step = 0; step < 3; ++step) {
      const shoal::trace::Span span("iteration", step);  // of the tasks that are made within it
      for (int block = 0; block < 4; ++block) {
        world.spawn([] { assemble(5); }, {.name = "sweep"});
      }
    }
    world.wait();
    // [/iterations]
    if (world.rank() == 0) std::printf("%.4f\n", residual);
  });
}
