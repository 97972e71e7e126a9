// Memory bandwidth that computation and communication share: measures it, makes a model, and gives
// advice.
//
//   contention calibrate henri.csv -o henri.json
//   contention plot --model henri.json --data henri.csv -o henri.svg
//   contention advise henri.json --computation-mb 50000 --communication-mb 8000

#include <shoal/base/error.hpp>
#include <shoal/base/version.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <exception>

#include "common/input_error.hpp"
#include "contention/commands.hpp"

namespace {

constexpr int kBadInput = 2;

int run(int argc, char** argv) {
  CLI::App app("Memory bandwidth shared by computation and communication.", "contention");
  app.set_version_flag("--version", "shoal " SHOAL_VERSION);
  app.require_subcommand(1);
  contention::Command chosen;
  contention::add_commands(app, chosen);
  try {
    app.parse(argc, argv);
    return chosen();
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kBadInput;
  } catch (const std::exception& error) {
    fmt::print(stderr, "contention: {}\n", error.what());
    return kBadInput;
  }
}

}  // namespace

int main(int argc, char** argv) { return run(argc, argv); }
