#include "memory/pairs.hpp"

#include <algorithm>
#include "cli/command_line.hpp"

namespace bench::memory {

void add_options(cli::App& app, PairOptions& options) {
  add_run_options(app, options.run);
  app.add_option("kernel", options.kernel, "Kernel to measure")
      ->required()
      ->check(cli::one_of({"idle", "traffic"}));
  app.add_option("--peers", options.peers, "Number of ranks that each rank sends to; 0: all")
      ->check(cli::range(0, 1 << 16));
  app.add_option("--messages", options.messages, "Messages to each of them")
      ->check(cli::range(1, 1 << 20));
  app.add_option("--most", options.most, "Ranks of the largest idle world")
      ->check(cli::range(4, 1024));
}

int peer_count(const PairOptions& options, int ranks) {
  return options.peers == 0 ? ranks - 1 : std::min(options.peers, ranks - 1);
}

int finish_traffic(const PairOptions& options, const std::string& side, int ranks,
                   const Usage& usage, bool verified) {
  const int peers = peer_count(options, ranks);
  // Between all ranks, both of a pair send.
  const int pairs = std::min(ranks * peers, ranks * (ranks - 1) / 2);
  const double added = static_cast<double>(usage.after - usage.before);
  const double mib = 1024 * 1024;
  return finish({options.kernel,
                 side,
                 {{"kib_per_pair", added / pairs / 1024},
                  {"mib_per_rank_before", static_cast<double>(usage.before) / ranks / mib},
                  {"mib_per_rank_after", static_cast<double>(usage.after) / ranks / mib}},
                 {{"ranks", ranks}, {"peers", peers}, {"messages", options.messages}}},
                verified);
}

}  // namespace bench::memory
