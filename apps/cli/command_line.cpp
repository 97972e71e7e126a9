#include "cli/command_line.hpp"

#include "cli/output.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace cli {
namespace {

constexpr int kBadInput = 2;

template <class Validator>
Check make_check(Validator validator) {
  return Check(std::make_shared<const CLI::Validator>(std::move(validator)));
}

}  // namespace

Check::Check(std::shared_ptr<const CLI::Validator> validator) : validator_(std::move(validator)) {}

template <class T>
Check range(T least, T largest) {
  return make_check(CLI::Range(least, largest));
}
template Check range(int, int);
template Check range(std::int64_t, std::int64_t);
template Check range(std::size_t, std::size_t);
template Check range(double, double);

Check positive_number() { return make_check(CLI::PositiveNumber); }
Check non_negative_number() { return make_check(CLI::NonNegativeNumber); }
Check one_of(const std::vector<std::string>& words) { return make_check(CLI::IsMember(words)); }
Check one_of_in_any_case(const std::vector<std::string>& words) {
  return make_check(CLI::IsMember(words, CLI::ignore_case));
}

void refuse_value(const std::string& name, const std::string& reason) {
  throw CLI::ValidationError(name, reason);
}

Option* Option::check(const Check& check) {
  option_.check(check.validator());
  return this;
}
Option* Option::transform(const Check& check) {
  option_.transform(check.validator());
  return this;
}
Option* Option::required() {
  option_.required();
  return this;
}
Option* Option::option_text(const std::string& text) {
  option_.option_text(text);
  return this;
}
Option* Option::capture_default_str() {
  option_.capture_default_str();
  return this;
}
Option* Option::excludes(const std::string& name) {
  option_.excludes(name);
  return this;
}
Option* Option::excludes(const Option* other) {
  option_.excludes(&other->option_);
  return this;
}
Option* Option::delimiter(char between) {
  option_.delimiter(between);
  return this;
}

App::App(const std::string& about, const std::string& name)
    : owned_(std::make_unique<CLI::App>(about, name)), app_(*owned_) {}
App::App(CLI::App& subcommand) : app_(subcommand) {}
App::~App() = default;

Option* App::keep(CLI::Option* option) { return &options_.emplace_back(*option); }

template <class T>
Option* App::add_option(const std::string& names, T& value, const std::string& help) {
  return keep(app_.add_option(names, value, help));
}
template Option* App::add_option(const std::string&, int&, const std::string&);
template Option* App::add_option(const std::string&, unsigned&, const std::string&);
template Option* App::add_option(const std::string&, std::int64_t&, const std::string&);
template Option* App::add_option(const std::string&, std::uint64_t&, const std::string&);
template Option* App::add_option(const std::string&, double&, const std::string&);
template Option* App::add_option(const std::string&, std::string&, const std::string&);
template Option* App::add_option(const std::string&, std::optional<int>&, const std::string&);
template Option* App::add_option(const std::string&, std::vector<int>&, const std::string&);
template Option* App::add_option(const std::string&, std::vector<std::string>&, const std::string&);

template <class T>
Option* App::add_option_function(const std::string& names,
                                 const std::function<void(const T&)>& read,
                                 const std::string& help) {
  return keep(app_.add_option_function<T>(names, read, help));
}
template Option* App::add_option_function(const std::string&,
                                          const std::function<void(const std::string&)>&,
                                          const std::string&);
template Option* App::add_option_function(const std::string&,
                                          const std::function<void(const std::size_t&)>&,
                                          const std::string&);

Option* App::add_flag(const std::string& names, bool& value, const std::string& help) {
  return keep(app_.add_flag(names, value, help));
}
Option* App::add_flag_callback(const std::string& names, std::function<void()> run,
                               const std::string& help) {
  return keep(app_.add_flag_callback(names, std::move(run), help));
}

App& App::add_subcommand(const std::string& name, const std::string& help) {
  subcommands_.emplace_back(new App(*app_.add_subcommand(name, help)));
  return *subcommands_.back();
}
void App::require_subcommand() { app_.require_subcommand(1); }
void App::callback(std::function<void()> run) { app_.callback(std::move(run)); }

void App::set_help_flag(const std::string& names, const std::string& help) {
  app_.set_help_flag(names, help);
}
void App::set_version_flag(const std::string& names, const std::string& version) {
  app_.set_version_flag(names, version);
}
void App::footer(const std::string& text) { app_.footer(text); }
void App::take_last() {
  app_.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

std::string App::name() const { return app_.get_name(); }

std::optional<int> App::parse(std::vector<std::string> arguments, bool tells) {
  std::ranges::reverse(arguments);  // CLI11 takes them from the back
  try {
    app_.parse(std::move(arguments));
    return std::nullopt;
  } catch (const CLI::Success&) {
    if (tells) fmt::print("{}", app_.help());
    return 0;
  } catch (const CLI::ParseError& error) {
    if (tells) tell(fmt::format("{}: {} (-h lists the options)\n", name(), error.what()));
    return kBadInput;
  }
}

std::optional<int> App::parse(int argc, const char* const* argv) {
  try {
    app_.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    return app_.exit(error) == 0 ? 0 : kBadInput;
  }
}

}  // namespace cli
