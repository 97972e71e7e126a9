#pragma once
// Memory of tasks that have not run yet: configuration and measurement of all sides.

#include <functional>
#include <memory>
#include <string>

#include "ranks/program.hpp"

namespace bench::memory {

struct Options {
  std::string kernel;
  std::string form;  // of the keys
  int count = 1'000'000;
  RunOptions run;
};

/// Many tasks at once. They are made several times, so that it is seen what is left of those that
/// ran.
class Batch {
 public:
  virtual ~Batch() = default;
  /// Makes `count` tasks of which none can end yet.
  virtual void make(int count) = 0;
  /// Returns when all have run.
  virtual void finish() = 0;
  /// Tasks that have run, of all batches.
  [[nodiscard]] virtual std::uint64_t ran() const = 0;
};

/// Things that a runtime system can make. Null: refused.
struct Side {
  using Make = std::function<std::unique_ptr<Batch>()>;

  std::string name;
  Make live;                      // tasks that could run if there was a worker
  Make keys;                      // tasks of which one of two dependencies is fulfilled
  Make parked;                    // tasks that began to run and wait
  std::string form = "standard";  // of the keys, if this side has several
};

void add_options(cli::App& app, Options& options);

/// Measures the kernel that was chosen, and prints the result. Returns the exit code. **Errors**:
/// std::invalid_argument for a kernel that the side lacks.
int measure(const Options& options, const Side& side);

}  // namespace bench::memory
