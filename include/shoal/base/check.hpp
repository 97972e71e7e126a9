#pragma once
// Checks for programmer errors. SHOAL_CHECK is on in every build; SHOAL_DCHECK only in debug
// builds.

#include <shoal/base/error.hpp>

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

  TextValue(bool value) : kind_(Kind::boolean), natural_(value ? 1 : 0) {}
  TextValue(char value) : kind_(Kind::character), integer_(value) {}
  template <std::signed_integral T>
  TextValue(T value) : kind_(Kind::integer), integer_(value) {}
  template <std::unsigned_integral T>
  TextValue(T value) : kind_(Kind::natural), natural_(value) {}
  template <std::floating_point T>
  TextValue(T value) : kind_(Kind::number), number_(static_cast<double>(value)) {}
  template <std::convertible_to<std::string_view> T>
  TextValue(const T& value) : TextValue(std::string_view(value), 0) {}

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] bool boolean() const { return natural_ != 0; }
  [[nodiscard]] char character() const { return static_cast<char>(integer_); }
  [[nodiscard]] std::int64_t integer() const { return integer_; }
  [[nodiscard]] std::uint64_t natural() const { return natural_; }
  [[nodiscard]] double number() const { return number_; }
  [[nodiscard]] std::string_view text() const { return {text_, size_}; }

 private:
  TextValue(std::string_view text, int)
      : kind_(Kind::text), size_(text.size()), text_(text.data()) {}

  Kind kind_;
  std::size_t size_ = 0;
  union {
    std::int64_t integer_;
    std::uint64_t natural_;
    double number_;
    const char* text_;
  };
};

/// A text in the syntax of fmt with a place for each value; their number is checked at compile
/// time.
template <class... Values>
class TextFormat {
 public:
  template <std::size_t N>
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

[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               std::string_view text);

}  // namespace shoal::detail

/// Throws CheckError with the formatted text when `condition` is false. The values of the text are
/// numbers and strings.
#define SHOAL_CHECK(condition, ...)                                             \
  do {                                                                          \
    if (!(condition)) [[unlikely]] {                                            \
      ::shoal::detail::check_failed(__FILE__, __LINE__, #condition,             \
                                    ::shoal::detail::format_text(__VA_ARGS__)); \
    }                                                                           \
  } while (false)

#ifdef NDEBUG
#define SHOAL_DCHECK(condition, ...) static_cast<void>(0)
#else
#define SHOAL_DCHECK(condition, ...) SHOAL_CHECK(condition, __VA_ARGS__)
#endif
