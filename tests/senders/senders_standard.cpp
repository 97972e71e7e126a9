// <shoal/sender.hpp> with a standard library that has std::execution: the tags are its own, so its
// functions and concepts take the schedulers and senders. Prints what each has completed with.

#include <shoal/sender.hpp>
#include <shoal/shoal.hpp>

#include <cstdio>
#include <exception>
#include <execution>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>

namespace {

namespace ex = std::execution;
using shoal::World;

struct StopEnv {
  std::stop_token token;
  [[nodiscard]] std::stop_token query(std::get_stop_token_t /*tag*/) const noexcept {
    return token;
  }
};

struct Receiver {
  using receiver_concept = ex::receiver_t;
  shoal::Promise<std::string>* seen;
  std::stop_token token{};

  void set_value() && noexcept { seen->set_value("done"); }
  void set_value(int&& value) && noexcept { seen->set_value(std::to_string(value)); }
  void set_error(const std::exception_ptr& error) && noexcept {
    seen->set_value(shoal::describe(error));
  }
  void set_stopped() && noexcept { seen->set_value("stopped"); }
  [[nodiscard]] StopEnv get_env() const noexcept { return {token}; }
};

using FutureSender = decltype(shoal::as_sender(std::declval<shoal::Future<int>>()));
static_assert(ex::scheduler<shoal::TeamScheduler>);
static_assert(ex::sender_to<shoal::ScheduleSender, Receiver>);
static_assert(ex::sender_to<FutureSender, Receiver>);
static_assert(std::is_same_v<
              FutureSender::completion_signatures,
              ex::completion_signatures<ex::set_value_t(int&&), ex::set_error_t(std::exception_ptr),
                                        ex::set_stopped_t()>>);

template <class Sender>
void show(World& world, Sender sender, std::stop_token token = {}) {
  shoal::Promise<std::string> seen(world);
  auto text = seen.future();
  auto operation = ex::connect(std::move(sender), Receiver{&seen, std::move(token)});
  ex::start(operation);
  std::printf("%s\n", text.get().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](World& world) {
    std::stop_source stopped;
    stopped.request_stop();
    const shoal::TeamScheduler scheduler(world);
    show(world, ex::schedule(scheduler));
    show(world, ex::schedule(scheduler), stopped.get_token());
    show(world, shoal::as_sender(world.async([] { return 7; })));
    show(world, shoal::as_sender(world.async([] { return 8; })), stopped.get_token());
    show(world,
         shoal::as_sender(world.async([]() -> int { throw std::runtime_error("bad apple"); })));
  });
}
