"""Hooks of mkdocs: pages that are being written, the interface references of Doxygen and of the
package for Python, links from there to the guides, the foot of each page, and the order of what the
search finds."""
import ast
import html
import inspect
import pathlib
import re
import subprocess
import sys
import textwrap

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

REFERENCE = pathlib.Path("build/docs/reference")
PACKAGE = pathlib.Path("python/shoal")


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


def docstrings_of_sources():
    """Docstrings of the package by names such as `Flow.data`, without those of C++."""
    texts = {}
    for path in sorted(PACKAGE.glob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if not isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                continue
            texts.setdefault(node.name, ast.get_docstring(node))
            for part in node.body if isinstance(node, ast.ClassDef) else ():
                if isinstance(part, ast.FunctionDef):
                    texts[f"{node.name}.{part.name}"] = ast.get_docstring(part)
            if path.stem == "_world":  # it has the methods of classes of C++
                texts[f"Team.{node.name}"] = texts[f"Future.{node.name}"] = ast.get_docstring(node)
    return texts


def built_package():
    """The package shoal of a build, or None where none was built for this Python."""
    sys.path += {str(path.parents[1].resolve())
                 for path in pathlib.Path("build").glob("*/python/shoal/_core*.so")}
    try:
        import shoal
    except ImportError:
        return None
    return shoal


def docstring_of(package, name, texts):
    value = package
    for part in name.split("."):
        value = inspect.getattr_static(value, part, None)
    built = "" if value is None or isinstance(value, str) else inspect.getdoc(value) or ""
    # nanobind has a signature in the first line.
    return re.sub(r"^\w*\(self.*\n*", "", built) or texts.get(name) or ""


def signature_of(node, name):
    """A function or a property of the stub as programs write it."""
    if any(getattr(decorator, "id", "") == "property" for decorator in node.decorator_list):
        return name
    for argument in ast.walk(node.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    arguments = re.sub("^(self|cls)(, )?", "", ast.unparse(node.args))
    return textwrap.fill(f"{name}({arguments})", 96, subsequent_indent=" " * (len(name) + 1))


def python_reference():
    """The public names of the package: signatures of its stub, with docstrings."""
    package, texts = built_package(), docstrings_of_sources()
    exports = (PACKAGE / "__init__.py").read_text().partition("__all__ = ")[2]
    names = set(ast.literal_eval(exports))
    parts = []
    for node in ast.parse((PACKAGE / "__init__.pyi").read_text()).body:
        name = getattr(node, "name", None) or ast.unparse(getattr(node, "target", node))
        if name not in names:
            continue
        names.remove(name)  # the first of several signatures counts
        members = {}
        for part in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(part, ast.FunctionDef):
                members.setdefault(part.name, part)
        first = node if isinstance(node, ast.FunctionDef) else members.pop("__init__", None)
        entries = [(name, signature_of(first, name) if first else name)]
        entries += [(f"{name}.{member}", signature_of(part, member))
                    for member, part in members.items() if not member.startswith("_")]
        block = "\n\n".join(
            f"{text}\n{textwrap.indent(docstring_of(package, entry, texts), '    ')}".rstrip()
            for entry, text in entries)
        parts.append(f"\n## {name}\n\n```text\n{block}\n```\n")
    if names:
        raise PluginError(f"python/shoal/__init__.pyi lacks {', '.join(sorted(names))}")
    return "".join(parts)


def on_page_markdown(markdown, page, **_):
    """The search shows guides first, and notes of the design last."""
    of_design = page.file.src_uri.startswith("design/") or page.file.src_uri == "ARCHITECTURE.md"
    page.meta.setdefault("search", {})["boost"] = 0.3 if of_design else 2
    return markdown + python_reference() if page.file.src_uri == "python_reference.md" else markdown


def on_config(config):
    docs = pathlib.Path(config.docs_dir)
    config.copyright = foot()
    config.nav = existing(config.nav, docs)
    pages = {str(path.relative_to(docs)) for path in docs.rglob("*.md")}
    forgotten = sorted(pages - named(config.nav))
    if forgotten:
        raise PluginError(f"mkdocs.yml: the navigation lacks {', '.join(forgotten)}")
    return config


def guides_of_reference(docs):
    """The guides that link to each page of the reference: their files without .md, and titles."""
    guides = {}
    for path in sorted(docs.glob("*.md")):
        text = path.read_text()
        title = re.search("^# (.*)$", text, re.M).group(1)
        for page in set(re.findall(r"\]\(reference/([^)#]+)", text)):
            guides.setdefault(page, []).append((path.stem, title))
    return guides


def with_foot(page, text):
    """A page of Doxygen that ends as those of mkdocs."""
    return page.replace('<li class="footer">', f'<li class="footer">{html.escape(text)} ', 1)


def with_guides(page, guides):
    """A page of Doxygen that begins with links to the guides about it."""
    links = ", ".join(f'<a href="../{stem}.html">{title}</a>' for stem, title in guides)
    begin = '<div class="contents">'
    return page.replace(begin, f"{begin}\n<p>Guides: {links}</p>", 1)


def on_files(files, config):
    """Adds the pages of Doxygen, below reference/, so that links to them are checked."""
    guides = guides_of_reference(pathlib.Path(config.docs_dir))
    for path in sorted(REFERENCE.rglob("*")):
        name = path.relative_to(REFERENCE).as_posix()
        if path.suffix == ".html":
            page = with_foot(path.read_text(), config.copyright)
            source = {"content": with_guides(page, guides[name]) if name in guides else page}
        else:
            source = {"abs_src_path": str(path.resolve())}
        if path.is_file():
            files.append(File.generated(config, f"reference/{name}", **source))
    return files
