"""Reads include/quern.h: its constants, enums, structs, callbacks and functions, for the bindings and the tables for tests.

Knows only the C that the header uses, and fails with the line of anything else.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

HEADER = Path(__file__).resolve().parent.parent / "include" / "quern.h"

BASES = ("void", "char", "int", "unsigned", "float", "double", "size_t", "int32_t", "uint32_t", "int64_t", "uint64_t", "uint8_t")
TOKEN = re.compile(r"\s*(\w+|[-*()\[\]{},;=|])")
# Macros that declare nothing a binding needs: guards, visibility, the version's sum and initialisers.
KNOWN_MACROS = re.compile(r"QUERN_(H|API|VERSION|CPU_WORKSPACE|STRUCT_SIZE|STRUCT_INIT|NESTED_INIT|SET_FIELD|NO_DEFAULTS|"
                          r"\w+_DEFAULTS|\w+_INIT)$")
INTEGER = re.compile(r"(0x[0-9a-fA-F]+|\d+)u?$")


@dataclass(frozen=True)
class Type:
    base: str
    pointers: tuple[bool, ...] = ()   # innermost first; whether what each points to is const
    array: int = 0


@dataclass(frozen=True)
class Variable:
    name: str
    type: Type | Function


@dataclass(frozen=True)
class Function:
    name: str
    result: Type
    parameters: tuple[Variable, ...]


@dataclass
class Header:
    constants: dict[str, int] = field(default_factory=dict)         # of enums without a name, and of the version
    enums: dict[str, dict[str, int]] = field(default_factory=dict)
    structs: dict[str, tuple[Variable, ...]] = field(default_factory=dict)
    handles: list[str] = field(default_factory=list)                # structs whose fields are private
    announced: list[str] = field(default_factory=list)              # structs that are used before they are declared
    callbacks: list[Function] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)


def read_macros(text: str) -> tuple[str, dict[str, int]]:
    """The declarations that C sees, without comments, and the macros that are integers."""
    text = re.sub(r"/\*.*?\*/", lambda comment: "\n" * comment[0].count("\n") + " ", text, flags=re.DOTALL)
    kept, constants = [], {}
    skipping: list[bool] = []  # for each open #if: whether its branch is left out, as that of C++ is
    for line in re.sub(r"\\\n", " ", text).split("\n"):
        words = re.sub(r"^\s*#\s*", "#", line).split(None, 2)
        if not words or not words[0].startswith("#"):
            kept.append("" if any(skipping) else re.sub(r"\bQUERN_API\b", "", line))
        elif words[0] in ("#if", "#ifdef", "#ifndef"):
            skipping.append(words[:2] == ["#ifdef", "__cplusplus"])
        elif words[0] in ("#else", "#elif"):
            skipping[-1] = False
        elif words[0] == "#endif":
            skipping.pop()
        elif words[0] == "#define" and not any(skipping):
            name, value = words[1].split("(")[0], words[2] if len(words) > 2 else ""
            if INTEGER.match(value):
                constants[name] = int(value.rstrip("u"), 0)
            elif not KNOWN_MACROS.match(name):
                raise SystemExit(f"{HEADER.name}: the macro {name} is not known to gen/header.py")
        elif words[0] not in ("#include", "#define", "#undef"):
            raise SystemExit(f"{HEADER.name}: {line.strip()!r} is not known to gen/header.py")
    return "\n".join(kept), constants


class Reader:
    def __init__(self, text: str) -> None:
        self.text, constants = read_macros(text)
        self.at, self.header = 0, Header(constants)

    # ---- tokens ----

    def peek(self) -> str:
        found = TOKEN.match(self.text, self.at)
        return found[1] if found else ""

    def take(self, *expected: str) -> str:
        found = TOKEN.match(self.text, self.at)
        if not found or (expected and found[1] not in expected):
            line = self.text[self.at:].lstrip().split("\n")[0]
            raise SystemExit(f"{HEADER.name}: {line!r}: expected {' or '.join(expected) or 'a declaration'}")
        self.at = found.end()
        return found[1]

    def takes(self, token: str) -> bool:
        return self.peek() == token and bool(self.take())

    # ---- types ----

    def specifier(self) -> tuple[str, bool]:
        """A type without its declarator, and whether it is const."""
        const = self.takes("const")
        if self.takes("struct"):
            return self.take(*self.header.announced), const
        base = self.take()
        named = [*self.header.enums, *self.header.structs, *self.header.handles, *(each.name for each in self.header.callbacks)]
        if base not in BASES and base not in named:
            raise SystemExit(f"{HEADER.name}: the type {base!r} is not known to gen/header.py")
        return base, const

    def declarator(self, base: str, const: bool) -> Variable:
        """The rest of a field or parameter: `*name`, `name[96]` or `(*name)(...)`."""
        pointers: list[bool] = []
        while self.takes("*"):
            pointers.append(const)
            const = self.takes("const")
        if self.takes("("):
            self.take("*")
            name = self.take()
            self.take(")")
            return Variable(name, Function(name, Type(base, tuple(pointers)), self.parameters()))
        name, array = self.take(), 0
        if self.takes("["):
            array = int(self.take())
            self.take("]")
        return Variable(name, Type(base, tuple(pointers), array))

    def parameters(self) -> tuple[Variable, ...]:
        self.take("(")
        if self.takes("void") and self.takes(")"):
            return ()
        if self.text[:self.at].endswith("void"):
            self.at -= len("void")  # `void *first`
        found = [self.declarator(*self.specifier())]
        while self.take(",", ")") == ",":
            found.append(self.declarator(*self.specifier()))
        return tuple(found)

    # ---- declarations ----

    def enumerators(self) -> dict[str, int]:
        values: dict[str, int] = {}
        self.take("{")
        while not self.takes("}"):
            name = self.take()
            self.take("=")
            sign = -1 if self.takes("-") else 1
            values[name] = sign * int(self.take(), 0)
            if self.peek() != "}":
                self.take(",")
        return values

    def fields(self) -> tuple[Variable, ...]:
        found = []
        self.take("{")
        while not self.takes("}"):
            base, const = self.specifier()
            found.append(self.declarator(base, const))
            while self.take(",", ";") == ",":
                found.append(self.declarator(base, const))
        return tuple(found)

    def typedef(self) -> None:
        if self.peek() not in ("enum", "struct"):
            result = self.specifier()
            callback = self.declarator(*result).type
            if not isinstance(callback, Function):
                raise SystemExit(f"{HEADER.name}: a typedef is neither an enum, a struct nor a callback")
            self.header.callbacks.append(callback)
            return
        kind, name = self.take(), self.take()
        if self.peek() == "{":
            if kind == "enum":
                self.header.enums[name] = self.enumerators()
            else:
                self.header.structs[name] = self.fields()
        else:
            self.header.handles.append(name)
        self.take(name)

    def declaration(self) -> None:
        if self.takes("typedef"):
            self.typedef()
        elif self.takes("enum"):
            self.header.constants.update(self.enumerators())
        elif self.takes("struct"):
            self.header.announced.append(self.take())
        else:
            base, const = self.specifier()
            pointers = []
            while self.takes("*"):
                pointers.append(const)
            name = self.take()
            self.header.functions.append(Function(name, Type(base, tuple(pointers)), self.parameters()))
        self.take(";")


def read(text: str | None = None) -> Header:
    text = HEADER.read_text() if text is None else text
    reader = Reader(text)
    version = [reader.header.constants[f"QUERN_VERSION_{part}"] for part in ("MAJOR", "MINOR", "PATCH")]
    reader.header.constants["QUERN_VERSION"] = version[0] * 10000 + version[1] * 100 + version[2]
    while reader.peek():
        reader.declaration()
    if reader.text[reader.at:].strip():
        reader.take(";")
    return reader.header
