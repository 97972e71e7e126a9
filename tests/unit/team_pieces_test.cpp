// Encodings in pieces: which arguments are copied, and what is read from them.

#include <shoal/shoal.hpp>

#include "support/allocators.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace team_pieces_test {

using shoal::decode_pieces;
using shoal::Immutable;
using shoal::TypeList;
using shoal::net::Pieces;
using shoal::team::make_pieces;
using shoal::testing::Marked;
using shoal::testing::Uninitialized;
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

/// Hides the memory of std::allocator behind functions of its own.
template <class T>
struct Counting : std::allocator<T> {
  template <class U>
  struct rebind {
    using other = Counting<U>;
  };
  Counting() = default;
  template <class U>
  explicit Counting(const Counting<U>& /*other*/) {}
  T* allocate(std::size_t count) {
    ++live;
    return std::allocator<T>::allocate(count);
  }
  void deallocate(T* place, std::size_t count) {
    --live;
    std::allocator<T>::deallocate(place, count);
  }
  static inline int live = 0;
};

TEST(Pieces, StringsTakeOverTheMemoryOfAnOnlyOwner) {
  for (const std::size_t length : {16'383U, 16'384U, 16'385U, 100'000U}) {
    std::string text(length, 'x');
    text.back() = 'y';
    std::string copy = text;
    const void* const data = copy.data();
    const auto sent =
        make_pieces(TypeList<int, std::string, Vector>{}, 7, std::move(copy), numbers(3000));
    const bool is_large = length >= shoal::net::kPieceBytes;
    EXPECT_EQ(large_data(*sent) == data, is_large);
    const auto received = sent->copy();
    const void* const arrived = large_data(*received);
    auto [first, again, last] = decode_pieces<int, std::string, Vector>(*received, true);
    EXPECT_EQ(again.data() == arrived, is_large);
    EXPECT_EQ(again, text);
    EXPECT_EQ(again.c_str()[length], '\0');
    EXPECT_EQ(last, numbers(3000));
    again += "more";  // in memory that is the string's own
    EXPECT_EQ(again.size(), length + 4);
    again.shrink_to_fit();
    EXPECT_EQ(again, text + "more");
    const auto shared = sent->copy();
    for (int i = 0; i < 2; ++i) {
      const auto one = decode_pieces<int, std::string, Vector>(*shared, false);
      EXPECT_EQ(std::get<1>(one), text);
    }
  }
}

TEST(Pieces, OfAStringAndOfAViewOfIt_AreTheSameEncoding) {
  for (const std::size_t length : {0U, 5U, 16'383U, 16'384U, 50'000U}) {
    const std::string text(length, 'x');
    const std::string_view view = text;
    EXPECT_EQ(shoal::encoded(text, 7), shoal::encoded(view, 7));
    const auto pieces = make_pieces(TypeList<std::string_view, int>{}, text, 7)->copy();
    EXPECT_EQ((decode_pieces<std::string, int>(*pieces, true)), std::tuple(text, 7));
    const auto other = make_pieces(TypeList<std::string, int>{}, text, 7)->copy();
    EXPECT_EQ((decode_pieces<std::string_view, int>(*other, false)), std::tuple(view, 7));
    const std::u16string wide(length, u'w');
    const auto wide_pieces = make_pieces(TypeList<std::u16string, int>{}, wide, 7)->copy();
    EXPECT_EQ((decode_pieces<std::u16string, int>(*wide_pieces, true)), std::tuple(wide, 7));
  }
}

TEST(Pieces, VectorsTakeOverMemoryThatTheirAllocatorMayFree) {
  using Raw = std::vector<double, Uninitialized<double>>;
  using Own = std::vector<double, Marked<double>>;
  using Counted = std::vector<double, Counting<double>>;
  const Vector values = numbers(3000);
  {
    const auto sent =
        make_pieces(TypeList<Raw, Own, Counted>{}, Raw(values.begin(), values.end()),
                    Own(values.begin(), values.end()), Counted(values.begin(), values.end()));
    const auto received = sent->copy();
    const std::vector<const void*> arrived = [&] {
      std::vector<const void*> blocks;
      for (const auto& piece : received->list) {
        if (piece.is_block) blocks.push_back(piece.bytes.data());
      }
      return blocks;
    }();
    ASSERT_EQ(arrived.size(), 3U);
    const auto [raw, own, counted] = decode_pieces<Raw, Own, Counted>(*received, true);
    EXPECT_EQ(raw.data(), arrived[0]);
    EXPECT_NE(own.data(), arrived[1]);
    EXPECT_NE(counted.data(), arrived[2]);
    EXPECT_TRUE(std::ranges::equal(raw, values));
    EXPECT_TRUE(std::ranges::equal(own, values));
    EXPECT_TRUE(std::ranges::equal(counted, values));
  }
  EXPECT_EQ(Counting<double>::live, 0);
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

struct Mesh {
  std::string name;
  Vector values;
  std::array<std::int64_t, 3000> table{};
  template <class Archive>
  void serialize(Archive& ar) {
    ar(name, values, table);
  }
};
struct Meshes {
  std::vector<Mesh> all;
  template <class Archive>
  void serialize(Archive& ar) {
    ar& all;
  }
};
/// Writes a vector that is gone when serialize() returns, in a member and on its own.
struct Packed {
  Vector values;
  template <class Archive>
  void serialize(Archive& ar) {
    Vector doubled = values;
    Mesh mesh{"packed", values};
    for (double& value : doubled) value *= 2;
    ar(doubled, mesh);
    if constexpr (Archive::is_loading) values = mesh.values;
    std::ranges::fill(doubled, 0.0);
    std::ranges::fill(mesh.values, 0.0);
  }
};

std::vector<const void*> blocks_of(const Pieces& pieces) {
  std::vector<const void*> blocks;
  for (const auto& piece : pieces.list) {
    if (piece.is_block) blocks.push_back(piece.bytes.data());
  }
  return blocks;
}

TEST(Pieces, OfMembersOfAMovedValueWithSerialize_AreTheirMemory) {
  Meshes meshes{{Mesh{"first", numbers(3000)}, Mesh{"second", numbers(4000)}}};
  std::vector<const void*> data;
  for (const Mesh& mesh : meshes.all) {
    data.push_back(mesh.values.data());
    data.push_back(mesh.table.data());
  }
  const auto sent = make_pieces(TypeList<Meshes>{}, std::move(meshes));
  EXPECT_EQ(blocks_of(*sent), data);
  const auto received = sent->copy();
  const std::vector<const void*> arrived = blocks_of(*received);
  const auto [again] = decode_pieces<Meshes>(*received, true);
  ASSERT_EQ(again.all.size(), 2U);
  EXPECT_EQ(again.all[1].name, "second");
  EXPECT_EQ(again.all[1].values, numbers(4000));
  EXPECT_EQ(again.all[1].values.data(), arrived[2]);
}

TEST(Pieces, OfValuesThatSerializeMakes_AreCopies) {
  const auto sent = make_pieces(TypeList<Packed>{}, Packed{numbers(3000)});
  const auto [again] = decode_pieces<Packed>(*sent, false);
  EXPECT_EQ(again.values, numbers(3000));
}

TEST(Pieces, PartOfThem_IsAnEncodingOfItsOwn) {
  const auto whole = make_pieces(TypeList<std::array<char, 32>, std::string, Vector, Vector>{},
                                 std::array<char, 32>{}, "text", numbers(3000), numbers(4000));
  constexpr std::size_t kBegin = 32;
  std::shared_ptr<Pieces> part = whole->copy()->part(kBegin, whole->size_bytes - kBegin);
  const auto [text, first, second] = decode_pieces<std::string, Vector, Vector>(*part, false);
  EXPECT_EQ(text, "text");
  EXPECT_EQ(first, numbers(3000));
  EXPECT_EQ(second, numbers(4000));
  part = part->part(0, part->size_bytes - 8);
  EXPECT_THROW((decode_pieces<std::string, Vector, Vector>(*part, false)), shoal::DecodeError);
}

TEST(Pieces, ThatAreTooShortOrTooLong_AreErrors) {
  const auto pieces = make_pieces(TypeList<Vector>{}, numbers(3000));
  EXPECT_THROW((decode_pieces<Vector, int>(*pieces, false)), shoal::DecodeError);
  EXPECT_THROW((decode_pieces<std::uint64_t>(*pieces, false)), shoal::DecodeError);
  EXPECT_THROW((decode_pieces<Vector, Vector>(*pieces, false)), shoal::DecodeError);
}

}  // namespace team_pieces_test
