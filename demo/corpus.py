#!/usr/bin/env python3
"""Gathers the demo's training text from the documentation that Debian packages bring: python3 corpus.py OUTPUT

The first source that holds a megabyte of prose is taken whole: Perl's documentation (package perl-doc, which also minimised
container images keep), else the manual pages.  Markup and program listings are left out, files are read in the order of their
names, so that the same packages always give the same text.
"""

from __future__ import annotations

import gzip
import re
import sys
from pathlib import Path

ENOUGH = 1_000_000  # bytes
LIMIT = 4_000_000   # the demo sees less than this in its few minutes

# Release notes, a table of contents, tables of characters, and pages that are not in English.
NOT_PROSE = re.compile(r"perl(\d*delta|toc|uniprops|modlib|cn|jp|ko|tw)\.pod$")

POD_CODE = re.compile(r"[A-Z]<(?:<+ (?P<wide>.*?) >+>|(?P<text>[^<>]*)>)", re.DOTALL)
POD_ESCAPES = {"lt": "<", "gt": ">", "sol": "/", "verbar": "|"}

ROFF_FONT = re.compile(r"\\f(\(..|\[[^]]*\]|.)|\\s[-+]?\d+|\\[&|^/,:%]|\\c$")
ROFF_SPECIAL = {r"\-": "-", r"\(aq": "'", r"\(dq": '"', r"\(em": " - ", r"\(en": "-", r"\(bu": "*", r"\(ti": "~", r"\(ha": "^",
                r"\(lq": '"', r"\(rq": '"', r"\(cq": "'", r"\(oq": "'", r"\(co": "(c)", r"\(->": "->", r"\(+-": "+-", r"\ ": " ",
                r"\~": " ", r"\e": "\\", r"\.": ".", r"\'": "'", r"\`": "`"}
ROFF_FONT_MACROS = {".B", ".I", ".BR", ".BI", ".IR", ".IB", ".RB", ".RI", ".SM", ".SB"}
ROFF_LISTINGS = {".nf": ".fi", ".EX": ".EE", ".TS": ".TE", ".EQ": ".EN", ".de": "..", ".ig": ".."}


def replace_pod_code(match: re.Match[str]) -> str:
    letter = match.group(0)[0]
    text = match.group("wide") or match.group("text") or ""
    if letter in "XZ":  # index entries and nothing at all
        return ""
    if letter == "E":
        return POD_ESCAPES.get(text, "")
    return text.split("|")[0].lstrip("/") if letter == "L" else text


def pod_prose(text: str) -> list[str]:
    """The paragraphs of a page of Plain Old Documentation: directives, listings and formatting codes go."""
    paragraphs = []
    hidden = False
    for paragraph in re.split(r"\n\s*\n", text):
        if paragraph.startswith("="):
            hidden = paragraph.startswith(("=begin", "=for", "=encoding")) or (hidden and not paragraph.startswith("=end"))
            continue
        if hidden or paragraph[:1].isspace():
            continue
        while (inner := POD_CODE.sub(replace_pod_code, paragraph)) != paragraph:
            paragraph = inner
        paragraphs.append(paragraph)
    return paragraphs


def roff_prose(text: str) -> list[str]:
    """The paragraphs of a manual page: requests, listings, tables and font changes go."""
    paragraphs: list[list[str]] = [[]]
    listing_end = None
    for line in text.splitlines():
        request = line.split(" ", 1)[0]
        if listing_end is not None:
            listing_end = None if request == listing_end else listing_end
        elif request in ROFF_LISTINGS:
            listing_end = ROFF_LISTINGS[request]
        elif request in ROFF_FONT_MACROS:
            paragraphs[-1].append(line[len(request):].replace('"', ""))
        elif line.startswith((".", "'")) or not line:
            paragraphs.append([])
        else:
            paragraphs[-1].append(line)
    return [plain_roff("\n".join(lines)) for lines in paragraphs]


def plain_roff(text: str) -> str:
    text = ROFF_FONT.sub("", text)
    for escape, character in ROFF_SPECIAL.items():
        text = text.replace(escape, character)
    return text


def tidy(paragraph: str) -> str:
    """One line in printable ASCII; empty when it is too short or has too few letters for prose."""
    line = " ".join(paragraph.encode("ascii", "ignore").decode().split())
    letters = sum(character.isalpha() or character == " " for character in line)
    return line if len(line) >= 40 and letters >= 0.85 * len(line) else ""


def read(path: Path) -> str:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return data.decode("utf-8", "replace")


def perl_pages() -> list[Path]:
    return [path for path in Path("/usr/share/perl").glob("5.*.*/pod/*.pod") if not NOT_PROSE.search(path.name)]


def manual_pages() -> list[Path]:
    return list(Path("/usr/share/man").glob("man[1-8]/*.gz"))


SOURCES = (
    ("Perl documentation (perl-doc)", perl_pages, pod_prose),
    ("manual pages (manpages, manpages-dev)", manual_pages, roff_prose),
)


def gather(pages: list[Path], prose) -> str:
    seen: set[str] = set()  # many pages share their closing paragraphs
    lines: list[str] = []
    size = 0
    for path in sorted(set(map(Path.resolve, pages))):
        if size >= LIMIT:
            break
        for line in map(tidy, prose(read(path))):
            if line and line not in seen:
                seen.add(line)
                lines.append(line)
                size += len(line) + 1
    return "".join(line + "\n" for line in lines)


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: corpus.py OUTPUT", file=sys.stderr)
        return 2
    found = []
    for name, pages, prose in SOURCES:
        text = gather(pages(), prose)
        if len(text) >= ENOUGH:
            output = Path(arguments[0])
            output.parent.mkdir(parents=True, exist_ok=True)
            output.write_text(text, encoding="ascii")
            print(f"corpus: {len(text):,} bytes of prose from {name} in {output}")
            return 0
        found.append(f"  {name}: {len(text):,} bytes")
    print(f"corpus: no source has {ENOUGH:,} bytes of prose:", *found, "Install one: apt-get install perl-doc", sep="\n",
          file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
