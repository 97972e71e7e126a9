// expect: each stage of a pipeline takes what the stage before it returns
#include <shoal/pipeline.hpp>

#include <optional>

void convert(std::optional<int> (*source)()) {
  shoal::pipeline({}, source, shoal::parallel([](const char* text) { return text[0]; }));
}
