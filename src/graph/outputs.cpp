#include <shoal/outputs.hpp>

#include <shoal/error.hpp>

#include "env/host.hpp"

#include <fmt/format.h>

namespace shoal::graph {

void refuse_readers(const std::string& outputs, const std::string& key, int readers) {
  throw CheckError(
      fmt::format("{}[{}] is put for {} readers: there must be at least 1", outputs, key, readers));
}

void refuse_second_put(const std::string& outputs, const std::string& key, int left) {
  throw CheckError(
      fmt::format("{}[{}] is put again, but its last output was not yet taken by {} more readers",
                  outputs, key, left));
}

void refuse_take(const std::string& outputs, const std::string& key) {
  throw CheckError(
      fmt::format("{}[{}] is taken, but there is no such output: it was not put before its reader "
                  "was fulfilled, "
                  "or all of its readers have taken it and put() was given too few",
                  outputs, key));
}

std::string text_of_unread(const std::string& outputs, const std::vector<Unread>& some,
                           std::uint64_t total) {
  std::string text =
      fmt::format("{}: {} outputs were not taken by all of their readers:", outputs, total);
  for (const Unread& one : some) {
    text += fmt::format(" [{}] by {} of {}", one.key, one.readers - one.left, one.readers);
  }
  if (total > some.size()) text += " ...";
  return text;
}

void refuse_unread(const std::string& text) { throw CheckError(text); }

void warn_of_unread(const std::string& text) {
  env::write_to_standard_error(fmt::format("shoal: warning: {}\n", text));
}

}  // namespace shoal::graph
