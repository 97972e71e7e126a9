// Copies and moves of arguments when a message stays in the process.

#include <shoal/shoal.hpp>

#include <gtest/gtest.h>

#include "support/heap_meter.hpp"
#include "support/run_world.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace team_elision_test {

using namespace shoal;
using shoal::testing::HeapMeter;
using shoal::testing::run_world;

struct Counts {
  std::atomic<int> copies{0};
  std::atomic<int> saves{0};
  std::atomic<int> loads{0};
};

/// Notes what is done to it; travels with the counters' address.
class Tracked {
 public:
  Tracked() = default;
  Tracked(Counts& counts, int value) : counts_(&counts), value_(value) {}
  Tracked(const Tracked& other) : counts_(other.counts_), value_(other.value_) { note_copy(); }
  Tracked(Tracked&& other) noexcept
      : counts_(other.counts_), value_(std::exchange(other.value_, -1)) {}
  Tracked& operator=(const Tracked& other) {
    counts_ = other.counts_;
    value_ = other.value_;
    note_copy();
    return *this;
  }
  Tracked& operator=(Tracked&& other) noexcept {
    counts_ = other.counts_;
    value_ = std::exchange(other.value_, -1);
    return *this;
  }
  ~Tracked() = default;

  [[nodiscard]] int value() const { return value_; }

  template <class Archive>
  void serialize(Archive& ar) {
    auto address = reinterpret_cast<std::uintptr_t>(counts_);
    ar(address, value_);
    if constexpr (Archive::is_loading) {  // saving only reads: others may do it at the same time
      counts_ = reinterpret_cast<Counts*>(address);
      ++counts_->loads;
    }
    if constexpr (std::is_same_v<Archive, WriteArchive>) ++counts_->saves;
  }

 private:
  void note_copy() const {
    if (counts_ != nullptr) ++counts_->copies;
  }
  Counts* counts_ = nullptr;
  int value_ = 0;
};

/// The worlds that a rule must hold in: the meaning may depend on none of this.
struct Setting {
  int ranks;
  int workers;
  Delivery delivery;
  std::vector<std::string> more;
};

class Elision : public ::testing::TestWithParam<Setting> {
 protected:
  /// Runs `function(world, target)` on rank 0; every rank makes what `make(world)` returns first.
  template <class Make, class F>
  void run(Make make, F function) {
    EXPECT_EQ(run_world(
                  GetParam().ranks, GetParam().workers,
                  [&](World& world) {
                    auto message = make(world);
                    if (world.rank() == 0) function(message, Rank(world.size() - 1));
                    world.wait();
                  },
                  GetParam().more),
              0);
  }
  [[nodiscard]] AmOptions options() const { return {.delivery = GetParam().delivery}; }
  void expect_counts(int copies) {
    EXPECT_EQ(counts_.copies, copies);
    EXPECT_EQ(counts_.saves, 0);
    EXPECT_EQ(counts_.loads, 0);
    EXPECT_EQ(calls_, 1);
  }

  Counts counts_;
  std::atomic<int> calls_{0};
};

INSTANTIATE_TEST_SUITE_P(
    Settings, Elision,
    ::testing::Values(
        Setting{1, 1, Delivery::inlined, {}}, Setting{2, 1, Delivery::inlined, {}},
        Setting{2, 2, Delivery::task, {}}, Setting{4, 2, Delivery::task, {}},
        Setting{2, 1, Delivery::inlined, {"--window-bytes", "512", "--packet-bytes", "512"}},
        Setting{2, 2, Delivery::task, {"--window-bytes", "1M", "--packet-bytes", "64K"}}));

TEST_P(Elision, Lvalue_IsCopiedOnce) {
  run(
      [&](World& world) {
        return world.make_am(
            [&](const Tracked& tracked) {
              EXPECT_EQ(tracked.value(), 5);
              ++calls_;
            },
            options());
      },
      [&](auto& message, Rank to) {
        Tracked tracked(counts_, 5);
        message.send(to, tracked);
        EXPECT_EQ(tracked.value(), 5);
      });
  expect_counts(1);
}

TEST_P(Elision, ConstLvalueToAValueParameter_IsCopiedOnce) {
  run(
      [&](World& world) {
        return world.make_am(
            [&](Tracked tracked) {
              const Tracked kept = std::move(tracked);
              EXPECT_EQ(kept.value(), 6);
              ++calls_;
            },
            options());
      },
      [&](auto& message, Rank to) {
        const Tracked tracked(counts_, 6);
        message.send(to, tracked);
      });
  expect_counts(1);
}

TEST_P(Elision, MovedArgument_IsNotCopied) {
  run(
      [&](World& world) {
        return world.make_am(
            [&](Tracked&& tracked) {
              EXPECT_EQ(tracked.value(), 7);
              ++calls_;
            },
            options());
      },
      [&](auto& message, Rank to) {
        Tracked tracked(counts_, 7);
        message.send(to, std::move(tracked));
      });
  expect_counts(0);
}

TEST_P(Elision, MovedArgumentBesideViewsAndNumbers_IsNotCopied) {
  run(
      [&](World& world) {
        return world.make_am(
            [&](int number, Tracked tracked, std::span<const int> numbers, std::string_view text) {
              EXPECT_EQ(number, 1);
              EXPECT_EQ(tracked.value(), 8);
              EXPECT_EQ(numbers[1], 3);
              EXPECT_EQ(text, "view");
              ++calls_;
            },
            options());
      },
      [&](auto& message, Rank to) {
        Tracked tracked(counts_, 8);
        const std::vector<int> numbers{2, 3};
        message.send(to, 1, std::move(tracked), std::span(numbers), "view");
      });
  expect_counts(0);
}

TEST_P(Elision, Temporary_IsNotCopied) {
  run(
      [&](World& world) {
        return world.make_am([&](const Tracked& t) { calls_ += t.value() == 9 ? 1 : 100; },
                             options());
      },
      [&](auto& message, Rank to) { message.send(to, Tracked(counts_, 9)); });
  expect_counts(0);
}

TEST_P(Elision, MovedContainer_KeepsItsElements) {
  const void* sent = nullptr;
  run(
      [&](World& world) {
        return world.make_am(
            [&](std::vector<Tracked> all) {
              EXPECT_EQ(all.data(), sent);
              EXPECT_EQ(all.at(1).value(), 11);
              ++calls_;
            },
            options());
      },
      [&](auto& message, Rank to) {
        std::vector<Tracked> all;
        all.reserve(2);
        all.emplace_back(counts_, 10);
        all.emplace_back(counts_, 11);
        sent = all.data();
        message.send(to, std::move(all));
      });
  expect_counts(0);
}

TEST_P(Elision, MovedBuffersOfNumbersAndText_ChangeHands) {
  const void* numbers_at = nullptr;
  const void* text_at = nullptr;
  const void* pointer_at = nullptr;
  run(
      [&](World& world) {
        return world.make_am(
            [&](std::vector<double>&& numbers, const std::string& text,
                std::unique_ptr<int> pointer) {
              EXPECT_EQ(numbers.data(), numbers_at);
              EXPECT_EQ(static_cast<const void*>(text.data()), text_at);
              EXPECT_EQ(pointer.get(), pointer_at);
              EXPECT_EQ(*pointer, 4);
              ++calls_;
            },
            options());
      },
      [&](auto& message, Rank to) {
        std::vector<double> numbers(100, 1.0);
        std::string text(100, 't');
        auto pointer = std::make_unique<int>(4);
        numbers_at = numbers.data();
        text_at = text.data();
        pointer_at = pointer.get();
        message.send(to, std::move(numbers), std::move(text), std::move(pointer));
      });
  EXPECT_EQ(calls_, 1);
}

TEST_P(Elision, PointerThatIsNotMoved_ArrivesAsACopy) {
  run(
      [&](World& world) {
        return world.make_am(
            [&](std::unique_ptr<int> pointer, std::uintptr_t sent) {
              EXPECT_EQ(*pointer, 4);
              EXPECT_NE(reinterpret_cast<std::uintptr_t>(pointer.get()), sent);
              ++calls_;
            },
            options());
      },
      [&](auto& message, Rank to) {
        static auto pointer = std::make_unique<int>(4);  // alive while the handler compares
        message.send(to, pointer, reinterpret_cast<std::uintptr_t>(pointer.get()));
        EXPECT_EQ(*pointer, 4);
      });
  EXPECT_EQ(calls_, 1);
}

TEST_P(Elision, Immutable_IsSharedAndNeverCopied) {
  const auto shared = make_immutable<Tracked>(counts_, 12);
  run(
      [&](World& world) {
        return world.make_am(
            [&](const Immutable<Tracked>& got, Immutable<Tracked> again) {
              EXPECT_EQ(&*got, &*shared);
              EXPECT_EQ(&again.get(), &shared.get());
              EXPECT_EQ(got->value(), 12);
              ++calls_;
            },
            options());
      },
      [&](auto& message, Rank to) {
        auto copy = shared;
        message.send(to, shared, std::move(copy));
      });
  expect_counts(0);
  EXPECT_EQ(shared.use_count(), 1U);
}

TEST_P(Elision, ImmutableBesideViews_IsSharedAndNeverCopied) {
  const auto shared = make_immutable<Tracked>(counts_, 13);
  run(
      [&](World& world) {
        return world.make_am(
            [&](std::span<const double> numbers, const Immutable<Tracked>& got) {
              EXPECT_EQ(numbers.size(), 3U);
              EXPECT_EQ(&*got, &*shared);
              ++calls_;
            },
            options());
      },
      [&](auto& message, Rank to) {
        const std::vector<double> numbers(3);
        message.send(to, std::span(numbers), shared);
      });
  expect_counts(0);
}

// The value semantics of the message that is not elided: bytes and back.
TEST_P(Elision, WhatTheHandlerSees_IsWhatSerializationWouldGive) {
  const std::vector<std::string> words{"a", "", std::string(300, 'w')};
  const std::vector<int> numbers{1, 2, 3};
  const std::string text = "text";
  using Bytes = std::vector<std::byte>;
  Bytes bytes =
      encoded<std::vector<std::string>, std::span<const int>, std::string>(words, numbers, text);
  const auto expected = decode<std::vector<std::string>, std::span<const int>, std::string>(bytes);
  run(
      [&](World& world) {
        return world.make_am(
            [&](const std::vector<std::string>& w, std::span<const int> n, std::string t) {
              EXPECT_EQ(w, std::get<0>(expected));
              EXPECT_TRUE(std::ranges::equal(n, std::get<1>(expected)));
              EXPECT_EQ(t, std::get<2>(expected));
              ++calls_;
            },
            options());
      },
      [&](auto& message, Rank to) {
        message.send(to, words, numbers, text);
        message.send(to, std::vector(words), std::vector(numbers), std::string(text));
      });
  EXPECT_EQ(calls_, 2);
}

TEST_P(Elision, DroppedMessages_FreeWhatTheyHold) {
  const auto shared = make_immutable<Tracked>(counts_, 14);
  const int code = run_world(
      GetParam().ranks, GetParam().workers,
      [&](World& world) {
        auto message = world.make_am(
            [](int i, const Immutable<Tracked>&) {
              if (i == 3) throw std::runtime_error("enough");
            },
            options());
        for (int i = 0; i < 50; ++i) message.send(Rank(world.size() - 1), i, shared);
        EXPECT_THROW(world.wait(), TaskError);
      },
      GetParam().more);
  EXPECT_EQ(code, 0);  // the main functions caught it
  EXPECT_EQ(shared.use_count(), 1U);
}

// --- views

TEST(View, OfATriviallyCopyableMessage_LiesInThePacket) {
  EXPECT_EQ(
      run_world(
          1, 1,
          [](World& world) {
            std::vector<const double*> seen;
            auto message = world.make_am(
                [&](int, std::span<const double> numbers) { seen.push_back(numbers.data()); });
            const std::vector<double> numbers(5);
            // The only worker is busy here, so all share the first packet.
            for (int i = 0; i < 20; ++i) message.send(Rank(0), i, numbers);
            world.wait();
            const auto step = net::align_up(encoded_size<int, std::span<const double>>(0, numbers));
            ASSERT_EQ(seen.size(), 20U);
            for (std::size_t i = 1; i < seen.size(); ++i) {
              EXPECT_EQ(static_cast<std::size_t>(seen[i] - seen[i - 1]) * sizeof(double), step);
            }
          }),
      0);
}

TEST(View, Messages_AllocateNothingButPackets) {
  if (!HeapMeter::counts) GTEST_SKIP() << "the sanitizer has the heap";
  constexpr std::size_t kCount = 20'000;
  EXPECT_EQ(run_world(2, 1,
                      [](World& world) {
                        std::size_t total = 0;
                        auto message = world.make_am([&](int i, std::span<const double> numbers) {
                          total += numbers.size() + static_cast<std::size_t>(i);
                        });
                        const std::vector<double> numbers(8);
                        const auto send = [&](std::size_t count) {
                          for (std::size_t i = 0; i < count && world.rank() == 0; ++i) {
                            message.send(Rank(1), 1, numbers);
                          }
                          world.wait();
                        };
                        send(1'000);  // stacks and queues are there now
                        const std::size_t before = HeapMeter::allocation_count();
                        send(kCount);
                        const std::size_t count = HeapMeter::allocation_count() - before;
                        // Usually one per full packet of 85 messages; one per message only when
                        // the receiver is so fast that it takes each as it comes.
                        if (world.rank() == 0) {
                          std::printf("%zu allocations for %zu messages\n", count, kCount);
                        }
                        EXPECT_LE(count,
                                  kCount + kCount / 10);  // a waiting sender may cost some, too
                      }),
            0);
}

// With a receiver that cannot interfere, packets are full: far fewer allocations than messages.
TEST(View, MessagesToOneself_AllocateOncePerFullPacket) {
  if (!HeapMeter::counts) GTEST_SKIP() << "the sanitizer has the heap";
  EXPECT_EQ(run_world(1, 1,
                      [](World& world) {
                        std::size_t total = 0;
                        auto message = world.make_am(
                            [&](std::span<const double> numbers) { total += numbers.size(); });
                        const std::vector<double> numbers(8);
                        for (int round = 0; round < 2; ++round) {
                          const std::size_t before = HeapMeter::allocation_count();
                          for (int i = 0; i < 10'000; ++i) message.send(Rank(0), numbers);
                          world.wait();
                          const std::size_t count = HeapMeter::allocation_count() - before;
                          if (round == 1) {
                            EXPECT_LE(count, 1'000U);
                          }
                        }
                        EXPECT_EQ(total, 160'000U);
                      }),
            0);
}

}  // namespace team_elision_test
