#pragma once
// A call-back for an exception before the stack of its thrower unwinds.

#include <typeinfo>

namespace shoal::runtime {

/// A task whose run() has the two catch clauses of LooksAtThrown.
class BeforeUnwinding {
 public:
  /// An exception of this type will leave the code between the clauses. No destructor has run for
  /// it. `object`: the exception; for a pointer, its value. May suspend the task.
  virtual void before_unwinding(const std::type_info& type, void* object) noexcept = 0;

 protected:
  ~BeforeUnwinding() = default;
};

/// `catch (const LooksAtThrown&) {} catch (...) { ... }` calls before_unwinding() of the task that
/// runs, then enters the second clause: nothing is a LooksAtThrown.
///
/// Exceptions are handled in two phases (Itanium C++ ABI, 1.1): a search for the handler, and then
/// the unwinding. The search asks the std::type_info of each clause whether it takes the exception;
/// the one of this class is an object of our own that makes the call. Both clauses stand in a
/// function into which the code between them is not inlined.
class [[gnu::visibility("hidden")]] LooksAtThrown {
 public:
  /// Never defined, so that compilers leave the type_info to others.
  virtual ~LooksAtThrown();
};

}  // namespace shoal::runtime
