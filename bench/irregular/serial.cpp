// One loop over the whole table.

#include "common/stopwatch.hpp"
#include "irregular/kernels.hpp"

namespace {

using irregular::Share;
using irregular::Word;

bench::Sample histogram(const Share& share) {
  std::vector<Word> counters = share.make_counters();
  irregular::Stream visits = share.stream();
  const bench::Stopwatch watch;
  for (std::int64_t i = 0; i < share.count(); ++i) ++counters[visits.next()];
  const double seconds = watch.seconds();
  return {seconds, share.surplus(counters) == 0};
}

bench::Sample index_gather(const Share& share) {
  const std::vector<Word> values = share.make_values();
  std::vector<Word> found(static_cast<std::size_t>(share.count()));
  irregular::Stream visits = share.stream();
  const bench::Stopwatch watch;
  for (Word& place : found) place = values[visits.next()];
  const double seconds = watch.seconds();
  return {seconds, share.is_found(found)};
}

int run(const irregular::Options& options) {
  bench::limit_time(options.run);
  const Share share(options, 0, 1);
  const irregular::Side side{"serial", [&] { return histogram(share); },
                             [&] { return index_gather(share); }};
  return irregular::finish(options, side.name, irregular::measure(options, side), {});
}

}  // namespace

int main(int argc, char** argv) {
  irregular::Options options;
  const bench::Program program{"irregular_serial", "Random updates and reads in one loop.",
                               [&](cli::App& app) { irregular::add_options(app, options); },
                               [&] { return run(options); }};
  return bench::run_program(program, {argv + 1, argv + argc}, true);
}
