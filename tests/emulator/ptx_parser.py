"""Reads the PTX that nvcc writes into functions, variables and instructions.

Only the layout nvcc produces is understood; anything else raises PtxError with
the line number, because a guess would let a wrong kernel pass its tests.
"""
import re
from dataclasses import dataclass, field

SIZES = {'pred': 1, 'b8': 1, 'u8': 1, 's8': 1, 'b16': 2, 'u16': 2, 's16': 2, 'f16': 2, 'bf16': 2, 'e4m3x2': 2,
         'e5m2x2': 2, 'b32': 4, 'u32': 4, 's32': 4, 'f32': 4, 'f16x2': 4, 'bf16x2': 4, 'u16x2': 4, 's16x2': 4,
         'b64': 8, 'u64': 8, 's64': 8, 'f64': 8, 'f32x2': 8, 'b128': 16}


class PtxError(Exception):
    def __init__(self, line, message):
        super().__init__(f'line {line}: {message}')


@dataclass
class Variable:
    """A .param, .shared, .local, .global or .const variable."""
    name: str
    space: str
    align: int
    size: int
    type: str
    is_extern: bool = False
    initial: str = ''
    offset: int = 0
    cpp_name: str = ''


@dataclass
class Scope:
    """A { } block; PTX names declared in it hide outer ones."""
    number: int
    parent: 'Scope' = None
    names: dict = field(default_factory=dict)

    def find(self, name):
        scope = self
        while scope:
            if name in scope.names:
                return scope.names[name]
            scope = scope.parent
        return None


@dataclass
class Register:
    cpp_name: str
    type: str


@dataclass
class Label:
    cpp_name: str
    targets: list = None


@dataclass
class Statement:
    """One instruction, or the position of a label when `label` is set."""
    line: int
    scope: Scope
    text: str = ''
    label: Label = None


@dataclass
class Function:
    name: str
    is_entry: bool
    line: int
    params: list
    results: list
    directives: dict
    top: Scope
    registers: list = field(default_factory=list)
    variables: list = field(default_factory=list)
    body: list = field(default_factory=list)


@dataclass
class Module:
    functions: list = field(default_factory=list)
    variables: dict = field(default_factory=dict)
    target: str = ''
    maps_peers: bool = False  # generic addresses may lie in the shared memory of other blocks


def identifier(name):
    return re.sub(r'[^A-Za-z0-9_]', '_', name)


def split_commas(text):
    """Splits at the commas outside brackets."""
    parts, depth, current = [], 0, ''
    for c in text:
        depth += (c in '[{(') - (c in ']})')
        if c == ',' and depth == 0:
            parts.append(current.strip())
            current = ''
        else:
            current += c
    if current.strip():
        parts.append(current.strip())
    return parts


VARIABLE = re.compile(
    r'(?P<extern>\.(?:extern|visible|weak|common)\s+)*\.(?P<space>param|shared|local|global|const)\s+'
    r'(?:\.attribute\([^)]*\)\s*)?(?:\.align\s+(?P<align>\d+)\s+)?\.(?P<type>\w+)\s+'
    r'(?:\.ptr\s*(?:\.(?:global|shared|const|local)\s*)?(?:\.align\s+\d+\s+)?)?'
    r'(?P<name>[\w$%.]+)\s*(?P<dims>(?:\[\d*\])*)\s*(?:=\s*(?P<init>.*))?$', re.S)


def parse_variable(text, line):
    m = VARIABLE.match(text.strip())
    if not m or m['type'] not in SIZES:
        raise PtxError(line, f'declaration not understood: {text}')
    size, dims = SIZES[m['type']], re.findall(r'\[(\d*)\]', m['dims'])
    for dim in dims:
        size *= int(dim or 0)
    return Variable(m['name'], m['space'], int(m['align'] or SIZES[m['type']]), size, m['type'],
                    is_extern=text.lstrip().startswith('.extern'), initial=m['init'] or '')


def tokens(text):
    """Yields (line, piece): pieces end at ';' or ':' (labels) and at the braces that open or close a block."""
    line, start_line, piece, depth = 1, 1, '', 0
    for i, c in enumerate(text):
        if not piece.strip():
            start_line = line
        if c == '\n':
            line += 1
        if c in '{}' and depth == 0 and not piece.strip():
            yield line, c
            piece = ''
        elif c == '{' and depth == 0 and re.match(r'\s*(\.(visible|weak)\s+)*\.(entry|func)\b', piece):
            yield start_line, piece.strip()
            yield line, '{'
            piece = ''
        elif c == ';' and depth == 0:
            yield start_line, piece.strip()
            piece = ''
        elif c == ':' and depth == 0 and re.fullmatch(r'\s*[\w$%]+', piece) and text[i + 1] != ':' and text[i - 1] != ':':
            yield start_line, piece.strip() + ':'
            piece = ''
        else:
            depth += (c in '{[(') - (c in '}])')
            piece += c
    if piece.strip():
        raise PtxError(start_line, f'unfinished statement: {piece.strip()[:60]}')


def strip_comments(text):
    text = re.sub(r'/\*.*?\*/', lambda m: '\n' * m[0].count('\n'), text, flags=re.S)
    return re.sub(r'//[^\n]*', '', text)


HEADER = re.compile(r'(?:\.(?:visible|weak|extern)\s+)*\.(entry|func)\s*(?:\((.*?)\)\s*)?([\w$]+)\s*(?:\((.*?)\))?(.*)$', re.S)
DIRECTIVE = re.compile(r'\.(\w+)((?:\s+\d+\s*(?:,\s*\d+\s*)*)|(?:\s+"[^"]*"))?')


def parse_header(text, line):
    m = HEADER.match(text)
    if not m:
        raise PtxError(line, f'function header not understood: {text[:80]}')
    kind, results, name, params, rest = m.groups()
    directives = {d[1]: [int(x) for x in re.findall(r'\d+', d[2] or '')] for d in DIRECTIVE.finditer(rest)}
    return Function(name, kind == 'entry', line, parse_params(params, line), parse_params(results, line),
                    directives, Scope(0))


def parse_params(text, line):
    """Lays parameters out as the driver does: each at its own alignment."""
    params, offset = [], 0
    for piece in split_commas(text or ''):
        v = parse_variable(piece, line)
        v.offset = (offset + v.align - 1) // v.align * v.align
        offset = v.offset + v.size
        params.append(v)
    return params


# PTX directives without effect on what a kernel computes.
IGNORED = ('.version', '.target', '.address_size', '.loc', '.file', '.section', '.pragma', '.alias')


class Parser:
    def __init__(self, text):
        self.module = Module()
        self.function = None
        self.scope = None
        self.scopes = 0
        target = re.search(r'\.target\s+(\w+)', text)
        self.module.target = target[1] if target else ''
        self.module.maps_peers = re.search(r'\b(mapa\.u|cvta\.shared::cluster)', text) is not None
        body = re.sub(r'\.(version|target|address_size)\b[^\n]*', '', strip_comments(text))
        for line, piece in tokens(body):
            self.piece(line, piece)

    def piece(self, line, text):
        if self.function:
            self.in_function(line, text)
        elif re.match(r'(\.(visible|weak|extern)\s+)*\.(entry|func)\b', text):
            if not text.startswith('.extern'):
                self.pending = parse_header(text, line)
        elif text == '{':
            self.function, self.scope = self.pending, self.pending.top
            self.module.functions.append(self.function)
        elif text and not text.startswith(IGNORED):
            v = parse_variable(text, line)
            self.module.variables[v.name] = v

    def in_function(self, line, text):
        if text == '{':
            self.scopes += 1
            self.scope = Scope(self.scopes, self.scope)
        elif text == '}':
            self.scope = self.scope.parent
            if not self.scope:
                self.function = None
        elif text.endswith(':') and ' ' not in text:
            self.label(line, text[:-1])
        elif text.startswith('.reg'):
            self.registers(line, text)
        elif text.startswith('.branchtargets'):
            self.function.body[-1].label.targets = split_commas(text[len('.branchtargets'):])
        elif text.startswith('.callprototype'):
            raise PtxError(line, 'indirect calls are not supported')
        elif re.match(r'\.(shared|local|param|const|global)\b', text):
            self.variable(line, text)
        elif text.startswith(IGNORED) or not text:
            pass
        elif text.startswith('.'):
            raise PtxError(line, f'unknown directive: {text[:60]}')
        else:
            self.function.body.append(Statement(line, self.scope, ' '.join(text.split())))

    def cpp_name(self, name):
        suffix = f'_{self.scope.number}' if self.scope.number else ''
        return 'v_' + identifier(name.lstrip('%')) + suffix

    def label(self, line, name):
        label = Label(self.cpp_name(name))
        self.scope.names[name] = label
        self.function.body.append(Statement(line, self.scope, label=label))

    def registers(self, line, text):
        m = re.match(r'\.reg\s+\.(\w+)\s+(.*)', text, re.S)
        if not m or m[1] not in SIZES:
            raise PtxError(line, f'register declaration not understood: {text}')
        for name in split_commas(m[2]):
            ranged = re.match(r'(%?[\w$]+)<(\d+)>$', name)
            for n in [f'{ranged[1]}{i}' for i in range(int(ranged[2]))] if ranged else [name]:
                register = Register(self.cpp_name(n), m[1])
                self.scope.names[n] = register
                self.function.registers.append(register)

    def variable(self, line, text):
        v = parse_variable(text, line)
        v.cpp_name = self.cpp_name(v.name)
        self.scope.names[v.name] = v
        self.function.variables.append(v)


def parse(text):
    return Parser(text).module
