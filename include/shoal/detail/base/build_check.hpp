#pragma once
// Refuses to link a program that is compiled with -fsanitize=thread or -D_GLIBCXX_DEBUG with a
// shoal that is not: the one would report races that are none, as it sees neither the fibers nor
// the queues of the library, and with the other the containers have another layout. The linker
// names the missing symbol, so its name says what to do.

#include <shoal/detail/base/sanitizers.hpp>

#if defined(SHOAL_TSAN)
extern "C" const char
    shoal_was_built_without_thread_sanitizer__configure_it_with_SHOAL_SANITIZE_thread;
namespace shoal::detail {
[[gnu::used]] static const char* const needs_thread_sanitizer =
    &shoal_was_built_without_thread_sanitizer__configure_it_with_SHOAL_SANITIZE_thread;
}  // namespace shoal::detail
#endif

#if defined(_GLIBCXX_DEBUG)
extern "C" const char
    shoal_was_built_without_GLIBCXX_DEBUG__configure_it_with_SHOAL_GLIBCXX_DEBUG_ON;
namespace shoal::detail {
[[gnu::used]] static const char* const needs_glibcxx_debug =
    &shoal_was_built_without_GLIBCXX_DEBUG__configure_it_with_SHOAL_GLIBCXX_DEBUG_ON;
}  // namespace shoal::detail
#endif
