#include <shoal/detail/base/check.hpp>
#include <shoal/detail/base/held_locks.hpp>

#include <fmt/args.h>

namespace shoal::detail {

std::string format_values(std::string_view format, std::initializer_list<TextValue> values) {
  fmt::dynamic_format_arg_store<fmt::format_context> arguments;
  for (const TextValue& value : values) {
    switch (value.kind()) {
      case TextValue::Kind::boolean:
        arguments.push_back(value.boolean());
        break;
      case TextValue::Kind::character:
        arguments.push_back(value.character());
        break;
      case TextValue::Kind::integer:
        arguments.push_back(value.integer());
        break;
      case TextValue::Kind::natural:
        arguments.push_back(value.natural());
        break;
      case TextValue::Kind::number:
        arguments.push_back(value.number());
        break;
      case TextValue::Kind::text:
        arguments.push_back(value.text());
        break;
    }
  }
  return fmt::vformat(format, arguments);
}

void check_failed(const char* file, int line, const char* condition, std::string_view text) {
  std::string_view name(file);
  if (const auto slash = name.rfind('/'); slash != std::string_view::npos) {
    name.remove_prefix(slash + 1);
  }
  const std::string all = fmt::format("{} ({}:{}: {})", text, name, line, condition);
  check_no_lock_held("a check fails", all);
  throw CheckError(all);
}

}  // namespace shoal::detail
