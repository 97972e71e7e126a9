#pragma once
// Checks for programmer errors. SHOAL_CHECK is on in every build; SHOAL_DCHECK only in debug
// builds.

#include <shoal/base/error.hpp>

#include <fmt/core.h>

#include <string_view>

namespace shoal::detail {

[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               std::string_view text);

}  // namespace shoal::detail

/// Throws CheckError with the formatted text when `condition` is false.
#define SHOAL_CHECK(condition, ...)                                                              \
  do {                                                                                           \
    if (!(condition)) [[unlikely]] {                                                             \
      ::shoal::detail::check_failed(__FILE__, __LINE__, #condition, ::fmt::format(__VA_ARGS__)); \
    }                                                                                            \
  } while (false)

#ifdef NDEBUG
#define SHOAL_DCHECK(condition, ...) static_cast<void>(0)
#else
#define SHOAL_DCHECK(condition, ...) SHOAL_CHECK(condition, __VA_ARGS__)
#endif
