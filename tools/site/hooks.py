"""Hooks of mkdocs: pages that are being written, and the interface reference of Doxygen."""
import pathlib

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


def on_config(config):
    docs = pathlib.Path(config.docs_dir)
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
