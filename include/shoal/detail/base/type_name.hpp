#pragma once
// Names of types and functions for messages to users, made from the compiler's spelling.

#include <shoal/detail/base/language.hpp>

#include <source_location>
#include <string>
#include <string_view>

namespace shoal {

namespace naming {

/// T as the compiler spells it, with other text around it.
template <class T>
constexpr std::string_view spelled() {
  return __PRETTY_FUNCTION__;
}

/// The types of a list as the compiler spells them, with other text around them.
template <class... Ts>
constexpr std::string_view spelled_list() {
  return __PRETTY_FUNCTION__;
}

/// T as the compiler spells it.
template <class T>
constexpr std::string_view type_text() {
  // "... [with T = X; ...]" or "... [T = X]"
  constexpr std::string_view kBefore = "T = ";
  std::string_view text = spelled<T>();
  const std::size_t begin = text.find(kBefore);
  if (begin == std::string_view::npos) return text;
  text.remove_prefix(begin + kBefore.size());
  const std::size_t semicolon = text.find("; std::");
  return text.substr(0, semicolon != std::string_view::npos ? semicolon : text.size() - 1);
}

/// The template argument `key` of a function whose __PRETTY_FUNCTION__ is given, as its author
/// would write it; all of the text if there is no such argument.
std::string readable(std::string_view pretty, std::string_view key);

/// A type or function, spelled by a compiler, as its author would write it: `std::string` instead
/// of `std::__cxx11::basic_string<char>`, `greet` instead of `{anonymous}::greet`, "lambda in main"
/// or "lambda at main.cpp:12" for a lambda.
std::string tidy(std::string_view spelled);

/// The first of template arguments that a compiler has spelled, up to the end of the list, as its
/// author would write it.
std::string first_argument(std::string_view arguments);

/// "solve.cpp:12:5".
std::string to_text(const std::source_location& place);

}  // namespace naming

/// "std::vector<double>", "lambda in main".
template <class T>
std::string type_name() {
  return naming::readable(naming::spelled<T>(), "T");
}

}  // namespace shoal
