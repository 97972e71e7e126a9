#include "common/conclude.hpp"

#include "cli/output.hpp"
#include "common/options.hpp"
#include "common/output_file.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <functional>

namespace apps {
namespace {

int conclude_on(bool standard_output, shoal::World& world, bool good, const std::string& line) {
  const bool all_good = world.allreduce(good ? 1 : 0, std::multiplies<>()) == 1;
  if (world.rank() == 0) {
    const std::string text = fmt::format("{}; {}\n", line, all_good ? "verified" : "WRONG");
    standard_output ? fmt::print("{}", text) : cli::tell(text);
  }
  return all_good ? 0 : 1;
}

}  // namespace

int conclude(shoal::World& world, bool good, const std::string& line) {
  return conclude_on(true, world, good, line);
}

int conclude(shoal::World& world, bool good, const std::string& line, double seconds,
             const std::string& json_path) {
  const int code = conclude_on(!is_standard_output(json_path), world, good,
                               fmt::format("{}, {:.3f} s", line, seconds));
  if (world.rank() != 0 || code != 0) return code;
  const nlohmann::json json{
      {"seconds", seconds}, {"ranks", world.size()}, {"workers", world.worker_count()}};
  return write_json(json_path, json) ? 0 : 1;
}

}  // namespace apps
