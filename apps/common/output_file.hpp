#pragma once
// Results that are written to a file.

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace apps {

/// The name that stands for standard output in place of a file. A program that writes results there
/// prints nothing else, so that another program can read them.
[[nodiscard]] inline bool is_standard_output(std::string_view path) { return path == "-"; }

/// A file to write, or standard output.
class OutputFile {
 public:
  /// Nowhere: what is written is dropped.
  OutputFile() = default;
  /// Creates or empties the file; nowhere if `path` is empty.
  explicit OutputFile(const std::string& path);

  void write(std::string_view text);
  /// Whether the file could be opened, and everything written so far is in it.
  [[nodiscard]] bool is_good();

 private:
  struct Close {
    void operator()(std::FILE* file) const;
  };
  std::unique_ptr<std::FILE, Close> file_;
  bool failed_ = false;
};

}  // namespace apps
