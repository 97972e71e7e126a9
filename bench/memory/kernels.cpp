#include "memory/kernels.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <stdexcept>
#include "cli/command_line.hpp"

#include "common/resident.hpp"

namespace bench::memory {

namespace {

constexpr int kMore = 4;  // batches after the first that counts

const Side::Make& chosen(const Options& options, const Side& side) {
  const Side::Make& make = options.kernel == "live"   ? side.live
                           : options.kernel == "keys" ? side.keys
                                                      : side.parked;
  if (!make) throw std::invalid_argument(fmt::format("{} has no {}", side.name, options.kernel));
  return make;
}

}  // namespace

void add_options(cli::App& app, Options& options) {
  add_run_options(app, options.run);
  app.add_option("kernel", options.kernel, "Objects to make")
      ->required()
      ->check(cli::one_of({"live", "keys", "parked"}));
  app.add_option("--count", options.count, "How many at once")->check(cli::range(1, 100'000'000));
  app.add_option("--form", options.form, "Storage of keys")->check(cli::one_of({"hash", "dense"}));
}

int measure(const Options& options, const Side& side) {
  const std::unique_ptr<Batch> batch = chosen(options, side)();
  batch->make(1);  // what the first task of all takes does not count
  batch->finish();
  const std::int64_t before = resident_bytes();
  batch->make(options.count);
  const std::int64_t made = resident_bytes();
  batch->finish();
  const std::int64_t first = resident_bytes();
  for (int more = 0; more < kMore; ++more) {
    batch->make(options.count);
    batch->finish();
  }
  const std::int64_t last = resident_bytes();

  const double count = options.count;
  const auto expected = (1 + kMore) * static_cast<std::uint64_t>(options.count) + 1;
  return finish({options.kernel,
                 side.name,
                 {{"bytes", static_cast<double>(made - before) / count},
                  {"bytes_kept", static_cast<double>(last - first) / (kMore * count)}},
                 {{"count", options.count}, {"form", side.form}}},
                batch->ran() == expected);
}

}  // namespace bench::memory
