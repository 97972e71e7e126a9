"""The headers that programs are told to include: each compiles alone, and the umbrella header is
not too long."""

import concurrent.futures
import re

import suite

# Of lines that <shoal/shoal.hpp> has, preprocessed, beyond the headers of the standard library that
# it cannot do without. A program pays for these lines in each of its files: <functional>,
# <algorithm> and <fmt/format.h> alone would each add thousands.
LINES_MAX = 12600
# Functions without arguments and results, where a pack of arguments is empty.
NOTHING = """#include <shoal/object.hpp>
#include <shoal/shoal.hpp>
void nothing() {}
struct Empty : shoal::DistributedObject<Empty> {
  explicit Empty(shoal::Team& team) : DistributedObject(team) {}
  void nothing() const {}
};
int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    world.send(shoal::Rank(0), shoal::am<nothing>);
    world.call(shoal::Rank(0), shoal::am<nothing>).get();
    world.multicast({shoal::Rank(0)}, shoal::am<nothing>);
    Empty empty(world);
    empty.async<&Empty::nothing>(shoal::Rank(0));
    empty.call<&Empty::nothing>(shoal::all_ranks).get();
    shoal::TaskGroup group("braces");  // gcc takes them for a std::string as well
    group.spawn([] {}, {.name = "options"});
    group.spawn([] {}, "a name");
    group.wait();
    shoal::Flow flow(world);
    flow.insert(nothing);
    shoal::Events events(world);
    events.fire(shoal::self, "nothing");
    shoal::TaskGraph<int> graph(world);
    graph.set_task([](int) {}).set_indegree([](int) { return 0; });
    world.wait();
  });
}
"""
NEEDED = ["memory", "string", "vector", "tuple", "optional", "span", "array", "stdexcept", "atomic"]


class Headers(suite.Suite):

    def setUp(self):
        build = suite.build()
        self.scratch = build.scratch("headers_alone")
        self.compiler = [build.variables["CMAKE_CXX_COMPILER"], "-std=c++20",
                         *(f"-I{folder}" for folder in build.includes)]

    def errors(self, header):
        """Of the compiler, for a header alone. It makes an object: the compiler cache keeps no
        checks of syntax."""
        source = self.scratch / f"{header.replace('/', '_')}.cpp"
        source.write_text(f"#include <{header}>\n")
        cache = [word for word in [suite.build().variables["SHOAL_TEST_CCACHE"]] if word]
        return self.run_command([*cache, *self.compiler, f"-I{self.scratch}", "-c", source, "-o",
                                 source.with_suffix(".o")], code=[0, 1]).errors

    def test_each_compiles_alone(self):
        """shoal/*.hpp and the headers that these include. (<shoal/mpi.hpp> needs mpi.h, and
        <shoal/python.hpp> Python.h: tests of mpi and of python include them first.) A header that
        another one includes before all else is compiled alone at the top of that one."""
        folder = suite.build().source / "include"
        text = {str(path.relative_to(folder)): path.read_text()
                for path in folder.glob("shoal/**/*.hpp")}
        tops = [name for name in text if name.count("/") == 1
                and name not in ("shoal/mpi.hpp", "shoal/python.hpp")]
        included = re.compile("^#include <(shoal/[^>]+)>", re.M)
        inner = [name for top in tops for name in included.findall(text[top])]
        headers = set(tops + inner)
        first = (re.search("^(?!#pragma)[^/\n].*", text[name], re.M).group() for name in headers)
        at_the_top = {match.group(1) for match in map(included.match, first) if match}
        compiled = sorted(headers - at_the_top)
        self.assertGreater(len(compiled), 10)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            errors = [text for text in pool.map(self.errors, compiled) if text]
        self.assertFalse(errors, "\n".join(errors))

    def test_older_levels_of_the_language_get_one_error(self):
        """And one that ends the compilation, whatever header comes first."""
        folder = suite.build().source / "include"
        tops = sorted(path.name for path in folder.glob("shoal/*.hpp"))
        program = "int main() { shoal::World* world = nullptr; return world != nullptr; }\n"
        for top in set(tops) - {"mpi.hpp", "python.hpp", "version.hpp"}:
            source = self.scratch / f"old_{top}.cpp"
            source.write_text(f"#include <shoal/{top}>\n{program}")
            errors = self.run_command([*self.compiler, "-std=c++17", "-fsyntax-only", source],
                                      code=1).errors
            lines = [line for line in errors.splitlines() if "error: " in line]
            self.assertEqual(len(lines), 2, f"{top}: {errors[:2000]}")
            self.assertIn("shoal needs C++20: compile with -std=c++20", lines[0])

    def test_programs_get_no_warnings(self):
        """Of our templates, with the headers as the program's own: those that are precompiled, or
        of a library that CMake has found, give none."""
        source = self.scratch / "nothing.cpp"
        source.write_text(NOTHING)
        tutorials = suite.build().source / "apps/tutorial"
        names = ("events", "flow", "jacobi_graph", "loops", "memory", "objects", "teams")
        for program in [source, *(tutorials / f"{name}.cpp" for name in names)]:
            self.run_command([*self.compiler, f"-I{tutorials.parent}", "-Wall", "-Wextra",
                              "-Wpedantic", "-Wconversion", "-Werror", "-fsyntax-only", program])

    def test_a_header_that_needs_another_is_found(self):
        (self.scratch / "bad.hpp").write_text("inline std::string no_header_for_this();\n")
        self.assertIn("std", self.errors("bad.hpp"))

    def lines(self, name, headers):
        source = self.scratch / f"{name}.cpp"
        source.write_text("".join(f"#include <{header}>\n" for header in headers))
        output = self.run_command([*self.compiler, "-E", "-P", source]).output
        return sum(bool(line.strip()) for line in output.splitlines())

    def test_lines_of_the_umbrella_header(self):
        everything = self.lines("umbrella", ["shoal/shoal.hpp"])
        own = everything - self.lines("standard", NEEDED)
        print(f"<shoal/shoal.hpp>: {everything} lines, {own} beyond the standard headers")
        if own > LINES_MAX:
            print(f"(warning: more than {LINES_MAX}: can it include less?)")


if __name__ == "__main__":
    suite.main()
