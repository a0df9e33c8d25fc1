"""What is rendered from the public header: the declarations of the Rust crate quern-sys and of the Python package, the types of GPU
kernels, the lists of arguments, and tables for tests."""

from __future__ import annotations

from collections.abc import Callable

from gen import api, header
from gen.header import Function, Type, Variable

RUST = {"void": "c_void", "char": "c_char", "int": "c_int", "unsigned": "c_uint", "float": "f32", "double": "f64",
        "size_t": "usize", "int32_t": "i32", "uint32_t": "u32", "int64_t": "i64", "uint64_t": "u64", "uint8_t": "u8"}
RUST_KEYWORDS = ("as", "async", "box", "crate", "do", "dyn", "fn", "final", "impl", "in", "let", "loop", "match", "mod", "move",
                 "mut", "pub", "ref", "self", "super", "trait", "type", "unsafe", "use", "where", "yield")

# What src/kernels/cuda/ uses of the public header: machine code depends on these alone.
KERNEL_ENUMS = ("quern_status", "quern_dtype")
KERNEL_STRUCTS = ("quern_cross_entropy_report", "quern_row_stats", "quern_row_nodes")


# ---- Rust ----


def rust_name(name: str) -> str:
    return f"r#{name}" if name in RUST_KEYWORDS else name


def rust_type(given: Type | Function) -> str:
    if isinstance(given, Function):
        result = "" if given.result == Type("void") else f" -> {rust_type(given.result)}"
        return f"Option<unsafe extern \"C\" fn({', '.join(rust_variable(each) for each in given.parameters)}){result}>"
    text = RUST.get(given.base, given.base)
    for const in given.pointers:
        text = f"*{'const' if const else 'mut'} {text}"
    return f"[{text}; {given.array}]" if given.array else text


def rust_variable(variable: Variable) -> str:
    return f"{rust_name(variable.name)}: {rust_type(variable.type)}"


def rust_function(function: Function) -> str:
    result = "" if function.result == Type("void") else f" -> {rust_type(function.result)}"
    return f"pub fn {function.name}({', '.join(rust_variable(each) for each in function.parameters)}){result};"


# ---- Python ----


def ctypes_type(given: Type | Function, declared: header.Header) -> str:
    """A pointer is an address, but a text of the library is bytes."""
    if isinstance(given, Function):
        return f"CFUNCTYPE{ctypes_types(given, declared)}"
    kind = "c_int" if given.base in declared.enums else f"c_{given.base}" if given.base in RUST else given.base
    if given.pointers:
        kind = "c_char_p" if given.base == "char" and given.pointers == (True,) else "c_void_p"
    elif given.base == "void":
        return "None"
    kind = {"c_unsigned": "c_uint", "c_size_t": "c_size_t"}.get(kind, kind.removesuffix("_t") if kind.startswith("c_") else kind)
    return f"{kind} * {given.array}" if given.array else kind


def ctypes_types(function: Function, declared: header.Header) -> str:
    """The types of the result and of the parameters."""
    types = [ctypes_type(each, declared) for each in (function.result, *(each.type for each in function.parameters))]
    return f"({', '.join(types)}{',' * (len(types) == 1)})"


# ---- the fuzzer ----


def c_declaration(variable: Variable) -> str:
    """A member of a struct that holds the parameters of a function; without const, since the fuzzer writes all of them."""
    if isinstance(variable.type, Function):
        raise SystemExit(f"{header.HEADER.name}: the parameter {variable.name} is a function without a typedef")
    array = f"[{variable.type.array}]" if variable.type.array else ""
    return f"{variable.type.base} {'*' * len(variable.type.pointers)}{variable.name}{array}"


def is_argument(name: str, declared: header.Header) -> bool:
    """Whether a struct is read field by field; buffers of the others are plain memory."""
    return any(field.name == "size" or not isinstance(field.type, Type) or field.type.pointers
               for field in declared.structs.get(name, ()))


def kind_of(owner: str, variable: Variable, declared: header.Header) -> str:
    """What the fuzzer may put into a field or parameter: a value of enum kind in tests/header/table.h."""
    kind = variable.type
    callbacks = [each.name for each in declared.callbacks]
    if isinstance(kind, Function):
        raise SystemExit(f"{header.HEADER.name}: the field {variable.name} is a function without a typedef")
    if len(kind.pointers) > 1:
        return "HANDLES" if kind.base in declared.handles and kind.pointers[-1] else "MEMORY"
    if kind.pointers:
        return ("HANDLE" if kind.base in declared.handles else "MEMORY" if owner.endswith("_init") else
                "STRUCTS" if is_argument(kind.base, declared) else "TEXT" if kind.base == "char" and kind.pointers[0] else "MEMORY")
    if kind.base in callbacks:
        return "CALLBACK"
    if kind.base in declared.enums:
        return "ENUM"
    if kind.base in declared.structs:
        return "STRUCT"
    if kind.array:
        return "BYTES"
    if kind.base in ("float", "double"):
        return "REAL"
    return "SIZE" if variable.name == "size" and kind.base == "uint32_t" else "FLAG" if kind.base == "int32_t" else "INTEGER"


def result_of(function: Function) -> str:
    """A value of enum result in tests/header/table.h."""
    if function.result.pointers:
        return "STATIC_TEXT"
    return {"quern_status": "STATUS", "void": "NOTHING", "size_t": "LENGTH"}.get(function.result.base, "NUMBER")


def is_const(variable: Variable) -> bool:
    return bool(isinstance(variable.type, Type) and variable.type.pointers and variable.type.pointers[-1])


def initialised(declared: header.Header) -> list[str]:
    """The structs that have an initialiser."""
    functions = {function.name for function in declared.functions}
    return [name for name in declared.structs if f"{name}_init" in functions]


def readers(name: str, declared: header.Header) -> list[Function]:
    """The functions that read a struct of arguments."""
    return [function for function in declared.functions
            if any(isinstance(each.type, Type) and each.type.base == name and is_const(each) for each in function.parameters)]


def lists_of_calls(declared: header.Header) -> list[tuple[str, list[Function]]]:
    return [(name, readers(name, declared)) for name in declared.structs if is_argument(name, declared) and readers(name, declared)]


def lists_of_fields(declared: header.Header) -> list[tuple[str, list[Variable]]]:
    """The fields of structs that are read, without their sizes, and the parameters of the functions that read them."""
    structs = [(name, [field for field in fields if field.name != "size"]) for name, fields in declared.structs.items()
               if is_argument(name, declared) and not name.endswith("_info")]
    functions = {function.name: function for _, calls in lists_of_calls(declared) for function in calls}
    return structs + [(f"{name}__parameters", list(function.parameters)) for name, function in functions.items()]


ARGUMENT_KINDS = {"int": "INT32", "int32_t": "INT32", "unsigned": "UINT32", "uint32_t": "UINT32", "int64_t": "INT64",
                  "uint64_t": "UINT64", "size_t": "UINT64", "float": "FLOAT", "double": "DOUBLE", "quern_dtype": "DTYPE"}


def arguments(name: str, declared: header.Header, prefix: str = "") -> list[tuple[str, str]]:
    """The numbers of a struct and of the structs inside it, as (field, a value of enum quern_argument_kind in runtime/look.h)."""
    found = []
    for field in declared.structs[name]:
        if field.name == "size" or not isinstance(field.type, Type) or field.type.pointers or field.type.array:
            continue
        if field.type.base in declared.structs:
            found += arguments(field.type.base, declared, f"{prefix}{field.name}.")
        elif field.type.base in ARGUMENT_KINDS or field.type.base in declared.enums:
            found.append((prefix + field.name, ARGUMENT_KINDS.get(field.type.base, "INT32")))
    return found


def lists_of_arguments(declared: header.Header) -> list[tuple[str, list[tuple[str, str]]]]:
    """The numbers of the arguments of every operation: of the structs that are read with a stream."""
    return [(name, arguments(name, declared)) for name, calls in lists_of_calls(declared)
            if any(each.name == "stream" for call in calls for each in call.parameters)]


def values(declared: header.Header) -> dict[str, object]:
    """The names that the templates use."""
    return {
        "api": declared,
        "rust_type": rust_type,
        "rust_variable": rust_variable,
        "rust_function": rust_function,
        "rust_name": rust_name,
        "ctypes_type": lambda given: ctypes_type(given, declared),
        "ctypes_types": lambda function: ctypes_types(function, declared),
        "c_declaration": c_declaration,
        "kind_of": lambda owner, variable: kind_of(owner, variable, declared),
        "base": lambda variable: variable.type.base,
        "extent_kinds": ("MEMORY", "STRUCTS", "HANDLES"),
        "result_of": result_of,
        "is_argument": lambda name: is_argument(name, declared),
        "is_const": is_const,
        "initialised": initialised(declared),
        "lists_of_calls": lists_of_calls(declared),
        "lists_of_fields": lists_of_fields(declared),
        "lists_of_arguments": lists_of_arguments(declared),
        "kernel_enums": KERNEL_ENUMS,
        "kernel_structs": KERNEL_STRUCTS,
    }


def outputs(render: Callable[..., str]) -> dict[str, str]:
    """The rendered files by their paths."""
    names = values(header.read())
    crates = "bindings/rust"
    manifests = {**{f"{crates}/{crate}/{name}": f"bindings/{crate}/{name}.j2"
                    for crate in ("quern-sys", "quern") for name in ("Cargo.toml", "Cargo.lock")},
                 "packaging/conda/meta.yaml": "packaging/meta.yaml.j2",
                 "packaging/vcpkg/quern/vcpkg.json": "packaging/vcpkg.json.j2"}
    return {**{path: render(template, version=api.version_text()) for path, template in manifests.items()},
            f"{crates}/quern-sys/src/bindings.rs": render("bindings/bindings.rs.j2", **names),
            "bindings/python/quern/_c.py": render("bindings/_c.py.j2", **names),
            "generated/arguments.h": render("bindings/arguments.h.j2", **names),
            "generated/kernel_types.h": render("bindings/kernel_types.h.j2", **names),
            "generated/structs.h": render("bindings/structs.h.j2", **names),
            "generated/header/parameters.h": render("bindings/header_parameters.h.j2", **names),
            "generated/header/fields.h": render("bindings/header_fields.h.j2", **names),
            "generated/header/table.h": render("bindings/header_table.h.j2", **names)}
