#include "runtime/commit.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

namespace shoal::runtime {

namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

// A worktree has a file that names its folder; that has a file that names the common one.
fs::path folder_of(const fs::path& dot_git) {
  constexpr std::string_view kPrefix = "gitdir: ";
  std::error_code error;
  if (fs::is_directory(dot_git, error)) return dot_git;
  const std::string line = first_line(dot_git);
  if (!line.starts_with(kPrefix)) return {};
  return dot_git.parent_path() / line.substr(kPrefix.size());
}

std::string packed(const fs::path& folder, const std::string& name) {
  std::ifstream in(folder / "packed-refs");
  for (std::string line; std::getline(in, line);) {
    const std::size_t space = line.find(' ');
    if (space != std::string::npos && line.substr(space + 1) == name) return line.substr(0, space);
  }
  return {};
}

std::string head_of(const fs::path& folder) {
  constexpr std::string_view kPrefix = "ref: ";
  const std::string head = first_line(folder / "HEAD");
  if (!head.starts_with(kPrefix)) return head;
  const std::string name = head.substr(kPrefix.size());
  const std::string common = first_line(folder / "commondir");
  const fs::path shared = common.empty() ? folder : folder / common;
  const std::string hash = first_line(shared / name);
  return hash.empty() ? packed(shared, name) : hash;
}

}  // namespace

std::string commit_of(const std::string& file) {
  std::error_code error;
  for (fs::path folder = fs::path(file).parent_path(); !folder.empty();
       folder = folder.parent_path()) {
    const fs::path dot_git = folder / ".git";
    if (fs::exists(dot_git, error)) return head_of(folder_of(dot_git));
    if (folder == folder.root_path()) break;
  }
  return {};
}

}  // namespace shoal::runtime
