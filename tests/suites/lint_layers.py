"""tools/check_layers accepts a good tree and refuses each kind of bad one, by name and line."""

import pathlib
import sys
import tempfile

import suite

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "check_layers"

TABLE = "shoal_layer(base)\nshoal_layer(env DEPENDS base)\nshoal_layer(net DEPENDS base)\n"
# Each layer includes what TABLE lists for it.
USES = {"src/env/uses.cpp": "#include <shoal/base/a.hpp>\n",
        "src/net/uses.cpp": "#include <shoal/base/a.hpp>\n"}


class CheckLayers(suite.Suite):

    def check(self, code, files, expected):
        """Runs the tool over a tree of {path: text}."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for path, text in {"src/CMakeLists.txt": TABLE, **USES, **files}.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
            result = self.run_command([sys.executable, TOOL, "--root", folder], code=code)
        for text in expected:
            self.assertIn(text, result.output + result.errors)

    def refuses(self, files, *expected):
        self.check(1, files, expected)

    def accepts(self, files, *expected):
        self.check(0, files, expected)

    def test_good_tree(self):
        self.accepts({
            "include/shoal/base/a.hpp": "#pragma once\n",
            "include/shoal/detail/net/d.hpp": "#pragma once\n#include <shoal/detail/base/a.hpp>\n",
            "include/shoal/shoal.hpp": "#pragma once\n#include <shoal/net/n.hpp>\n",
            "include/shoal/mpi.hpp": "#pragma once\n#include <mpi.h>\n",
            "src/net/n.cpp": '#include <shoal/base/a.hpp>\n#include "net/n.hpp"\n',
            "src/net/mpi_plugin/m.cpp": "#include <mpi.h>\n",
            "src/env/e.cpp": "#include <shoal/base/a.hpp>\nstd::thread worker;\n",
            "src/base/b.cpp": "std::thread::id owner;  // not a std::thread\n",
        })

    def test_standard_error_by_other_means(self):
        self.refuses({"src/net/n.cpp": 'fmt::print(stderr, "lost");\n',
                      "apps/a/main.cpp": '\nstd::cerr << "lost";\n'},
                     "src/net/n.cpp:1: write to standard error by env::write_to_standard_error()",
                     "apps/a/main.cpp:2: write to standard error by")
        self.accepts({"src/env/host.cpp": "#include <shoal/base/a.hpp>\nstd::fflush(stderr);\n",
                      "apps/cli/output.cpp": "std::fputs(text, stderr);\n",
                      "src/net/n.cpp": "// to stderr\n"})

    def test_include_of_a_sibling(self):
        self.refuses({"src/net/n.cpp": "\n#include <shoal/env/e.hpp>\n"},
                     "src/net/n.cpp:2: net must not include shoal/env/e.hpp")

    def test_include_of_a_higher_layer_by_a_public_header(self):
        self.refuses({"include/shoal/base/a.hpp": "#pragma once\n#include <shoal/net/n.hpp>\n"},
                     "include/shoal/base/a.hpp:2: base must not include")

    def test_include_of_a_higher_layer_by_a_header_for_templates(self):
        header = "#pragma once\n#include <shoal/detail/net/n.hpp>\n"
        self.refuses({"include/shoal/detail/base/a.hpp": header},
                     "include/shoal/detail/base/a.hpp:2: base must not include")

    def test_header_that_includes_one_that_is_not_installed(self):
        self.refuses({"include/shoal/detail/net/a.hpp": '#pragma once\n#include "net/b.hpp"\n'},
                     "include/shoal/detail/net/a.hpp:2: net/b.hpp is not installed")

    def test_include_of_a_private_header_of_another_layer(self):
        self.refuses({"src/net/n.cpp": '#include "env/e.hpp"\n'}, "net must not include env/e.hpp")

    def test_layer_that_includes_the_umbrella_header(self):
        self.refuses({"src/net/n.cpp": "#include <shoal/shoal.hpp>\n"},
                     "a layer must not include <shoal/shoal.hpp>")

    def test_layer_that_is_not_in_the_table(self):
        self.refuses({"src/extra/x.cpp": "\n"}, "'extra' is not in the table")

    def test_table_that_is_not_in_order(self):
        self.refuses({"src/CMakeLists.txt": "shoal_layer(a DEPENDS b)\nshoal_layer(b)\n"},
                     "src/CMakeLists.txt:1: a depends on b, not a lower layer")

    def test_mpi_outside_of_its_place(self):
        self.refuses({"src/net/n.cpp": "#include <mpi.h>\n"}, "src/net/n.cpp:1: <mpi.h> belongs")

    def test_thread_outside_of_env(self):
        self.refuses({"src/net/n.cpp": "std::this_thread::sleep_for(x);\n"},
                     "src/net/n.cpp:1: threads, clocks and sleeps belong to src/env")

    def test_header_without_guard(self):
        self.refuses({"include/shoal/base/a.hpp": "int x;\n"}, "begins with #pragma once")

    def test_long_lines(self):
        self.refuses({"tests/unit/t.cpp": "x" * 101}, "tests/unit/t.cpp:1: 101 columns")

    def test_long_files_are_warned_of(self):
        self.accepts({"src/net/n.cpp": "\n" * 601},
                     "src/net/n.cpp:601: (warning: 601 lines: is it one story?)")

    def test_layer_that_is_listed_and_not_included(self):
        self.refuses({"src/env/uses.cpp": "\n"}, "src/env:1: src/CMakeLists.txt lists base for env")

    def test_exception_with_a_reason(self):
        self.accepts({"src/net/n.cpp": "x" * 101,
                      "tools/tidy_exceptions": "src/net/n.cpp | columns | a long table\n"})

    def test_exception_that_is_not_needed_or_has_no_reason(self):
        self.refuses({"src/net/n.cpp": "", "tools/tidy_exceptions": "src/net/n.cpp | mpi | old\n"},
                     "no longer breaks 'mpi'")
        self.refuses({"tools/tidy_exceptions": "src/net/n.cpp | mpi\n"}, "path | rule | reason")


if __name__ == "__main__":
    suite.main()
