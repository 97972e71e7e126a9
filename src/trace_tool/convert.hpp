#pragma once
// Traces in the formats of other tools.

#include "trace_tool/input.hpp"

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace shoal::trace_tool {

/// A text file that is written; `-` is standard output. Unless it was closed, it is removed: a part
/// of it would be taken for the whole. **Errors**: Error when it cannot be created or written.
class TextFile {
 public:
  explicit TextFile(std::string path);
  ~TextFile();
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;
  void put(std::string_view text);
  void close();

 private:
  [[noreturn]] void fail(const char* what) const;
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, CloseFile> file_;
  bool is_whole_ = false;
};

/// Chrome's JSON, which Perfetto opens: ranks are processes, messages are arrows. Streams.
void to_perfetto(Input& input, const std::string& path);
/// Paje, for ViTE and pajeng: a container for each rank and worker, links for messages.
void to_paje(Input& input, const std::string& path);
/// Writes one line for each event, in the order of time, without holding the trace in memory.
void to_csv(Input& input, const std::string& path);
/// The graph of the tasks that ran: recorded dependencies, else the tasks that made others ready;
/// dashed over messages.
void to_dot(Input& input, const std::string& path);

}  // namespace shoal::trace_tool
