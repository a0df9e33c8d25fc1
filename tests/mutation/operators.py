"""The mutants of one source text: every place where an operator applies, found in the syntax tree of tree-sitter's grammars.

A template is parsed with its Jinja2 expressions replaced by names of the same length.  The new text is made of the original one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

Change = tuple["Node", str]    # a node, and the text that replaces it


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


def text(node: Node) -> str:
    return node.text.decode()


# ---- the operators: each yields the changes of one node ---------------------------------------------

RELATIONS = {"<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"), "==": ("!=",), "!=": ("==",)}
ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*", "%": "/", "<<": ">>", ">>": "<<", "&": "|", "|": "&", "^": "&",
              "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "|=": "&=", "&=": "|=", "<<=": ">>=", ">>=": "<<=",
              "++": "--", "--": "++"}
LOGIC = {"&&": "||", "||": "&&"}
BARRIER = re.compile(r"^(__sync|cluster|cp_async|bulk_|.*(fence|barrier|wait|arrive))")
ORDER = re.compile(r"\.(acquire|release|acq_rel)\b")
INTEGER = re.compile(r"^(0[xX][0-9a-fA-F]+|[0-9]+)([uUlL]*)$")
FLOAT = re.compile(r"^([0-9]+\.[0-9]*|\.[0-9]+)(e[-+]?[0-9]+)?([fFlL]?)$")


def operator_of(node: Node) -> Node | None:
    return node.child_by_field_name("operator") if node.type in BINARY else None


BINARY = ("binary_expression", "assignment_expression", "update_expression")


def relation(node: Node) -> Iterator[Change]:
    sign = operator_of(node)
    for new in RELATIONS.get(text(sign), ()) if sign else ():
        yield sign, new


def arithmetic(node: Node) -> Iterator[Change]:
    sign = operator_of(node)
    if sign and text(sign) in ARITHMETIC:
        yield sign, ARITHMETIC[text(sign)]


def logic(node: Node) -> Iterator[Change]:
    sign = operator_of(node)
    if sign and text(sign) in LOGIC:
        yield sign, LOGIC[text(sign)]
        yield node, text(node.child_by_field_name("left"))
        yield node, text(node.child_by_field_name("right"))


def offset(node: Node) -> Iterator[Change]:
    """Drops the second operand: the stride of a row, the offset of an address."""
    sign = operator_of(node)
    if node.type == "binary_expression" and sign and text(sign) in ("+", "-", "*"):
        yield node, text(node.child_by_field_name("left"))


def constant(node: Node) -> Iterator[Change]:
    if node.type != "number_literal":
        return
    if found := INTEGER.match(text(node)):
        value = int(found[1], 16 if found[1][:2].lower() == "0x" else 10)
        for new in (value + 1, value - 1):
            if new >= 0:
                yield node, f"{new}{found[2]}"
    elif found := FLOAT.match(text(node)):
        yield node, f"({text(node)} + 1)"


def condition(node: Node) -> Iterator[Change]:
    inner = node.child_by_field_name("condition")
    if node.type not in ("if_statement", "while_statement", "do_statement", "for_statement", "conditional_expression") or not inner:
        return
    if inner.type in ("parenthesized_expression", "condition_clause"):
        yield inner, f"(!{text(inner)})"
    else:
        yield inner, f"!({text(inner)})"


def statement(node: Node) -> Iterator[Change]:
    """Drops an assignment, a call or a jump; the barriers have an operator of their own."""
    if node.type in ("break_statement", "continue_statement"):
        yield node, ";"
    elif node.type == "expression_statement" and node.named_child_count and not is_barrier(node):
        yield node, ";"


def is_prefetch(node: Node) -> bool:
    """Such a statement changes no value, only the time."""
    inner = node.named_children[0] if node.type == "expression_statement" and node.named_child_count else None
    return bool(inner and inner.type == "call_expression" and "prefetch" in text(inner.child_by_field_name("function")))


def is_barrier(node: Node) -> bool:
    inner = node.named_children[0] if node.named_child_count else None
    return bool(inner and inner.type == "call_expression" and BARRIER.match(text(inner.child_by_field_name("function"))))


def barrier(node: Node) -> Iterator[Change]:
    if node.type == "expression_statement" and is_barrier(node):
        yield node, ";"


def early_return(node: Node) -> Iterator[Change]:
    if node.type != "if_statement" or node.child_by_field_name("alternative"):
        return
    then = node.child_by_field_name("consequence")
    last = then.named_children[-1] if then and then.type == "compound_statement" and then.named_child_count else then
    if last and last.type == "return_statement":
        yield node, ";"


# Functions that take two arguments in either order, and the place of the first of them.
SYMMETRIC = {"calloc": 0, "quern_smaller": 0, "quern_larger": 0,
             "quern_cuda_same_gpu": 1, "larger": 0}
# Operations on integers alone: those on fp32 take a NaN or the sign of a zero from one of their operands.
SYMMETRIC_INTRINSIC = re.compile(r"_mm[0-9]*_(adds?|and|cmpeq|max|min|mullo|or|xor)_(ep[iu][0-9]+|si[0-9]+)(_mask)?$")
# Likewise, if the result is only compared with 0.
COMPARING = ("memcmp", "strcmp")


def symmetric(call: Node) -> int:
    """The place of the first of two arguments that may be swapped; -1: none."""
    name = text(call.child_by_field_name("function")) if call.type == "call_expression" else ""
    sign = operator_of(call.parent) if name in COMPARING else None
    if (sign and text(sign) in ("==", "!=")) or SYMMETRIC_INTRINSIC.match(name):
        return 0
    return SYMMETRIC.get(name, -1)


def arguments(node: Node) -> Iterator[Change]:
    """Swaps two neighbours; where their types differ the compiler refuses the mutant."""
    if node.type != "argument_list":
        return
    given = node.named_children
    skipped = symmetric(node.parent)
    for place, (first, second) in enumerate(zip(given, given[1:])):
        if place != skipped and text(first) != text(second):
            start, between = node.start_byte, node.text[first.end_byte - node.start_byte:second.start_byte - node.start_byte]
            yield node, (node.text[:first.start_byte - start] + second.text + between + first.text
                         + node.text[second.end_byte - start:]).decode()


def memory_order(node: Node) -> Iterator[Change]:
    if node.type == "identifier" and text(node).startswith("__ATOMIC_") and text(node) != "__ATOMIC_RELAXED":
        yield node, "__ATOMIC_RELAXED"
    elif node.type == "string_literal" and ORDER.search(text(node)):
        yield node, ORDER.sub(".relaxed", text(node))


OPERATORS: dict[str, Callable[[Node], Iterator[Change]]] = {
    "relation": relation, "arithmetic": arithmetic, "logic": logic, "offset": offset, "constant": constant,
    "condition": condition, "statement": statement, "barrier": barrier, "early return": early_return, "arguments": arguments,
    "memory order": memory_order,
}

# ---- parsing ----------------------------------------------------------------------------------------

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


def is_in_function(site: Site, source: bytes) -> bool:
    """Tables, macros and declarations are not: the compiler counts none of their lines."""
    node = _parser(".cu" in site.file).parse(source).root_node.descendant_for_byte_range(site.start, site.start)
    while node and node.type != "function_definition":
        node = node.parent
    return node is not None


def sites(file: str, source: bytes) -> list[Site]:
    """All mutants of a file, in the order of its text."""
    masked = JINJA.sub(_mask, source) if file.endswith(".j2") else source
    tree = _parser(".cu" in file).parse(masked)
    found: list[Site] = []
    pending = [tree.root_node]
    while pending:
        node = pending.pop()
        pending.extend(_children(node))
        for name, operator in OPERATORS.items():
            for changed, new in operator(node):
                if source[changed.start_byte:changed.end_byte] == masked[changed.start_byte:changed.end_byte]:
                    found.append(Site(file, changed.start_point.row + 1, changed.start_byte, changed.end_byte, new, name))
    return sorted(set(found), key=lambda site: (site.start, site.operator, site.new))
