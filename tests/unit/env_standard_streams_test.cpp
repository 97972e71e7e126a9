// Standard streams that cannot be written: messages are lost, results are not lost in silence.

#include "env/host.hpp"

#include <shoal/error.hpp>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

namespace env_standard_streams_test {

using shoal::env::open_standard_streams;
using shoal::env::write_to_standard_error;
using shoal::env::write_to_standard_output;

/// Runs `body` in a child process; it must end with exit code 0.
void in_child(const std::function<void()>& body) {
  EXPECT_EXIT(
      {
        body();
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "");
}

void let_go_to(const char* path, int stream) {
  const int file = open(path, O_WRONLY);
  dup2(file, stream);
  close(file);
}

TEST(StandardStreams, ErrorOnAFullDisk_IsLost) {
  in_child([] {
    let_go_to("/dev/full", STDERR_FILENO);
    write_to_standard_error("lost\n");
  });
}

TEST(StandardStreams, ErrorWithoutAReader_IsLost_AndLeavesNoSignalBehind) {
  in_child([] {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) std::_Exit(1);
    close(ends[0]);
    dup2(ends[1], STDERR_FILENO);
    write_to_standard_error({"lost", " ", "\n"});
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    if (sigismember(&blocked, SIGPIPE) == 1) std::_Exit(2);
  });
}

TEST(StandardStreams, ClosedOnes_GiveTheirNumbersToNoFile_AndTakeNothing) {
  in_child([] {
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
    open_standard_streams();
    const int file = open("/dev/null", O_WRONLY);
    if (file <= STDERR_FILENO) std::_Exit(1);
    write_to_standard_error("lost\n");
    try {
      write_to_standard_output("a result");
      std::_Exit(2);
    } catch (const shoal::Error&) {
    }
  });
}

TEST(StandardStreams, OpenOnes_StayAsTheyAre) {
  const int file = dup(STDOUT_FILENO);
  close(file);
  open_standard_streams();
  EXPECT_EQ(dup(STDOUT_FILENO), file) << "nothing was opened";
  close(file);
}

TEST(StandardStreams, ErrorInParts_IsOneText) {
  testing::internal::CaptureStderr();
  const std::string large(5000, 'x');
  write_to_standard_error({"a", large, "", "b\n"});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "a" + large + "b\n");
}

TEST(StandardStreams, OutputOnAFullDisk_IsAnError) {
  in_child([] {
    let_go_to("/dev/full", STDOUT_FILENO);
    std::printf("printed before");
    try {
      write_to_standard_output("");
      std::_Exit(1);
    } catch (const shoal::Error& error) {
      if (std::string(error.what()).find("No space left") == std::string::npos) std::_Exit(2);
    }
  });
}

}  // namespace env_standard_streams_test
