"""The rules by which code is changed: each takes a node of a syntax tree and yields the texts that replace it, or a part of it.

Called by tests/mutation/sites.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Point


@dataclass(frozen=True)
class Span:
    """Some neighbours."""

    start_byte: int
    end_byte: int
    start_point: Point


Change = tuple["Node | Span", str]    # what is replaced, and by which text


def text(node: Node | None) -> str:
    return node.text.decode() if node else ""


def alone(node: Node) -> str:
    """A text that keeps its meaning between operators."""
    return text(node) if node.type in ("identifier", "call_expression", "field_expression") else f"({text(node)})"


# ---- the operators: each yields the changes of one node ---------------------------------------------

RELATIONS = {"<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"), "==": ("!=", "<=", ">="),
             "!=": ("==", "<", ">")}
BEYOND = {"<": "-", "<=": "+", ">": "+", ">=": "-"}    # moves a bound in the direction in which the relation does not move it
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
    for new in RELATIONS.get(text(sign), ()):
        yield sign, new
    if text(sign) == "!=" and text(node.child_by_field_name("right")) == "0":  # a flag may have any bit
        yield node, f"{text(node.child_by_field_name('left'))} == 1"


def bound(node: Node) -> Iterator[Change]:
    sign = operator_of(node)
    right = node.child_by_field_name("right")
    if text(sign) in BEYOND and right.type != "number_literal":
        yield right, f"({alone(right)} {BEYOND[text(sign)]} 1)"


def arithmetic(node: Node) -> Iterator[Change]:
    sign = operator_of(node)
    if text(sign) in ARITHMETIC:
        yield sign, ARITHMETIC[text(sign)]
        if text(sign).endswith("=") and text(sign) not in RELATIONS:
            yield sign, "="
    if node.type == "update_expression" and node.parent.type not in ("expression_statement", "for_statement"):
        yield node, text(node.child_by_field_name("argument"))


def logic(node: Node) -> Iterator[Change]:
    sign = operator_of(node)
    if text(sign) in LOGIC:
        yield sign, LOGIC[text(sign)]
        yield node, text(node.child_by_field_name("left"))
        yield node, text(node.child_by_field_name("right"))


def operand(node: Node) -> Iterator[Change]:
    """Drops one: the stride of a row, the offset of an address, the mask of a word."""
    sign = operator_of(node)
    if node.type == "binary_expression" and text(sign) in ARITHMETIC:
        yield node, text(node.child_by_field_name("left"))
        if text(sign) in ("+", "*", "|", "&"):
            yield node, text(node.child_by_field_name("right"))


def constant(node: Node) -> Iterator[Change]:
    if node.type in ("true", "false") and not is_condition(node):
        yield node, "false" if node.type == "true" else "true"
    if node.type != "number_literal":
        return
    if found := INTEGER.match(text(node)):
        value = int(found[1], 16 if found[1][:2].lower() == "0x" else 10)
        for new in (value + 1, value - 1):
            if new >= 0:
                yield node, f"{new}{found[2]}"
    elif found := FLOAT.match(text(node)):
        yield node, f"({text(node)} + 1)"


def outermost(node: Node) -> tuple[Node, Node]:
    """A value with the parentheses around it, and what uses it."""
    while node.parent.type in ("parenthesized_expression", "condition_clause"):
        node = node.parent
    return node, node.parent


def is_condition(node: Node) -> bool:
    whole, user = outermost(node)
    return user.child_by_field_name("condition") == whole


def is_truth(node: Node) -> bool:
    sign = node.child_by_field_name("operator") if node.type in ("binary_expression", "unary_expression") else None
    return text(sign) in (*RELATIONS, *LOGIC, "!")


def decision(node: Node) -> Iterator[Change]:
    """Decides always in the same way: a branch, a loop that does not begin, a value that is true or false."""
    if not node.is_named or node.type in ("parenthesized_expression", "condition_clause", "true", "false"):
        return
    whole, user = outermost(node)
    if is_condition(node) or (is_truth(node) and user.type != "binary_expression" and not is_truth(user)):
        yield node, "false"
        if user.type not in ("while_statement", "for_statement", "do_statement"):
            yield node, "true"


def negation(node: Node) -> Iterator[Change]:
    if node.type == "unary_expression" and text(node.child_by_field_name("operator")) in ("!", "-", "~"):
        yield node, alone(node.child_by_field_name("argument"))


def once(node: Node) -> Iterator[Change]:
    if node.type == "while_statement":
        yield node.children[0], "if"


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


CONSTANTS = ("number_literal", "string_literal", "concatenated_string", "char_literal", "null", "true", "false", "initializer_list")
# The parts of expressions and declarations that are values.
USES = {"subscript_expression": ("index",), "init_declarator": ("value",), "initializer_pair": ("value",),
        "assignment_expression": ("right",), "conditional_expression": ("consequence", "alternative")}


def value(node: Node) -> Iterator[Change]:
    """What is passed, stored or returned is 0 instead, which is also QUERN_OK: the call is left out.  Or it is off by one."""
    user = node.parent
    if not node.is_named or node.type in CONSTANTS or is_truth(node):
        return
    if user.type in ("argument_list", "subscript_argument_list", "return_statement") \
            or any(user.child_by_field_name(name) == node for name in USES.get(user.type, ())):
        yield node, "0"
        yield node, f"({alone(node)} + 1)"
        yield node, f"({alone(node)} - 1)"


def unwrap(node: Node) -> Iterator[Change]:
    """Arithmetic by a function is replaced by one of its arguments: the smaller of two, a value in other units."""
    name = text(node.child_by_field_name("function")) if node.type == "call_expression" else ""
    if not ARITHMETIC_BY_NAME.search(name) or node.parent.type == "expression_statement":
        return
    given = node.child_by_field_name("arguments").named_children
    for argument in given:
        if argument.type not in CONSTANTS:
            yield node, alone(argument)
    if name.endswith("divide_up"):
        yield node, f"{alone(given[0])} / {alone(given[1])}"
    if FUSED.search(name) and len(given) == 3:  # rounded twice
        yield node, f"({alone(given[0])} * {alone(given[1])} {'-' if 'fms' in name else '+'} {alone(given[2])})"


ARITHMETIC_BY_NAME = re.compile("min|max|smaller|larger|least|most|abs|capped|round|divide|multipl|add|fm[as]|_rn$|^_mm|^vector_"
                                "|^pair_")
FUSED = re.compile(r"fm(a|s)")
OPPOSITE = {"any": "all", "all": "any", "min": "max", "max": "min", "fminf": "fmaxf", "fmaxf": "fminf", "smaller": "larger",
            "larger": "smaller", "least": "most", "up": "down", "down": "up"}


def opposite(node: Node) -> Iterator[Change]:
    """The function that does the opposite, where the name of it says so."""
    function = node.child_by_field_name("function") if node.type == "call_expression" else None
    words = text(function).split("_") if function and function.type == "identifier" else []
    for place, word in enumerate(words):
        if word in OPPOSITE:
            yield function, "_".join([*words[:place], OPPOSITE[word], *words[place + 1:]])


NARROWER = {"int64_t": "int32_t", "uint64_t": "uint32_t", "size_t": "uint32_t", "uintptr_t": "uint32_t", "double": "float",
            "uint32_t": "uint16_t", "long long": "int", "unsigned long long": "unsigned"}


def width(node: Node) -> Iterator[Change]:
    """Half of the bits, or a product in the type of its factors."""
    if node.type in ("primitive_type", "type_identifier", "sized_type_specifier") and text(node) in NARROWER \
            and node.parent.type in ("type_descriptor", "declaration"):
        yield node, NARROWER[text(node)]
    elif node.type == "cast_expression" and text(node.child_by_field_name("type")) in NARROWER:
        yield node, text(node.child_by_field_name("value"))
    elif node.type == "binary_expression" and text(operator_of(node)) == "*" and text(operator_of(node.parent)) != "*":
        yield node, f"(int32_t)({text(node)})"


# ---- the same kind of thing under another name ------------------------------------------------------

ENUMERATOR = re.compile(r"^[A-Z][A-Z0-9]*_[A-Z0-9_]*[A-Z0-9]$")


def function_around(node: Node) -> Node | None:
    while node and node.type != "function_definition":
        node = node.parent
    return node


# Words that people take for each other.
PAIRS = [set(pair.split("/")) for pair in ("begin/end", "first/last", "from/to", "in/out", "input/output", "rows/columns", "m/v",
                                           "send/receive", "source/target", "own/peer", "here/there", "low/high", "grad/param")]


def is_alike(name: str, other: str) -> bool:
    words, others = name.split("_"), other.split("_")
    return bool(set(words) & set(others)) or {name, other} in PAIRS


def next_of(names: set[str], name: str) -> Iterator[str]:
    """The one behind it in the alphabet, if there are several."""
    ordered = sorted(names)
    if len(ordered) > 1 and name in names:
        yield ordered[(ordered.index(name) + 1) % len(ordered)]


@lru_cache(16)
def variables(function: Node) -> dict[str, set[str]]:
    """The parameters and local variables of each type."""
    found: dict[str, set[str]] = {}
    pending = [function]
    while pending:
        node = pending.pop()
        pending.extend(node.children)
        if node.type in ("parameter_declaration", "declaration"):
            kind = " ".join(text(child) for child in node.named_children if child.type in ("type_qualifier", *TYPES))
            for declarator in node.children_by_field_name("declarator"):
                inner = declarator.child_by_field_name("declarator") if declarator.type == "init_declarator" else declarator
                stars = text(inner).rstrip("]0123456789[").rpartition("*")
                found.setdefault(kind + stars[0] + stars[1], set()).add(stars[2].strip())
    return found


TYPES = ("primitive_type", "type_identifier", "sized_type_specifier", "struct_specifier", "enum_specifier")


def other_variable(node: Node) -> Iterator[Change]:
    """One of the same type in the same function."""
    if node.type != "identifier" or node.parent.type.endswith(("declarator", "declaration")) and \
            node.parent.child_by_field_name("value") != node or not (function := function_around(node)):
        return
    for names in variables(function).values():
        for new in next_of(names, text(node)):
            yield node, new


def other_field(node: Node) -> Iterator[Change]:
    """One of the same object, which the same function uses."""
    function = function_around(node) if node.type == "field_expression" else None
    if function and node.parent.child_by_field_name("function") != node:
        owner, field = node.child_by_field_name("argument"), node.child_by_field_name("field")
        used = re.findall(rf"(?<![\w.>]){re.escape(text(owner))}(?:->|\.)(\w+)\b(?!\()", text(function))
        for new in next_of({each for each in used if is_alike(each, text(field))}, text(field)):
            yield field, new


def other_enumerator(node: Node) -> Iterator[Change]:
    """One of the same kind, which the same file uses."""
    if node.type == "identifier" and ENUMERATOR.match(text(node)) and not text(node).startswith("__"):
        kind = "_".join(text(node).split("_")[:2]) if text(node).count("_") > 1 else text(node).split("_")[0]
        for new in next_of(enumerators(file_of(node), kind), text(node)):
            yield node, new


@lru_cache(16)
def enumerators(file: Node, kind: str) -> set[str]:
    return set(re.findall(rf"\b{kind}_[A-Z0-9_]*[A-Z0-9]\b", text(file)))


def file_of(node: Node) -> Node:
    while node.parent:
        node = node.parent
    return node


# ---- calls ------------------------------------------------------------------------------------------

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
    if text(sign) in ("==", "!=") or SYMMETRIC_INTRINSIC.match(name):
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


STATEMENTS = ("expression_statement", "declaration", "if_statement", "for_statement", "while_statement")
STEP = re.compile(r"__atomic_|QUERN_POINT|join_launches|wait_for_launch")


def behind(node: Node) -> Node | None:
    """The next one that is no comment."""
    later = node.next_named_sibling
    return behind(later) if later and later.type == "comment" else later


def order(node: Node) -> Iterator[Change]:
    """Swaps a step that others wait for, or that waits for others, with the statement behind it."""
    later = behind(node) if node.type in STATEMENTS else None
    if later and later.type in STATEMENTS and any(is_barrier(each) or STEP.search(text(each)) for each in (node, later)):
        start, parent = node.parent.start_byte, node.parent.text
        between = parent[node.end_byte - start:later.start_byte - start].decode()
        yield Span(node.start_byte, later.end_byte, node.start_point), text(later) + between + text(node)


OPERATORS: dict[str, Callable[[Node], Iterator[Change]]] = {
    "relation": relation, "bound": bound, "arithmetic": arithmetic, "logic": logic, "operand": operand, "constant": constant,
    "condition": condition, "decision": decision, "negation": negation, "once": once, "statement": statement, "barrier": barrier,
    "early return": early_return, "value": value, "unwrap": unwrap, "opposite": opposite, "width": width,
    "variable": other_variable, "field": other_field, "enumerator": other_enumerator, "arguments": arguments,
    "memory order": memory_order, "order": order,
}
