// Preloaded into a program: it begins with the locale of its environment, as programs with a user
// interface do.

#include <locale>

namespace {

[[gnu::constructor]] void take_locale() { std::locale::global(std::locale("")); }

}  // namespace
