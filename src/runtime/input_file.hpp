#pragma once
// Files that settings name.

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <locale>
#include <string>
#include <system_error>

namespace shoal::runtime {

/// Opens a file to be read, with numbers as in C++. `problem`: why that fails, or "".
inline std::ifstream open_input(const std::string& path, std::string& problem) {
  errno = 0;
  std::ifstream file(path);
  file.imbue(std::locale::classic());
  if (!file) {
    problem = std::generic_category().message(errno);
  } else if (std::filesystem::is_directory(path)) {
    problem = "it is a directory";
  }
  return file;
}

}  // namespace shoal::runtime
