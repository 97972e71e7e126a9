#include "runtime/config.hpp"

#include <shoal/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include "base/edit_distance.hpp"
#include "runtime/config_options.hpp"
#include "trace/file.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

namespace shoal::runtime {

Environment environment_of(std::map<std::string, std::string> variables) {
  const auto shared =
      std::make_shared<const std::map<std::string, std::string>>(std::move(variables));
  Environment env;
  env.lookup = [shared](const std::string& name) -> std::optional<std::string> {
    const auto found = shared->find(name);
    return found == shared->end() ? std::nullopt : std::optional(found->second);
  };
  env.names = [shared] {
    std::vector<std::string> names;
    std::transform(shared->begin(), shared->end(), std::back_inserter(names),
                   [](const auto& variable) { return variable.first; });
    return names;
  };
  return env;
}

Environment process_environment() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (const auto equals = text.find('='); equals != std::string_view::npos) {
      variables.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return environment_of(std::move(variables));
}

namespace {

/// Keys of a file: the names of all options.
std::vector<std::string> key_names() {
  std::vector<std::string> names;
  for (const Option& option : options()) {
    names.emplace_back(option.name);
  }
  return names;
}

/// Options that take a value on the command line and in the environment.
std::vector<std::string> option_names() {
  auto names = key_names();
  names.emplace_back("config");
  return names;
}

constexpr std::string_view kVariablePrefix = "SHOAL_";

std::string variable_name(std::string_view option) {
  std::string name(kVariablePrefix);
  for (const char c : option) {
    name += c == '-' ? '_' : static_cast<char>(c - 'a' + 'A');
  }
  return name;
}

// ---- likely mistakes ----------------------------------------------------------------------------

/// Name that other libraries give to an option of shoal. Both are spelled as options are.
struct Synonym {
  std::string_view name;
  std::string_view option;
};
constexpr Synonym kSynonyms[] = {
    {"threads", "workers"}, {"num-threads", "workers"}, {"cores", "workers"}, {"procs", "ranks"}};

const std::string& nearest_of(std::string_view name, const std::vector<std::string>& known) {
  for (const Synonym& one : kSynonyms) {
    const std::string variable = variable_name(one.name);
    if (name != one.name && name != variable) continue;
    const std::string option =
        name == variable ? variable_name(one.option) : std::string(one.option);
    if (const auto at = std::ranges::find(known, option); at != known.end()) return *at;
  }
  return *std::min_element(known.begin(), known.end(), [&](const auto& a, const auto& b) {
    return edit_distance(name, a) < edit_distance(name, b);
  });
}

/// Whether `name` is likely meant as `known`. Shorter names are too near to sensible other ones:
/// --pin to --min, SHOAL_PIN to SHOAL_BIN.
bool is_near_miss(std::string_view name, std::string_view known) {
  constexpr std::size_t length_min = 5;
  return known.size() >= length_min && edit_distance(name, known) == 1;
}

[[noreturn]] void refuse_unknown(std::string_view where, std::string_view name,
                                 const std::vector<std::string>& known) {
  throw ConfigError(fmt::format("{} {} is unknown: did you mean {}? (known: {})", where, name,
                                nearest_of(name, known), fmt::join(known, ", ")));
}

/// `argument` is not an option of shoal and will go to the program: refuses likely misspellings of
/// shoal's options.
void check_foreign(const std::string& argument) {
  const std::string name = argument.substr(0, argument.find('='));
  if (name.rfind("--shoal-", 0) == 0) {
    std::vector<std::string> known{"--shoal-help", "--shoal-version"};
    for (const std::string& option : option_names()) {
      known.push_back("--shoal-" + option);
    }
    refuse_unknown("command line: option", name, known);
  }
  if (name.rfind("--", 0) != 0) {
    return;
  }
  for (const std::string& known : option_names()) {
    if (is_near_miss(std::string_view(name).substr(2), known)) {
      throw ConfigError(
          fmt::format("command line: unknown option {}: did you mean --{}? (put it behind -- if it "
                      "belongs to the program)",
                      name, known));
    }
  }
}

// ---- sources ------------------------------------------------------------------------------------

/// Settings of one source: option name -> setting.
using Layer = std::map<std::string, Setting, std::less<>>;

struct CommandLine {
  Layer layer;
  std::vector<std::string> foreign;  // the program's
};

[[noreturn]] void refuse_missing(std::string_view option) {
  throw ConfigError(
      fmt::format("command line: {0}: its value is missing; write {0} VALUE or {0}=VALUE", option));
}

/// Whether the option needs no value on the command line.
bool is_flag(std::string_view name) {
  const auto found = std::ranges::find(options(), name, &Option::name);
  return found != options().end() && found->value_name.empty();
}

// Where CLI11 is too lenient: it reads `--x= y` as `--x y`, and anything behind --x as its value.
void check_values_given(const std::vector<std::string>& arguments) {
  for (const std::string& option : option_names()) {
    if (is_flag(option)) continue;
    for (const std::string& name : {"--" + option, "--shoal-" + option}) {
      for (auto argument = arguments.begin(); argument != arguments.end(); ++argument) {
        const auto next = std::next(argument);
        if (*argument == name + "=" ||
            (*argument == name && (next == arguments.end() || next->rfind("--", 0) == 0))) {
          refuse_missing(name);
        }
      }
    }
  }
}

/// Whether an argument is the option; `with_value`: or has its value behind `=`.
bool is_mentioned(const std::vector<std::string>& arguments, const std::string& option,
                  bool with_value) {
  return std::ranges::any_of(arguments, [&option, with_value](std::string_view argument) {
    const std::string_view name = with_value ? argument.substr(0, argument.find('=')) : argument;
    return name == "--" + option || name == "--shoal-" + option;
  });
}

/// Splits the arguments before `--` with CLI11 into ours and the program's; checks no value.
CommandLine parse_command_line(std::vector<std::string> arguments) {
  check_values_given(arguments);
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  std::vector<std::string>
      ignored;  // CLI11 wants a place for the values; it alters some on the way
  std::vector<std::pair<std::string, const CLI::Option*>> ours;
  for (const std::string& name : option_names()) {
    if (!is_mentioned(arguments, name, true)) continue;  // CLI11 compares each with all before it
    const std::string spellings = fmt::format("--{},--shoal-{}", name, name);
    ours.emplace_back(name, is_flag(name)
                                ? app.add_flag(spellings)
                                : app.add_option(spellings, ignored)->allow_extra_args(false));
  }
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    throw ConfigError(fmt::format("command line: {}", error.what()));
  }
  CommandLine result;
  result.foreign = app.remaining();
  for (const auto& [name, option] : ours) {
    const std::vector<std::string>& given = option->results();
    const std::string where = fmt::format("command line: --{}", name);
    if (given.size() > 1) {
      throw ConfigError(fmt::format("{}: given {} times ('{}'); give it once", where, given.size(),
                                    fmt::join(given, "', '")));
    }
    if (!given.empty()) {
      result.layer.emplace(name, Setting{where, given.front()});
    }
  }
  std::for_each(result.foreign.begin(), result.foreign.end(), check_foreign);
  return result;
}

/// Variables that systems of modules and package managers set for an installation of shoal, and the
/// one that leads edat.py to its library.
bool is_of_installation(std::string_view variable) {
  constexpr std::array<std::string_view, 11> names{"ROOT",    "DIR",     "HOME",        "PREFIX",
                                                   "PATH",    "VERSION", "LIB",         "INC",
                                                   "INCLUDE", "BIN",     "EDAT_LIBRARY"};
  return std::ranges::find(names, variable.substr(kVariablePrefix.size())) != names.end();
}

/// An unknown variable SHOAL_...: an error if it is a likely misspelling of an option, else a
/// warning, since programs and systems have variables of that name, too.
void note_unknown(const std::string& variable, const std::vector<std::string>& known,
                  std::vector<std::string>& warnings) {
  if (is_of_installation(variable)) return;
  const std::string_view name = std::string_view(variable).substr(kVariablePrefix.size());
  for (const std::string& option : known) {
    if (is_near_miss(name, std::string_view(option).substr(kVariablePrefix.size()))) {
      refuse_unknown("environment variable", variable, known);
    }
  }
  warnings.push_back(
      fmt::format("warning: environment variable {} is unknown and has no effect: did you mean {}?",
                  variable, nearest_of(variable, known)));
}

Layer parse_environment(const Environment& env, std::vector<std::string>& warnings) {
  std::map<std::string, std::string> option_of;
  std::vector<std::string> known_variables;
  for (const std::string& option : option_names()) {
    known_variables.push_back(variable_name(option));
    option_of.emplace(known_variables.back(), option);
  }
  std::vector<std::string> variables = env.names();
  std::sort(variables.begin(), variables.end());  // the same error every time
  Layer layer;
  for (const std::string& variable : variables) {
    if (!variable.starts_with(kVariablePrefix)) continue;
    const auto known = option_of.find(variable);
    if (known == option_of.end()) {
      note_unknown(variable, known_variables, warnings);
      continue;
    }
    Setting setting{fmt::format("environment variable {}", variable),
                    env.lookup(variable).value_or("")};
    if (setting.value.empty()) {
      throw ConfigError(fmt::format("{}: is empty; unset it, or give it a value", setting.where));
    }
    layer.emplace(known->second, std::move(setting));
  }
  return layer;
}

/// The key and value of one line of a file; nothing for a comment or an empty line.
std::optional<std::pair<std::string, std::string>> parse_line(const std::string& line,
                                                              const std::string& where) {
  std::string text = CLI::detail::trim_copy(line);
  if (text.empty() || text.front() == '#') {
    return std::nullopt;
  }
  const auto equals = text.find('=');
  // Line by line, because CLI11 does not tell the line numbers of a whole file.
  std::istringstream stream(text);
  const std::vector<CLI::ConfigItem> items = CLI::ConfigTOML().from_config(stream);
  if (equals == std::string::npos || equals > text.find('#') || items.size() != 1) {
    throw ConfigError(fmt::format("{}: '{}' is not of the form `key = value`", where, text));
  }
  const std::vector<std::string>& values = items.front().inputs;
  if (values.size() != 1 || values.front().empty()) {
    throw ConfigError(fmt::format("{}: '{}' has {}; give one", where, text,
                                  values.size() > 1 ? "several values" : "no value"));
  }
  return std::pair(CLI::detail::trim_copy(text.substr(0, equals)), values.front());
}

std::ifstream open_file(const Setting& path) {
  std::string problem;
  std::ifstream file = open_input(path.value, problem);
  if (!problem.empty()) {
    throw ConfigError(
        fmt::format("{}: cannot read the file '{}': {}; name a file with lines "
                    "`key = value`, such as `ranks = 4`",
                    path.where, path.value, problem));
  }
  return file;
}

Layer parse_file(const Setting& path) {
  std::ifstream file = open_file(path);
  const auto known = key_names();
  Layer layer;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const std::string where = fmt::format("file {} line {}", path.value, number);
    const auto entry = parse_line(line, where);
    if (!entry) {
      continue;
    }
    const auto& [key, value] = *entry;
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      refuse_unknown(fmt::format("{}: key", where), key, known);
    }
    const auto [before, is_new] =
        layer.emplace(key, Setting{fmt::format("{}: {}", where, key), value});
    if (!is_new) {
      throw ConfigError(fmt::format("{}: {} is already set ({}); keep one of the two", where, key,
                                    before->second.where));
    }
  }
  if (file.bad()) {
    throw ConfigError(fmt::format("file {}: reading it failed", path.value));
  }
  return layer;
}

/// The program may go to another folder before the file is written.
void make_absolute(std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  if (!path.empty() && !error) path = absolute.string();
}

constexpr int kManyRanks = 50'000;  // take half a minute

/// Applies the layers, lowest first, and checks combinations of options.
void apply_layers(Config& config, std::span<const Layer> layers) {
  std::map<std::string_view, std::string> where;  // by option
  for (const Option& option : options()) where[option.name] = "default";
  for (const Layer& layer : layers) {
    for (const Option& option : options()) {
      const auto given = layer.find(option.name);
      if (given == layer.end()) {
        continue;
      }
      option.apply(config, given->second);
      where[option.name] = given->second.where;
    }
  }
  if (config.window_bytes < config.packet_bytes) {
    throw ConfigError(fmt::format(
        "window-bytes is {} ({}) but packet-bytes is {} ({}); a window holds at least one packet",
        show_size(config.window_bytes), where["window-bytes"], show_size(config.packet_bytes),
        where["packet-bytes"]));
  }
  if (config.stall_abort_ns > 0 && config.stall_report_ns == 0) {
    throw ConfigError(fmt::format(
        "stall-abort is set ({}), but stall-report is 0s ({}), which switches off the watch that "
        "it needs: give stall-report a time, or leave stall-abort out",
        where["stall-abort"], where["stall-report"]));
  }
  if (config.trace_path == "-") {
    throw ConfigError(fmt::format(
        "trace is - ({}): a trace cannot go to standard output; give the name of a file",
        where["trace"]));
  }
  if (const std::string problem = trace::problem_of_output(config.trace_path); !problem.empty()) {
    throw ConfigError(fmt::format(
        "trace is {} ({}): {}, and a trace needs a regular file, which it replaces; give the name "
        "of a file",
        config.trace_path, where["trace"], problem));
  }
  if (config.ranks >= kManyRanks && !config.simulate()) {
    config.warnings.push_back(
        fmt::format("note: ranks is {} ({}): so many ranks of one process take minutes to start",
                    config.ranks, where["ranks"]));
  }
  make_absolute(config.trace_path);
  make_absolute(config.flow_models);
  make_absolute(config.flow_dag);
}

}  // namespace

Config parse_config(int argc, const char* const* argv, const Environment& env) {
  const std::vector<std::string> all(argv, argv + argc);
  Config config;
  config.command_line = fmt::format("{}", fmt::join(all, " "));
  config.args.push_back(all.empty() ? "" : all.front());
  const auto first = all.empty() ? all.end() : all.begin() + 1;
  const auto divider = std::find(first, all.end(), "--");
  const std::vector<std::string> ours(first, divider);
  config.help = is_mentioned(ours, "help", false);
  config.version = is_mentioned(ours, "version", false);
  if (config.help) config.help_text = make_help_text(config.args.front());
  if (config.help || config.version) return config;

  const CommandLine command_line = parse_command_line(ours);
  config.args.insert(config.args.end(), command_line.foreign.begin(), command_line.foreign.end());
  if (divider != all.end()) {
    config.args.insert(config.args.end(), divider + 1, all.end());
  }
  const Layer variables = parse_environment(env, config.warnings);
  Layer file;
  if (const auto path = command_line.layer.find("config"); path != command_line.layer.end()) {
    file = parse_file(path->second);
  } else if (const auto named = variables.find("config"); named != variables.end()) {
    file = parse_file(named->second);
  }
  apply_layers(config, std::array{file, variables, command_line.layer});
  return config;
}

int worker_count(const Config& config, int allowed_pus, int ranks_sharing) {
  return config.workers > 0 ? config.workers
                            : std::max(1, allowed_pus / std::max(1, ranks_sharing));
}

}  // namespace shoal::runtime
