#pragma once
// Examples of values in error texts.

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace shoal::testing {

/// "A", "B" and "C" of the first line that ends in ", for example A, B or C"; empty without one.
inline std::vector<std::string> examples_in(const std::string& text) {
  const std::string start = ", for example ";
  std::size_t at = text.find(start);
  std::vector<std::string> examples;
  if (at == std::string::npos) return examples;
  at += start.size();
  const std::size_t end = std::min(text.find('\n', at), text.size());
  while (at < end) {
    const std::size_t word_end = std::min(text.find_first_of(", \n", at), end);
    const std::string word = text.substr(at, word_end - at);
    if (!word.empty() && word != "or") examples.push_back(word);
    at = word_end + 1;
  }
  return examples;
}

}  // namespace shoal::testing
