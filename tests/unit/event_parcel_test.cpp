// The message that carries an event, between processes; and the lines of reports.

#include "base/edit_distance.hpp"
#include "event/matcher.hpp"
#include "event/order.hpp"

#include <shoal/error.hpp>
#include <shoal/event.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace event_parcel_test {

using shoal::edit_distance;
using shoal::EventType;
using shoal::Rank;
using shoal::event::Content;
using shoal::event::Inbox;
using shoal::event::kAnySource;
using shoal::event::Leftovers;
using shoal::event::Parcel;
using shoal::event::SharedContent;
using testing::ElementsAre;
using testing::HasSubstr;

Parcel some_parcel() {
  const auto content = std::make_shared<Content>();
  content->name = "an event with a longer name";
  content->source = Rank(7);
  content->persistent = true;
  content->type = EventType::raw;
  content->signature = 12345;
  content->type_text = "std::vector<double>";
  content->bytes = {std::byte{1}, std::byte{2}, std::byte{3}};
  content->raw = {42, 3, content->bytes};
  Parcel parcel;
  parcel.content = content;
  parcel.to_all = true;
  parcel.number = 5;
  parcel.all_count = 6;
  parcel.before = {{3, 4}, {8, 1}};
  return parcel;
}

std::vector<std::byte> encoded(const Parcel& parcel) {
  std::vector<std::byte> bytes(shoal::encoded_size<Parcel>(parcel));
  shoal::encode<Parcel>(std::span(bytes), parcel);
  return bytes;
}

TEST(EventParcel, ThatIsDecoded_IsTheOneThatWasEncoded) {
  const auto [parcel] = shoal::decode<Parcel>(encoded(some_parcel()));
  const Parcel expected = some_parcel();
  EXPECT_EQ(parcel.to_all, expected.to_all);
  EXPECT_EQ(parcel.number, expected.number);
  EXPECT_EQ(parcel.all_count, expected.all_count);
  ASSERT_EQ(parcel.before.size(), 2U);
  EXPECT_EQ(parcel.before[1].rank, 8);
  EXPECT_EQ(parcel.before[0].one_count, 4U);
  const Content& content = *parcel.content;
  EXPECT_EQ(content.name, expected.content->name);
  EXPECT_EQ(content.source, 7);
  EXPECT_TRUE(content.persistent);
  EXPECT_EQ(content.type, EventType::raw);
  EXPECT_EQ(content.signature, 12345U);
  EXPECT_EQ(content.type_text, "std::vector<double>");
  EXPECT_EQ(content.bytes, expected.content->bytes);
  EXPECT_EQ(content.raw.type, 42);
  EXPECT_EQ(content.raw.count, 3U);
  EXPECT_EQ(content.raw.bytes.data(), content.bytes.data());
}

const std::byte* large_block(const shoal::net::Pieces& pieces) {
  for (const auto& piece : pieces.list) {
    if (piece.is_block) return piece.bytes.data();
  }
  return nullptr;
}

TEST(EventParcel, WithALargeValue_IsNotCopied) {
  using Vector = std::vector<double>;
  Vector numbers(5000);
  std::iota(numbers.begin(), numbers.end(), 1.0);
  const Vector expected = numbers;
  const auto* const data = reinterpret_cast<const std::byte*>(numbers.data());
  Parcel parcel = some_parcel();
  const auto content = std::make_shared<Content>(*parcel.content);
  content->type = EventType::value;
  content->bytes.clear();
  content->signature = shoal::type_signature<Vector>();
  shoal::event::keep_value<Vector>(*content, std::move(numbers));
  parcel.content = content;
  EXPECT_EQ(large_block(*content->pieces), data);
  const auto sent = shoal::team::make_pieces(shoal::TypeList<Parcel>{}, parcel);
  EXPECT_EQ(large_block(*sent), data);

  const auto received = sent->copy();
  const auto [arrived] = shoal::decode_pieces<Parcel>(*received, true);
  ASSERT_NE(arrived.content->pieces, nullptr);
  EXPECT_EQ(large_block(*arrived.content->pieces), large_block(*received));
  EXPECT_EQ(arrived.content->name, parcel.content->name);
  const shoal::Event event(arrived.content);
  EXPECT_EQ(event.get<Vector>(), expected);
  EXPECT_EQ(reinterpret_cast<const std::byte*>(event.view<double>().data()),
            large_block(*received));
  // In one piece, as it lies in a packet.
  const auto [plain] = shoal::decode<Parcel>(encoded(parcel));
  EXPECT_EQ(shoal::Event(plain.content).get<Vector>(), expected);
}

TEST(EventParcel, WithManyRawBytes_ArrivesWhole) {
  Parcel parcel = some_parcel();
  const auto content = std::make_shared<Content>(*parcel.content);
  content->bytes.assign(40'000, std::byte{7});
  content->raw.bytes = content->bytes;
  parcel.content = content;
  const auto received = shoal::team::make_pieces(shoal::TypeList<Parcel>{}, parcel)->copy();
  const auto [arrived] = shoal::decode_pieces<Parcel>(*received, true);
  EXPECT_TRUE(std::ranges::equal(arrived.content->raw.bytes, content->bytes));
  const auto [plain] = shoal::decode<Parcel>(encoded(parcel));
  EXPECT_TRUE(std::ranges::equal(plain.content->raw.bytes, content->bytes));
}

TEST(EventParcel, WithAnImpossibleByte_IsRefusedOrDiffers) {
  const std::vector<std::byte> bytes = encoded(some_parcel());
  int refused = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::vector<std::byte> corrupt = bytes;
    corrupt[i] = std::byte{0xFF};
    try {
      static_cast<void>(shoal::decode<Parcel>(corrupt));
    } catch (const shoal::DecodeError&) {
      ++refused;
    }
  }
  EXPECT_GE(refused, 3);  // target, persistence and type, and the counts
}

TEST(EventParcel, FromARankThatThereIsNot_IsRefused) {
  Inbox inbox(Rank(0), 4);
  EXPECT_THROW(inbox.accept(some_parcel(), [](const SharedContent&) {}), shoal::CheckError);
}

TEST(EventReport, EditDistance_CountsChangesAndExchanges) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("abc", ""), 3U);
  EXPECT_EQ(edit_distance("", "ab"), 2U);
  EXPECT_EQ(edit_distance("step", "step"), 0U);
  EXPECT_EQ(edit_distance("step", "steps"), 1U);
  EXPECT_EQ(edit_distance("step", "setp"), 1U);
  EXPECT_EQ(edit_distance("residual", "resudial"), 2U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
}

TEST(EventReport, EventsWhosePredecessorsWereLost_AreNamedByTheirSource) {
  Leftovers leftovers;
  leftovers.held_sources = {Rank(3)};
  EXPECT_THAT(
      shoal::event::describe("flow", leftovers),
      ElementsAre("events 'flow': events from rank 3 wait for earlier ones that were lost"));
}

TEST(EventReport, AHint_IsGivenForTheRightSourceOnly) {
  Leftovers leftovers;
  leftovers.waiting.push_back({0, {}, "t", nullptr, 0, {{2, "count"}}});
  leftovers.waiting_count = 1;
  leftovers.unconsumed.push_back({"counts", 1, "int", 1});
  EXPECT_THAT(shoal::event::describe("e", leftovers)[0], Not(HasSubstr("right?")));
  leftovers.waiting[0].missing[0].source = kAnySource;
  EXPECT_THAT(shoal::event::describe("e", leftovers)[0], HasSubstr("is the name right?"));
  leftovers.unconsumed[0].name = "entirely different";
  EXPECT_THAT(shoal::event::describe("e", leftovers)[0], Not(HasSubstr("right?")));
}

}  // namespace event_parcel_test
