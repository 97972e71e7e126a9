// Fibers of Boost on one thread: tasks that wait.

#include <boost/fiber/fiber.hpp>
#include <boost/fiber/operations.hpp>
#include <boost/fiber/protected_fixedsize_stack.hpp>
#include <boost/fiber/unbuffered_channel.hpp>

#include <cstdint>
#include <memory>
#include <vector>

#include "memory/kernels.hpp"

namespace {

class Parked final : public bench::memory::Batch {
 public:
  void make(int count) override {
    for (int i = 0; i < count; ++i) {
      fibers_.emplace_back(boost::fibers::launch::dispatch, std::allocator_arg,
                           boost::fibers::protected_fixedsize_stack(), [this] { wait(); });
    }
  }
  void finish() override {
    for (std::size_t i = 0; i < fibers_.size(); ++i) wake_.push(1);
    for (boost::fibers::fiber& fiber : fibers_) fiber.join();
    fibers_.clear();
  }
  [[nodiscard]] std::uint64_t ran() const override { return ran_; }

 private:
  void wait() {
    int token = 0;
    wake_.pop(token);
    ++ran_;
  }

  boost::fibers::unbuffered_channel<int> wake_;
  std::vector<boost::fibers::fiber> fibers_;
  std::uint64_t ran_ = 0;
};

int run(const bench::memory::Options& options) {
  bench::limit_time(options.run);
  return bench::memory::measure(options,
                                {.name = "boost_fiber", .live = {}, .keys = {}, .parked = [] {
                                   return std::make_unique<Parked>();
                                 }});
}

}  // namespace

int main(int argc, char** argv) {
  bench::memory::Options options;
  const bench::Program program{"memory_boost_fiber", "Memory of fibers of Boost.",
                               [&](cli::App& app) { bench::memory::add_options(app, options); },
                               [&] { return run(options); }};
  return bench::run_program(program, {argv + 1, argv + argc}, true);
}
