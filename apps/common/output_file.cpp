#include "common/output_file.hpp"

namespace apps {

OutputFile::OutputFile(const std::string& path) {
  if (path.empty()) return;
  file_.reset(is_standard_output(path) ? stdout : std::fopen(path.c_str(), "w"));
  failed_ = file_ == nullptr;
}

void OutputFile::Close::operator()(std::FILE* file) const {
  if (file != stdout) std::fclose(file);
}

void OutputFile::write(std::string_view text) {
  if (file_ == nullptr) return;
  failed_ = std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size() || failed_;
}

bool OutputFile::is_good() {
  if (file_ != nullptr) failed_ = std::fflush(file_.get()) != 0 || failed_;
  return !failed_;
}

}  // namespace apps
