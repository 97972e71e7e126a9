#include <shoal/base/error.hpp>

#include <fmt/format.h>

namespace shoal {

TaskError::TaskError(Rank rank, std::string task_name, std::string text)
    : Error(fmt::format("rank {}: {} failed: {}", rank.value(), task_name, text)),
      rank_(rank),
      task_name_(std::move(task_name)),
      text_(std::move(text)) {}

std::string describe(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "an exception that is not a std::exception";
  }
}

}  // namespace shoal
