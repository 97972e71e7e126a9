// The kernels about workers of a program on oneTBB, whose workers are those of the process.

#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include "runtime/program.hpp"

#include <cstddef>
#include <future>
#include <utility>

namespace bench::runtime {
namespace {

class OneTbb {
 public:
  static const char* name() { return "tbb"; }
  // No place for the calling thread, so that its tasks run on workers.
  explicit OneTbb(int workers)
      : control_(tbb::global_control::max_allowed_parallelism,
                 static_cast<std::size_t>(workers) + 1),
        arena_(workers, 0) {
    arena_.initialize();
  }
  ~OneTbb() {
    arena_.execute([this] { group_.wait(); });
  }
  OneTbb(const OneTbb&) = delete;
  OneTbb& operator=(const OneTbb&) = delete;

  template <class F>
  std::int64_t ask(F f) {
    std::promise<std::int64_t> promise;
    auto result = promise.get_future();
    arena_.enqueue([&promise, f = std::move(f)] { promise.set_value(f()); });
    return result.get();
  }
  template <class F>
  void give(F f) {
    arena_.enqueue(group_.defer(std::move(f)));
  }

 private:
  const tbb::global_control control_;
  tbb::task_arena arena_;
  tbb::task_group group_;
};

}  // namespace
}  // namespace bench::runtime

int main(int argc, char** argv) {
  return bench::runtime::Program<bench::runtime::OneTbb>().main(argc, argv);
}
