#include <shoal/detail/base/type_name.hpp>
#include <shoal/error.hpp>

#include "base/thrown.hpp"

#include <fmt/format.h>

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <new>

namespace shoal {

TaskError::TaskError(Rank rank, std::string task_name, std::string text)
    : Error(task_name == kCancellation
                ? fmt::format("rank {} has cancelled {}", rank.value(), text)
                : fmt::format("rank {}: {} failed: {}", rank.value(), task_name, text)),
      rank_(rank),
      task_name_(std::move(task_name)),
      text_(std::move(text)) {}

RetryError::RetryError(int attempts, std::exception_ptr last)
    : Error(fmt::format("failed {} {}, the last: {}", attempts, attempts == 1 ? "time" : "times",
                        describe(last))),
      attempts_(attempts),
      last_(std::move(last)) {}

std::string describe(const std::exception& error) {
  const bool no_memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
  return no_memory ? fmt::format("out of memory ({})", error.what()) : error.what();
}

std::string describe(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), &std::free);
  return fmt::format("an exception of type {}",
                     naming::tidy(name != nullptr ? name.get() : type.name()));
}

std::string describe_thrown(const std::type_info& type, void* object) {
  constexpr unsigned kOutermost = 1;  // of the levels of a pointer type
  const bool is_exception = typeid(std::exception).__do_catch(&type, &object, kOutermost);
  return is_exception ? describe(*static_cast<const std::exception*>(object)) : describe(type);
}

std::string describe(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return describe(e);
  } catch (...) {
    return describe(*abi::__cxa_current_exception_type());
  }
}

}  // namespace shoal
