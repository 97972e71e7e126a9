// Strands have no effect without ThreadSanitizer.

#include <shoal/detail/sync/strand.hpp>

#include <shoal/error.hpp>

namespace shoal::sync {

namespace detail {

bool watches_strands() { return false; }
void* current_strand() { return nullptr; }
void run_on_strand(void*& /*strand*/, void (*call)(void*), const void* argument,
                   std::size_t /*size_bytes*/) {
  call(const_cast<void*>(argument));
}
void name_strand(void*& /*strand*/, const char* /*name*/) {}
void end_strand(void*& /*strand*/) {}
void publish(const void* /*token*/) {}
void observe(const void* /*token*/) {}
void pass_on(const void* /*from*/, const void* /*to*/) {}
void observe_all() {}
const void* shared_token(std::uint64_t /*number*/) { return nullptr; }
void begin_quiet() {}
void end_quiet() {}
int lift_quiet() { return 0; }
void restore_quiet(int /*depth*/) {}

}  // namespace detail

StrandWatch::StrandWatch(bool on) : on_(on) {
  if (!on_) return;
  throw ConfigError(
      "--sim-races needs ThreadSanitizer, and this shoal was built without it: configure shoal and "
      "the program with -DSHOAL_SANITIZE=thread");
}

StrandWatch::~StrandWatch() = default;

}  // namespace shoal::sync
