// expect: the source of a pipeline is a function without arguments that returns a std::optional
#include <shoal/pipeline.hpp>

void convert(int (*source)()) {
  shoal::pipeline({}, source, shoal::parallel([](int number) { return number + 1; }));
}
