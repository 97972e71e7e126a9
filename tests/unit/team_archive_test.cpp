
#include "support/sizes.hpp"

#include <shoal/archive.hpp>
#include <shoal/error.hpp>
#include <shoal/immutable.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <typeinfo>
#include <unordered_map>
#include <unordered_set>
#include <variant>

using namespace std::string_literals;

// In a namespace of its own, as a program's types are: found by ADL only.
namespace team_archive_test {

struct Point {
  int x = 0;
  double y = 0;
  bool operator==(const Point&) const = default;
};

struct NoDefault {
  explicit NoDefault(int v) : value(v) {}
  int value;
  bool operator==(const NoDefault&) const = default;
};

struct alignas(64) Wide {
  int value = 0;
  bool operator==(const Wide&) const = default;
};

struct Member {
  std::string name;
  std::vector<int> data;
  bool operator==(const Member&) const = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(name, data);
  }
};

struct VersionedMember {
  std::string name;
  bool operator==(const VersionedMember&) const = default;
  template <class Archive>
  void serialize(Archive& ar, const unsigned version) {
    EXPECT_EQ(version, 0U);
    ar& name;
  }
};

struct Free {
  std::string name;
  int id = 0;
  bool operator==(const Free&) const = default;
};
template <class Archive>
void serialize(Archive& ar, Free& value) {
  ar& value.name& value.id;
}

struct FreeVersioned {
  std::map<int, std::string> names;
  bool operator==(const FreeVersioned&) const = default;
};
template <class Archive>
void serialize(Archive& ar, FreeVersioned& value, const unsigned /*version*/) {
  ar& value.names;
}

class Private {
 public:
  static Private with(std::string name) {
    Private value;
    value.name_ = std::move(name);
    return value;
  }
  bool operator==(const Private&) const = default;

 private:
  friend class shoal::Access;
  Private() = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(name_);
  }
  std::string name_;
};

/// Trivially copyable and with a serialize() that shows itself: it stores the number plus one.
struct Both {
  std::int32_t number = 0;
  bool operator==(const Both&) const = default;
  template <class Archive>
  void serialize(Archive& ar) {
    if (!Archive::is_loading) ++number;
    ar(number);
    --number;
    if (Archive::is_loading) ++number;
  }
};

struct Empty {
  bool operator==(const Empty&) const = default;
  template <class Archive>
  void serialize(Archive& /*ar*/) {}
};

/// Takes far more memory than bytes in a message.
struct Big {
  std::array<char, 4096> unsent{};
  std::string name;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(name);
  }
};

/// Owns a buffer by pointer.
struct Buffer {
  std::size_t size = 0;
  std::unique_ptr<double[]> data;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(size);
    if constexpr (Archive::is_loading) {
      if (size > ar.remaining() / sizeof(double)) throw shoal::DecodeError("Buffer: bad size");
      data = std::make_unique<double[]>(size);
    }
    ar.block(std::span(data.get(), size));
  }
};

struct Node {
  int value = 0;
  std::unique_ptr<Node> next;
  std::string names[2];
  template <class Archive>
  void serialize(Archive& ar) {
    ar(value, next, names);
  }
};

enum class Colour : std::uint8_t { red, green };

struct Liar {
  mutable int calls = 0;
  template <class Archive>
  void serialize(Archive& ar) {
    ++calls;
    for (int i = 0; i < calls; ++i) ar(i);
  }
};

}  // namespace team_archive_test

namespace team_archive_test {

using namespace team_archive_test;
using shoal::decode;
using shoal::encode;
using shoal::encoded_size;
using shoal::is_plain_v;
using shoal::is_trivial_message_v;

/// A buffer that starts at a multiple of 16, of exactly the size, so that ASan sees every overrun.
class Bytes {
 public:
  explicit Bytes(std::size_t size)
      : data_(static_cast<std::byte*>(::operator new(size, std::align_val_t(16)))), size_(size) {
    std::memset(data_.get(), 0xEE, size);
  }
  [[nodiscard]] std::span<std::byte> span() const { return {data_.get(), size_}; }

 private:
  struct Free {
    void operator()(std::byte* p) const { ::operator delete(p, std::align_val_t(16)); }
  };
  std::unique_ptr<std::byte, Free> data_;
  std::size_t size_;
};

template <class... Ts>
Bytes in_bytes(const Ts&... values) {
  Bytes bytes(encoded_size<Ts...>(values...));
  encode<Ts...>(bytes.span(), values...);
  return bytes;
}

template <class... Ts>
std::tuple<Ts...> travel(const Ts&... values) {
  return decode<Ts...>(in_bytes<Ts...>(values...).span());
}

// EXPECT_EQ would make the compiler generate printers for hundreds of types.
template <class T>
void expect_same(const T& value) {
  EXPECT_TRUE(std::get<0>(travel(value)) == value) << typeid(T).name();
}

// Behind an odd byte, so that all alignments are exercised, and several in a row.
template <class T>
void expect_travels(const T& value) {
  expect_same(value);
  EXPECT_TRUE(std::get<1>(travel(std::uint8_t{7}, value)) == value) << typeid(T).name();
  expect_same(std::vector<T>(3, value));
}

// A container asks of its values only whether they travel as they are, and whether they can be made
// without a value: some of each kind stand for all.
template <class T>
void expect_travels_in_all(const T& value) {
  expect_travels(value);
  expect_same(std::list<T>(2, value));
  expect_same(std::deque<T>(2, value));
  expect_same(std::pair(value, 'c'));
  expect_same(std::tuple(value));
  expect_same(std::array<T, 2>{value, value});
  expect_same(std::optional<T>(value));
  expect_same(std::optional<T>());
  expect_same(std::variant<std::string, T>(std::in_place_index<1>, value));
}

TEST(Archive, RawValues_SentAndReceived_AreEqual) {
  expect_travels_in_all(42);
  expect_travels(std::int8_t{-3});
  expect_travels(2.5L);
  expect_travels(Colour::green);
  expect_travels(Point{1, 2.5});
  expect_travels_in_all(NoDefault(5));
  expect_travels_in_all(Wide{9});
  expect_travels(std::array<int, 3>{1, 2, 3});
  expect_travels(std::complex<double>(1, -2));
  expect_travels(std::monostate());
  expect_travels(shoal::Rank(3));
}

TEST(Archive, StandardTypes_SentAndReceived_AreEqual) {
  expect_travels_in_all(""s);
  expect_travels(std::string(1000, 'x'));
  expect_travels(u"wide"s);
  expect_travels(std::vector<double>{1, 2, 3});
  expect_travels_in_all(std::vector<std::string>{"a", "", "ccc"});
  expect_travels(std::vector<bool>{true, false, true, true, false, false, true, true, true});
  expect_travels_in_all(std::vector<bool>());
  expect_travels(std::array<std::string, 2>{"a", "b"});
  EXPECT_TRUE(std::get<0>(travel(std::array<std::string, 0>{})).empty());
  expect_travels(std::tuple<>());
  expect_travels(std::tuple(1, "two"s, 3.0));
  expect_travels(std::map<std::string, int>{{"a", 1}, {"b", 2}});
  expect_travels(std::multimap<int, std::string>{{1, "z"}, {1, "a"}, {0, "m"}});
  expect_travels(std::set<std::pair<int, int>>{{1, 2}, {0, 5}});
  expect_travels(std::multiset<int>{1, 1, 2});
  expect_travels(std::unordered_map<int, std::vector<int>>{{1, {2, 3}}, {4, {}}});
  expect_travels(std::unordered_set<std::string>{"a", "b", "c"});
  expect_travels(std::variant<int, std::string, Point>(Point{1, 2}));
}

TEST(Archive, UserTypes_InEverySpelling_AreEqual) {
  expect_travels_in_all(Member{"m", {1, 2}});
  expect_travels(VersionedMember{"v"});
  expect_travels(Free{"f", 4});
  expect_travels(FreeVersioned{{{1, "one"}}});
  expect_travels_in_all(Private::with("secret"));
  expect_travels(std::vector<Empty>(100));  // elements without a byte of their own
}

/// Says what its serialize() is called with.
struct Constrained {
  std::string name;
  bool operator==(const Constrained&) const = default;
  void serialize(shoal::Archive auto& archive) { archive(name); }
};

TEST(Archive, ConceptOfArchives_HoldsForAllOfThem) {
  static_assert(
      shoal::Archive<shoal::SizeArchive> && shoal::Archive<shoal::WriteArchive> &&
      shoal::Archive<shoal::ReadArchive> && shoal::Archive<shoal::wire::CanonicalArchive> &&
      shoal::Archive<shoal::wire::PieceSizes> && shoal::Archive<shoal::wire::PieceArchive>);
  static_assert(!shoal::Archive<int> && !shoal::Archive<std::string>);
  expect_travels(Constrained{"named"});
}

TEST(Archive, UniquePointer_NullOrChain_IsRebuilt) {
  EXPECT_EQ(std::get<0>(travel(std::unique_ptr<int>())), nullptr);
  EXPECT_EQ(*std::get<0>(travel(std::make_unique<int>(5))), 5);
  EXPECT_EQ(std::get<0>(travel(std::make_unique<NoDefault>(5)))->value, 5);
  Node node{1, std::make_unique<Node>(Node{2, nullptr, {"c", "d"}}), {"a", "b"}};
  const auto [copy] = travel(node);
  EXPECT_EQ(copy.next->value, 2);
  EXPECT_EQ(copy.next->names[1], "d");
  EXPECT_EQ(copy.next->next, nullptr);
}

TEST(Archive, TypeWithSerialize_ThatIsTriviallyCopyable_UsesSerialize) {
  static_assert(std::is_trivially_copyable_v<Both>);
  const auto value_behind = [](const Bytes& bytes, std::size_t offset) {
    std::int32_t stored = 0;
    std::memcpy(&stored, bytes.span().data() + offset, sizeof(stored));
    return stored;
  };
  EXPECT_EQ(value_behind(in_bytes(Both{5}), 0), 6);
  EXPECT_EQ(value_behind(in_bytes(std::array<Both, 2>{Both{5}, Both{7}}), 4), 8);
  EXPECT_EQ(value_behind(in_bytes(std::optional<Both>(Both{5})), 4), 6);
  EXPECT_EQ(value_behind(in_bytes(std::vector<Both>{Both{5}}), 8), 6);
  EXPECT_FALSE(is_plain_v<Both>);
  EXPECT_FALSE((is_trivial_message_v<std::array<Both, 2>>));
}

TEST(Immutable, Handles_Copied_ShareOneValue) {
  const auto first = shoal::make_immutable<std::vector<int>>(3U, 7);
  const auto second = first;  // NOLINT(performance-unnecessary-copy-initialization)
  EXPECT_EQ(&first.get(), &second.get());
  EXPECT_EQ(first->size(), 3U);
  EXPECT_EQ((*second)[2], 7);
  EXPECT_EQ(first.use_count(), 2U);
  static_assert(std::is_same_v<decltype(*second), const std::vector<int>&>);
}

TEST(Immutable, Empty_WhenRead_IsRefused) {
  const shoal::Immutable<int> empty;
  EXPECT_FALSE(empty);
  EXPECT_EQ(empty.use_count(), 0U);
  EXPECT_THROW(static_cast<void>(empty.get()), shoal::CheckError);
  EXPECT_THROW(static_cast<void>(*empty), shoal::CheckError);
  EXPECT_FALSE(std::get<0>(travel(empty)));
}

TEST(Immutable, Value_SentToAnotherProcess_IsANewObject) {
  const auto sent = shoal::make_immutable<Free>(Free{"f", 4});
  const auto received = std::get<0>(travel(sent));
  EXPECT_EQ(*received, *sent);
  EXPECT_NE(&received.get(), &sent.get());
  EXPECT_EQ(sent.use_count(), 1U);
  EXPECT_EQ(std::get<0>(travel(shoal::make_immutable<NoDefault>(3)))->value, 3);
  EXPECT_EQ(*std::get<0>(travel(std::vector(2, shoal::make_immutable<std::string>("x"))))[1], "x");
  static_assert(is_plain_v<shoal::Immutable<std::string>> && !is_plain_v<shoal::Immutable<Free>>);
}

TEST(Archive, BufferOwner_WithBlock_IsRebuilt) {
  Buffer buffer{3, std::make_unique<double[]>(3)};
  buffer.data[2] = 1.5;
  const auto [copy] = travel(buffer);
  EXPECT_EQ(copy.size, 3U);
  EXPECT_EQ(copy.data[2], 1.5);
}

TEST(Archive, SpanAndStringView_Decoded_ViewTheMessage) {
  const std::vector<double> data{1, 2, 3};
  const Bytes bytes = [&] {
    Bytes b(encoded_size<char, std::span<const double>, std::string_view>('c', data, "text"));
    encode<char, std::span<const double>, std::string_view>(b.span(), 'c', data, "text");
    return b;
  }();
  const auto [c, view, text] =
      decode<char, std::span<const double>, std::string_view>(bytes.span());
  EXPECT_EQ(c, 'c');
  EXPECT_TRUE(std::equal(view.begin(), view.end(), data.begin(), data.end()));
  EXPECT_EQ(text, "text");
  const auto within = [&](const void* p) {
    return p >= bytes.span().data() && p < bytes.span().data() + bytes.span().size();
  };
  EXPECT_TRUE(within(view.data()));
  EXPECT_TRUE(within(text.data()));
  // One format for a view and for the containers behind it.
  using Owned = std::tuple<char, std::vector<double>, std::string>;
  EXPECT_EQ((decode<char, std::vector<double>, std::string>(bytes.span())),
            Owned('c', data, "text"));
  EXPECT_EQ((std::get<1>(decode<char, std::span<const double, 3>, std::string>(bytes.span()))[2]),
            3.0);
  EXPECT_THROW((decode<char, std::span<const double, 2>, std::string>(bytes.span())),
               shoal::DecodeError);
}

TEST(Archive, EncodedSize_OfRawValues_IsAConstant) {
  static_assert(encoded_size(1, 2) == 8);
  static_assert(encoded_size('c', 2.0) == 16);
  static_assert(encoded_size(Wide{}, 'c', Wide{}) == 144);  // alignment is capped at 16
  static_assert(encoded_size() == 0);
  EXPECT_EQ(encoded_size("abc"s), 11U);
  EXPECT_EQ(encoded_size('c', std::vector<int>{1, 2}), 24U);
}

TEST(Archive, Padding_BetweenValues_IsZero) {
  const Bytes bytes = in_bytes('c', 1.0, "x"s, 2.0);
  for (std::size_t i = 1; i < 8; ++i) EXPECT_EQ(bytes.span()[i], std::byte{0});
  for (std::size_t i = 25; i < 32; ++i) EXPECT_EQ(bytes.span()[i], std::byte{0});
}

TEST(Archive, Traits_OfTypes_SayHowTheyTravel) {
  static_assert(is_plain_v<int> && is_plain_v<std::string> && is_plain_v<std::vector<int>>);
  static_assert(is_plain_v<std::vector<bool>> && is_plain_v<std::span<const int>>);
  static_assert(is_plain_v<const std::tuple<int, std::pair<std::string, char>>&>);
  static_assert(is_plain_v<std::optional<std::array<std::string, 2>>>);
  static_assert(!is_plain_v<std::vector<std::string>> && !is_plain_v<Member>);
  static_assert(!is_plain_v<std::optional<Member>> && !is_plain_v<std::map<int, int>>);
  static_assert(!is_plain_v<int*> && !is_plain_v<std::array<int*, 2>>);
  static_assert(is_trivial_message_v<int, const Point&, std::span<const double>>);
  static_assert(is_trivial_message_v<> && !is_trivial_message_v<int, std::string>);
}

TEST(Archive, TypeSignature_OfDifferentLists_Differs) {
  static_assert(shoal::type_signature<int, double>() == shoal::type_signature<int, double>());
  static_assert(shoal::type_signature<int, double>() != shoal::type_signature<double, int>());
  static_assert(shoal::type_signature<>() != shoal::type_signature<int>());
  static_assert(shoal::type_signature<Point>() != shoal::type_signature<Wide>());
}

TEST(Archive, Encode_IntoABufferOfAnotherSize_IsRefused) {
  Bytes bytes(16);
  EXPECT_THROW(encode(bytes.span(), 1), shoal::CheckError);
  EXPECT_THROW(encode(bytes.span().first(3), 1), shoal::CheckError);
  EXPECT_THROW(encode(bytes.span(), "abc"s), shoal::CheckError);
  EXPECT_THROW(encode(bytes.span(), "123456789"s), shoal::CheckError);
  const Liar liar;
  EXPECT_THROW(in_bytes(liar), shoal::CheckError);  // wrote more than it counted
}

TEST(Archive, View_OfAMessageThatIsNotAligned_IsRefused) {
  Bytes bytes(encoded_size(std::vector<double>{1}) + 1);
  encode(bytes.span().subspan(1), std::vector<double>{1});
  EXPECT_THROW(decode<std::span<const double>>(bytes.span().subspan(1)), shoal::CheckError);
}

template <class T>
std::string message_of(std::span<const std::byte> bytes) {
  try {
    static_cast<void>(decode<T>(bytes));
  } catch (const shoal::DecodeError& e) {
    return e.what();
  }
  return "nothing was thrown";
}

TEST(Archive, Decode_OfBadBytes_SaysWhereAndWhat) {
  const Bytes bytes = in_bytes("abc"s);
  EXPECT_EQ(message_of<std::string>(bytes.span().first(10)),
            "message is truncated or corrupt: at offset 0 wanted 3 elements of at least 1 bytes, 2 "
            "bytes available");
  EXPECT_EQ(message_of<std::string>(bytes.span().first(4)),
            "message is truncated or corrupt: at offset 0 wanted 8 bytes, 4 available");
  EXPECT_EQ(message_of<int>(bytes.span()),
            "message is corrupt: at offset 4 wanted the end, 7 bytes available");
  EXPECT_EQ(message_of<std::uint64_t>(bytes.span().first(7)),
            "message is truncated or corrupt: at offset 0 wanted 8 bytes, 7 available");
  EXPECT_EQ(decode<>({}), std::tuple<>());
  EXPECT_THROW(decode<>(bytes.span()), shoal::DecodeError);
  const Bytes bad = in_bytes(std::uint8_t{7});
  EXPECT_EQ(message_of<std::optional<std::string>>(bad.span()),
            "message is corrupt: at offset 0 the presence of a std::optional is 7");
  EXPECT_THROW(decode<std::unique_ptr<int>>(bad.span()), shoal::DecodeError);
  EXPECT_THROW(decode<shoal::Immutable<int>>(bad.span()), shoal::DecodeError);
  EXPECT_EQ((message_of<std::variant<int, std::string>>(bad.span())),
            "message is corrupt: at offset 0 the index of a std::variant is 7");
}

/// The largest single request to any Recording allocator.
std::size_t& largest_request() {
  static std::size_t size_bytes = 0;
  return size_bytes;
}

template <class T>
struct Recording {
  using value_type = T;
  Recording() = default;
  template <class U>
  Recording(const Recording<U>& /*other*/) {}  // NOLINT(google-explicit-constructor)
  T* allocate(std::size_t n) {
    // NOLINTNEXTLINE(bugprone-sizeof-expression): T is a pointer in hash tables
    largest_request() = std::max(largest_request(), n * sizeof(T));
    return std::allocator<T>().allocate(n);
  }
  void deallocate(T* p, std::size_t n) { std::allocator<T>().deallocate(p, n); }
  bool operator==(const Recording&) const = default;
};

TEST(Archive, CorruptCount_OfAnyContainer_NeverAllocatesMore) {
  largest_request() = 0;
  for (const std::uint64_t count : {std::uint64_t{1} << 62, ~std::uint64_t{0}, std::uint64_t{33}}) {
    const Bytes bytes = in_bytes(count, std::array<char, 32>{});
    const auto expect_refused = [&]<class T>(T* /*type*/) {
      EXPECT_THROW(decode<T>(bytes.span()), shoal::DecodeError);
    };
    expect_refused(static_cast<std::vector<char, Recording<char>>*>(nullptr));
    expect_refused(static_cast<std::vector<double, Recording<double>>*>(nullptr));
    expect_refused(static_cast<std::vector<bool, Recording<bool>>*>(nullptr));
    expect_refused(static_cast<std::vector<Wide, Recording<Wide>>*>(nullptr));
    expect_refused(static_cast<std::vector<Big, Recording<Big>>*>(nullptr));
    expect_refused(static_cast<std::vector<Empty, Recording<Empty>>*>(nullptr));
    expect_refused(static_cast<std::list<int, Recording<int>>*>(nullptr));
    expect_refused(
        static_cast<std::unordered_set<int, std::hash<int>, std::equal_to<int>, Recording<int>>*>(
            nullptr));
    expect_refused(
        static_cast<std::basic_string<char, std::char_traits<char>, Recording<char>>*>(nullptr));
  }
  EXPECT_LE(largest_request(), 2 * sizeof(Big));
}

using Everything =
    std::tuple<int, std::string, std::vector<std::string>, std::map<int, std::vector<double>>,
               std::optional<std::string>, std::variant<int, std::string>, std::vector<bool>,
               Member, std::unordered_map<std::string, Point>, std::array<std::string, 2>>;

Everything random_value(std::mt19937_64& random) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const auto text = [&] { return std::string(static_cast<std::size_t>(below(20)), 'a'); };
  Everything e;
  auto& [number, string, strings, map, optional, variant, bits, member, points, array] = e;
  number = below(1000);
  string = text();
  for (int i = below(4); i > 0; --i) strings.push_back(text());
  for (int i = below(4); i > 0; --i)
    map[below(100)].assign(static_cast<std::size_t>(below(5)), 1.5);
  if (below(2) == 0) optional = text();
  if (below(2) == 0) variant = text();
  for (int i = below(30); i > 0; --i) bits.push_back(below(2) == 0);
  member = Member{text(), {below(9), below(9)}};
  for (int i = below(4); i > 0; --i) points[text()] = Point{below(9), 0.5};
  array = {text(), text()};
  return e;
}

TEST(Archive, RandomValues_IntactTruncatedOrCorrupt_NeverReadOutOfBounds) {
  const auto seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::printf("seed %u\n", seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < shoal::testing::sized(200, 60); ++round) {
    const Everything value = random_value(random);
    const Bytes bytes = in_bytes(value);
    ASSERT_EQ(std::get<0>(decode<Everything>(bytes.span())), value);
    for (std::size_t size = 0; size < bytes.span().size(); ++size) {
      Bytes cut(size);
      std::memcpy(cut.span().data(), bytes.span().data(), size);
      ASSERT_THROW(decode<Everything>(cut.span()), shoal::DecodeError) << size;
    }
    for (int i = 0; i < 50; ++i) {
      Bytes corrupt(bytes.span().size());
      std::memcpy(corrupt.span().data(), bytes.span().data(), bytes.span().size());
      corrupt.span()[random() % corrupt.span().size()] = static_cast<std::byte>(random());
      try {
        static_cast<void>(decode<Everything>(corrupt.span()));  // an intact-looking value, or
      } catch (const shoal::DecodeError&) {
      }
    }
  }
}

}  // namespace team_archive_test
