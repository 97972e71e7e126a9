// One large message of more than 2^31 bytes between two processes (with other numbers of processes
// there is nothing to do: memory for more is not assumed).

#include <shoal/shoal.hpp>

#include <sys/mman.h>

#include "mpi/world_battery.hpp"
#include "support/joined_program.hpp"

namespace runtime_huge_message_test {

/// Zeroed memory that costs nothing until touched.
class Memory {
 public:
  explicit Memory(std::size_t size_bytes)
      : size_bytes_(size_bytes),
        data_(mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (data_ == MAP_FAILED) throw std::bad_alloc();
  }
  ~Memory() { munmap(data_, size_bytes_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  [[nodiscard]] std::span<std::uint8_t> bytes() const {
    return {static_cast<std::uint8_t*>(data_), size_bytes_};
  }

 private:
  std::size_t size_bytes_;
  void* data_;
};

int program(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    using shoal::testing::require;
    if (world.size() != 2) return;
    constexpr std::size_t kBytes = (std::size_t{1} << 31) + 12'345;
    const Memory memory(kBytes);
    bool released = false;
    bool arrived = false;
    const auto big = world.make_large_am<std::uint8_t>(
        [&](std::size_t count, int) {
          require(count == kBytes, "{} bytes announced", count);
          return memory.bytes();
        },
        [&](std::span<std::uint8_t>, int) { arrived = true; }, [&](int) { released = true; });
    if (world.rank() == 0) {
      for (std::size_t i = 0; i < kBytes; i += 4096)
        memory.bytes()[i] = static_cast<std::uint8_t>(i >> 12);
      memory.bytes()[kBytes - 1] = 42;
      big.send(shoal::Rank(1), std::span<const std::uint8_t>(memory.bytes()), 0);
    }
    world.wait();
    require(released == (world.rank() == 0) && arrived == (world.rank() == 1), "not done");
    for (std::size_t i = 0; i + 1 < kBytes; i += 4096) {
      require(memory.bytes()[i] == static_cast<std::uint8_t>(i >> 12), "byte {} differs", i);
    }
    require(memory.bytes()[kBytes - 1] == 42, "the last byte differs");
  });
}

const shoal::testing::JoinedProgram kProgram("runtime_huge_message_test", &program);

}  // namespace runtime_huge_message_test
