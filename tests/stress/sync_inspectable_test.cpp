// An object that is visited after it was hidden is read after it died.

#include <shoal/detail/sync/inspectable.hpp>

#include "support/sizes.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

namespace sync_inspectable_test {

using shoal::sync::Inspectable;
using shoal::testing::sized;

class InspectableStress : public testing::TestWithParam<bool> {
 protected:
  static bool asymmetric() { return GetParam(); }
  void SetUp() override {
    if (asymmetric() && !shoal::sync::has_asymmetric_barrier()) GTEST_SKIP() << "not available";
  }
};

INSTANTIATE_TEST_SUITE_P(Barriers, InspectableStress, testing::Bool(),
                         [](const auto& info) { return info.param ? "Asymmetric" : "Symmetric"; });

/// Not an atomic: ThreadSanitizer sees a visit that races with the end. Nor is it always freed
/// memory: the value says who is visited.
struct Object {
  explicit Object(std::uint64_t number) : value(number), copy(~number) {}
  ~Object() { value = copy = 0; }
  std::uint64_t value;
  std::uint64_t copy;
};

TEST_P(InspectableStress, HiddenObjects_AreNeverVisited) {
  const std::uint64_t rounds = static_cast<std::uint64_t>(sized(3'000'000, 200'000));
  Inspectable<const Object> shown(asymmetric());
  std::atomic<bool> stop{false};
  std::uint64_t visits = 0;
  std::uint64_t wrong = 0;
  std::thread inspector([&] {
    std::uint64_t last = 0;
    while (!stop.load()) {
      const bool visited = shown.visit([&](const Object& object) {
        if (object.value != ~object.copy || object.value < last) ++wrong;
        last = object.value;
      });
      if (visited) ++visits;
    }
  });
  alignas(Object) std::byte place[sizeof(Object)];  // the same memory each time
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    auto* const object = new (place) Object(round);
    shown.show(object);
    shown.hide();
    object->~Object();
  }
  stop = true;
  inspector.join();
  EXPECT_EQ(wrong, 0U);
  RecordProperty("visits", static_cast<int>(visits));
}

TEST_P(InspectableStress, NestedObjects_AreNeverVisitedOnceHidden) {
  const std::uint64_t rounds = static_cast<std::uint64_t>(sized(1'000'000, 100'000));
  Inspectable<const Object> shown(asymmetric());
  std::atomic<bool> stop{false};
  std::uint64_t wrong = 0;
  std::thread inspector([&] {
    while (!stop.load()) {
      shown.visit([&](const Object& object) {
        if (object.value != ~object.copy) ++wrong;
      });
    }
  });
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    const auto outer = std::make_unique<Object>(2 * round);
    shown.show(outer.get());
    {
      const auto inner = std::make_unique<Object>(2 * round + 1);
      shown.show(inner.get());
      shown.hide(outer.get());
    }
    EXPECT_EQ(shown.shown(), outer.get());
    shown.hide();
  }
  stop = true;
  inspector.join();
  EXPECT_EQ(wrong, 0U);
}

// The owner waits for a visit that has begun: the visit ends first.
TEST_P(InspectableStress, Hide_WaitsForTheVisit) {
  for (int round = 0; round < sized(200, 50); ++round) {
    Inspectable<const int> shown(asymmetric());
    std::atomic<bool> inside{false};
    std::atomic<bool> left{false};
    const int value = 42;
    shown.show(&value);
    std::thread inspector([&] {
      shown.visit([&](const int& seen) {
        inside = true;
        inside.notify_one();
        for (int i = 0; i < 1000; ++i) EXPECT_EQ(seen, 42);
        left = true;
      });
    });
    inside.wait(false);
    shown.hide();
    EXPECT_TRUE(left.load());
    inspector.join();
    EXPECT_FALSE(shown.visit([](const int&) {}));
  }
}

}  // namespace sync_inspectable_test
