// Known-bad code, never built: clang-tidy must report each of the checks named below.

#include <string.h>  // finds: modernize-deprecated-headers

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace shoal {

int counter = 0;  // finds: cppcoreguidelines-avoid-non-const-global-variables

struct wrong_case {};  // finds: readability-identifier-naming

class Base {
 public:
  virtual ~Base() = default;
  Base(int value) : value_(value) {}  // finds: google-explicit-constructor
  virtual int get() { return value_; }

 private:
  int value_;
};

class Derived : public Base {
 public:
  using Base::Base;
  virtual int get() { return 1; }  // finds: modernize-use-override
};

std::size_t moved_twice(std::string text) {
  const std::string other = std::move(text);
  return other.size() + text.size();  // finds: bugprone-use-after-move
}

long long widened(int rows, int columns) {
  return rows * columns;  // finds: bugprone-implicit-widening-of-multiplication-result
}

int branches(bool condition) {
  if (condition) {  // finds: bugprone-branch-clone
    return counter;
  } else {
    return counter;
  }
}

std::size_t copies(const std::vector<std::string>& texts) {
  std::size_t sum = 0;
  for (const std::string text : texts) sum += text.size();  // finds: performance-for-range-copy
  return sum;
}

int six(int a, int b, int c, int d, int e, int f) {  // finds: readability-function-size
  return a + b + c + d + e + f;
}

void leave() { std::exit(1); }  // finds: concurrency-mt-unsafe

template <class T>
class Future {};
Future<int> later();

void drops_an_error() {
  static_cast<void>(later());  // finds: bugprone-unused-return-value
}

}  // namespace shoal
