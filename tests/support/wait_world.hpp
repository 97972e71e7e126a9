#pragma once
// Worlds whose tasks wait, and what becomes of them.

#include <shoal/shoal.hpp>

#include "support/run_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <string>
#include <vector>

namespace shoal::testing {

/// Counts those that live.
class Counted {
 public:
  explicit Counted(std::atomic<int>& alive) : alive_(&alive) { ++*alive_; }
  Counted(const Counted& other) : alive_(other.alive_) { ++*alive_; }
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --*alive_; }

 private:
  std::atomic<int>* alive_;
};

/// Text of the E that the main function of each rank gets when `body` and a wait() run there; ""
/// without one.
template <class E>
std::vector<std::string> texts_of(int ranks, int workers, const std::function<void(World&)>& body) {
  std::vector<std::string> texts(static_cast<std::size_t>(ranks));
  ::testing::internal::CaptureStderr();
  const int code = run_world(ranks, workers, [&](World& world) {
    try {
      body(world);
      world.wait();
    } catch (const E& error) {
      texts[static_cast<std::size_t>(world.rank().value())] = error.what();
      throw;
    }
  });
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(code, 1) << said;
  return texts;
}

/// The same on every rank.
template <class E>
std::string text_of(int ranks, int workers, const std::function<void(World&)>& body) {
  const std::vector<std::string> texts = texts_of<E>(ranks, workers, body);
  EXPECT_THAT(texts, ::testing::Each(texts.front()));
  return texts.front();
}

}  // namespace shoal::testing
