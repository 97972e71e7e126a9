#include "net/mpi/mpi_check.hpp"

#include <shoal/error.hpp>

#include <fmt/format.h>

#include <array>

namespace shoal::net {

namespace {

std::string describe(const MpiCall& call) {
  std::string text = call.name;
  if (call.process != MpiCall::kNone) text += fmt::format(" in process {}", call.process);
  if (call.peer == MpiCall::kAnyPeer) {
    text += ", any peer";
  } else if (call.peer != MpiCall::kNone) {
    text += fmt::format(", peer process {}", call.peer);
  }
  if (call.tag != MpiCall::kNone) text += fmt::format(", tag {}", call.tag);
  return text;
}

}  // namespace

std::string mpi_error_text(const MpiTable& mpi, int result) {
  std::array<char, 1024> text{};
  if (mpi.error_string(result, text.data(), text.size()) != 0) {
    return fmt::format("error code {}", result);
  }
  return text.data();
}

void throw_mpi_error(const MpiTable& mpi, int result, const MpiCall& call) {
  int kind = mpi.err_other;
  if (mpi.error_class(result, &kind) != 0) kind = mpi.err_other;
  const char* const hint =
      kind == mpi.err_truncate
          ? "truncated: more bytes arrived than the receiver made room for; sender and receiver "
            "disagree about the size"
          : "look at the launcher's output for a process or a network that failed";
  throw TransportError(
      fmt::format("{} failed: {} ({})", describe(call), mpi_error_text(mpi, result), hint));
}

}  // namespace shoal::net
