#include <shoal/detail/base/build_check.hpp>

// Defined only by a library that is built as the names say that others are not.
#if defined(SHOAL_TSAN)
const char shoal_was_built_without_thread_sanitizer__configure_it_with_SHOAL_SANITIZE_thread = 1;
#endif
#if defined(_GLIBCXX_DEBUG)
const char shoal_was_built_without_GLIBCXX_DEBUG__configure_it_with_SHOAL_GLIBCXX_DEBUG_ON = 1;
#endif
