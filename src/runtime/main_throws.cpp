#include "runtime/main_throws.hpp"

#include <shoal/detail/base/held_locks.hpp>
#include <shoal/detail/sched/park.hpp>

#include <cxxabi.h>

#include <new>

namespace shoal::runtime {

/// libstdc++ asks it in the search phase, by the one function of std::type_info that is for that.
class [[gnu::visibility("hidden")]] Look final : public std::type_info {
 public:
  Look() : std::type_info("shoal::runtime::LooksAtThrown") {}

  bool __do_catch(  // NOLINT(bugprone-reserved-identifier): the name is the library's
      const std::type_info* type, void** object, unsigned /*outer*/) const override {
    if (*type == typeid(abi::__forced_unwind)) return false;  // pthread_exit(): see run_main()
    auto* const task = dynamic_cast<BeforeUnwinding*>(sched::current_task());
    // This one may be thrown under any lock: see TeamCore::end_without_memory().
    if (*type != typeid(std::bad_alloc)) {
      shoal::detail::check_no_lock_held("the main function lets an exception through",
                                        type->name());
    }
    if (task != nullptr) task->before_unwinding(*type, *object);
    return false;
  }
};

/// Never destroyed: main functions may run as long as the process does.
union [[gnu::visibility("hidden")]] Lasting {
  Look look;
  Lasting() : look() {}
  ~Lasting() {}  // NOLINT(modernize-use-equals-default): that would be deleted
};

// The type_info of LooksAtThrown, by its symbol. No code of this file needs one.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): the linker's name for it
[[gnu::visibility("hidden")]] extern Lasting look_at_thrown asm(
    "_ZTIN5shoal7runtime13LooksAtThrownE");
Lasting look_at_thrown;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

}  // namespace shoal::runtime
