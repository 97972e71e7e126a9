// Calls that may wait are refused in handlers, wherever their target is.

#include <shoal/memory.hpp>
#include <shoal/object.hpp>
#include <shoal/shoal.hpp>

#include "support/object_worlds.hpp"
#include "support/run_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace runtime_handler_waits_test {

using shoal::Future;
using shoal::GlobalMemory;
using shoal::GlobalPtr;
using shoal::Promise;
using shoal::Rank;
using shoal::Team;
using shoal::World;
using testing::AllOf;
using testing::HasSubstr;

class Counter : public shoal::DistributedObject<Counter> {
 public:
  explicit Counter(Team& team) : DistributedObject(team) {}
  [[nodiscard]] int count() const { return 1; }
};

/// Things that a handler may wait for, on one rank.
struct Things {
  explicit Things(World& of)
      : world(of),
        memory(of, {.name = "field"}),
        words(memory.collective_allocate<long>(8)),
        cache(memory),
        vector(memory, 8),
        variable(memory, Rank(0)),
        counter(of) {}
  World& world;
  GlobalMemory memory;
  GlobalPtr<long> words;
  shoal::ObjectCache<long> cache;
  shoal::GlobalVector<long> vector;
  shoal::GlobalVar<long> variable;
  Counter counter;
};

using Call = std::function<void(Things&, Rank)>;

const std::map<std::string, Call>& calls() {
  static const std::map<std::string, Call> all{
      {"get()", [](Things& t, Rank to) { static_cast<void>(t.memory.get(t.words.on(to))); }},
      {"get() of a range",
       [](Things& t, Rank to) {
         std::array<long, 2> here{};
         t.memory.get(t.words.on(to), std::span(here));
       }},
      {"get_strided()",
       [](Things& t, Rank to) {
         std::array<long, 2> here{};
         t.memory.get_strided(t.words.on(to), std::span(here), 1, 2);
       }},
      {"gather()",
       [](Things& t, Rank to) {
         const std::vector<GlobalPtr<long>> from{t.words.on(to)};
         std::array<long, 1> here{};
         t.memory.gather(from, std::span(here));
       }},
      {"load", [](Things& t, Rank to) { static_cast<void>(t.memory.load(t.words.on(to))); }},
      {"fetch_add", [](Things& t, Rank to) { t.memory.fetch_add(t.words.on(to), 1L); }},
      {"store", [](Things& t, Rank to) { t.memory.store(t.words.on(to), 1L); }},
      {"compare_exchange",
       [](Things& t, Rank to) { t.memory.compare_exchange(t.words.on(to), 0L, 1L); }},
      {"fetch_update()",
       [](Things& t, Rank to) {
         t.memory.fetch_update(t.words.on(to), [](long x) { return x + 1; });
       }},
      {"put().wait()", [](Things& t, Rank to) { t.memory.put(t.words.on(to), 1L).wait(); }},
      {"get_async().get()",
       [](Things& t, Rank to) { static_cast<void>(t.memory.get_async(t.words.on(to)).get()); }},
      {"put_signal()",
       [](Things& t, Rank to) {
         const std::array<long, 1> here{1};
         t.memory.put_signal(t.words.on(to), std::span<const long>(here), [] {});
       }},
      {"quiet()", [](Things& t, Rank /*to*/) { t.memory.quiet(); }},
      {"allocate_on()",
       [](Things& t, Rank to) { t.memory.free(t.memory.allocate_on<long>(to, 1)); }},
      {"cache.get()", [](Things& t, Rank to) { static_cast<void>(t.cache.get(t.words.on(to))); }},
      {"cache.rget()", [](Things& t, Rank to) { static_cast<void>(t.cache.rget(t.words.on(to))); }},
      {"vector.get()",
       [](Things& t, Rank to) {
         static_cast<void>(t.vector.get(t.vector.distribution().index(to, 0)));
       }},
      {"vector.get() of a range",
       [](Things& t, Rank to) {
         std::array<long, 1> here{};
         t.vector.get(t.vector.distribution().index(to, 0), std::span(here));
       }},
      {"variable.get()", [](Things& t, Rank /*to*/) { static_cast<void>(t.variable.get()); }},
      {"sync() of an object",
       [](Things& t, Rank to) { static_cast<void>(t.counter.sync<&Counter::count>(to)); }},
      {"call().get()",
       [](Things& t, Rank to) { static_cast<void>(t.world.call(to, [] { return 1; }).get()); }},
      {"get() of a future that is ready",
       [](Things& t, Rank /*to*/) {
         Promise<int> promise(t.world);
         Future<int> future = promise.future();
         promise.set_value(1);
         static_cast<void>(future.get());
       }},
      {"wait() of a shared future that is ready",
       [](Things& t, Rank /*to*/) {
         Promise<int> promise(t.world);
         const shoal::SharedFuture<int> future = promise.future().share();
         promise.set_value(1);
         future.wait();
       }},
      {"lock()",
       [](Things& t, Rank /*to*/) {
         shoal::Mutex mutex(t.world);
         mutex.lock();
         mutex.unlock();
       }},
      {"wait() of an empty group",
       [](Things& /*t*/, Rank /*to*/) {
         shoal::TaskGroup group;
         group.wait();
       }},
      {"barrier()", [](Things& t, Rank /*to*/) { t.world.barrier(); }},
      {"wait()", [](Things& t, Rank /*to*/) { t.world.wait(); }},
      {"yield()", [](Things& /*t*/, Rank /*to*/) { shoal::yield(); }},
  };
  return all;
}

/// Calls that access memory of one rank: that of the own rank is never waited for.
bool is_of_memory(const std::string& call) {
  static const std::set<std::string> all{"allocate_on()",
                                         "cache.get()",
                                         "cache.rget()",
                                         "compare_exchange",
                                         "fetch_add",
                                         "fetch_update()",
                                         "gather()",
                                         "get()",
                                         "get() of a range",
                                         "get_strided()",
                                         "load",
                                         "put_signal()",
                                         "store",
                                         "vector.get()",
                                         "vector.get() of a range"};
  return all.contains(call);
}

constexpr const char* kNotRefused = "it was not refused";

/// Texts of the refusals on rank 1, by call and target.
class Refusals {
 public:
  void note(const std::string& call, int to, const std::string& text) {
    const std::lock_guard lock(mutex_);
    texts_.emplace_back(call, text);
    if (to != 1 || !is_of_memory(call)) return;
    EXPECT_EQ(text, kNotRefused) << call;
    texts_.pop_back();
    ++allowed_;
  }
  void expect_all(std::size_t count) {
    EXPECT_EQ(texts_.size() + allowed_, count);
    EXPECT_EQ(allowed_, 15U);
    for (const auto& [call, text] : texts_) {
      EXPECT_THAT(text, AllOf(HasSubstr("was called in handler 'probe' on rank 1"),
                              HasSubstr("a handler must not wait, wherever the target is"),
                              HasSubstr("Delivery::task")))
          << call;
    }
  }

 private:
  std::mutex mutex_;
  std::vector<std::pair<std::string, std::string>> texts_;
  std::size_t allowed_ = 0;
};

/// A handler on rank 1 makes each call to each rank.
void probe_all(World& world, Refusals& refusals) {
  Things things(world);
  world.barrier();
  auto probe = world.make_am(
      [&things, &refusals](const std::string& call, int to) {
        std::string text = kNotRefused;
        try {
          calls().at(call)(things, Rank(to));
        } catch (const shoal::CheckError& error) {
          text = error.what();
        }
        refusals.note(call, to, text);
      },
      {.name = "probe"});
  if (world.rank() == 0) {
    for (const auto& [call, function] : calls()) {
      for (int to = 0; to < world.size(); ++to) probe.send(Rank(1), call, to);
    }
  }
  world.wait();
}

TEST(HandlerWaits, AreRefusedByName_Simulated) {
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    Refusals refusals;
    const auto result =
        shoal::testing::run_turns({.seed = seed, .ranks = 2, .workers = 1}, [&](World& world) {
          probe_all(world, refusals);
          return 0;
        });
    for (const auto& error : result.errors) {
      ASSERT_EQ(error, nullptr) << seed << ": " << shoal::describe(error);
    }
    refusals.expect_all(2 * calls().size());
  }
}

TEST(HandlerWaits, AreRefusedByName_OnThreads) {
  for (const std::string checks : {"on", "off"}) {
    Refusals refusals;
    EXPECT_EQ(
        shoal::testing::run_world(3, 2, [&refusals](World& world) { probe_all(world, refusals); },
                                  {"--check-graphs", checks}),
        0);
    refusals.expect_all(3 * calls().size());
  }
}

// Calls that never wait are allowed in handlers.
TEST(HandlerWaits, CallsThatNeverWait_AreAllowed) {
  shoal::testing::in_object_worlds(2, [](World& world) {
    Things things(world);
    world.barrier();
    std::atomic<int> done{0};
    auto probe = world.make_am(
        [&](int to) {
          const GlobalPtr<long> word = things.words.on(Rank(to));
          things.memory.put(word, 1L);
          things.memory.add_async(word, 1L);
          const auto got = things.memory.get_async(word).then([&](long) { ++done; });
          things.cache.prefetch(word);
          const auto called =
              things.world.call(Rank(to), [] { return 1; }).then([&](int) { ++done; });
          const auto adds = [&](Future<int> one) -> Future<void> {
            done += co_await std::move(one);
          };
          Promise<int> promise(things.world);
          promise.set_value(1);
          const Future<void> added = adds(promise.future());
          EXPECT_TRUE(added.is_ready());
        },
        {.name = "probe"});
    if (world.rank() == 0) {
      probe.send(Rank(1), 0);
      probe.send(Rank(1), 1);
    }
    world.wait();
    EXPECT_EQ(done, world.rank() == 1 ? 6 : 0);
  });
}

}  // namespace runtime_handler_waits_test
