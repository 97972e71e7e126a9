#include "trace/output_path.hpp"

#include <filesystem>
#include <system_error>

namespace shoal::trace {

namespace fs = std::filesystem;

std::string problem_of_output(const std::string& path) {
  std::error_code error;
  switch (fs::status(path, error).type()) {
    case fs::file_type::directory:
      return "a directory is there";
    case fs::file_type::block:
    case fs::file_type::character:
      return "a device is there";
    case fs::file_type::fifo:
      return "a pipe is there";
    case fs::file_type::socket:
      return "a socket is there";
    default:
      return "";  // opening it will tell
  }
}

void remove_output(const std::string& path) noexcept {
  std::error_code error;
  if (path.starts_with("/dev/")) return;  // /dev/stdout links to a file that the shell has made
  const fs::path real = fs::canonical(path, error);
  if (!error && fs::is_regular_file(real, error)) fs::remove(real, error);
}

}  // namespace shoal::trace
