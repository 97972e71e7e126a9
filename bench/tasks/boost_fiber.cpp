// The kernels about tasks that wait on Boost.Fiber: fibers of one thread.

#include <boost/fiber/fiber.hpp>
#include <boost/fiber/future.hpp>
#include <boost/fiber/mutex.hpp>
#include <boost/fiber/operations.hpp>
#include <boost/fiber/pooled_fixedsize_stack.hpp>

#include <memory>
#include <mutex>
#include <vector>

#include "tasks/side.hpp"

namespace bench::tasks {
namespace {

class BoostFiber final : public Side {
 public:
  [[nodiscard]] std::string name() const override { return "boost_fiber"; }

  void start(int count, const std::function<void()>& body) override {
    if (count != 1) refuse(*this, "fibers");
    body();
  }

  double switching(Switching& switching) override {
    return run_all(switching.tasks, [&switching] {
      for (int i = 0; i < switching.rounds; ++i) {
        switching.add_turn();
        boost::this_fiber::yield();
      }
    });
  }

  double round_trips(const RoundTrips& trips, std::uint64_t& sum) override {
    const boost::fibers::pooled_fixedsize_stack stacks;
    const Stopwatch watch;
    for (int i = 0; i < trips.rounds; ++i) {
      const auto value = [i] { return static_cast<std::uint64_t>(i); };
      sum += boost::fibers::async(boost::fibers::launch::post, std::allocator_arg, stacks, value)
                 .get();
    }
    return watch.seconds();
  }

  double hand_over(HandOver& hand_over) override {
    boost::fibers::mutex mutex;
    return run_all(hand_over.tasks, [&hand_over, &mutex] {
      for (int i = 0; i < hand_over.rounds; ++i) {
        const std::unique_lock lock(mutex);
        hand_over.enter();
        boost::this_fiber::yield();
        hand_over.leave();
      }
    });
  }

 private:
  template <class Body>
  static double run_all(int count, Body body) {
    const Stopwatch watch;
    std::vector<boost::fibers::fiber> fibers;
    fibers.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) fibers.emplace_back(body);
    for (boost::fibers::fiber& fiber : fibers) fiber.join();
    return watch.seconds();
  }
};

}  // namespace
}  // namespace bench::tasks

int main(int argc, char** argv) {
  bench::tasks::BoostFiber side;
  return bench::tasks::run_program(argc, argv, side);
}
