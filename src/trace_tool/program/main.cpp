// shoal-trace: reads the traces that programs record with --trace.

#include <shoal/detail/base/function.hpp>
#include <shoal/error.hpp>
#include <shoal/version.hpp>

#include "env/host.hpp"
#include "trace/merge.hpp"
#include "trace_tool/analysis.hpp"
#include "trace_tool/convert.hpp"
#include "trace_tool/input.hpp"
#include "trace_tool/program/otf2.hpp"
#include "trace_tool/report.hpp"
#include "trace_tool/text.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <csignal>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace shoal::trace_tool;  // NOLINT(google-build-using-namespace): its program

constexpr int kCheckFailed = 1;
constexpr int kError = 2;

// fmt::print() would not name standard output when it cannot be written.
template <class... Ts>
void print(fmt::format_string<Ts...> format, Ts&&... values) {
  shoal::env::write_to_standard_output(fmt::format(format, std::forward<Ts>(values)...));
}

using Converter = void (*)(Input&, const std::string&);
const std::map<std::string, Converter>& converters() {
  static const std::map<std::string, Converter> all = {{"perfetto", to_perfetto},
                                                       {"paje", to_paje},
                                                       {"otf2", to_otf2},
                                                       {"csv", to_csv},
                                                       {"dot", to_dot}};
  return all;
}

std::vector<std::string> formats() {
  std::vector<std::string> all;
  for (const auto& [name, converter] : converters()) all.push_back(name);
  return all;
}

struct Arguments {
  std::string file;
  std::string other;
  std::string output;
  std::string format;
  bool json = false;
  std::optional<std::uint64_t> tolerance_ns;
  std::vector<std::string> parts;
};

int run_check(const Arguments& with) {
  Input input(with.file);
  const CheckResult result = check(input, with.tolerance_ns);
  for (const std::string& line : result.lines) print("{}\n", line);
  print("{}: {}\n", with.file, result.passed ? "as it should be" : "not as it should be");
  return result.passed ? 0 : kCheckFailed;
}

int run_summary(const Arguments& with) {
  Input input(with.file);
  const Model model(input);
  const Analysis analysis = analyse(model);
  print("{}", with.json ? summary_json(model, analysis) : summary_text(model, analysis));
  return 0;
}

int run_why(const Arguments& with) {
  Input input(with.file);
  const Model model(input);
  const Analysis analysis = analyse(model);
  const Verdict verdict = verdict_on(model, analysis);
  const std::string partial = partial_text(model.gaps());
  const std::string not_modelled = not_modelled_text(model.input());
  if (with.json) {
    print("{}", json_of(verdict, analysis.duration, model.gaps(), not_modelled));
  } else {
    print("{}{}{}", partial, partial.empty() ? "" : "\n", text_of(verdict));
    for (const std::string& note : analysis.notes) print("Note: {}.\n", note);
    if (!not_modelled.empty()) print("Note: {}.\n", not_modelled);
  }
  return 0;
}

int run_convert(const Arguments& with) {
  if (with.format == "otf2" && with.output == "-") {
    throw shoal::Error("--output -: OTF2 is a folder of files: give the name of a folder");
  }
  Input input(with.file);
  converters().at(with.format)(input, with.output);
  return 0;
}

/// Parts that two traces lack: "A: the trace has no end".
std::vector<std::string> gaps_of(const Model& a, const Model& b) {
  std::vector<std::string> all;
  for (const std::string& gap : a.gaps()) all.push_back("A: " + gap);
  for (const std::string& gap : b.gaps()) all.push_back("B: " + gap);
  return all;
}

int run_diff(const Arguments& with) {
  Input a(with.file);
  Input b(with.other);
  const Model of_a(a);
  const Model of_b(b);
  const Analysis in_a = analyse(of_a);
  const Analysis in_b = analyse(of_b);
  if (with.json) {
    print("{}", json_of(verdict_on_difference(of_a, in_a, of_b, in_b), in_b.duration,
                        gaps_of(of_a, of_b)));
  } else if (with.output.empty()) {
    print("{}", diff_text(of_a, in_a, of_b, in_b));
  } else {
    write_comparison(of_a, in_a, of_b, in_b, with.output);
  }
  return 0;
}

int run_report(const Arguments& with) {
  Input input(with.file);
  const Model model(input);
  write_report(model, analyse(model), with.output);
  return 0;
}

int run_merge(const Arguments& with) {
  std::vector<std::string> parts = with.parts;
  if (parts.size() == 1) {
    const auto found = shoal::trace::find_parts(parts[0]);
    if (!found.empty()) parts = found;
  }
  const bool to_output = with.output == "-";  // the trace alone
  const std::string path = to_output ? "/dev/stdout" : with.output;
  const shoal::trace::MergeReport report = shoal::trace::merge(parts, path);
  std::string text;
  for (const std::string& line : report.damage) text += line + '\n';
  text += fmt::format("{}: {} events of {} processes\n", with.output, report.events, report.parts);
  if (to_output) {
    shoal::env::write_to_standard_error(text);
  } else {
    print("{}", text);
  }
  return 0;
}

/// Adds the commands; each sets `chosen`.
void add_commands(CLI::App& app, Arguments& with, shoal::Function<int(const Arguments&)>& chosen) {
  app.require_subcommand(1);
  const auto add = [&](const std::string& name, const std::string& text,
                       int (*run)(const Arguments&)) {
    CLI::App* const command = app.add_subcommand(name, text);
    command->callback([&chosen, run] { chosen = run; });
    return command;
  };
  const auto add_file = [&with](CLI::App* command) {
    command->add_option("FILE", with.file, "the trace, or its name if only its parts are there")
        ->required();
  };
  CLI::App* const check_command =
      add("check", "checks that messages arrive after they were sent, and that no event is missing",
          run_check);
  add_file(check_command);
  check_command->add_option(
      "--tolerance", with.tolerance_ns,
      "nanoseconds that a message may arrive too early; default: the uncertainty of the clocks");
  CLI::App* const summary = add("summary", "prints the most important facts", run_summary);
  add_file(summary);
  summary->add_flag("--json", with.json, "for programs");
  CLI::App* const why = add("why", "says in three sentences what bounds the run", run_why);
  add_file(why);
  why->add_flag("--json", with.json, "for programs");
  CLI::App* const convert = add("convert", "writes it in the format of another tool", run_convert);
  convert->add_option("--to", with.format, "the format")
      ->required()
      ->check(CLI::IsMember(formats()));
  add_file(convert);
  convert
      ->add_option("-o,--output", with.output,
                   "file to write (-: standard output); a folder for otf2")
      ->required();
  CLI::App* const diff = add("diff", "compares two runs", run_diff);
  diff->add_option("A", with.file, "first trace")->required();
  diff->add_option("B", with.other, "second trace")->required();
  diff->add_flag("--json", with.json, "only why one of them is slower, for programs");
  diff->add_option("-o,--output", with.output,
                   "page with both timelines to write, in place of the text (-: standard output)");
  CLI::App* const report = add("report", "writes a page that a browser shows", run_report);
  add_file(report);
  report->add_option("-o,--output", with.output, "page to write (-: standard output)")->required();
  CLI::App* const merge = add("merge", "makes one trace of the parts of a run", run_merge);
  merge->add_option("PARTS", with.parts, "the parts, or the name that --trace was given")
      ->required();
  merge->add_option("-o,--output", with.output, "trace to write (-: standard output)")->required();
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond `ulimit -f` is an error of the write
  CLI::App app("Reads traces of shoal programs.", "shoal-trace");
  app.set_version_flag("--version", "shoal " SHOAL_VERSION);
  Arguments with;
  shoal::Function<int(const Arguments&)> chosen;
  add_commands(app, with, chosen);
  try {
    app.parse(argc, argv);
    const int code = chosen(with);
    shoal::env::write_to_standard_output("");
    return code;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kError;
  } catch (const std::exception& error) {
    shoal::env::write_to_standard_error({"shoal-trace: ", error.what(), "\n"});
    return kError;
  }
}
