// The programs of the figures of the STAPL-RTS thesis, chapters 3 and 8 and its appendices.

#include "support/object_worlds.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace object_figures_test {

using shoal::all_ranks;
using shoal::DistributedObject;
using shoal::Future;
using shoal::Handle;
using shoal::OwnedHandle;
using shoal::Rank;
using shoal::Team;
using shoal::World;
using shoal::testing::in_object_worlds;

struct A : DistributedObject<A> {
  explicit A(Team& team) : DistributedObject(team) {}
  int m_value = 0;
  void write(int t) { m_value = t; }
  [[nodiscard]] int read() const { return m_value; }
  void write_direct(int t, A* p) {
    m_value = t;
    p->m_value = t + 1;
  }
  void write_indirect(int t, A& p) {
    m_value = t;
    p.async<&A::write>(Rank(2), t + 1);
  }
};

/// Holds a handle instead of deriving from a class.
class WithMember {
 public:
  explicit WithMember(Team& team) : handle_(team, *this) {}
  [[nodiscard]] const OwnedHandle<WithMember>& handle() const { return handle_; }
  [[nodiscard]] int twice(int x) const { return 2 * x + bias; }
  int bias = 0;

 private:
  OwnedHandle<WithMember> handle_;
};

TEST(Figure3_5, ObjectsAreDeclaredInTwoWays) {
  in_object_worlds(3, [](World& world) {
    A a(world);
    WithMember b(world);
    const auto p = std::make_unique<A>(world);
    b.bias = world.rank();
    const Rank next((world.rank() + 1) % world.size());
    EXPECT_EQ(b.handle().sync<&WithMember::twice>(next, 10), 20 + next);
    const Handle<WithMember> handle = b.handle();
    EXPECT_EQ(handle.sync<&WithMember::twice>(next, 10), 20 + next);
    p->async<&A::write>(next, 7);
    EXPECT_EQ(p->sync<&A::read>(next), 7);
    EXPECT_NE(a.handle(), p->handle());
    a.fence();
  });
}

TEST(Figure3_7, ArgumentsAreCopied) {
  in_object_worlds(2, [](World& world) {
    A a(world);
    if (world.rank() == 0) {
      const Handle<A> h = a.handle();
      int t = 5;
      h.async<&A::write>(Rank(1), t);
      t = 6;
      Future<int> f = h.call<&A::read>(Rank(1));
      EXPECT_EQ(f.get(), 5);
    }
    a.fence();
  });
}

TEST(Figure3_9, AFutureIsPolledOrContinued) {
  in_object_worlds(2, [](World& world) {
    A a(world);
    a.m_value = 40 + world.rank();
    a.advance_epoch();
    Future<int> f = a.call<&A::read>(Rank(0));
    while (!f.is_ready()) shoal::yield();
    EXPECT_EQ(f.get(), 40);
    int seen = 0;
    a.call<&A::read>(Rank(1)).then([&](int value) { seen = value; }).get();
    EXPECT_EQ(seen, 41);
    a.fence();
  });
}

TEST(Figure3_10, AnInvocationFromALaterEpochWaits) {
  in_object_worlds(3, [](World& world) {
    A a(world);
    a.write(5);
    const int y1 = a.sync<&A::read>(Rank(1));
    EXPECT_TRUE(y1 == 0 || y1 == 5);
    a.advance_epoch();
    EXPECT_EQ(a.sync<&A::read>(Rank(2)), 5);
    a.fence();
  });
}

TEST(Figure7_4, ATeamIsPartitioned_AndEachPartMakesItsObject) {
  in_object_worlds(5, [](World& world) {
    if (world.rank() % 2 == 1) {
      Team odd(
          world, 2, [](int i) { return 2 * i + 1; }, [](int r) { return r % 2 == 1 ? r / 2 : -1; },
          "odd ranks");
      A t(odd);
      t.async<&A::write>(Rank(1 - odd.rank()), 10 + odd.rank());
      t.fence();
      EXPECT_EQ(t.m_value, 11 - odd.rank());
    } else {
      Team even(
          world, 3, [](int i) { return 2 * i; }, [](int r) { return r % 2 == 0 ? r / 2 : -1; },
          "even ranks");
      WithMember u(even);
      EXPECT_EQ(u.handle().sync<&WithMember::twice>(Rank(2), 21), 42);
      even.wait();
    }
  });
}

TEST(Figure8_1, AnInvocationWritesToTwoObjectsAtOnce) {
  in_object_worlds(2, [](World& world) {
    A a1(world);
    A a2(world);
    if (world.rank() == 0) {
      a2.async<&A::write>(Rank(1), 5);
      a1.async<&A::write_direct>(Rank(1), 6, &a2);
      EXPECT_EQ(a1.sync<&A::read>(Rank(1)), 6);
      EXPECT_EQ(a2.sync<&A::read>(Rank(1)), 7);
    }
    a1.fence();
  });
}

TEST(Figure8_2, ANestedInvocationComesAfterItsCaller) {
  bool saw_five = false;
  bool saw_seven = false;
  in_object_worlds(3, [&](World& world) {
    A a1(world);
    A a2(world);
    if (world.rank() == 0) {
      a2.async<&A::write>(Rank(2), 5);
      a1.async<&A::write_indirect>(Rank(1), 6, a2);
      const int r1 = a1.sync<&A::read>(Rank(1));
      const int r2 = a2.sync<&A::read>(Rank(2));
      EXPECT_EQ(r1, 6);
      EXPECT_TRUE(r2 == 5 || r2 == 7) << r2;
      (r2 == 5 ? saw_five : saw_seven) = true;
    }
    a1.fence();
  });
  EXPECT_TRUE(saw_five && saw_seven);  // no order that the document does not state
}

struct Chain : DistributedObject<Chain> {
  explicit Chain(Team& team) : DistributedObject(team) {}
  std::vector<char> ran;
  void f() { async<&Chain::g>(Rank(2)); }
  void g() { async<&Chain::h>(Rank(1)); }
  void h() {
    async<&Chain::i>(Rank(4));
    async<&Chain::j>(Rank(4));
  }
  void i() { ran.push_back('i'); }
  void j() { ran.push_back('j'); }
};

TEST(Figure8_6, NestedInvocationsKeepTheirOrder) {
  in_object_worlds(5, [](World& world) {
    Chain a(world);
    if (world.rank() == 0) a.f();
    a.fence();
    if (world.rank() == 4) {
      EXPECT_EQ(a.ran, (std::vector<char>{'i', 'j'}));
    }
  });
}

/// RMI'1 and RMI'2 are invoked by invocations on different ranks.
struct Fork : DistributedObject<Fork> {
  explicit Fork(Team& team) : DistributedObject(team) {}
  std::string ran;
  void pass(char name) { async<&Fork::mark>(Rank(3), name); }
  void mark(char name) { ran.push_back(name); }
};

TEST(Figure8_4, ConcurrentInvocationsHaveNoOrder) {
  bool saw_in_order = false;
  bool saw_reversed = false;
  in_object_worlds(4, [&](World& world) {
    Fork a(world);
    if (world.rank() == 0) {
      a.async<&Fork::pass>(Rank(1), '1');
      a.async<&Fork::pass>(Rank(2), '2');
    }
    a.fence();
    if (world.rank() == 3) {
      EXPECT_EQ(a.ran.size(), 2U);
      (a.ran == "12" ? saw_in_order : saw_reversed) = true;
    }
  });
  EXPECT_TRUE(saw_in_order && saw_reversed);
}

struct Deadlock : DistributedObject<Deadlock> {
  explicit Deadlock(Team& team) : DistributedObject(team) {}
  // NOLINTBEGIN(readability-make-member-function-const)
  int f() { return sync<&Deadlock::g>(Rank(1)); }
  int g() { return sync<&Deadlock::h>(Rank(0)); }
  int h() { return sync<&Deadlock::i>(Rank(1)); }
  int i() { return 42; }
  // NOLINTEND(readability-make-member-function-const)
};

TEST(Figure8_7, NestedCallsToAndFroComplete) {
  in_object_worlds(2, [](World& world) {
    Deadlock a(world);
    if (world.rank() == 0) {
      EXPECT_EQ(a.f(), 42);
    }
    a.fence();
  });
}

template <class T>
class CausalMemory : public DistributedObject<CausalMemory<T>> {
 public:
  CausalMemory(Team& team, std::size_t size) : DistributedObject<CausalMemory>(team), m_(size) {}
  [[nodiscard]] Future<T> read(std::size_t x) const {
    return this->template call<&CausalMemory::read_here>(this->rank(), x);
  }
  void write(std::size_t x, const T& v) {
    this->template async<&CausalMemory::write_here>(all_ranks, x, v);
  }

 private:
  [[nodiscard]] T read_here(std::size_t x) const { return m_[x]; }
  void write_here(std::size_t x, const T& v) { m_[x] = v; }

  std::vector<T> m_;
};

TEST(Figure8_9, CausalMemory_AReaderSeesTheWritesBeforeTheOneItSaw) {
  in_object_worlds(3, [](World& world) {
    CausalMemory<int> memory(world, 2);
    if (world.rank() == 0) {
      for (int value = 1; value <= 5; ++value) {
        memory.write(0, value);
        memory.write(1, value);
      }
    } else {
      for (int last = 0; last < 5;) {
        last = memory.read(1).get();
        const int data = memory.read(0).get();
        EXPECT_GE(data, last);
        shoal::yield();
      }
    }
    memory.handle().fence();
  });
}

TEST(Figure8_10, OrderedAndUnordered) {
  in_object_worlds(3, [](World& world) {
    A a(world);
    if (world.rank() == 0) {
      a.async<&A::write>(all_ranks, 42);
      EXPECT_EQ(a.call<&A::read>(Rank(1)).get(), 42);
    }
    a.fence();
    if (world.rank() == 0) {
      a.unordered().async<&A::write>(all_ranks, 43);
      const int value = a.sync<&A::read>(Rank(1));
      EXPECT_TRUE(value == 42 || value == 43);
    }
    a.fence();
    if (world.rank() == 0) {
      EXPECT_EQ(a.call<&A::read>(Rank(1)).get(), 43);
    }
    a.fence();
  });
}

struct Array : DistributedObject<Array> {
  explicit Array(Team& team) : DistributedObject(team) {}
  std::vector<int> m_value = std::vector<int>(2000);
  void write(std::size_t index, int t) { m_value[index] = t; }
  [[nodiscard]] int read(std::size_t index) const { return m_value[index]; }
};

/// Bytes that rank 0 sends to rank 1 in `invoke(array, i)` for i from 0 to 999.
template <class F>
std::uint64_t bytes_of(F invoke) {
  std::uint64_t bytes = 0;
  in_object_worlds(
      2,
      [&](World& world) {
        Array a(world);
        a.fence();
        if (world.rank() == 0) {
          const std::uint64_t before = world.statistics().bytes_sent;
          for (int i = 0; i < 1000; ++i) invoke(a, static_cast<std::size_t>(i));
          bytes = world.statistics().bytes_sent - before;
        }
        a.fence();
      },
      1);
  return bytes;
}

// An index of 8 bytes and an int take 16 bytes of a packet.
TEST(FigureB_2, ConsecutiveInvocationsOfOneMethodOfOneObject_SendTheTargetOnce) {
  constexpr std::uint64_t kArguments = 16;
  std::vector<Future<int>> results;
  const auto write = [](Array& a, std::size_t i) { a.async<&Array::write>(Rank(1), i, 10); };
  const auto read = [&](Array& a, std::size_t i) {
    results.push_back(a.call<&Array::read>(Rank(1), i));
  };
  const std::uint64_t combined = bytes_of(write);  // figure B.1
  EXPECT_GE(combined, 1000 * kArguments);
  EXPECT_LT(combined, 1010 * kArguments);
  const auto in_turns = [&](Array& a, std::size_t i) { i % 2 == 0 ? write(a, i) : read(a, i); };
  const auto in_halves = [&](Array& a, std::size_t i) { i < 500 ? write(a, i) : read(a, i); };
  const std::uint64_t first = bytes_of(in_turns);  // example 1: a header of 32 bytes for each
  const std::uint64_t second = bytes_of(in_halves);
  EXPECT_GT(first, second + 1000 * 24);
}

TEST(FigureB_2, TheTargetsOfTwoObjectsAreNotMixedUp) {
  in_object_worlds(2, [](World& world) {
    Array a(world);
    Array b(world);
    if (world.rank() == 0) {
      for (std::size_t i = 0; i < 200; ++i) {
        a.async<&Array::write>(Rank(1), i, 1);
        if (i % 3 != 0) a.async<&Array::write>(Rank(1), i, 2);
        b.async<&Array::write>(Rank(1), i, 3);
        if (i == 100) a.advance_epoch();
      }
    }
    if (world.rank() == 1) a.advance_epoch();
    a.fence();
    for (std::size_t i = 0; world.rank() == 1 && i < 200; ++i) {
      EXPECT_EQ(a.m_value[i], i % 3 != 0 ? 2 : 1);
      EXPECT_EQ(b.m_value[i], 3);
    }
    a.fence();
  });
}

}  // namespace object_figures_test
