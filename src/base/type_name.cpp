#include <shoal/detail/base/type_name.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace shoal::naming {

namespace {

constexpr std::size_t kNone = std::string_view::npos;

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != kNone; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

bool take_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

/// The first of `wanted` outside of all brackets.
std::size_t find_outside(std::string_view text, std::string_view wanted) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (depth == 0 && wanted.find(c) != kNone) return i;
    if (c == '(' || c == '<' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}' || (c == '>' && (i == 0 || text[i - 1] != '-'))) --depth;
  }
  return kNone;
}

/// "void app::run(int) [with T = int]": "app::run".
std::string_view function_of(std::string_view text) {
  constexpr std::string_view kCall = "operator()";
  const std::size_t call = text.find(kCall);
  const std::size_t skipped = call == kNone ? 0 : call + kCall.size();
  const std::size_t end = find_outside(text.substr(skipped), "(");
  if (end != kNone) text = text.substr(0, skipped + end);
  for (std::size_t space = find_outside(text, " "); space != kNone;
       space = find_outside(text, " ")) {
    text.remove_prefix(space + 1);
  }
  return text;
}

std::string plain(std::string_view spelled) {
  std::string text(spelled);
  replace_all(text, "std::__cxx11::", "std::");
  replace_all(text, "{anonymous}::", "");
  replace_all(text, "(anonymous namespace)::", "");
  replace_all(text, " >", ">");
  // Names of the type information are spelled with all arguments.
  replace_all(text, "<char, std::char_traits<char>>", "<char>");
  replace_all(text, "<char, std::char_traits<char>, std::allocator<char>>", "<char>");
  replace_all(text, "std::basic_string<char>", "std::string");
  replace_all(text, "std::basic_string_view<char>", "std::string_view");
  return text;
}

/// clang: "(lambda at folder/main.cpp:12:3)", or "const (lambda at ...".
std::string lambda_at(std::string_view place) {
  place = place.substr(0, place.find(')'));
  place = place.substr(0, place.rfind(':'));
  const std::size_t folder = place.rfind('/');
  if (folder != kNone) place.remove_prefix(folder + 1);
  return "lambda at " + std::string(place);
}

/// gcc: "main(int, char**)::<lambda(World&)>::<lambda(int)>"; the text before the first lambda.
std::string lambda_in(std::string_view function) {
  const std::string name = plain(function_of(function));
  return name.empty() ? "lambda" : "lambda in " + name;
}

}  // namespace

std::string tidy(std::string_view spelled) {
  std::string_view text = spelled;
  take_prefix(text, "&");
  if (take_prefix(text, "<lambda closure object>")) take_suffix(text, "()");
  take_suffix(text, "{}");
  take_suffix(text, "::_FUN");
  take_suffix(text, "::__invoke");
  std::string_view place = text;
  take_prefix(place, "const ");
  if (take_prefix(place, "(lambda at ")) return lambda_at(place);
  for (const std::string_view lambda : {"<lambda(", "(anonymous class)"}) {
    const std::size_t begin = text.find(lambda);
    // Not one that is only part of the type.
    const std::string_view before = text.substr(0, std::min(begin, text.size()));
    if (begin == kNone || std::count(before.begin(), before.end(), '<') >
                              std::count(before.begin(), before.end(), '>')) {
      continue;
    }
    return lambda_in(before.substr(0, before.rfind("::")));
  }
  return plain(text);
}

// gcc writes "... [with auto Key = greet; ...]", clang "... [Key = &greet, ...]".
std::string readable(std::string_view pretty, std::string_view key) {
  const std::string assigned = std::string(key) + " = ";
  const std::size_t begin = pretty.find(assigned);
  if (begin == kNone) return std::string(pretty);
  const std::string_view rest = pretty.substr(begin + assigned.size());
  return tidy(rest.substr(0, find_outside(rest, ";,]")));
}

std::string first_argument(std::string_view arguments) {
  return tidy(arguments.substr(0, find_outside(arguments, ",>")));
}

std::string to_text(const std::source_location& place) {
  std::string text(place.file_name());
  text.erase(0, text.rfind('/') + 1);
  return text + ":" + std::to_string(place.line()) + ":" + std::to_string(place.column());
}

}  // namespace shoal::naming
