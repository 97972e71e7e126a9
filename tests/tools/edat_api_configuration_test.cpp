// Meaning of EDAT's keys and environment variables, and refused values.

#include "edat_api/configuration.hpp"

#include <shoal/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace edat_api_configuration_test {

using shoal::edat_api::AddressRule;
using shoal::edat_api::Configuration;
using shoal::edat_api::read_configuration;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Keys = std::vector<std::pair<std::string, std::string>>;
using Environment = std::map<std::string, std::string>;
using Arguments = std::vector<std::string>;

Configuration read(const Keys& keys, const Environment& environment = {}) {
  return read_configuration(keys, [&](const std::string& name) -> std::optional<std::string> {
    const auto it = environment.find(name);
    return it == environment.end() ? std::nullopt : std::optional(it->second);
  });
}

/// The arguments behind those that are always there.
Arguments arguments_of(const Keys& keys, const Environment& environment = {}) {
  Arguments arguments = read(keys, environment).arguments;
  EXPECT_GE(arguments.size(), 3U);
  EXPECT_THAT(Arguments(arguments.begin(), arguments.begin() + 3),
              ElementsAre("--ranks-per-process", "1", "--shared-mpi"));
  arguments.erase(arguments.begin(), arguments.begin() + 3);
  return arguments;
}

std::string error_of(const Keys& keys, const Environment& environment = {}) {
  try {
    read(keys, environment);
  } catch (const shoal::ConfigError& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST(EdatConfiguration, OfNothing_IsOneRank) {
  EXPECT_THAT(arguments_of({}), IsEmpty());
  EXPECT_FALSE(read({}).report_workers);
  EXPECT_THAT(read({}).notes, IsEmpty());
}

TEST(EdatConfiguration, EachValue_BecomesAnOption) {
  const struct {
    const char* key;
    const char* value;
    Arguments expected;
  } cases[] = {
      {"EDAT_NUM_WORKERS", "1", {"--workers", "1"}},
      {"EDAT_NUM_WORKERS", "4", {"--workers", "4"}},
      {"EDAT_NUM_WORKERS", "9999", {"--workers", "9999"}},
      {"EDAT_PROGRESS_THREAD", "true", {"--progress", "thread"}},
      {"EDAT_PROGRESS_THREAD", "True", {"--progress", "thread"}},
      {"EDAT_PROGRESS_THREAD", "false", {"--progress", "worker"}},
      {"EDAT_PROGRESS_THREAD", "FALSE", {"--progress", "worker"}},
      {"EDAT_WORKER_MAPPING", "auto", {"--pin", "none"}},
      {"EDAT_WORKER_MAPPING", "linear", {"--pin", "core"}},
      {"EDAT_WORKER_MAPPING", "LinearFromCore", {"--pin", "core"}},
      {"EDAT_MAIN_THREAD_WORKER", "true", {}},
      {"EDAT_MAIN_THREAD_WORKER", "false", {}},
      {"EDAT_REPORT_WORKER_MAPPING", "true", {}},
      {"EDAT_REPORT_WORKER_MAPPING", "false", {}},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(std::string(one.key) + " " + one.value);
    EXPECT_EQ(arguments_of({{one.key, one.value}}), one.expected);
    EXPECT_EQ(arguments_of({}, {{one.key, one.value}}), one.expected) << "in the environment";
    const bool reports = one.key == std::string("EDAT_REPORT_WORKER_MAPPING");
    const bool is_true = one.value == std::string("true");
    EXPECT_EQ(read({{one.key, one.value}}).report_workers, reports && is_true);
  }
}

TEST(EdatConfiguration, OfSeveralKeys_HasAnOptionForEach) {
  const Configuration all = read({{"EDAT_REPORT_WORKER_MAPPING", "true"},
                                  {"EDAT_WORKER_MAPPING", "linear"},
                                  {"EDAT_NUM_WORKERS", "2"}},
                                 {{"EDAT_PROGRESS_THREAD", "true"}});
  EXPECT_THAT(all.arguments, ElementsAre("--ranks-per-process", "1", "--shared-mpi", "--workers",
                                         "2", "--progress", "thread", "--pin", "core"));
  EXPECT_TRUE(all.report_workers);
}

// As in the library, and not as in its documentation.
TEST(EdatConfiguration, TheEnvironment_GoesBeforeKeysOfTheProgram) {
  const Environment environment{
      {"EDAT_NUM_WORKERS", "2"}, {"EDAT_PROGRESS_THREAD", "true"}, {"EDAT_WORKER_MAPPING", ""}};
  EXPECT_THAT(arguments_of({{"EDAT_NUM_WORKERS", "none"},
                            {"EDAT_PROGRESS_THREAD", "false"},
                            {"EDAT_WORKER_MAPPING", "linear"}},
                           environment),
              ElementsAre("--workers", "2", "--progress", "thread", "--pin", "core"));
  EXPECT_THAT(arguments_of({{"EDAT_NUM_WORKERS", "3"}, {"EDAT_NUM_WORKERS", "5"}}),
              ElementsAre("--workers", "5"));
}

TEST(EdatConfiguration, CaseOfKeys_DoesNotMatter) {
  EXPECT_THAT(arguments_of({{"edat_num_workers", "3"}}), ElementsAre("--workers", "3"));
  EXPECT_THAT(arguments_of({}, {{"edat_num_workers", "2"}}), IsEmpty()) << "a variable's does";
}

TEST(EdatConfiguration, NamesOfEarlierReleases_MeanThoseOfToday_WhichWin) {
  EXPECT_THAT(arguments_of({{"EDAT_NUM_THREADS", "3"}, {"EDAT_THREAD_MAPPING", "linear"}}),
              ElementsAre("--workers", "3", "--pin", "core"));
  EXPECT_THAT(arguments_of({}, {{"EDAT_NUM_THREADS", "3"}}), ElementsAre("--workers", "3"));
  EXPECT_THAT(arguments_of({}, {{"EDAT_NUM_THREADS", "3"}, {"EDAT_NUM_WORKERS", "2"}}),
              ElementsAre("--workers", "2"));
  EXPECT_THAT(arguments_of({{"EDAT_NUM_WORKERS", "2"}, {"EDAT_NUM_THREADS", "3"}}),
              ElementsAre("--workers", "2"));
  EXPECT_THAT(arguments_of({{"EDAT_NUM_WORKERS", "2"}}, {{"EDAT_NUM_THREADS", "3"}}),
              ElementsAre("--workers", "3"))
      << "the environment goes before keys, whatever its name";
  EXPECT_TRUE(read({}, {{"EDAT_REPORT_THREAD_MAPPING", "true"}}).report_workers);
  EXPECT_THAT(read({{"EDAT_NUM_THREADS", "3"}}).notes, IsEmpty());
  EXPECT_THAT(error_of({}, {{"EDAT_NUM_THREADS", "none"}}),
              HasSubstr("environment variable EDAT_NUM_THREADS: 'none' is not allowed"));
}

TEST(EdatConfiguration, SettingsWithoutEffect_AreNotedWithTheReason) {
  const struct {
    std::vector<const char*> keys;
    const char* why;
  } cases[] = {
      {{"EDAT_BATCH_EVENTS", "EDAT_MAX_BATCHED_EVENTS", "EDAT_BATCHING_EVENTS_TIMEOUT"},
       "events are handed on as they arrive"},
      {{"EDAT_COMM_TIMEOUT", "EDAT_BEAT_PERIOD"}, "there is no resilience"},
  };
  for (const auto& one : cases) {
    for (const char* key : one.keys) {
      const std::string text = std::string(key) + " has no effect: " + one.why;
      EXPECT_THAT(read({{key, "anything"}}).notes, ElementsAre("key " + text));
      EXPECT_THAT(read({}, {{key, "anything"}}).notes, ElementsAre("environment variable " + text));
      EXPECT_THAT(read({}, {{key, ""}}).notes, IsEmpty());
      EXPECT_THAT(arguments_of({{key, "anything"}}), IsEmpty());
    }
  }
}

TEST(EdatConfiguration, OfAddresses_TheLibrarysRuleIsTheDefault) {
  EXPECT_EQ(read({}).addresses, AddressRule::library);
  EXPECT_EQ(read({{"EDAT_ADDRESS_RULE", "Library"}}).addresses, AddressRule::library);
  EXPECT_EQ(read({{"EDAT_ADDRESS_RULE", "paper"}}).addresses, AddressRule::paper);
  EXPECT_EQ(read({}, {{"EDAT_ADDRESS_RULE", "PAPER"}}).addresses, AddressRule::paper);
}

TEST(EdatConfiguration, MainThread_MayHaveAWorker) {
  EXPECT_FALSE(read({}).main_is_worker);
  EXPECT_FALSE(read({{"EDAT_MAIN_THREAD_WORKER", "false"}}).main_is_worker);
  EXPECT_TRUE(read({{"EDAT_MAIN_THREAD_WORKER", "true"}}).main_is_worker);
  EXPECT_TRUE(read({}, {{"EDAT_MAIN_THREAD_WORKER", "True"}}).main_is_worker);
}

TEST(EdatConfiguration, OfTheBridgeAndResilience_OnlyNoneIsAllowed) {
  for (const char* value : {"false", "False"}) {
    EXPECT_THAT(arguments_of({{"EDAT_ENABLE_BRIDGE", value}}), IsEmpty());
    EXPECT_THAT(arguments_of({{"EDAT_RESILIENCE", value}}), IsEmpty());
  }
  EXPECT_THAT(arguments_of({}, {{"EDAT_RESILIENCE", "0"}}), IsEmpty());
  EXPECT_THAT(read({{"EDAT_ENABLE_BRIDGE", "false"}}).notes, IsEmpty());
}

TEST(EdatConfiguration, BadValues_AreRefusedWithWhereTheyStand) {
  const struct {
    const char* key;
    std::vector<std::string> values;
    const char* allowed;
  } cases[] = {
      {"EDAT_NUM_WORKERS", {"0", "000", "-1", "2.5", "4x", " 4", "10000"}, "a whole number from 1"},
      {"EDAT_PROGRESS_THREAD", {"maybe", "1", "yes", "truefalse"}, "true, false"},
      {"EDAT_REPORT_WORKER_MAPPING", {"maybe"}, "true, false"},
      {"EDAT_MAIN_THREAD_WORKER", {"maybe"}, "true, false"},
      {"EDAT_ADDRESS_RULE", {"pointer", "1"}, "library, paper"},
      {"EDAT_ENABLE_BRIDGE", {"true", "TRUE", "1"}, "false, as this library has no bridge"},
      {"EDAT_RESILIENCE", {"1", "2", "true"}, "0, false, as this library has no resilience"},
      {"EDAT_WORKER_MAPPING", {"round", "linear2", "none"}, "auto, linear, linearfromcore"},
  };
  for (const auto& one : cases) {
    for (const std::string& value : one.values) {
      const std::string text =
          one.key + (": '" + value) + "' is not allowed; allowed: " + one.allowed;
      EXPECT_EQ(error_of({{one.key, value}}), "key " + text);
      EXPECT_EQ(error_of({}, {{one.key, value}}), "environment variable " + text);
    }
    // In the environment, nothing is as good as not set.
    EXPECT_THAT(error_of({{one.key, ""}}), HasSubstr("'' is not allowed"));
    EXPECT_THAT(arguments_of({}, {{one.key, ""}}), IsEmpty());
  }
}

TEST(EdatConfiguration, UnknownKeys_AreRefusedWithThoseThatThereAre) {
  EXPECT_THAT(error_of({{"EDAT_NUM_WORKER", "1"}}),
              AllOf(HasSubstr("key EDAT_NUM_WORKER is unknown"), HasSubstr("EDAT_NUM_WORKERS"),
                    HasSubstr("EDAT_MAIN_THREAD_WORKER")));
  EXPECT_THAT(error_of({{"", "1"}}), HasSubstr("is unknown"));
  EXPECT_THAT(arguments_of({}, {{"EDAT_NUM_WORKER", "1"}}), IsEmpty());
}

}  // namespace edat_api_configuration_test
