#include "contention/png.hpp"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <memory>
#include <system_error>

#include "common/input_error.hpp"

namespace contention {
namespace {

using apps::InputError;

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

/// A file without a name that has this text, to read from its begin.
std::unique_ptr<std::FILE, Close> file_with(const std::string& text) {
  std::unique_ptr<std::FILE, Close> file(std::tmpfile());
  if (file == nullptr || std::fwrite(text.data(), 1, text.size(), file.get()) != text.size() ||
      std::fflush(file.get()) != 0) {
    throw InputError("a temporary file for the picture cannot be written");
  }
  std::rewind(file.get());
  return file;
}

}  // namespace

void write_png(const std::string& svg, const std::string& path) {
  const auto input = file_with(svg);
  const std::string output = path.starts_with('-') ? "./" + path : path;
  std::array<std::string, 7> words{"rsvg-convert", "--format", "png", "--zoom", "2",
                                   "--output",     output};
  std::array<char*, words.size() + 1> arguments{};
  for (std::size_t i = 0; i < words.size(); ++i) arguments[i] = words[i].data();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fileno(input.get()), STDIN_FILENO);
  pid_t child = 0;
  const int error =
      posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    throw InputError(fmt::format(
        "{}: PNG needs the program rsvg-convert (Debian: librsvg2-bin), which cannot be started: "
        "{}; or write a file that ends in .svg",
        path, std::generic_category().message(error)));
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw InputError(fmt::format("{}: rsvg-convert could not write this file", path));
  }
}

}  // namespace contention
