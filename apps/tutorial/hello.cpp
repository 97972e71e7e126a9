// Every rank runs the same main function and knows its number.

#include <shoal/shoal.hpp>

#include <cstdio>

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    std::printf("Hello from rank %d of %d.\n", int{world.rank()}, world.size());
  });
}
