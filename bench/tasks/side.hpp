#pragma once
// A runtime system under measurement, and the program around it.

#include <functional>
#include <string>
#include <vector>

#include "tasks/kernels.hpp"

namespace bench::tasks {

/// Runtime system that runs the kernels. A side overrides the kernels that it has means for. Most
/// return the seconds of the timed part, and store their answer where their check() looks.
class Side {
 public:
  virtual ~Side() = default;

  [[nodiscard]] virtual std::string name() const = 0;
  /// The words of --form: ways to use this runtime system. The first is the default.
  [[nodiscard]] virtual std::vector<std::string> forms() const { return {"plain"}; }
  /// Calls `body` with so many workers running, the calling thread among them if that is the way
  /// of this side.
  virtual void start(int workers, const std::function<void()>& body) = 0;

  virtual double flood(Flood& flood);
  virtual double grid(Grid& grid);
  virtual std::uint64_t fib(const Fib& fib);           // the answer: all of it is timed
  virtual std::uint64_t queens(const Queens& queens);  // likewise
  virtual double switching(Switching& switching);
  virtual double round_trips(const RoundTrips& trips, std::uint64_t& sum);
  virtual double hand_over(HandOver& hand_over);

  std::string form;
  int workers = 1;
};

/// Refuses a kernel, or a variant of it.
[[noreturn]] void refuse(const Side& side, const std::string& what);

/// The main function of a kernel program: reads the options, runs one kernel, checks its answer
/// and prints the result.
int run_program(int argc, char** argv, Side& side);

}  // namespace bench::tasks
