#pragma once
// Codecs of the standard library's types, and of lists of arguments.

#include <shoal/detail/team/archive_core.hpp>

#include <concepts>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace shoal::wire {

/// Saves one element of a range; takes a byte even if the element's serialize() writes nothing.
template <class Archive, class T>
constexpr void save_element(Archive& ar, const T& element) {
  const std::size_t before = ar.position();
  ar(element);
  if (ar.position() == before) ar.raw(std::byte{0});
}

template <class T>
T load_element(ReadArchive& ar) {
  const std::size_t before = ar.position();
  T element = load<T>(ar);
  if (ar.position() == before) static_cast<void>(ar.raw<std::byte>());
  return element;
}

template <class T>
inline constexpr std::size_t element_bytes_min_v = is_raw_v<T> ? sizeof(T) : 1;

/// Number of elements to reserve at once: a corrupt count reserves no more memory than about the
/// size of the message; a container with more elements grows as they arrive.
template <class T>
std::size_t prudent_capacity(const ReadArchive& ar, std::size_t count) {
  const std::size_t likely = ar.remaining() / sizeof(T) + 1;
  return count < likely ? count : likely;
}

template <class Archive>
std::size_t load_index(Archive& ar, std::size_t limit, const char* what) {
  const auto index = ar.template raw<std::uint8_t>();
  if (index >= limit) [[unlikely]]
    throw_bad_value(ar.position() - 1, what, index);
  return index;
}

template <class Archive, class Range>
constexpr void save_range(Archive& ar, const Range& range) {
  ar.count(range.size());
  for (const auto& element : range) save_element(ar, element);
}

/// Saves the elements of a container whose order means nothing, in that of their bytes.
template <class Range>
void save_unordered(CanonicalArchive& ar, const Range& range) {
  std::vector<std::vector<std::byte>> elements;
  elements.reserve(range.size());
  for (const auto& element : range) {
    CanonicalArchive one;
    one(element);
    elements.push_back(one.take());
  }
  save_sorted(ar, std::move(elements));
}

/// Number of characters that travel for a text of `length`: one of many bytes brings the zero
/// behind it along, so that a std::string takes over the memory in which they arrive.
template <class Char>
constexpr std::size_t sent_length(std::size_t length) {
  return sizeof(Char) == 1 && length >= net::kPieceBytes ? length + 1 : length;
}

#if defined(__GLIBCXX__) && _GLIBCXX_USE_CXX11_ABI
template <class String>
inline constexpr bool adopts_string_v = std::is_same_v<String, std::string>;
#else
template <class String>
inline constexpr bool adopts_string_v = false;
#endif
/// Makes a string of `length` characters around memory from ::operator new, of length + 1 bytes.
[[nodiscard]] std::string adopted_string(std::byte* bytes, std::size_t length) noexcept;

template <class Char, class Traits, class Allocator>
struct Codec<std::basic_string<Char, Traits, Allocator>> {
  using String = std::basic_string<Char, Traits, Allocator>;

  template <class Archive>
  static constexpr void save(Archive& ar, const String& value) {
    ar.count(value.size());
    ar.block(std::span(value.data(), sent_length<Char>(value.size())));
  }

  static String load(ReadArchive& ar) {
    const std::size_t length = ar.count(sizeof(Char));
    if (sent_length<Char>(length) != length) [[unlikely]]
      return load_long(ar, length);
    const auto view = ar.view<Char>(length);
    return String(view.data(), view.size());
  }

 private:
  [[gnu::noinline]] static String load_long(ReadArchive& ar, std::size_t length) {
    if constexpr (adopts_string_v<String>) {
      if (std::byte* const block = ar.adopt(length + 1, 1)) return adopted_string(block, length);
    }
    return String(ar.view<Char>(length + 1).data(), length);
  }
};

/// Whether an allocator has its memory from ::operator new, as std::allocator does: it is that, or
/// inherits the functions from it, as allocators do that only leave elements uninitialized.
template <class Allocator, class T>
inline constexpr bool allocates_by_new_v = std::is_same_v<Allocator, std::allocator<T>>;
template <class Allocator, class T>
  requires(std::is_base_of_v<std::allocator<T>, Allocator> &&
           requires {
             { &Allocator::allocate } -> std::same_as<decltype(&std::allocator<T>::allocate)>;
             { &Allocator::deallocate } -> std::same_as<decltype(&std::allocator<T>::deallocate)>;
           })
inline constexpr bool allocates_by_new_v<Allocator, T> = true;

/// A vector around elements that lie in memory from ::operator new already. Vectors whose
/// allocators have other memory copy their elements from there.
template <class Vector>
struct AdoptingVector {
  static constexpr bool exists = false;
};
#if defined(__GLIBCXX__) && !defined(_GLIBCXX_DEBUG)
template <class T, class Allocator>
  requires(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__ && !std::is_same_v<T, bool> &&
           allocates_by_new_v<Allocator, T>)
class AdoptingVector<std::vector<T, Allocator>> : private std::vector<T, Allocator> {
  using Vector = std::vector<T, Allocator>;

 public:
  static constexpr bool exists = true;
  AdoptingVector(T* elements, std::size_t count) {
    this->_M_impl._M_start = elements;
    this->_M_impl._M_finish = elements + count;
    this->_M_impl._M_end_of_storage = elements + count;
  }
  [[nodiscard]] Vector take() { return std::move(static_cast<Vector&>(*this)); }
};
#endif

template <class T, class Allocator>
struct Codec<std::vector<T, Allocator>> {
  using Vector = std::vector<T, Allocator>;

  template <class Archive>
  static constexpr void save(Archive& ar, const Vector& value) {
    if constexpr (is_raw_v<T>) {
      ar.count(value.size());
      ar.block(std::span(value.data(), value.size()));
    } else {
      save_range(ar, value);
    }
  }

  static Vector load(ReadArchive& ar) {
    const std::size_t count = ar.count(element_bytes_min_v<T>);
    if constexpr (is_raw_v<T> && alignof(T) <= max_alignment) {
      if constexpr (AdoptingVector<Vector>::exists) {
        if (count >= (net::kPieceBytes + sizeof(T) - 1) / sizeof(T)) [[unlikely]]
          return load_large(ar, count);
      }
      const auto view = ar.view<T>(count);
      return Vector(view.begin(), view.end());
    } else {
      Vector value;
      value.reserve(prudent_capacity<T>(ar, count));
      for (std::size_t i = 0; i < count; ++i) value.push_back(load_element<T>(ar));
      return value;
    }
  }

 private:
  // Apart, so that the loading of few elements is inlined.
  [[gnu::noinline]] static Vector load_large(ReadArchive& ar, std::size_t count) {
    if (std::byte* const block = ar.adopt(count * sizeof(T), alignof(T))) {
      return AdoptingVector<Vector>(reinterpret_cast<T*>(block), count).take();
    }
    const auto view = ar.view<T>(count);
    return Vector(view.begin(), view.end());
  }
};

/// Eight to a byte.
template <class Allocator>
struct Codec<std::vector<bool, Allocator>> {
  using Vector = std::vector<bool, Allocator>;

  template <class Archive>
  static constexpr void save(Archive& ar, const Vector& value) {
    ar.count(value.size());
    for (std::size_t begin = 0; begin < value.size(); begin += 8) {
      unsigned bits = 0;
      for (std::size_t i = begin; i < begin + 8 && i < value.size(); ++i) {
        bits |= static_cast<unsigned>(value[i]) << (i - begin);
      }
      ar.raw(static_cast<std::uint8_t>(bits));
    }
  }

  static Vector load(ReadArchive& ar) {
    const std::size_t offset = ar.position();
    const auto count = ar.raw<std::uint64_t>();
    const std::uint64_t size_bytes = count / 8 + (count % 8 != 0 ? 1 : 0);
    if (size_bytes > ar.remaining()) throw_bad_count(offset, size_bytes, 1, ar.remaining());
    const auto bytes = ar.view<std::uint8_t>(static_cast<std::size_t>(size_bytes));
    Vector value(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < value.size(); ++i) value[i] = ((bytes[i / 8] >> (i % 8)) & 1U) != 0;
    return value;
  }
};

template <class C>
  requires(is_std_template<C>("deque") || is_std_template<C>("list"))
struct Codec<C> {
  using T = typename C::value_type;

  template <class Archive>
  static constexpr void save(Archive& ar, const C& value) {
    save_range(ar, value);
  }

  static C load(ReadArchive& ar) {
    const std::size_t count = ar.count(element_bytes_min_v<T>);
    C value;
    for (std::size_t i = 0; i < count; ++i) value.push_back(load_element<T>(ar));
    return value;
  }
};

template <class C>
concept OrderedSet = is_std_template<C>("set") || is_std_template<C>("multiset");
template <class C>
concept UnorderedSet =
    is_std_template<C>("unordered_set") || is_std_template<C>("unordered_multiset");
template <class C>
concept OrderedMap = is_std_template<C>("map") || is_std_template<C>("multimap");
template <class C>
concept UnorderedMap =
    is_std_template<C>("unordered_map") || is_std_template<C>("unordered_multimap");

template <class C>
  requires OrderedSet<C> || UnorderedSet<C> || OrderedMap<C> || UnorderedMap<C>
struct Codec<C> {
  using Key = typename C::key_type;

  template <class Archive>
  static constexpr void save(Archive& ar, const C& value) {
    if constexpr (std::is_same_v<Archive, CanonicalArchive> &&
                  (UnorderedSet<C> || UnorderedMap<C>)) {
      save_unordered(ar, value);
    } else {
      save_range(ar, value);  // a pair of a map is saved as (key, value)
    }
  }

  static C load(ReadArchive& ar) {
    const std::size_t count = ar.count(1);
    C value;
    if constexpr (UnorderedSet<C> || UnorderedMap<C>) {
      value.reserve(prudent_capacity<typename C::value_type>(ar, count));
    }
    for (std::size_t i = 0; i < count; ++i) load_entry(ar, value);
    return value;
  }

 private:
  // The hint makes ordered insertion linear and keeps the order of equal keys.
  static void load_entry(ReadArchive& ar, C& value) {
    if constexpr (OrderedMap<C> || UnorderedMap<C>) {
      auto entry = load_element<std::pair<Key, typename C::mapped_type>>(ar);
      value.emplace_hint(value.end(), std::move(entry));
    } else {
      value.emplace_hint(value.end(), load_element<Key>(ar));
    }
  }
};

template <class T, std::size_t N>
struct Codec<T[N]> {
  template <class Archive>
  static constexpr void save(Archive& ar, const T (&value)[N]) {
    for (const T& element : value) ar(element);
  }

  static void load_into(ReadArchive& ar, T (&value)[N]) {
    for (T& element : value) ar(element);
  }
};

template <class T, std::size_t N>
struct Codec<std::array<T, N>> {
  template <class Archive>
  static constexpr void save(Archive& ar, const std::array<T, N>& value) {
    for (const T& element : value) ar(element);
  }

  static std::array<T, N> load(ReadArchive& ar) {
    return load_all(ar, std::make_index_sequence<N>());
  }

 private:
  // Braces evaluate their elements from left to right; the same below.
  template <std::size_t... I>
  static std::array<T, N> load_all(ReadArchive& ar, std::index_sequence<I...> /*indices*/) {
    return {(static_cast<void>(I), wire::load<T>(ar))...};
  }
};

template <class A, class B>
struct Codec<std::pair<A, B>> {
  template <class Archive>
  static constexpr void save(Archive& ar, const std::pair<A, B>& value) {
    ar(value.first, value.second);
  }

  static std::pair<A, B> load(ReadArchive& ar) {
    return std::pair<A, B>{wire::load<std::remove_const_t<A>>(ar), wire::load<B>(ar)};
  }
};

template <class... Ts>
struct Codec<std::tuple<Ts...>> {
  template <class Archive>
  static constexpr void save(Archive& ar, const std::tuple<Ts...>& value) {
    std::apply([&ar](const Ts&... elements) { ar(elements...); }, value);
  }

  static std::tuple<Ts...> load(ReadArchive& ar) {
    return std::tuple<Ts...>{wire::load<Ts>(ar)...};
  }
};

template <class T>
struct Codec<std::optional<T>> {
  template <class Archive>
  static constexpr void save(Archive& ar, const std::optional<T>& value) {
    ar(static_cast<std::uint8_t>(value.has_value() ? 1 : 0));
    if (value) ar(*value);
  }

  static std::optional<T> load(ReadArchive& ar) {
    if (load_index(ar, 2, "presence of a std::optional") == 0) return std::nullopt;
    return std::optional<T>(std::in_place, wire::load<T>(ar));
  }
};

template <template <class...> class VariantOf, class... Ts>
  requires is_variant_v<VariantOf<Ts...>>
struct Codec<VariantOf<Ts...>> {
  using Variant = VariantOf<Ts...>;
  static_assert(sizeof...(Ts) < 256, "shoal: a std::variant in a message has at most 255 types");

  template <class Archive>
  static constexpr void save(Archive& ar, const Variant& value) {
    ar(static_cast<std::uint8_t>(value.index()));
    visit([&ar](const auto& held) { ar(held); }, value);  // throws if valueless
  }

  static Variant load(ReadArchive& ar) {
    return load_alternative<0, Ts...>(ar, load_index(ar, sizeof...(Ts), "index of a std::variant"));
  }

 private:
  template <std::size_t I, class First, class... Rest>
  static Variant load_alternative(ReadArchive& ar, std::size_t index) {
    if constexpr (sizeof...(Rest) > 0) {
      if (index != I) return load_alternative<I + 1, Rest...>(ar, index);
    }
    return Variant(std::in_place_index<I>, wire::load<First>(ar));
  }
};

/// May be null. A chain of them recurses as deep as the chain is long.
template <class T>
struct Codec<std::unique_ptr<T>> {
  static_assert(!std::is_array_v<T>,
                "shoal: a std::unique_ptr of an array does not know its size: send a std::vector");
  static_assert(!std::is_polymorphic_v<T> || std::is_final_v<T>,
                "shoal: a std::unique_ptr to a polymorphic type cannot travel, the derived part "
                "would be lost: send a std::variant of the final types");

  template <class Archive>
  static constexpr void save(Archive& ar, const std::unique_ptr<T>& value) {
    ar(static_cast<std::uint8_t>(value ? 1 : 0));
    if (value) ar(*value);
  }

  static std::unique_ptr<T> load(ReadArchive& ar) {
    if (load_index(ar, 2, "presence behind a std::unique_ptr") == 0) return nullptr;
    if constexpr (Access::is_default_constructible<T>) {
      auto value = Access::construct_on_heap<T>();
      load_into(ar, *value);
      return value;
    } else {
      return std::make_unique<T>(wire::load<T>(ar));
    }
  }
};

// --- arguments of messages: views among them, pieces, and the signature of their types

/// Codec of views: a view is encoded in the format of the container of its elements.
template <class T>
struct ViewCodec;

template <class T, std::size_t Extent>
struct ViewCodec<std::span<T, Extent>> {
  static_assert(
      is_raw_v<T>,
      "shoal: the elements of a std::span in a message must be trivially copyable: send a "
      "std::vector instead");

  template <class Archive>
  static constexpr void save(Archive& ar, std::span<T, Extent> value) {
    ar.count(value.size());
    ar.block(std::span<T>(value));
  }

  static std::span<T, Extent> load(ReadArchive& ar) {
    static_assert(std::is_const_v<T>,
                  "shoal: a received std::span views the message, which must not change: take a "
                  "std::span<const T> or a std::vector<T>");
    const std::size_t offset = ar.position();
    const std::size_t count = ar.count(sizeof(T));
    if (Extent != std::dynamic_extent && count != Extent) {
      throw_bad_value(offset, "size of a std::span of fixed extent", count);
    }
    const auto view = ar.view<std::remove_const_t<T>>(count);
    return std::span<T, Extent>(const_cast<std::remove_const_t<T>*>(view.data()), view.size());
  }
};

template <class Char, class Traits>
struct ViewCodec<std::basic_string_view<Char, Traits>> {
  template <class Archive>
  static constexpr void save(Archive& ar, std::basic_string_view<Char, Traits> value) {
    ar.count(value.size());
    ar.block(std::span(value.data(), value.size()));
    if (sent_length<Char>(value.size()) != value.size()) ar.raw(Char{});
  }

  static std::basic_string_view<Char, Traits> load(ReadArchive& ar) {
    const std::size_t length = ar.count(sizeof(Char));
    const auto view = ar.view<Char>(length);
    if (sent_length<Char>(length) != length) static_cast<void>(ar.raw<Char>());
    return {view.data(), view.size()};
  }
};

template <class Archive, class T>
constexpr void save_argument(Archive& ar, const T& value) {
  if constexpr (is_view_v<T>) {
    ViewCodec<T>::save(ar, value);
  } else {
    wire::save(ar, value);
  }
}

template <class T>
T load_argument(ReadArchive& ar) {
  if constexpr (is_view_v<T>) {
    return ViewCodec<T>::load(ar);
  } else {
    return wire::load<T>(ar);
  }
}

constexpr std::uint32_t fnv1a(std::string_view text) {
  std::uint32_t hash = 2166136261U;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  }
  return hash;
}

/// Returns bytes that are the same for equal values, whatever the order in which an unordered
/// container has its elements.
template <class T>
std::vector<std::byte> canonical(const T& value) {
  CanonicalArchive ar;
  wire::save(ar, value);
  return ar.take();
}

}  // namespace shoal::wire

namespace shoal {

/// @cond internals
/// Reads the values of an encoding in pieces, as decode(). `is_owner`: the caller is the only owner
/// of the pieces, so that vectors take over their memory. **Lifetime**: views are valid as long as
/// the pieces.
template <class... Ts>
std::tuple<Ts...> decode_pieces(net::Pieces& pieces, bool is_owner) {
  ReadArchive ar(pieces, is_owner);
  std::tuple<Ts...> values{wire::load_argument<Ts>(ar)...};
  ar.finish();
  return values;
}
/// @endcond

/// A number that differs between different lists of types. Equal lists agree within one binary;
/// between binaries and compilers the numbers mean nothing.
template <class... Ts>
consteval std::uint32_t type_signature() {
  return wire::fnv1a(naming::spelled_list<Ts...>());
}

}  // namespace shoal
