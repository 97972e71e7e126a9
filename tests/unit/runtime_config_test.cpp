// The settings of a run: every source, their precedence, and every way to get one wrong.

#include "runtime/config.hpp"
#include "runtime/config_options.hpp"
#include "support/examples.hpp"

#include <shoal/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace runtime_config_test {

using shoal::ConfigError;
using shoal::net::ProgressPolicy;
using shoal::runtime::Config;
using shoal::runtime::environment_of;
using shoal::runtime::Pin;
using shoal::testing::examples_in;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;

using Variables = std::map<std::string, std::string>;

Config parse(const std::vector<std::string>& arguments, const Variables& variables = {}) {
  std::vector<const char*> argv{"app"};
  for (const std::string& argument : arguments) {
    argv.push_back(argument.c_str());
  }
  return shoal::runtime::parse_config(static_cast<int>(argv.size()), argv.data(),
                                      environment_of(variables));
}

/// The text of the error; empty when there is none.
std::string error_of(const std::vector<std::string>& arguments, const Variables& variables = {}) {
  try {
    parse(arguments, variables);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

/// A file of the test that runs, gone when the test ends.
class ConfigFile {
 public:
  explicit ConfigFile(const std::string& text)
      : path_(testing::TempDir() + "shoal_config_" +
              testing::UnitTest::GetInstance()->current_test_info()->name() + ".toml") {
    std::ofstream(path_) << text;
  }
  ~ConfigFile() { std::remove(path_.c_str()); }
  ConfigFile(const ConfigFile&) = delete;
  ConfigFile& operator=(const ConfigFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string error_of_file(const std::string& text) {
  const ConfigFile file(text);
  return error_of({"--config", file.path()});
}

TEST(Config, NothingGiven_AllDefaults) {
  const Config config = parse({});
  EXPECT_EQ(config.ranks, 0);
  EXPECT_EQ(config.workers, 0);
  EXPECT_EQ(config.ranks_per_process, 1);
  EXPECT_EQ(config.pin, Pin::none);
  EXPECT_EQ(config.progress, ProgressPolicy::worker);
  EXPECT_EQ(config.packet_bytes, 8192U);
  EXPECT_EQ(config.window_bytes, 1048576U);
  EXPECT_EQ(config.flush_ns, 20000U);
  EXPECT_EQ(config.stack_bytes, 8388608U);
  EXPECT_FALSE(config.help);
  EXPECT_THAT(config.args, ElementsAre("app"));
}

TEST(Config, TimesOfReports_AreRead) {
  EXPECT_EQ(parse({}).stall_report_ns, 30'000'000'000U);
  EXPECT_EQ(parse({}).sim_limit_ns, 0U);
  const Config config = parse({"--stall-report", "1500ms", "--sim-limit=2s"});
  EXPECT_EQ(config.stall_report_ns, 1'500'000'000U);
  EXPECT_EQ(config.sim_limit_ns, 2'000'000'000U);
  EXPECT_EQ(parse({"--stall-report", "0s"}).stall_report_ns, 0U);
  EXPECT_EQ(parse({}, {{"SHOAL_STALL_REPORT", "5s"}}).stall_report_ns, 5'000'000'000U);
  EXPECT_THAT(error_of({"--stall-report", "30"}),
              AllOf(HasSubstr("'30' is not a time with its unit"), HasSubstr("30s")));
  EXPECT_EQ(parse({"--stall-abort", "10m"}).stall_abort_ns, 600'000'000'000U);
  EXPECT_EQ(parse({"--stall-abort", "10min"}).stall_abort_ns, 600'000'000'000U);
  EXPECT_EQ(parse({}, {{"SHOAL_STALL_ABORT", "2h"}}).stall_abort_ns, 7'200'000'000'000U);
  EXPECT_THAT(error_of({"--stall-abort", "10M"}), HasSubstr("'10M' is not a time with its unit"));
  EXPECT_THAT(error_of({"--sim-limit", "2000000s"}), HasSubstr("out of range"));
  EXPECT_THAT(error_of({"--sim-limit", "300h"}), HasSubstr("out of range"));
  EXPECT_THAT(parse({"--help"}).help_text,
              AllOf(HasSubstr("--stall-report TIME"), HasSubstr("(default: 30s)"),
                    HasSubstr("--sim-limit TIME"), HasSubstr("(default: none)")));
}

TEST(Config, MulticastCosts_AreFourTimes) {
  EXPECT_FALSE(parse({}).multicast_costs.are_known());
  EXPECT_FALSE(parse({"--multicast-costs", "off"}).multicast_costs.are_known());
  const auto costs = parse({"--multicast-costs", "300ns,2us,44us,1ms"}).multicast_costs;
  EXPECT_EQ(costs.send_ns, 300U);
  EXPECT_EQ(costs.hop_ns, 2'000U);
  EXPECT_EQ(costs.segment_ns, 44'000U);
  EXPECT_EQ(costs.segment_hop_ns, 1'000'000U);
  for (const char* const text : {"1us,2us,3us", "1us,2us,3us,4us,5us"}) {
    EXPECT_THAT(error_of({"--multicast-costs", text}),
                HasSubstr("--multicast-costs: these are not four times; allowed: off or SEND"));
  }
  EXPECT_THAT(error_of({"--multicast-costs", "1us,2us,3,4us"}),
              HasSubstr("--multicast-costs: '3' is not a time with its unit"));
  EXPECT_THAT(error_of({"--multicast-costs", "0ns,2us,3us,4us"}), HasSubstr("0ns is out of range"));
}

TEST(Config, StallAbort_IsOffUnlessAskedFor) {
  EXPECT_EQ(parse({}).stall_abort_ns, 0U);
  EXPECT_EQ(parse({"--stall-abort", "100ms"}).stall_abort_ns, 100'000'000U);
  EXPECT_EQ(parse({"--stall-abort", "0s"}).stall_abort_ns, 0U);
  EXPECT_EQ(parse({}, {{"SHOAL_STALL_ABORT", "60s"}}).stall_abort_ns, 60'000'000'000U);
  EXPECT_THAT(parse({"--help"}).help_text,
              AllOf(HasSubstr("--stall-abort TIME"), HasSubstr("(0s: never) (default: 0s)")));
}

TEST(Config, StallAbort_OfImpossibleTimesOrWithoutAWatch_IsRefused) {
  EXPECT_THAT(error_of({"--stall-abort", "5"}), HasSubstr("'5' is not a time with its unit"));
  EXPECT_THAT(error_of({"--stall-abort", "99ms"}),
              AllOf(HasSubstr("--stall-abort: 99ms is out of range"),
                    HasSubstr("allowed: 0s (never), or 100ms to 1000000s")));
  EXPECT_THAT(error_of({"--stall-abort", "2000000s"}), HasSubstr("out of range"));
  EXPECT_THAT(error_of({"--stall-abort", "5s", "--stall-report", "0s"}),
              AllOf(HasSubstr("stall-abort is set (command line: --stall-abort)"),
                    HasSubstr("stall-report is 0s (command line: --stall-report)")));
  EXPECT_EQ(parse({"--stall-abort", "0s", "--stall-report", "0s"}).stall_report_ns, 0U);
}

TEST(Config, NoArgumentsAtAll_ProgramNameIsEmpty) {
  const Config config = shoal::runtime::parse_config(0, nullptr, environment_of({}));
  EXPECT_THAT(config.args, ElementsAre(""));
}

void expect_all_set(const Config& config) {
  EXPECT_EQ(config.ranks, 4);
  EXPECT_EQ(config.workers, 2);
  EXPECT_EQ(config.ranks_per_process, 3);
  EXPECT_EQ(config.pin, Pin::core);
  EXPECT_EQ(config.progress, ProgressPolicy::thread);
  EXPECT_EQ(config.packet_bytes, 16384U);
  EXPECT_EQ(config.window_bytes, 2097152U);
  EXPECT_EQ(config.flush_ns, 1'000'000U);
  EXPECT_EQ(config.stack_bytes, 65536U);
}

TEST(Config, EveryOptionWithASpace_IsRead) {
  expect_all_set(parse({"--ranks", "4", "--workers", "2", "--ranks-per-process", "3", "--pin",
                        "core", "--progress", "thread", "--packet-bytes", "16384", "--window-bytes",
                        "2M", "--flush", "1ms", "--stack-bytes", "64K"}));
}

TEST(Config, EveryOptionWithAnEqualsSign_IsRead) {
  expect_all_set(
      parse({"--ranks=4", "--workers=2", "--ranks-per-process=3", "--pin=core", "--progress=thread",
             "--packet-bytes=16K", "--window-bytes=2MiB", "--flush=1ms", "--stack-bytes=65536B"}));
}

TEST(Config, EveryOptionWithThePrefix_IsRead) {
  expect_all_set(
      parse({"--shoal-ranks=4", "--shoal-workers", "2", "--shoal-ranks-per-process=3",
             "--shoal-pin", "core", "--shoal-progress=thread", "--shoal-packet-bytes", "16K",
             "--shoal-window-bytes=2M", "--shoal-flush", "1000us", "--shoal-stack-bytes=64KiB"}));
}

TEST(Config, EveryVariable_IsRead) {
  expect_all_set(parse({}, {{"SHOAL_RANKS", "4"},
                            {"SHOAL_WORKERS", "2"},
                            {"SHOAL_RANKS_PER_PROCESS", "3"},
                            {"SHOAL_PIN", "core"},
                            {"SHOAL_PROGRESS", "thread"},
                            {"SHOAL_PACKET_BYTES", "16K"},
                            {"SHOAL_WINDOW_BYTES", "2M"},
                            {"SHOAL_FLUSH", "1ms"},
                            {"SHOAL_STACK_BYTES", "64K"},
                            {"HOME", "/root"},
                            {"PATH", ""}}));
}

TEST(Config, EveryKeyOfAFile_IsRead) {
  const ConfigFile file(
      "# a comment\n\nranks = 4   # behind a value\n  workers=2\nranks-per-process = 3\r\n"
      "pin = \"core\"\nprogress = 'thread'\npacket-bytes = 16K\nwindow-bytes = 2M\nflush = 1ms\n"
      "stack-bytes = 64K");
  expect_all_set(parse({"--config", file.path()}));
  expect_all_set(parse({"--shoal-config=" + file.path()}));
  expect_all_set(parse({}, {{"SHOAL_CONFIG", file.path()}}));
}

TEST(Config, Flag_NeedsNoValueOnTheCommandLine) {
  const Config config = parse({"--sim", "4", "--shoal-sim-check", "--shared-mpi", "--mine"});
  EXPECT_TRUE(config.sim);
  EXPECT_TRUE(config.sim_check);
  EXPECT_TRUE(config.shared_mpi);
  EXPECT_THAT(config.args, ElementsAre("app", "4", "--mine"));
  EXPECT_FALSE(parse({}).simulate());
}

TEST(Config, Flag_IsTurnedOnAndOffByWordsElsewhere) {
  EXPECT_TRUE(parse({}, {{"SHOAL_SIM", "on"}}).sim);
  EXPECT_TRUE(parse({}, {{"SHOAL_SIM", "1"}}).sim);
  EXPECT_FALSE(parse({"--sim=false"}, {{"SHOAL_SIM", "true"}}).sim);
  EXPECT_TRUE(parse({}, {{"SHOAL_SHARED_MPI", "on"}}).shared_mpi);
  EXPECT_FALSE(parse({}).shared_mpi);
  const ConfigFile file("sim = true\nsim-seed = 7\n");
  const Config config = parse({"--config", file.path()});
  EXPECT_TRUE(config.sim);
  EXPECT_EQ(config.sim_seed, 7U);
  EXPECT_THAT(error_of({}, {{"SHOAL_SIM", "maybe"}}),
              AllOf(HasSubstr("SHOAL_SIM"), HasSubstr("on")));
}

TEST(Config, SimulationOptions_AreReadAndChecked) {
  const Config config = parse({"--sim-seed", "18446744073709551615", "--sim-order", "slow-link",
                               "--sim-net", "zero", "--sim-step", "10ns"});
  EXPECT_EQ(config.sim_seed, 18446744073709551615U);
  EXPECT_EQ(config.sim_order, shoal::sim::OrderKind::slow_link);
  EXPECT_EQ(config.sim_net, "zero");
  EXPECT_EQ(config.sim_step_ns, 10U);
  EXPECT_THAT(error_of({"--sim-net", "slow"}), AllOf(HasSubstr("--sim-net"), HasSubstr("slow")));
  EXPECT_THAT(error_of({"--sim-order", "random"}), HasSubstr("priorities"));
}

TEST(Config, Sources_CommandLineBeforeEnvironmentBeforeFile) {
  const ConfigFile file("ranks = 2\nworkers = 2\npin = pu\n");
  const Config config = parse({"--ranks", "4", "--config", file.path()},
                              {{"SHOAL_RANKS", "3"}, {"SHOAL_WORKERS", "3"}});
  EXPECT_EQ(config.ranks, 4);
  EXPECT_EQ(config.workers, 3);
  EXPECT_EQ(config.pin, Pin::pu);
}

TEST(Config, FileOnTheCommandLine_HidesTheFileOfTheVariable) {
  const ConfigFile file("ranks = 2\n");
  EXPECT_EQ(parse({"--config", file.path()}, {{"SHOAL_CONFIG", "/does/not/exist"}}).ranks, 2);
}

// ---- the program's own arguments ----------------------------------------------------------------

TEST(Config, ArgumentsOfTheProgram_PassInOrderUntouched) {
  const Config config =
      parse({"input.mtx", "--tile",     "256", "--ranks",     "4",   "-n4",   "-x",
             "3",         "--name=a b", "",    "--workers=2", "-",   "--min", "--pi=3",
             "-3",        "[a,b]",      "{}",  "--verbose",   "---", "a=b"});
  EXPECT_THAT(config.args,
              ElementsAre("app", "input.mtx", "--tile", "256", "-n4", "-x", "3", "--name=a b", "",
                          "-", "--min", "--pi=3", "-3", "[a,b]", "{}", "--verbose", "---", "a=b"));
  EXPECT_EQ(config.ranks, 4);
  EXPECT_EQ(config.workers, 2);
}

TEST(Config, BehindTheDivider_EverythingIsTheProgramsButTheDivider) {
  const Config config = parse({"one", "--ranks", "2", "--", "--ranks", "--rank", "--shoal-foo",
                               "--help", "--", "--workers=x"});
  EXPECT_EQ(config.ranks, 2);
  EXPECT_FALSE(config.help);
  EXPECT_THAT(config.args, ElementsAre("app", "one", "--ranks", "--rank", "--shoal-foo", "--help",
                                       "--", "--workers=x"));
}

TEST(Config, ProgramNamedLikeAnOption_IsNotRead) {
  const char* const argv[] = {"--help", "--", "x"};
  const Config config = shoal::runtime::parse_config(3, argv, environment_of({}));
  EXPECT_FALSE(config.help);
  EXPECT_THAT(config.args, ElementsAre("--help", "x"));
}

TEST(Config, NearMissOfALongName_IsRefusedWithTheName) {
  for (const auto& [wrong, right] :
       std::map<std::string, std::string>{{"--rank", "--ranks"},
                                          {"--worker=3", "--workers"},
                                          {"--ranks-per-proces", "--ranks-per-process"},
                                          {"--wokrers", "--workers"},
                                          {"--confg", "--config"},
                                          {"--stack_bytes", "--stack-bytes"},
                                          {"--flushs", "--flush"}}) {
    EXPECT_THAT(error_of({wrong, "3"}),
                AllOf(HasSubstr("command line: unknown option " + wrong.substr(0, wrong.find('='))),
                      HasSubstr("did you mean " + right + "?"), HasSubstr("put it behind --")));
  }
}

TEST(Config, NameThatIsFarOrShort_BelongsToTheProgram) {
  EXPECT_THAT(parse({"--min", "--bin", "--hello", "--tanker", "-ranks", "rank"}).args,
              ElementsAre("app", "--min", "--bin", "--hello", "--tanker", "-ranks", "rank"));
}

TEST(Config, UnknownOptionWithOurPrefix_IsRefusedWithTheNearest) {
  EXPECT_THAT(error_of({"--shoal-wrokres=2"}),
              AllOf(HasSubstr("command line: option --shoal-wrokres is unknown"),
                    HasSubstr("did you mean --shoal-workers?"), HasSubstr("--shoal-help")));
}

TEST(Config, Help_IsOursAndNothingElseIsRead) {
  const Config config = parse({"--ranks", "x", "--rank", "--help", "--config"}, {{"SHOAL_X", "1"}});
  EXPECT_TRUE(config.help);
  EXPECT_TRUE(parse({"--shoal-help"}).help);
  for (const char* name : {"--ranks N", "--workers N", "--ranks-per-process N",
                           "--pin none|core|pu", "--progress worker|main|thread", "--packet-bytes",
                           "--window-bytes", "--flush", "--stack-bytes", "--config FILE", "--help",
                           "SHOAL_RANKS", "Usage: app", "(default: 20us)", "(default: 8K)"}) {
    EXPECT_THAT(config.help_text, HasSubstr(name));
  }
}

// ---- values that are refused --------------------------------------------------------------------

TEST(Config, BadNumber_IsRefusedWithSourceAndRange) {
  EXPECT_EQ(error_of({"--ranks", "four"}),
            "command line: --ranks: 'four' is not a whole number; allowed: 1 to 1048576");
  for (const char* value : {"4x", "4.5", "-1", "+4", " 4", "0x4", "4K", "1e3"}) {
    EXPECT_THAT(error_of({"--workers", value}), HasSubstr("is not a whole number")) << value;
  }
  EXPECT_THAT(error_of({}, {{"SHOAL_RANKS", "four"}}),
              HasSubstr("environment variable SHOAL_RANKS: 'four' is not a whole number"));
  EXPECT_THAT(error_of_file("\npin = none\nranks = four\n"),
              HasSubstr(".toml line 3: ranks: 'four' is not a whole number"));
}

TEST(Config, NumberOutOfRange_IsRefusedWithTheRange) {
  EXPECT_THAT(error_of({"--ranks=0"}), HasSubstr("0 is out of range; allowed: 1 to"));
  EXPECT_THAT(error_of({"--workers=5000"}), HasSubstr("out of range; allowed: 1 to 4096"));
  EXPECT_THAT(error_of({"--ranks-per-process=0"}), HasSubstr("out of range"));
  EXPECT_THAT(error_of({"--ranks=99999999999999999999999"}), HasSubstr("out of range"));
  EXPECT_THAT(error_of({"--packet-bytes=511"}), HasSubstr("allowed: 512B to 1M, for example"));
  EXPECT_THAT(error_of({"--packet-bytes=1025K"}), HasSubstr("1025K is out of range"));
  EXPECT_THAT(error_of({"--window-bytes=18446744073709551615G"}), HasSubstr("out of range"));
  EXPECT_THAT(error_of({"--stack-bytes=63K"}), HasSubstr("allowed: 64K to 1G"));
  EXPECT_THAT(error_of({"--flush=11s"}), HasSubstr("allowed: 0ns to 10s"));
}

TEST(Config, SmallestAndLargestValues_AreTaken) {
  EXPECT_EQ(parse({"--packet-bytes=512"}).packet_bytes, 512U);
  EXPECT_EQ(parse({"--packet-bytes=1M"}).packet_bytes, 1048576U);
  EXPECT_EQ(parse({"--window-bytes=64G"}).window_bytes, std::size_t{1} << 36);
  EXPECT_EQ(parse({"--flush=0ns"}).flush_ns, 0U);
  EXPECT_EQ(parse({"--flush=10s"}).flush_ns, 10'000'000'000U);
  EXPECT_EQ(parse({"--stack-bytes=1G"}).stack_bytes, std::size_t{1} << 30);
}

TEST(Config, SizeOrTimeWithAWrongUnit_IsRefusedWithAnExample) {
  EXPECT_THAT(error_of({"--packet-bytes=8kb"}),
              AllOf(HasSubstr("'8kb' is not a size in bytes"), HasSubstr("16K or 1MiB")));
  EXPECT_THAT(error_of({"--stack-bytes=1.5M"}), HasSubstr("'1.5M' is not a size in bytes"));
  EXPECT_THAT(error_of({"--flush=20"}),
              AllOf(HasSubstr("'20' is not a time with its unit"), HasSubstr("20us")));
}

TEST(Config, EveryExampleInAnError_IsAnAllowedValue) {
  std::vector<std::string> with_examples;
  for (const auto& option : shoal::runtime::options()) {
    if (option.value_name.empty()) continue;
    const std::string name = "--" + std::string(option.name);
    for (const char* const refused : {"?", "1"}) {
      const std::vector<std::string> examples = examples_in(error_of({name, refused}));
      for (const std::string& example : examples) {
        EXPECT_EQ(error_of({name, example}), "") << name;
      }
      if (!examples.empty()) with_examples.push_back(name + " " + refused);
    }
  }
  EXPECT_THAT(with_examples, IsSupersetOf({"--stack-bytes ?", "--stack-bytes 1", "--packet-bytes 1",
                                           "--window-bytes 1", "--flush 1", "--stall-abort 1"}));
}

TEST(Config, UnknownWord_IsRefusedWithTheKnownOnes) {
  EXPECT_EQ(error_of({"--pin=cores"}),
            "command line: --pin: 'cores' is unknown; allowed: none, core, pu");
  EXPECT_THAT(error_of({}, {{"SHOAL_PROGRESS", "Main"}}),
              AllOf(HasSubstr("environment variable SHOAL_PROGRESS: 'Main' is unknown"),
                    HasSubstr("worker, main, thread")));
}

TEST(Config, WindowBelowPacket_IsRefusedWithBothSources) {
  EXPECT_THAT(error_of({"--window-bytes=4K"}),
              AllOf(HasSubstr("window-bytes is 4K (command line: --window-bytes)"),
                    HasSubstr("packet-bytes is 8K (default)")));
  EXPECT_THAT(error_of({"--window-bytes=512K"}, {{"SHOAL_PACKET_BYTES", "1M"}}),
              HasSubstr("packet-bytes is 1M (environment variable SHOAL_PACKET_BYTES)"));
}

TEST(Config, TraceOnStandardOutput_IsRefused) {
  EXPECT_THAT(
      error_of({"--trace=-"}),
      HasSubstr("trace is - (command line: --trace): a trace cannot go to standard output"));
}

TEST(Config, TraceWhereNoRegularFileIs_IsRefused) {
  const std::string pipe = testing::TempDir() + "shoal_config_pipe";
  std::filesystem::remove(pipe);
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(error_of({"--trace", pipe}),
              AllOf(HasSubstr("trace is " + pipe + " (command line: --trace): a pipe is there"),
                    HasSubstr("needs a regular file")));
  std::filesystem::remove(pipe);
  EXPECT_THAT(error_of({}, {{"SHOAL_TRACE", testing::TempDir()}}),
              HasSubstr("(environment variable SHOAL_TRACE): a directory is there"));
}

TEST(Config, VeryManyRanksOfOneProcess_AreNoted) {
  EXPECT_THAT(parse({"--ranks", "100000"}).warnings,
              ElementsAre(HasSubstr("note: ranks is 100000 (command line: --ranks)")));
  EXPECT_THAT(parse({"--ranks", "1000"}).warnings, testing::IsEmpty());
  EXPECT_THAT(parse({"--ranks", "100000", "--sim"}).warnings, testing::IsEmpty());
}

TEST(Config, NamesOfFilesToWrite_AreAbsolute) {
  const std::string here = std::filesystem::current_path().string() + '/';
  const Config config = parse({"--trace", "run.trace", "--flow-models=models"});
  EXPECT_EQ(config.trace_path, here + "run.trace");
  EXPECT_EQ(config.flow_models, here + "models");
  EXPECT_EQ(parse({}).trace_path, "");
}

TEST(Config, BadValueThatIsHidden_IsStillRefused) {
  EXPECT_THAT(error_of({"--ranks=2"}, {{"SHOAL_RANKS", "two"}}), HasSubstr("SHOAL_RANKS"));
}

TEST(Config, MissingValue_IsRefused) {
  const std::string text = "command line: --ranks: its value is missing";
  EXPECT_THAT(error_of({"--ranks"}), HasSubstr(text));
  EXPECT_THAT(error_of({"--ranks="}), HasSubstr(text));
  EXPECT_THAT(error_of({"--ranks=", "4"}), HasSubstr(text));
  EXPECT_THAT(error_of({"--ranks", "--workers", "2"}), HasSubstr(text));
  EXPECT_THAT(error_of({"--ranks", "--", "4"}), HasSubstr(text));
  EXPECT_THAT(error_of({"--shoal-config"}), HasSubstr("--shoal-config: its value is missing"));
  EXPECT_THAT(error_of({"--ranks", ""}), HasSubstr("'' is not a whole number"));
  EXPECT_THAT(error_of({"--ranks", "{}"}), HasSubstr("'{}' is not a whole number"));
  EXPECT_THAT(error_of({}, {{"SHOAL_RANKS", ""}}),
              HasSubstr("environment variable SHOAL_RANKS: is empty"));
}

TEST(Config, OptionGivenTwice_IsRefusedWithBothValues) {
  EXPECT_THAT(error_of({"--ranks", "2", "x", "--shoal-ranks=4"}),
              HasSubstr("command line: --ranks: given 2 times ('2', '4')"));
  EXPECT_THAT(error_of_file("ranks = 2\n\nranks = 2\n"),
              AllOf(HasSubstr("line 3: ranks is already set"), HasSubstr("line 1: ranks")));
}

TEST(Config, UnknownVariable_IsRefusedWithTheNearest) {
  EXPECT_THAT(error_of({}, {{"SHOAL_RANK", "4"}}),
              AllOf(HasSubstr("environment variable SHOAL_RANK is unknown"),
                    HasSubstr("did you mean SHOAL_RANKS?"), HasSubstr("SHOAL_STACK_BYTES")));
  EXPECT_THAT(error_of({}, {{"SHOAL_STALL_ABROT", "4s"}}), HasSubstr("SHOAL_STALL_ABORT?"));
  EXPECT_THAT(error_of({}, {{"SHOAL_SIMSEED", "4"}}), HasSubstr("SHOAL_SIM_SEED?"));
}

TEST(Config, UnknownVariableThatIsNearToNoOption_IsAWarning) {
  EXPECT_THAT(parse({}, {{"SHOAL_HELP", "1"}, {"SHOAL_FIN", "1"}}).warnings,
              ElementsAre(AllOf(HasSubstr("warning: environment variable SHOAL_FIN is unknown"),
                                HasSubstr("did you mean SHOAL_PIN?")),
                          HasSubstr("variable SHOAL_HELP is unknown and has no effect")));
  EXPECT_THAT(parse({}, {{"SHOAL_BIN", "/opt/bin"}, {"SHOAL_LIB", "/opt/lib"}}).warnings,
              testing::IsEmpty());  // of a module of shoal
}

TEST(Config, NamesOfOtherLibraries_GetTheOptionOfShoal) {
  EXPECT_THAT(parse({}, {{"SHOAL_NUM_THREADS", "4"}, {"SHOAL_THREADS", "4"}}).warnings,
              testing::Each(HasSubstr("did you mean SHOAL_WORKERS?")));
  EXPECT_THAT(error_of_file("threads = 4\n"), HasSubstr("did you mean workers?"));
}

TEST(Config, VariablesOfAnInstallation_ArePassedOver) {
  Variables variables;
  for (const char* const name :
       {"ROOT", "DIR", "HOME", "PREFIX", "PATH", "VERSION", "EDAT_LIBRARY"}) {
    variables.emplace(std::string("SHOAL_") + name, "/opt/shoal");
  }
  EXPECT_THAT(parse({}, variables).warnings, testing::IsEmpty());
}

// ---- files that are refused ---------------------------------------------------------------------

TEST(Config, UnknownKeyInAFile_IsRefusedWithLineAndNearest) {
  EXPECT_THAT(error_of_file("ranks = 2\npacket_bytes = 4K\n"),
              AllOf(HasSubstr("line 2: key packet_bytes is unknown"),
                    HasSubstr("did you mean packet-bytes?")));
  EXPECT_THAT(error_of_file("config = other.toml\n"), HasSubstr("key config is unknown"));
}

TEST(Config, LineThatIsNoKeyAndValue_IsRefusedWithItsNumber) {
  for (const char* line : {"ranks", "[shoal]", "4", "# fine\nranks # = 4"}) {
    EXPECT_THAT(error_of_file(line), HasSubstr("is not of the form `key = value`")) << line;
  }
  EXPECT_THAT(error_of_file("\n\nranks\n"), HasSubstr("line 3: 'ranks' is not of the form"));
  EXPECT_THAT(error_of_file("ranks ="), HasSubstr("'ranks =' has no value"));
  EXPECT_THAT(error_of_file("ranks = 1 2"), HasSubstr("has several values"));
  EXPECT_THAT(error_of_file("ranks = [1, 2]"), HasSubstr("has several values"));
}

TEST(Config, UnreadableFile_IsRefusedWithSourceAndReason) {
  EXPECT_THAT(
      error_of({"--config", "/does/not/exist.toml"}),
      AllOf(HasSubstr("command line: --config: cannot read the file '/does/not/exist.toml'"),
            HasSubstr("No such file or directory")));
  EXPECT_THAT(error_of({}, {{"SHOAL_CONFIG", testing::TempDir()}}),
              AllOf(HasSubstr("environment variable SHOAL_CONFIG: cannot read the file"),
                    HasSubstr("it is a directory")));
}

// ---- the rest -----------------------------------------------------------------------------------

TEST(Config, WorkerCount_IsWhatWasAskedElseTheShareOfTheCpus) {
  Config config;
  EXPECT_EQ(shoal::runtime::worker_count(config, 16, 4), 4);
  EXPECT_EQ(shoal::runtime::worker_count(config, 7, 2), 3);
  EXPECT_EQ(shoal::runtime::worker_count(config, 2, 8), 1);
  config.workers = 5;
  EXPECT_EQ(shoal::runtime::worker_count(config, 2, 8), 5);
}

TEST(Config, EnvironmentOfTheProcess_HasItsVariables) {
  ASSERT_NE(environ[0], nullptr) << "this test needs a variable";
  const std::string first = environ[0];  // NAME=value
  const std::string name = first.substr(0, first.find('='));
  const auto env = shoal::runtime::process_environment();
  EXPECT_EQ(env.lookup(name), first.substr(name.size() + 1));
  EXPECT_THAT(env.names(), testing::Contains(name));
  EXPECT_EQ(env.lookup("SHOAL_THIS_IS_NOT_SET"), std::nullopt);
}

TEST(Config, LimitOfMemoryBoundTasks_IsANumberAutoOrOff) {
  EXPECT_FALSE(parse({}).memory_bound_max.has_value());
  EXPECT_FALSE(parse({"--memory-bound-max", "off"}).memory_bound_max.has_value());
  EXPECT_EQ(parse({"--memory-bound-max=auto"}).memory_bound_max, Config::kAuto);
  EXPECT_EQ(parse({}, {{"SHOAL_MEMORY_BOUND_MAX", "6"}}).memory_bound_max, 6);
  EXPECT_FALSE(parse({"--buffer-node", "any"}).buffer_node.has_value());
  EXPECT_EQ(parse({"--buffer-node", "0"}).buffer_node, 0);
  EXPECT_EQ(parse({"--memory-model", "m.json"}).memory_model, "m.json");
  EXPECT_EQ(parse({"--sim-memory", "m.json"}).sim_memory, "m.json");
  EXPECT_THAT(error_of({"--memory-bound-max", "0"}),
              AllOf(HasSubstr("--memory-bound-max"), HasSubstr("off, auto, 1 to 4096")));
  EXPECT_THAT(error_of({"--buffer-node", "near"}), HasSubstr("any, auto, 0 to 1024"));
}

}  // namespace runtime_config_test
