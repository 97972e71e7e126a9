// Measures this machine for simulated runs.
//
//   calibrate net --ranks 2 --out net.conf            then: program --sim --config net.conf
//   mpirun -n 2 calibrate net --out net.conf
//   calibrate kernels --workers 2 --out kernels.json  then: cholesky --sim-dry --kernel-rates ...

#include <fmt/format.h>
#include <shoal/shoal.hpp>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/kernels.hpp"
#include "calibrate/net.hpp"
#include "calibrate/trees.hpp"
#include "common/input_error.hpp"
#include "common/options.hpp"
#include "common/output_file.hpp"

namespace calibrate {
namespace {

/// File for the result. Opened before anything is measured.
class Output {
 public:
  /// Collective. Errors: InputError on all ranks when rank 0 cannot write the file.
  Output(shoal::World& world, const std::string& path) {
    if (world.rank() == 0) file_ = apps::OutputFile(path);
    if (!world.broadcast(file_.is_good(), shoal::Rank(0))) {
      throw apps::InputError(fmt::format("cannot write to {}", path));
    }
  }
  /// Rank 0's text. Errors: InputError when it cannot be written.
  void write(const std::string& text) {
    file_.write(text);
    if (!file_.is_good()) {
      throw apps::InputError("the result could not be written: is the disk full?");
    }
  }

 private:
  apps::OutputFile file_;
};

/// The command line.
struct Request {
  std::string what;
  std::vector<int> sizes;  // empty: the default
  int repetitions = 0;     // 0: the default
  std::string path = "-";
};

int run(shoal::World& world, Request request) {
  if (world.launch() == shoal::Launch::simulated) {
    throw apps::InputError("a simulated world is not measured: leave --sim out");
  }
  const bool kernels = request.what == "kernels";
  if (!kernels && world.size() < 2) {
    throw apps::InputError(
        "net is measured between two ranks: start with --ranks 2, or 2 processes");
  }
  if (!kernels && !request.sizes.empty()) {
    throw apps::InputError("--sizes is for kernels, not for net");
  }
  if (kernels && request.repetitions > 0) {
    throw apps::InputError("--repetitions is for net, not for kernels");
  }
  if (request.sizes.empty()) request.sizes = {16, 32, 48, 64, 96, 128, 192, 256, 384, 512};
  const int repetitions = request.repetitions > 0 ? request.repetitions : 7;
  Output output(world, request.path);
  const std::string text = kernels ? measure_kernels(world, request.sizes).dump(2) + "\n"
                                   : to_config(world, measure_net(world, repetitions)) +
                                         trees_to_config(measure_trees(world, repetitions));
  if (world.rank() == 0) output.write(text);
  return 0;
}

}  // namespace
}  // namespace calibrate

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    cli::App app("Measures this machine for simulated runs.", "calibrate");
    calibrate::Request request;
    app.add_option("what", request.what,
                   "net: latency, bandwidth, cost of a task; kernels: rates of BLAS")
        ->required()
        ->check(cli::one_of({"net", "kernels"}));
    app.add_option("--sizes", request.sizes,
                   "Rows of the tiles for kernels; sizes between are interpolated")
        ->delimiter(',')
        ->check(cli::range(1, 4096))
        ->option_text("N[,N...] [16 to 512]");
    app.add_option("--repetitions", request.repetitions,
                   "Measurements for net of which each figure is the median")
        ->check(cli::range(1, 1000))
        ->option_text("N [7]");
    app.add_option("--out", request.path, "File for the result")
        ->option_text("FILE [-: standard output]");
    return apps::run_app(app, world, [&] { return calibrate::run(world, std::move(request)); });
  });
}
