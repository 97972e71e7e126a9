
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "sync/record_ring.hpp"

namespace sync_record_ring_test {

using shoal::sync::RecordRing;

std::vector<std::byte> record_of(std::size_t number, std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(number * 31 + i);
  return bytes;
}

bool write(RecordRing::Writer& writer, const std::vector<std::byte>& record, std::size_t cut = 0) {
  const std::span<const std::byte> all(record);
  return writer.try_write(all.first(cut), all.subspan(cut));
}

/// Reads one record, if there is one, which must be `expected`.
bool read(RecordRing::Reader& reader, const std::vector<std::byte>& expected) {
  const std::span<const std::byte> record = reader.front();
  if (record.empty()) return false;
  EXPECT_TRUE(std::equal(record.begin(), record.end(), expected.begin(), expected.end()));
  reader.pop();
  return true;
}

class RecordRingTest : public testing::Test {
 protected:
  const std::unique_ptr<RecordRing> ring_ = std::make_unique<RecordRing>();
  RecordRing::Writer writer_{*ring_};
  RecordRing::Reader reader_{*ring_};
};

TEST_F(RecordRingTest, WhenNew_IsEmpty) {
  EXPECT_TRUE(reader_.front().empty());
  EXPECT_TRUE(reader_.front().empty());
}

TEST_F(RecordRingTest, InMemoryThatHeldSomethingElse_IsEmpty) {
  std::vector<std::byte> memory(2 * sizeof(RecordRing), std::byte{0xFF});
  void* place = memory.data();
  std::size_t space = memory.size();
  auto* const ring =
      new (std::align(alignof(RecordRing), sizeof(RecordRing), place, space)) RecordRing;
  RecordRing::Writer writer(*ring);
  RecordRing::Reader reader(*ring);
  EXPECT_TRUE(reader.front().empty());
  ASSERT_TRUE(write(writer, record_of(1, 7)));
  EXPECT_TRUE(read(reader, record_of(1, 7)));
  EXPECT_TRUE(reader.front().empty());
}

TEST_F(RecordRingTest, WhenFull_RefusesAndGoesOnOnceItWasRead) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{60}, std::size_t{61},
                                 std::size_t{5000}, RecordRing::kRecordMax}) {
    std::size_t written = 0;
    while (write(writer_, record_of(written, size))) ++written;
    EXPECT_GE(written * (size + 64), RecordRing::kRecordMax);
    EXPECT_FALSE(write(writer_, record_of(written, size)));
    for (std::size_t i = 0; i < written; ++i) ASSERT_TRUE(read(reader_, record_of(i, size)));
    EXPECT_TRUE(reader_.front().empty());
  }
}

TEST_F(RecordRingTest, WhenEmpty_TakesTheLargestRecordWhereverItStands) {
  for (std::size_t i = 0; i < 5000; ++i) {
    const auto small = record_of(i, 1 + i % 130);
    const auto large = record_of(i, RecordRing::kRecordMax);
    ASSERT_TRUE(write(writer_, small));
    ASSERT_TRUE(read(reader_, small));
    if (i % 7 != 0) continue;
    ASSERT_TRUE(write(writer_, large, large.size() / 2));
    ASSERT_TRUE(read(reader_, large));
  }
}

TEST_F(RecordRingTest, BetweenTwoThreads_RecordsComeWholeAndInOrder) {
  constexpr std::size_t kRecords = 60'000;
  // Records of all sizes, mostly short ones.
  const auto size_of = [](std::size_t i) {
    const std::size_t most = i % 100 == 0 ? RecordRing::kRecordMax : i % 5 == 0 ? 8000 : 200;
    return 1 + i * 7919 % most;
  };
  std::thread other([&] {
    for (std::size_t i = 0; i < kRecords; ++i) {
      const auto record = record_of(i, size_of(i));
      while (!write(writer_, record, i % (record.size() + 1))) std::this_thread::yield();
    }
  });
  for (std::size_t i = 0; i < kRecords; ++i) {
    const auto due = record_of(i, size_of(i));
    while (!read(reader_, due)) std::this_thread::yield();
  }
  other.join();
  EXPECT_TRUE(reader_.front().empty());
}

}  // namespace sync_record_ring_test
