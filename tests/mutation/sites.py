"""The mutants of one source text: every place where an operator applies, found in the syntax tree of tree-sitter's grammars.

A template is parsed with its Jinja2 expressions replaced by names of the same length.  The new text is made of the original one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from mutation.operators import OPERATORS, is_prefetch, text

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


@dataclass(frozen=True)
class Site:
    """One mutant: the bytes [start, end) of a file are replaced by a text."""

    file: str
    line: int
    start: int
    end: int
    new: str
    operator: str

    @property
    def name(self) -> str:
        return f"{self.file}:{self.line}:{self.start}:{self.operator}:{self.new}"


# No code: declarations that the compiler checks, and text that the grammar did not understand.
SKIPPED = {"static_assert_declaration", "preproc_if", "preproc_elif", "preproc_include", "ERROR"}
JINJA = re.compile(rb"\$\{.*?\}|^[ \t]*//%.*$", re.MULTILINE)


@cache
def _parser(is_cuda: bool) -> Parser:
    import tree_sitter  # here, so that --help works without the packages
    import tree_sitter_c
    import tree_sitter_cuda

    grammar = tree_sitter_cuda if is_cuda else tree_sitter_c
    return tree_sitter.Parser(tree_sitter.Language(grammar.language()))


def _mask(found: re.Match[bytes]) -> bytes:
    return (b"x" if found[0].startswith(b"$") else b" ") * len(found[0])


def _children(node: Node) -> Iterator[Node]:
    """The code below a node.  A condition of the preprocessor is no code, but the lines that it guards are."""
    for child in node.children:
        if child.type in ("preproc_if", "preproc_ifdef", "preproc_elif", "preproc_else"):
            guard = [child.child_by_field_name(name) for name in ("condition", "name")]
            yield from (inner for inner in child.children if inner not in guard)
        elif child.type not in SKIPPED and not is_prefetch(child) \
                and not text(child).startswith(("static_assert", "_Static_assert")):
            yield child


def sites(file: str, source: bytes) -> list[Site]:
    """All mutants of a file, in the order of its text."""
    masked = JINJA.sub(_mask, source) if file.endswith(".j2") else source
    tree = _parser(".cu" in file).parse(masked)
    found: list[Site] = []
    pending = list(_children(tree.root_node))
    while pending:
        node = pending.pop()
        pending.extend(_children(node))
        for name, operator in OPERATORS.items():
            for changed, new in operator(node):
                is_masked = source[changed.start_byte:changed.end_byte] != masked[changed.start_byte:changed.end_byte]
                if not is_masked or new in (";", "0", "true", "false"):
                    found.append(Site(file, changed.start_point.row + 1, changed.start_byte, changed.end_byte, new, name))
    return sorted(set(found), key=lambda site: (site.start, site.operator, site.new))
