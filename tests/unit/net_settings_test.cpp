
#include "net/mpi/mpi_session.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace shoal::net {
namespace net_settings_test {

using ::testing::HasSubstr;

std::string process_on(const std::string& host, const std::string& packet_bytes,
                       const std::string& program = "build a1") {
  return encode_settings(host, {{"the program", program}, {"--packet-bytes", packet_bytes}});
}

TEST(Settings, FindDisagreement_WhenOnlyHostsDiffer_FindsNone) {
  EXPECT_EQ(find_disagreement({process_on("h1", "8192")}), "");
  EXPECT_EQ(find_disagreement({process_on("h1", "8192"), process_on("h2", "8192")}), "");
}

TEST(Settings, FindDisagreement_WhenAValueDiffers_NamesEachValueWithItsHosts) {
  const std::string text = find_disagreement({process_on("h1", "8192"), process_on("h1", "8192"),
                                              process_on("h2", "8192"), process_on("h3", "4096")});
  EXPECT_THAT(text, HasSubstr("disagree about --packet-bytes: 8192 on h1, h2 (processes 0, 1, 2); "
                              "4096 on h3 (process 3)"));
}

TEST(Settings, FindDisagreement_WhenSeveralDiffer_NamesTheFirst) {
  const std::string text =
      find_disagreement({process_on("h1", "8192"), process_on("h2", "4096", "build b2")});
  EXPECT_THAT(text, HasSubstr("disagree about the program: build a1 on h1 (process 0); build b2 "
                              "on h2 (process 1)"));
}

TEST(Settings, FindDisagreement_WhenManyHostsDiffer_NamesSomeAndCountsTheRest) {
  std::vector<std::string> all{process_on("first", "1")};
  for (int i = 0; i < 20; ++i) all.push_back(process_on("h" + std::to_string(i), "2"));
  EXPECT_THAT(find_disagreement(all), HasSubstr("h7 and 12 more (processes 1, 2, 3"));
}

TEST(Settings, FindDisagreement_WhenASettingIsMissing_SaysSo) {
  const std::string text = find_disagreement({process_on("h1", "8192"), encode_settings("h2", {})});
  EXPECT_THAT(text, HasSubstr("unknown on h2"));
  EXPECT_THAT(find_disagreement({encode_settings("h2", {}), process_on("h1", "8192")}),
              HasSubstr("different versions of shoal"));
}

}  // namespace net_settings_test
}  // namespace shoal::net
