#pragma once
// The options of a program: the part of CLI11 that the applications and benchmarks use, compiled
// once. A source that includes CLI11 itself costs 4 s more of the compiler's time.

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
class Validator;
}  // namespace CLI

namespace cli {

/// A condition on the value of an option.
class Check {
 public:
  explicit Check(std::shared_ptr<const CLI::Validator> validator);
  [[nodiscard]] const CLI::Validator& validator() const { return *validator_; }

 private:
  std::shared_ptr<const CLI::Validator> validator_;
};

/// A number from `least` to `largest`. T: int, std::int64_t, std::size_t or double.
template <class T>
[[nodiscard]] Check range(T least, T largest);
[[nodiscard]] Check positive_number();
[[nodiscard]] Check non_negative_number();
[[nodiscard]] Check one_of(const std::vector<std::string>& words);
/// With Option::transform() the value becomes the word as it stands in `words`.
[[nodiscard]] Check one_of_in_any_case(const std::vector<std::string>& words);

/// For functions that read values: the value of option `name` is refused for a reason.
[[noreturn]] void refuse_value(const std::string& name, const std::string& reason);

class Option {
 public:
  explicit Option(CLI::Option& option) : option_(option) {}

  Option* check(const Check& check);
  Option* transform(const Check& check);
  Option* required();
  /// Text behind the names in --help, in place of the type.
  Option* option_text(const std::string& text);
  Option* capture_default_str();
  Option* excludes(const std::string& name);
  Option* excludes(const Option* other);
  /// Values of a list may stand in one argument, with this character between them.
  Option* delimiter(char between);

 private:
  CLI::Option& option_;
};

class App {
 public:
  App(const std::string& about, const std::string& name);
  ~App();
  App(const App&) = delete;
  App& operator=(const App&) = delete;

  /// T: bool, an integer, a floating-point number, a string, a list or an optional of some of them;
  /// command_line.cpp names those that are compiled.
  template <class T>
  Option* add_option(const std::string& names, T& value, const std::string& help);
  /// `read` is called with the value. T: std::string or std::size_t.
  template <class T>
  Option* add_option_function(const std::string& names, const std::function<void(const T&)>& read,
                              const std::string& help);
  Option* add_flag(const std::string& names, bool& value, const std::string& help);
  Option* add_flag_callback(const std::string& names, std::function<void()> run,
                            const std::string& help);

  App& add_subcommand(const std::string& name, const std::string& help);
  void require_subcommand();
  /// Called when the arguments name this subcommand.
  void callback(std::function<void()> run);

  void set_help_flag(const std::string& names, const std::string& help);
  void set_version_flag(const std::string& names, const std::string& version);
  void footer(const std::string& text);
  /// The last of several values counts, for options that are added after this.
  void take_last();

  [[nodiscard]] std::string name() const;

  /// Parses the arguments behind the program's name. Returns the exit code if they end the program:
  /// 0 for a help text, 2 for an error; either is printed if `tells`.
  [[nodiscard]] std::optional<int> parse(std::vector<std::string> arguments, bool tells);
  /// The same for a whole command line, with subcommands; always prints.
  [[nodiscard]] std::optional<int> parse(int argc, const char* const* argv);

 private:
  explicit App(CLI::App& subcommand);
  Option* keep(CLI::Option* option);

  std::unique_ptr<CLI::App> owned_;  // empty in a subcommand
  CLI::App& app_;
  std::deque<Option> options_;  // handed out by address
  std::vector<std::unique_ptr<App>> subcommands_;
};

}  // namespace cli
