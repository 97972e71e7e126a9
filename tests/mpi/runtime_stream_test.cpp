// A task that sends many messages without a pause: packets that are full leave meanwhile.

#include "mpi/world_battery.hpp"
#include "support/joined_program.hpp"
#include "team/messenger.hpp"

namespace runtime_stream_test {

using shoal::testing::require;

void stream(shoal::World& world) {
  constexpr std::uint64_t kCount = 2'500;  // of 8 bytes: fewer packets than may be under way
  std::uint64_t received = 0;
  std::uint64_t sum = 0;
  const auto message = world.make_am([&](std::uint64_t i) {
    ++received;
    sum += i;
  });
  const shoal::Rank next((world.rank() + 1) % world.size());
  world.barrier();
  world.spawn([&] {
    auto& fabric = world.core().messenger().fabric();
    const auto& link = fabric.link(world.rank(), next, shoal::net::Lane::normal);
    std::uint64_t kept = 0;  // messages sent in a row with a full packet waiting
    for (std::uint64_t i = 0; i < kCount; ++i) {
      message.send(next, i);
      kept = link.has_full_packet() ? kept + 1 : 0;
      require(kept <= 64, "rank {}: a full packet waits while {} messages are sent",
              int{world.rank()}, kept);
    }
  });
  world.wait();
  require(received == kCount && sum == kCount * (kCount - 1) / 2, "rank {}: {} messages, sum {}",
          int{world.rank()}, received, sum);
}

int program(int argc, char** argv) {
  std::vector<const char*> arguments(argv, argv + argc);
  // No other worker polls. Packets that are not full stay: while a receiver gets no processor, they
  // would soon be as many as may be under way, and full ones would wait for that.
  arguments.insert(arguments.end(), {"--workers", "1", "--flush", "1s"});
  return shoal::run(static_cast<int>(arguments.size()), arguments.data(), [](shoal::World& world) {
    if (world.size() > 1) stream(world);
  });
}

const shoal::testing::JoinedProgram kProgram("runtime_stream_test", &program);

}  // namespace runtime_stream_test
