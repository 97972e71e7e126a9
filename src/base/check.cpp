#include <shoal/base/check.hpp>

namespace shoal::detail {

void check_failed(const char* file, int line, const char* condition, std::string_view text) {
  std::string_view name(file);
  if (const auto slash = name.rfind('/'); slash != std::string_view::npos) {
    name.remove_prefix(slash + 1);
  }
  throw CheckError(fmt::format("{} ({}:{}: {})", text, name, line, condition));
}

}  // namespace shoal::detail
