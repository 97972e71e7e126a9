// A task that throws ends the work of all ranks: wait() throws the same error on each of them.

#include <shoal/shoal.hpp>

#include <cstdio>
#include <stdexcept>

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    if (world.rank() == world.size() - 1) {
      world.spawn([] { throw std::runtime_error("no more bananas"); }, {.name = "breakfast"});
    }
    try {
      world.wait();
      std::printf("Not reached.\n");
    } catch (const shoal::TaskError& error) {
      std::printf("Rank %d knows: %s on rank %d threw \"%s\".\n", int{world.rank()},
                  error.task_name().c_str(), int{error.rank()}, error.text().c_str());
    }
    // A main function that catches the error may save its results and return any value. If one of
    // them does not catch it, the exit code of the program is 1.
  });
}
