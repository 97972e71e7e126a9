#include "common/conclude.hpp"

#include "common/options.hpp"
#include "common/output_file.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <functional>

namespace apps {
namespace {

int conclude_on(std::FILE* file, shoal::World& world, bool good, const std::string& line) {
  const bool all_good = world.allreduce(good ? 1 : 0, std::multiplies<>()) == 1;
  if (world.rank() == 0) {
    std::fprintf(file, "%s; %s\n", line.c_str(), all_good ? "verified" : "WRONG");
  }
  return all_good ? 0 : 1;
}

}  // namespace

int conclude(shoal::World& world, bool good, const std::string& line) {
  return conclude_on(stdout, world, good, line);
}

int conclude(shoal::World& world, bool good, const std::string& line, double seconds,
             const std::string& json_path) {
  std::FILE* const file = is_standard_output(json_path) ? stderr : stdout;
  const int code = conclude_on(file, world, good, fmt::format("{}, {:.3f} s", line, seconds));
  if (world.rank() != 0 || code != 0) return code;
  const nlohmann::json json{
      {"seconds", seconds}, {"ranks", world.size()}, {"workers", world.worker_count()}};
  return write_json(json_path, json) ? 0 : 1;
}

}  // namespace apps
