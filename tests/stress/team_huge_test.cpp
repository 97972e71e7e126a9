// One message of more than 2^31 bytes.

#include <shoal/shoal.hpp>

#include <gtest/gtest.h>

#include "support/run_world.hpp"
#include "support/sizes.hpp"

#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <limits>
#include <string>

namespace team_huge_test {

using namespace shoal;
using shoal::testing::kSanitized;
using shoal::testing::run_world;

/// Zeros that take memory only where they are written.
class Pages {
 public:
  explicit Pages(std::size_t size_bytes)
      : size_bytes_(size_bytes),
        memory_(mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~Pages() {
    if (mapped()) munmap(memory_, size_bytes_);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  [[nodiscard]] bool mapped() const { return memory_ != MAP_FAILED; }
  [[nodiscard]] std::span<char> bytes() const { return {static_cast<char*>(memory_), size_bytes_}; }

 private:
  std::size_t size_bytes_;
  void* memory_;
};

std::size_t available_kib() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  std::size_t value = 0;
  while (file >> key >> value) {
    if (key == "MemAvailable:") return value;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return 0;
}

TEST(Huge, MessageBeyondTwoGibibytes_ArrivesWhole) {
  constexpr std::size_t kSize = (std::size_t{1} << 31) + 5;
  if (kSanitized) GTEST_SKIP() << "too slow under a sanitizer";
  if (available_kib() < (kSize >> 10) + (std::size_t{1} << 20)) {
    GTEST_SKIP() << "only " << available_kib() << " KiB of memory are available";
  }
  const Pages payload(kSize);
  const Pages place(kSize);
  ASSERT_TRUE(payload.mapped() && place.mapped());
  const std::vector<std::size_t> marks{0,         1,        kSize / 2, (std::size_t{1} << 31) - 1,
                                       kSize - 5, kSize - 1};
  for (std::size_t i = 0; i < marks.size(); ++i) {
    payload.bytes()[marks[i]] = static_cast<char>('a' + i);
  }
  std::atomic<int> released{0};
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(run_world(2, 1,
                      [&](World& world) {
                        auto message = world.make_large_am<char>(
                            [&](std::size_t size, int) {
                              EXPECT_EQ(size, kSize);
                              return place.bytes();
                            },
                            [&](std::span<char> data, int number) {
                              EXPECT_EQ(number, 17);
                              EXPECT_EQ(data.size(), kSize);
                              for (std::size_t i = 0; i < marks.size(); ++i) {
                                EXPECT_EQ(data[marks[i]], static_cast<char>('a' + i));
                              }
                              EXPECT_EQ(data[kSize - 2], 0);
                            },
                            [&](int) { ++released; });
                        if (world.rank() == 0) {
                          message.send(Rank(1), std::span<const char>(payload.bytes()), 17);
                        }
                        world.wait();
                        if (world.rank() == 0) {
                          EXPECT_GE(world.statistics().bytes_sent, kSize);
                        }
                      }),
            0);
  EXPECT_EQ(released, 1);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  std::printf("%.2f GB/s\n", static_cast<double>(kSize) / time.count() / 1e9);
}

}  // namespace team_huge_test
