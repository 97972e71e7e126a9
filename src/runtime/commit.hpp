#pragma once
// Commit of the checkout that a program was built in.

#include <string>

namespace shoal::runtime {

/// Hash of the commit that is checked out in the folder of `file`, or in one above; "" where that
/// is no checkout of git. Runs no program. Changes since the commit are not seen.
std::string commit_of(const std::string& file);

}  // namespace shoal::runtime
