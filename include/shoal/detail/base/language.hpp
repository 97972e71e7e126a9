#pragma once
// Refuses older language levels by one error. The headers that others include first include this.

#if __cplusplus < 202002L
#error \
    "shoal needs C++20: compile with -std=c++20. (CMake: programs that link shoal::shoal have it.)"
// GCC and Clang go on after #error, with thousands of errors that follow from it, but end here.
#include <compile_with_std_c++20>
#endif
