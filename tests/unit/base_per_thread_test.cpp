// Objects of one thread each: made at the first use, destroyed with the thread.

#include "base/per_thread.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace base_per_thread_test {

struct Counted {
  static inline std::atomic<int> alive{0};
  int value = 0;

  Counted() { ++alive; }
  ~Counted() { --alive; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
};

TEST(PerThread, EachThread_HasItsOwn_UntilItEnds) {
  std::thread([] {
    shoal::of_this_thread<Counted>().value = 1;
    EXPECT_EQ(Counted::alive, 1);
    std::thread([] {
      EXPECT_EQ(shoal::of_this_thread<Counted>().value, 0);
      EXPECT_EQ(Counted::alive, 2);
    }).join();
    EXPECT_EQ(Counted::alive, 1);
    EXPECT_EQ(shoal::of_this_thread<Counted>().value, 1);
  }).join();
  EXPECT_EQ(Counted::alive, 0);
}

}  // namespace base_per_thread_test
