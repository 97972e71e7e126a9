// Calls of shoal::run() before main() and after it; TEST_WHEN says which.

#include <shoal/shoal.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

bool is_when(std::string_view when) {
  const char* const wanted = std::getenv("TEST_WHEN");  // NOLINT(concurrency-mt-unsafe): one thread
  return wanted != nullptr && when == wanted;
}

void run_world(const char* when) {
  const std::vector<const char*> arguments{"outside_main", "--ranks", "2", nullptr};
  const int code = shoal::run(3, arguments.data(), [](shoal::World& world) {
    world.barrier();
    world.wait();
  });
  std::printf("%s: run returned %d\n", when, code);
  std::fflush(stdout);
}

class Global {
 public:
  Global() {
    if (is_when("before")) run_world("before");
  }
  ~Global() {
    if (is_when("after")) run_world("after");
    if (is_when("again")) run_world("again");
  }
  Global(const Global&) = delete;
  Global& operator=(const Global&) = delete;
};

const Global global;

}  // namespace

int main() {
  if (is_when("exit")) std::atexit([] { run_world("exit"); });
  if (is_when("exit") || is_when("again") || is_when("inside")) run_world("inside");
  return 0;
}
