#pragma once
// Checks for programmer errors. SHOAL_CHECK is on in every build; SHOAL_DCHECK only in debug
// builds.

#include <shoal/error.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

namespace shoal::detail {

/// A value in a formatted text. It refers to strings, and lives no longer than they do.
class TextValue {
 public:
  enum class Kind : std::uint8_t { boolean, character, integer, natural, number, text };

  // NOLINTBEGIN(google-explicit-constructor): for values as they are
  TextValue(bool value) : kind_(Kind::boolean), value_{.natural = value ? 1U : 0U} {}
  TextValue(char value) : kind_(Kind::character), value_{.integer = value} {}
  template <std::signed_integral T>
  TextValue(T value) : kind_(Kind::integer), value_{.integer = value} {}
  template <std::unsigned_integral T>
  TextValue(T value) : kind_(Kind::natural), value_{.natural = value} {}
  template <std::floating_point T>
  TextValue(T value) : kind_(Kind::number), value_{.number = static_cast<double>(value)} {}
  template <std::convertible_to<std::string_view> T>
  TextValue(const T& value) : TextValue(std::string_view(value), 0) {}
  // NOLINTEND(google-explicit-constructor)

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] bool boolean() const { return value_.natural != 0; }
  [[nodiscard]] char character() const { return static_cast<char>(value_.integer); }
  [[nodiscard]] std::int64_t integer() const { return value_.integer; }
  [[nodiscard]] std::uint64_t natural() const { return value_.natural; }
  [[nodiscard]] double number() const { return value_.number; }
  [[nodiscard]] std::string_view text() const { return {value_.text, size_}; }

 private:
  union Value {
    std::int64_t integer;
    std::uint64_t natural;
    double number;
    const char* text;
  };

  TextValue(std::string_view text, int)
      : kind_(Kind::text), size_(text.size()), value_{.text = text.data()} {}

  Kind kind_;
  std::size_t size_ = 0;
  Value value_;
};

/// A text in the syntax of fmt with a place for each value; their number is checked at compile
/// time.
template <class... Values>
class TextFormat {
 public:
  template <std::size_t N>
  // NOLINTNEXTLINE(google-explicit-constructor): for a literal
  consteval TextFormat(const char (&text)[N]) : text_(text, N - 1) {
    std::size_t places = 0;
    for (std::size_t i = 0; i < text_.size(); ++i) {
      if (text_[i] != '{') continue;
      if (text_[i + 1] == '{') {
        ++i;
      } else {
        ++places;
      }
    }
    if (places != sizeof...(Values)) throw "the text has another number of places than of values";
  }
  [[nodiscard]] constexpr std::string_view text() const { return text_; }

 private:
  std::string_view text_;
};

/// `format` with the values in its places. fmt::format() without its headers, which every program
/// would compile.
[[nodiscard]] std::string format_values(std::string_view format,
                                        std::initializer_list<TextValue> values);
template <class... Values>
[[nodiscard]] std::string format_text(TextFormat<std::type_identity_t<Values>...> format,
                                      const Values&... values) {
  return format_values(format.text(), {TextValue(values)...});
}

[[noreturn]] void check_failed(const char* file, int line, std::string_view text);

// Refusals of one kind, each with one text. They throw CheckError.

/// Refuses a rank that does not exist. `call`: the call with its object, "message for 'halo'";
/// `within`: "the world", or a team with its name.
[[noreturn]] void refuse_rank(std::string_view call, std::int64_t rank, Rank caller,
                              std::string_view within, int size);
/// Refuses an integer that a smaller type does not hold. `call`: as for ranks, with the caller.
[[noreturn]] void refuse_number(std::string_view call, TextValue number, std::string_view type);
/// Refuses the index of an element that does not exist. `of`: what has the elements.
[[noreturn]] void refuse_element(std::string_view of, std::size_t index, Rank caller,
                                 std::size_t size);

}  // namespace shoal::detail

/// Throws CheckError with the formatted text when `condition` is false. The values of the text are
/// numbers and strings.
#define SHOAL_CHECK(condition, ...)                                             \
  do {                                                                          \
    if (!(condition)) [[unlikely]] {                                            \
      ::shoal::detail::check_failed(__FILE__, __LINE__,                         \
                                    ::shoal::detail::format_text(__VA_ARGS__)); \
    }                                                                           \
  } while (false)

#ifdef NDEBUG
#define SHOAL_DCHECK(condition, ...) static_cast<void>(0)
#else
#define SHOAL_DCHECK(condition, ...) SHOAL_CHECK(condition, __VA_ARGS__)
#endif
