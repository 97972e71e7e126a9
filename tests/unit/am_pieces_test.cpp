// Encodings in pieces: which arguments are copied, and what is read from them.

#include <shoal/shoal.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace am_pieces_test {

using shoal::decode_pieces;
using shoal::Immutable;
using shoal::TypeList;
using shoal::messaging::make_pieces;
using shoal::net::Pieces;
using Vector = std::vector<double>;

Vector numbers(std::size_t count) {
  Vector values(count);
  std::iota(values.begin(), values.end(), 1.0);
  return values;
}

const void* large_data(const Pieces& pieces) {
  for (const auto& piece : pieces.list) {
    if (piece.is_block) return piece.bytes.data();
  }
  return nullptr;
}

TEST(Pieces, OfMovedAndImmutableArguments_AreTheirMemory) {
  Vector moved = numbers(3000);
  const void* const data = moved.data();
  const auto pieces = make_pieces(TypeList<int, Vector>{}, 7, std::move(moved));
  EXPECT_EQ(large_data(*pieces), data);
  const auto shared = shoal::make_immutable<Vector>(numbers(3000));
  EXPECT_EQ(large_data(*make_pieces(TypeList<Immutable<Vector>>{}, shared)), shared->data());
  const Vector kept = numbers(3000);
  EXPECT_NE(large_data(*make_pieces(TypeList<Vector>{}, kept)), kept.data());
}

TEST(Pieces, VectorsTakeOverTheMemoryOfAnOnlyOwner) {
  const auto sent = make_pieces(TypeList<int, Vector, std::string>{}, 7, numbers(3000), "end");
  EXPECT_EQ(sent->size_bytes,
            (shoal::encoded_size<int, Vector, std::string>(7, numbers(3000), "end")));
  const auto received = sent->copy();
  const void* const data = large_data(*received);
  const auto [first, values, last] = decode_pieces<int, Vector, std::string>(*received, true);
  EXPECT_EQ(first, 7);
  EXPECT_EQ(values.data(), data);
  EXPECT_EQ(values, numbers(3000));
  EXPECT_EQ(last, "end");
  const auto shared = sent->copy();
  for (int i = 0; i < 2; ++i) {
    const auto again = decode_pieces<int, Vector, std::string>(*shared, false);
    EXPECT_NE(std::get<1>(again).data(), large_data(*shared));
    EXPECT_EQ(std::get<1>(again), numbers(3000));
  }
}

struct TwoBlocks {
  std::vector<std::int32_t> first;
  std::vector<std::int32_t> second;
  template <class Archive>
  void serialize(Archive& ar) {
    ar.block(std::span(first));
    ar.block(std::span(second));
  }
};
struct OneBlock {
  std::vector<std::int32_t> all;
  template <class Archive>
  void serialize(Archive& ar) {
    if constexpr (Archive::is_loading) all.resize(12'000);
    ar.block(std::span(all));
  }
};

TEST(Pieces, ValueThatWasWrittenInParts_IsJoined) {
  std::vector<std::int32_t> all(12'000);
  std::iota(all.begin(), all.end(), 0);
  TwoBlocks parts{{all.begin(), all.begin() + 6000}, {all.begin() + 6000, all.end()}};
  const auto pieces = make_pieces(TypeList<TwoBlocks>{}, std::move(parts))->copy();
  EXPECT_EQ(std::get<0>(decode_pieces<OneBlock>(*pieces, true)).all, all);
}

TEST(Pieces, ThatAreTooShortOrTooLong_AreErrors) {
  const auto pieces = make_pieces(TypeList<Vector>{}, numbers(3000));
  EXPECT_THROW((decode_pieces<Vector, int>(*pieces, false)), shoal::DecodeError);
  EXPECT_THROW((decode_pieces<std::uint64_t>(*pieces, false)), shoal::DecodeError);
  EXPECT_THROW((decode_pieces<Vector, Vector>(*pieces, false)), shoal::DecodeError);
}

}  // namespace am_pieces_test
