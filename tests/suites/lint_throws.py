"""tools/check_throws accepts throws without a lock, and refuses those with one."""

import suite
import toy_library

HEADER = """#pragma once
namespace std { template <class T, class A> T* make_unique(A a) { return new T(a); } }
#define SHOAL_REQUIRES(...) __attribute__((requires_capability(__VA_ARGS__)))
namespace shoal {
namespace detail { [[noreturn]] void check_failed(); }
namespace sync {
struct __attribute__((capability("mutex"))) Mutex { void lock(); void unlock(); };
template <class M> struct LockOf {
  explicit LockOf(M& m) : m_(m) { m.lock(); }
  ~LockOf() { m_.unlock(); }
  M& m_;
};
using Lock = LockOf<Mutex>;
template <class M, class F> decltype(auto) locked(M& m, F f) {
  try { const LockOf<M> lock(m); return f(); } catch (...) { throw; }
}
}
extern sync::Mutex mutex;
void far(int x);
}
#define SHOAL_CHECK(condition) do { if (!(condition)) shoal::detail::check_failed(); } while (false)
#define SHOAL_DCHECK(condition) SHOAL_CHECK(condition)
"""


def check(body, far="void far(int) {}", exceptions=""):
    """Runs the tool over `body`, and `far` in another file; returns (exit code, output)."""
    files = {"a.cpp": body, "far.cpp": far}
    sources = {name: '#include "x.hpp"\nnamespace shoal {\n' + text + "\n}\n"
               for name, text in files.items()}
    return toy_library.check("check_throws", {"x.hpp": HEADER, **sources}, exceptions)


class CheckThrows(suite.Suite):
    def accept(self, *arguments, **named):
        code, output = check(*arguments, **named)
        self.assertEqual(code, 0, output)
        self.assertIn("none throws", output)

    def refuse(self, text, *arguments, **named):
        code, output = check(*arguments, **named)
        self.assertEqual(code, 1, output)
        self.assertIn(text, output)

    def test_before_and_behind_the_lock(self):
        self.accept("void f(int x) { SHOAL_CHECK(x); { sync::Lock lock(mutex); ++x; } throw x; }")

    def test_with_the_lock(self):
        self.refuse("src/x/a.cpp:3: f: throw with a lock held",
                    "void f() { sync::Lock lock(mutex); throw 1; }")
        self.refuse("src/x/a.cpp:3: f: check_failed with a lock held",
                    "void f(int x) { const sync::Lock lock(mutex); SHOAL_CHECK(x); }")

    def test_through_other_files(self):
        way = "g (src/x/far.cpp:4) -> check_failed (src/x/far.cpp:3)"
        self.refuse("f: far with a lock held, and it throws: " + way,
                    "void f() { sync::Lock lock(mutex); far(1); }",
                    far="static void g(int x) { SHOAL_CHECK(x); }\nvoid far(int x) { g(x); }")

    def test_in_a_method_that_is_called_with_the_lock(self):
        body = """struct S { void g() SHOAL_REQUIRES(mutex); void f(); };
                  void S::g() { throw 1; }
                  void S::f() { sync::Lock lock(mutex); g(); }"""
        self.refuse("S::f: g with a lock held", body)
        self.refuse("S::g: throw with a lock held",
                    "struct S { virtual void g() SHOAL_REQUIRES(mutex) { throw 1; } };")

    def test_locked_lets_exceptions_through(self):
        self.accept("void f(int x) { sync::locked(mutex, [&] { SHOAL_CHECK(x); far(x); }); }",
                    far="void far(int) { throw 1; }")

    def test_locked_inside_of_a_lock(self):
        self.refuse("with a lock held",
                    "sync::Mutex other; void f(int x) { sync::Lock lock(other); "
                    "sync::locked(mutex, [&] { SHOAL_CHECK(x); }); }")

    def test_noexcept(self):
        self.accept("void g() noexcept { throw 1; } void f() { sync::Lock lock(mutex); g(); }")

    def test_constructors(self):
        body = """struct S { explicit S(int x) { SHOAL_CHECK(x); } };
                  void f(int x) { sync::Lock lock(mutex); std::make_unique<S>(x); }"""
        self.refuse("f: S with a lock held, and it throws: check_failed", body)

    def test_caught(self):
        self.accept("void f() { sync::Lock lock(mutex); try { throw 1; } catch (...) {} }")
        self.accept("void f() { try { sync::Lock lock(mutex); throw 1; } catch (...) { throw; } }")
        for handler in ("catch (...) { throw; }", "catch (int) {}"):
            self.refuse("with a lock held",
                        "void f() { sync::Lock lock(mutex); try { throw 1; } " + handler + " }")

    def test_debug_checks_are_left_out(self):
        self.accept("void f(int x) { sync::Lock lock(mutex); SHOAL_DCHECK(x); }")

    def test_exceptions(self):
        body = "void f() { sync::Lock lock(mutex); throw 1; }"
        self.accept(body, exceptions="src/x/a.cpp | throws | a reason\n")
        self.refuse("src/x/a.cpp throws with no lock held: remove this line", "void f() {}",
                    exceptions="src/x/a.cpp | throws | a reason\n")


if __name__ == "__main__":
    suite.main()
