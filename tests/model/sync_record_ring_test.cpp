// sync::RecordRing: one writes records of one or two lines into a ring of four, one reads them.

#include "support/explorer.hpp"

#include <gtest/gtest.h>

#include <array>
#include <compare>
#include <cstddef>
#include <string>

namespace sync_record_ring_test {

using shoal::testing::Exploration;
using shoal::testing::explore;

enum class Variant {
  as_written,        // as in the header
  mark_late,         // the mark behind a record is cleared when the record is published already
  no_room_for_mark,  // room for a record, but not for the mark behind it
  published_early,   // the mark of a record is set before the record is there
  given_back_early,  // room is given back before what it holds was read
};

/// Each step is one access to the ring.
struct State {
  static constexpr int kLines = 4;
  static constexpr int kRecords = 7;
  static constexpr std::array<int, kRecords> kSteps = {1, 2, 1, 2, 2, 1, 1};  // in lines
  static constexpr int kNothing = 0;
  static constexpr int kAtStart = -1;
  static constexpr int kRubbish = 99;  // of a record, where a mark is looked for

  struct Line {
    int mark = kRubbish;
    int content = 0;
    auto operator<=>(const Line&) const = default;
  };
  enum WriterPc { kLookForRoom, kClearStart, kSkip, kClearNext, kWrite, kPublish, kWritten };
  enum ReaderPc { kLook, kRead, kGiveBack };

  Variant variant{};
  std::array<Line, kLines> lines{};
  int given_back = 0;  // shared
  int writer = kLookForRoom;
  int written = 0;  // in lines
  int record = 0;   // being written
  int line_of = 0;  // of it
  int reader = kLook;
  int read = 0;  // in lines
  int records_read = 0;
  int line_read = 0;
  std::string wrong;
  auto operator<=>(const State&) const = default;

  [[nodiscard]] static int thread_count() { return 2; }
  [[nodiscard]] bool can_step(int i) const {
    if (i == 0) return record < kRecords && (writer != kLookForRoom || has_room());
    if (records_read == kRecords) return false;
    return reader != kLook || line_at(read).mark != kNothing;
  }
  void step(int i) { i == 0 ? write() : read_on(); }
  [[nodiscard]] std::string broken() const { return wrong; }
  [[nodiscard]] std::string broken_at_end() const {
    return records_read == kRecords ? "" : "both wait for ever";
  }

 private:
  [[nodiscard]] Line& line_at(int at) { return lines[static_cast<std::size_t>(at % kLines)]; }
  [[nodiscard]] const Line& line_at(int at) const {
    return lines[static_cast<std::size_t>(at % kLines)];
  }
  [[nodiscard]] int size() const { return kSteps[static_cast<std::size_t>(record)]; }
  [[nodiscard]] int skipped() const {
    const int left = kLines - written % kLines;
    return size() > left ? left : 0;
  }
  [[nodiscard]] bool has_room() const {
    const int mark = variant == Variant::no_room_for_mark ? 0 : 1;
    return kLines - (written - given_back) >= skipped() + size() + mark;
  }

  void write() {
    switch (writer) {
      case kLookForRoom:
        writer = skipped() > 0 ? kClearStart : first_of_record();
        return;
      case kClearStart:
        line_at(0).mark = kNothing;
        writer = kSkip;
        return;
      case kSkip:
        line_at(written).mark = kAtStart;
        written += skipped();
        writer = first_of_record();
        return;
      case kClearNext:
        line_at(written + size()).mark = kNothing;
        if (variant == Variant::mark_late) return end_record();
        writer = variant == Variant::published_early ? kPublish : kWrite;
        return;
      case kWrite:
        line_at(written + line_of).content = record + 1;
        if (line_of > 0) line_at(written + line_of).mark = kRubbish;
        if (++line_of < size()) return;
        if (variant == Variant::published_early) return end_record();
        writer = kPublish;
        return;
      default:  // kPublish
        line_at(written).mark = size();
        if (variant == Variant::mark_late) {
          writer = kClearNext;
        } else if (variant == Variant::published_early) {
          writer = kWrite;
        } else {
          end_record();
        }
    }
  }
  [[nodiscard]] int first_of_record() const {
    return variant == Variant::mark_late ? kWrite : kClearNext;
  }
  void end_record() {
    written += size();
    ++record;
    line_of = 0;
    writer = kLookForRoom;
  }

  void read_on() {
    switch (reader) {
      case kLook: {
        const int mark = line_at(read).mark;
        if (mark == kAtStart) {
          read += kLines - read % kLines;
        } else if (mark != kSteps[static_cast<std::size_t>(records_read)]) {
          wrong = "what is no mark is taken for one";
        } else {
          reader = variant == Variant::given_back_early ? kGiveBack : kRead;
        }
        return;
      }
      case kRead: {
        const bool early = variant == Variant::given_back_early;
        const int begin = early ? read - kSteps[static_cast<std::size_t>(records_read)] : read;
        if (line_at(begin + line_read).content != records_read + 1)
          wrong = "another record is read";
        if (++line_read < kSteps[static_cast<std::size_t>(records_read)]) return;
        if (early) return end_read();
        reader = kGiveBack;
        return;
      }
      default:  // kGiveBack
        read += kSteps[static_cast<std::size_t>(records_read)];
        given_back = read;
        if (variant == Variant::given_back_early) {
          reader = kRead;
        } else {
          end_read();
        }
    }
  }
  void end_read() {
    ++records_read;
    line_read = 0;
    reader = kLook;
  }
};

Exploration explore_variant(Variant variant) {
  State initial;
  initial.variant = variant;
  initial.lines[0].mark = State::kNothing;
  return explore(initial);
}

TEST(RecordRingModel, InEveryInterleaving_RecordsComeOutWholeAndInOrder) {
  EXPECT_EQ(explore_variant(Variant::as_written).broken, "");
}

TEST(RecordRingModel, BrokenVariants_AreRejected) {
  using enum Variant;
  EXPECT_EQ(explore_variant(mark_late).broken, "what is no mark is taken for one");
  EXPECT_NE(explore_variant(no_room_for_mark).broken, "");
  EXPECT_EQ(explore_variant(published_early).broken, "another record is read");
  EXPECT_EQ(explore_variant(given_back_early).broken, "another record is read");
}

}  // namespace sync_record_ring_test
