#pragma once
// Texts for exceptions of any type.

#include <exception>
#include <string>
#include <typeinfo>

namespace shoal {

/// Text of a std::exception.
std::string describe(const std::exception& error);
/// Text of an exception of another type.
std::string describe(const std::type_info& type);
/// Text of an exception of that type; for a pointer that was thrown, `object` is its value.
std::string describe_thrown(const std::type_info& type, void* object);

}  // namespace shoal
