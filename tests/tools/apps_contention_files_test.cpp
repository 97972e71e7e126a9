// Measurements as CSV: good and bad files, and synthetic ones.

#include "contention/measurements.hpp"
#include "contention/synthetic.hpp"

#include "common/input_error.hpp"
#include "support/contention_tables.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace apps_contention_files_test {

using contention::Channel;
using contention::Kernel;
using contention::Machine;
using contention::Measurements;
using contention::Sample;
using contention::Traffic;
using ::testing::HasSubstr;

Machine machine() { return {"m", "a processor, 2 GHz", 8, 4, 2}; }

std::string header() { return header_text(machine(), {"one node: no other"}); }

Sample full_sample() {
  Sample sample;
  sample.point = {Kernel::triad, 16, 3, 2, Channel::mpi, Traffic::ping_pong, 4096, 1, 3};
  sample.repetition = 2;
  sample.computation_mb_s = 1234.5;
  sample.communication_mb_s = 0.25;
  sample.latency_us = 1.75;
  sample.core_mhz = 2300;
  sample.memory_mb_s = 7500;
  return sample;
}

/// The error that parse() throws.
std::string refusal(const std::string& text) {
  try {
    static_cast<void>(contention::parse(text, "data.csv"));
  } catch (const apps::InputError& error) {
    return error.what();
  }
  return "accepted";
}

std::string changed(std::string text, const std::string& from, const std::string& to) {
  const std::size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  return text.replace(place, from.size(), to);
}

TEST(ContentionFiles, Samples_ComeBackEqual) {
  Sample alone;
  alone.point.kernel = Kernel::fill;
  alone.point.cores = 8;
  alone.computation_mb_s = 5000;
  const Measurements back =
      contention::parse(header() + line_of(full_sample()) + line_of(alone), "data.csv");
  EXPECT_EQ(back.machine, machine());
  EXPECT_EQ(back.notes, std::vector<std::string>{"one node: no other"});
  EXPECT_EQ(back.samples, (std::vector<Sample>{full_sample(), alone}));
}

TEST(ContentionFiles, Columns_MayStandInAnyOrderBesideOthers) {
  std::string text = header();
  text = changed(text, "kernel,work,", "color,work,kernel,") +
         changed(line_of(full_sample()), "triad,16,", "red,16,triad,");
  EXPECT_EQ(contention::parse(text, "data.csv").samples, std::vector<Sample>{full_sample()});
}

// Files of earlier versions have no counters.
TEST(ContentionFiles, WithoutCounters_IsRead) {
  const std::string text = changed(header(), "memory_mb_s", "weather") + line_of(full_sample());
  Sample expected = full_sample();
  expected.memory_mb_s.reset();
  EXPECT_EQ(contention::parse(text, "data.csv").samples, std::vector<Sample>{expected});
}

TEST(ContentionFiles, LineEndsOfWindows_AreRead) {
  std::string text;
  for (const char c : header() + line_of(full_sample())) {
    text += c == '\n' ? "\r\n" : std::string(1, c);
  }
  EXPECT_EQ(contention::parse(text, "data.csv").samples, std::vector<Sample>{full_sample()});
}

TEST(ContentionFiles, InterruptedLine_IsDropped) {
  std::string text = header() + line_of(full_sample()) + line_of(full_sample());
  text.resize(text.size() - 10);
  EXPECT_EQ(contention::parse(text, "data.csv").samples.size(), 1U);
}

TEST(ContentionFiles, BadFiles_AreRefusedByLine) {
  const std::string good = header() + line_of(full_sample());
  EXPECT_EQ(refusal(good), "accepted");
  EXPECT_EQ(refusal(""), "data.csv:1: the file is empty");
  EXPECT_THAT(refusal("a,b\n"), HasSubstr("data.csv:1: the first line must be '# shoal"));
  EXPECT_EQ(refusal(changed(good, "# cores: 8\n", "")),
            "data.csv:7: the line '# cores: ...' is missing above the columns");
  EXPECT_EQ(refusal(changed(good, "# cores: 8", "# cores: many")),
            "data.csv:4: 'many' is no number from 1 to 1048576");
  EXPECT_THAT(refusal(changed(good, "nodes_per_socket: 2", "nodes_per_socket: 5")),
              HasSubstr("more NUMA nodes in a socket than in the machine"));
  EXPECT_EQ(refusal(changed(good, "latency_us", "delay")),
            "data.csv:8: the column 'latency_us' is missing");
  EXPECT_EQ(refusal(good.substr(0, good.find("kernel"))),
            "data.csv:7: the line with the names of the columns is missing");
}

TEST(ContentionFiles, BadValues_AreRefusedByColumn) {
  const std::string good = header() + line_of(full_sample());
  EXPECT_EQ(refusal(changed(good, "1234.5", "fast")),
            "data.csv:9: column 'computation_mb_s': 'fast' is no number from 0 to "
            "1.7976931348623157e+308");
  EXPECT_THAT(refusal(changed(good, "1234.5", "-1")), HasSubstr("'-1' is no number"));
  EXPECT_THAT(refusal(changed(good, "1234.5", "nan")), HasSubstr("'nan' is no number"));
  EXPECT_THAT(refusal(changed(good, "1234.5", "0")), HasSubstr("it must be positive"));
  EXPECT_EQ(refusal(changed(good, "triad,16", "fft,16")),
            "data.csv:9: column 'kernel': 'fft' is none of none, fill, copy, triad, primes, poll");
  EXPECT_THAT(refusal(changed(good, "mpi,", "smoke,")), HasSubstr("column 'channel': 'smoke'"));
  EXPECT_EQ(refusal(changed(good, "4096,1,3", "4096,1,4")),
            "data.csv:9: NUMA node 4: the machine has nodes 0 to 3");
  EXPECT_EQ(refusal(changed(good, "triad,16,3", "triad,16,9")),
            "data.csv:9: 9 computing cores: the machine has 8 for computation");
  EXPECT_EQ(refusal(changed(good, "triad,16,", "triad,")),
            "data.csv:9: 14 values instead of 15, one for each column");
}

TEST(ContentionFiles, UnreadableFiles_AreNamed) {
  for (const std::string path : {"/nonexistent.csv", "/"}) {
    try {
      static_cast<void>(contention::read_measurements(path));
      ADD_FAILURE() << path;
    } catch (const apps::InputError& error) {
      EXPECT_EQ(error.what(), path + ": cannot read this file");
    }
  }
}

TEST(ContentionFiles, MachinesOfTheThesis_AreItsTables) {
  const char* const folder = std::getenv("CONTENTION_MACHINES");  // NOLINT(concurrency-mt-unsafe)
  if (folder == nullptr) GTEST_SKIP() << "CONTENTION_MACHINES does not name their folder";
  for (const auto& model : shoal::contention::published_models()) {
    const std::string path = std::string(folder) + "/" + model.machine + ".json";
    EXPECT_EQ(shoal::contention::model_from_json(contention::read_text(path)), model) << path;
  }
}

TEST(ContentionFiles, Synthetic_IsReproducibleAndScattersWithinTheNoise) {
  const auto model = shoal::contention::published_model("dahu");
  const Measurements exact = contention::synthesize(model, {0, 1, 1});
  const Measurements noisy = contention::synthesize(model, {0.1, 7, 1});
  EXPECT_EQ(noisy.samples, contention::synthesize(model, {0.1, 7, 1}).samples);
  EXPECT_NE(noisy.samples, contention::synthesize(model, {0.1, 8, 1}).samples);
  ASSERT_EQ(noisy.samples.size(), exact.samples.size());
  for (std::size_t i = 0; i < noisy.samples.size(); ++i) {
    const double truth = exact.samples[i].computation_mb_s.value_or(1);
    EXPECT_NEAR(noisy.samples[i].computation_mb_s.value_or(1), truth, 0.1 * truth);
  }
}

}  // namespace apps_contention_files_test
