// Main function of a program of several files of tests: `program <layer> [<options of gtest>]` runs
// the tests of the files <layer>_*.cpp, or those of one file, named without folder and suffix;
// without an argument, all.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <string>

namespace {

// A filter that chooses the tests of a layer or a file.
std::string tests_of(const std::string& name) {
  std::string filter;
  const testing::UnitTest& tests = *testing::UnitTest::GetInstance();
  for (int s = 0; s < tests.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *tests.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const testing::TestInfo& test = *suite.GetTestInfo(t);
      const std::string file = std::filesystem::path(test.file()).stem();
      if (file != name && !file.starts_with(name + "_")) continue;
      filter += std::string(suite.name()) + "." + test.name() + ":";
    }
  }
  return filter;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  if (argc > 1) {
    const std::string filter = tests_of(argv[1]);
    if (filter.empty()) {
      std::fprintf(stderr, "no tests of files %s_*.cpp or of a file %s.cpp\n", argv[1], argv[1]);
      return 1;
    }
    if (GTEST_FLAG_GET(filter) == "*") GTEST_FLAG_SET(filter, filter);
  }
  return RUN_ALL_TESTS();
}
