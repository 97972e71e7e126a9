"""tools/check_calls accepts calls in one direction and refuses cycles, by name."""

import functools
import tempfile

import suite
import toy_library

check = functools.partial(toy_library.check, "check_calls")

HEADER = "#pragma once\nint a(); int b(); int c();\n"
ONE_WAY = {"x.hpp": HEADER,
           "a.cpp": '#include "x.hpp"\nint a() { return b(); }\n',
           "b.cpp": '#include "x.hpp"\nint b() { return 1; }\n'}
CYCLE = {"x.hpp": HEADER,
         "a.cpp": '#include "x.hpp"\nint a() { return b(); }\nint c() { return 1; }\n',
         "b.cpp": '#include "x.hpp"\nint b() { return c(); }\n'}
CLASS = """#pragma once
namespace std { template <class T> T* make_unique() { return new T; } }
struct Base { virtual int f(); };
struct Part : Base { Part(); int f() override; };
"""
MAKE_PART = '#include "x.hpp"\nBase* make() { return std::make_unique<Part>(); }\n'


class CheckCalls(suite.Suite):

    def test_one_direction(self):
        self.assertEqual(check(ONE_WAY), (0, "check_calls: 2 files, no cycle\n"))

    def test_cycle(self):
        code, output = check(CYCLE)
        self.assertEqual(code, 1)
        self.assertIn("x/a.cpp, x/b.cpp call each other", output)
        self.assertIn("x/b.cpp -> x/a.cpp", output)

    def test_one_unit_of_two_files(self):
        for sources, expected in ((ONE_WAY, 0), (CYCLE, 1)):
            unit = {"unit.cpp": '#include "a.cpp"\n#include "b.cpp"\n'}
            self.assertEqual(check({**sources, **unit}, units=["unit.cpp"])[0], expected)

    def test_through_a_header(self):
        inline = {"x.hpp": HEADER + "inline int through() { return c(); }\n",
                  "b.cpp": '#include "x.hpp"\nint b() { return through(); }\n'}
        self.assertEqual(check({**CYCLE, **inline})[0], 1)
        unused = {"x.hpp": inline["x.hpp"], "b.cpp": ONE_WAY["b.cpp"]}
        self.assertEqual(check({**CYCLE, **unused})[0], 0)

    def test_constructors(self):
        back = "Base* make();\nPart::Part() { make(); }\nint Part::f() { return 1; }\n"
        self.assertEqual(check({"x.hpp": CLASS, "a.cpp": MAKE_PART,
                                "b.cpp": '#include "x.hpp"\n' + back})[0], 1)

    def test_virtual_calls_do_not_count(self):
        up = '#include "x.hpp"\nint up(Base& b) { return b.f(); }\nint Base::f() { return 0; }\n'
        part = '#include "x.hpp"\nint up(Base&);\nint Part::f() { return up(*this); }\n'
        self.assertEqual(check({"x.hpp": CLASS, "a.cpp": up, "b.cpp": part})[0], 0)

    def test_exceptions(self):
        self.assertEqual(check(CYCLE, "src/x/a.cpp | calls | old\n")[0], 0)
        code, output = check(ONE_WAY, "src/x/a.cpp | calls | old\n")
        self.assertEqual(code, 1)
        self.assertIn("tools/tidy_exceptions:1: src/x/a.cpp is in no cycle", output)

    def test_source_that_does_not_compile(self):
        code, output = check({"a.cpp": "int a() { return b(); }\n"})
        self.assertEqual(code, 1)
        self.assertIn("use of undeclared identifier 'b'", output)

    def test_nothing_built(self):
        with tempfile.TemporaryDirectory() as folder:
            code, output = toy_library.run("check_calls", folder)
        self.assertEqual(code, 1)
        self.assertIn("compile_commands.json: configure that build first", output)

    def test_nothing_of_shoal(self):
        self.assertEqual(check({})[0], 1)


if __name__ == "__main__":
    suite.main()
