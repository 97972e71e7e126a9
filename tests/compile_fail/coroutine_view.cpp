// expect: shoal: the result of a coroutine outlives its variables
// lines: <= 12
#include <shoal/shoal.hpp>

#include <string>
#include <string_view>

shoal::Future<std::string_view> name() {
  const std::string text = "fish";
  co_return text;
}
