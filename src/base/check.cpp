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

namespace {

[[noreturn]] void refuse(const std::string& text) {
  check_no_lock_held("a check fails", text);
  throw CheckError(text);
}

}  // namespace

void check_failed(const char* file, int line, std::string_view text) {
  std::string_view name(file);
  if (const auto slash = name.rfind('/'); slash != std::string_view::npos) {
    name.remove_prefix(slash + 1);
  }
  refuse(fmt::format("{} ({}:{})", text, name, line));
}

void refuse_rank(std::string_view call, std::int64_t rank, Rank caller, std::string_view within,
                 int size) {
  refuse(fmt::format(
      "{}, on rank {}: rank {} is out of range: {} has ranks 0 to {}; choose one of these", call,
      caller.value(), rank, within, size - 1));
}

void refuse_number(std::string_view call, TextValue number, std::string_view type) {
  refuse(fmt::format(
      "{}: {} does not fit into {}: take a larger type there, or convert it where its upper bits "
      "may go",
      call, format_values("{}", {number}), type));
}

void refuse_element(std::string_view of, std::size_t index, Rank caller, std::size_t size) {
  const std::string there =
      size == 0 ? "there are none"
                : fmt::format("there are elements 0 to {}; choose one of these", size - 1);
  refuse(fmt::format("{}, on rank {}: element {} is out of range: {}", of, caller.value(), index,
                     there));
}

}  // namespace shoal::detail
