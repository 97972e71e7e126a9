"""Hooks of mkdocs: pages that are being written, the interface reference of Doxygen, the foot of
each page, and the order of what the search finds."""
import pathlib
import re
import subprocess

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

REFERENCE = pathlib.Path("build/docs/reference")


def existing(entries, docs):
    """The entries of a navigation whose pages exist; others are left out."""
    kept = []
    for entry in entries:
        ((title, value),) = entry.items()
        if isinstance(value, list):
            kept.append({title: existing(value, docs)})
        elif (docs / value).is_file():
            kept.append(entry)
    return kept


def named(entries):
    """The pages of a navigation."""
    pages = set()
    for entry in entries:
        ((_, value),) = entry.items()
        pages |= named(value) if isinstance(value, list) else {value}
    return pages


def foot():
    """Version and date of the pages, and where to report mistakes."""
    header = pathlib.Path("include/shoal/version.hpp").read_text()
    version = re.search(r'SHOAL_VERSION "(\S+)"', header).group(1)
    git = subprocess.run(["git", "log", "-1", "--format=%cs %h"], capture_output=True, text=True,
                         check=False).stdout.split()
    date = f", {git[0]}, commit {git[1]}" if git else ""
    return (f"shoal {version}{date}. Report mistakes in the tracker of the repository that you "
            "cloned, with the output of --info.")


def on_page_markdown(markdown, page, **_):
    """The search shows guides first, and notes of the design last."""
    of_design = page.file.src_uri.startswith("design/") or page.file.src_uri == "ARCHITECTURE.md"
    page.meta.setdefault("search", {})["boost"] = 0.3 if of_design else 2
    return markdown


def on_config(config):
    docs = pathlib.Path(config.docs_dir)
    config.copyright = foot()
    config.nav = existing(config.nav, docs)
    pages = {str(path.relative_to(docs)) for path in docs.rglob("*.md")}
    forgotten = sorted(pages - named(config.nav))
    if forgotten:
        raise PluginError(f"mkdocs.yml: the navigation lacks {', '.join(forgotten)}")
    return config


def on_files(files, config):
    """Adds the pages of Doxygen, below reference/, so that links to them are checked."""
    for path in sorted(REFERENCE.rglob("*")):
        if path.is_file():
            name = "reference/" + str(path.relative_to(REFERENCE))
            files.append(File.generated(config, name, abs_src_path=str(path.resolve())))
    return files
