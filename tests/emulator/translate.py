#!/usr/bin/env python3
"""Translates one PTX module into C++ for the emulator: translate.py IN.ptx -o OUT.cpp"""
import argparse
import re
import sys

from ptx_arithmetic import ARITHMETIC
from ptx_control import CONTROL
from ptx_instruction import CPP_TYPES, Instruction
from ptx_memory import MEMORY_OPCODES
from ptx_multimem import MULTIMEM
from ptx_parser import SIZES, PtxError, Register, Variable, identifier, parse

OPCODES = {**ARITHMETIC, **MEMORY_OPCODES, **MULTIMEM, **CONTROL}
REGISTER_TYPES = {1: 'u8', 2: 'u16', 4: 'u32', 8: 'u64', 16: 'unsigned __int128'}


def round_up(n, to):
    return (n + to - 1) // to * to


class Unit:
    """The module under translation, as the instruction translators see it."""

    def __init__(self, module):
        self.module = module
        self.function = None
        self.function_names = {f.name: 'f_' + identifier(f.name) for f in module.functions if not f.is_entry}
        for f in module.functions:
            f.may_block, f.calls = False, []
        self.lay_out_shared()

    def lay_out_shared(self):
        """Shared variables that several kernels may reach keep one offset in all of them; a kernel's own follow."""
        common = [v for v in self.module.variables.values() if v.space == 'shared' and not v.is_extern]
        for f in self.module.functions:
            if not f.is_entry:
                common += [v for v in f.variables if v.space == 'shared']
        end = self.place(common, 0)
        for f in self.module.functions:
            own = [v for v in f.variables if v.space == 'shared'] if f.is_entry else []
            f.shared_align = max([v.align for v in own + common + self.dynamic_shared()], default=1)
            f.shared_bytes = self.place(own, end) if f.is_entry else 0

    def dynamic_shared(self):
        return [v for v in self.module.variables.values() if v.space == 'shared' and v.is_extern]

    @staticmethod
    def place(variables, offset):
        for v in variables:
            v.offset = round_up(offset, v.align)
            offset = v.offset + v.size
        return offset

    def symbol(self, instruction, name):
        """The address of a variable: an offset for .shared, else a host pointer as u64."""
        v = instruction.scope.find(name) or self.module.variables.get(name)
        if v is None:
            v = next((p for p in self.function.params + self.function.results if p.name == name), None)
            if v:
                return f'(u64)({self.param(instruction, name)})'
        if not isinstance(v, Variable):
            raise instruction.error(f'unknown operand {name}')
        if v.space == 'shared':
            return '(u64)view.dynamic_shared_offset' if v.is_extern else f'{v.offset}ull'
        return f'(u64){v.cpp_name or "g_" + identifier(name)}'

    def param(self, instruction, name):
        local = instruction.scope.find(name)
        if isinstance(local, Variable):
            return local.cpp_name
        for v in self.function.params + self.function.results:
            if v.name == name:
                return f'view.param + {v.offset}' if self.function.is_entry else 'p_' + identifier(name)
        raise instruction.error(f'unknown parameter {name}')


def translate_statement(unit, statement):
    text, guard = statement.text, ''
    m = re.match(r'@(!?)(%?[\w$]+)\s+(.*)$', text)
    if m:
        register = statement.scope.find(m[2])
        if not isinstance(register, Register):
            raise PtxError(statement.line, f'unknown predicate {m[2]}')
        guard, text = f'if ({m[1]}{register.cpp_name}) ', m[3]
    instruction = Instruction(statement, text, unit)
    translate = OPCODES.get(instruction.base)
    if not translate:
        raise instruction.error(f'unknown instruction {instruction.base}')
    code = translate(instruction)
    instruction.check_all_taken()
    return f'{guard}{{ {code} }}' if guard and not code.startswith(('{', 'goto')) else guard + code


def signature(unit, f):
    if f.is_entry:
        return f'static void k_{identifier(f.name)}(Thread &t)'
    params = [f', u8 *p_{identifier(v.name)}' for v in f.results + f.params]
    return f'static void {unit.function_names[f.name]}(Thread &t{"".join(params)})'


def declarations(f):
    """All registers and variables at the top: no goto may jump over an initialisation."""
    by_type = {}
    for r in f.registers:
        cpp = 'bool' if r.type == 'pred' else REGISTER_TYPES[SIZES[r.type]]
        by_type.setdefault(cpp, []).append(r.cpp_name)
    for cpp, names in by_type.items():
        for start in range(0, len(names), 16):
            yield f'  {cpp} {", ".join(names[start:start + 16])};'
    for v in f.variables:
        if v.space in ('local', 'param'):
            yield f'  alignas({max(v.align, 8)}) u8 {v.cpp_name}[{max(v.size, 1)}];'
        elif v.space in ('global', 'const'):
            yield global_variable(v, v.cpp_name)


def check_written(f, body):
    """A register that is read and never written has any value on a GPU: the source reads what does not exist."""
    text = '\n'.join(body)
    written = set(re.findall(r'\b(\w+) = ', text)) | set(re.findall(r'&(\w+)\b', text))
    unwritten = {r.cpp_name for r in f.registers} & set(re.findall(r'\bv_\w+', text)) - written
    for statement, code in zip(f.body, body):
        if found := unwritten.intersection(re.findall(r'\bv_\w+', code)):
            register = min(found).removeprefix('v_')
            raise PtxError(statement.line, f'reads register {register}, which nothing writes: {statement.text}')


def translate_function(unit, f):
    unit.function = f
    lines = [f'{signature(unit, f)} {{', '  BlockView &view = *t.view;',
             '  u8 *const shared = view.shared; (void)shared;']
    lines += declarations(f)
    body = []
    for statement in f.body:
        body.append(f'{statement.label.cpp_name}:;' if statement.label else '  ' + translate_statement(unit, statement))
    if not any('runtime->yield' in b or 'runtime->preempt' in b or 'runtime->clock' in b for b in body):
        body = [re.sub(r'EFFECT\(.*?\); ', '', b) for b in body]
    check_written(f, body)
    if any('carry' in b for b in body):
        lines.append('  u32 carry = 0;')
    return '\n'.join(lines + body + ['}', ''])


def initial_bytes(v):
    """The bytes of an initialised variable."""
    if '(' in v.initial or re.search(r'[A-Za-z_$][\w$]*\s*[,}+]', re.sub(r'0[xXfFdD][0-9a-fA-F]+', '0', v.initial)):
        raise PtxError(0, f'initialiser of {v.name} holds an address')
    size, data = SIZES[v.type], b''
    for number in re.findall(r'-?0[fFdD][0-9a-fA-F]+|-?0[xX][0-9a-fA-F]+|-?\d+', v.initial):
        value = int(number[2:], 16) if number[:2].lower() in ('0f', '0d') else int(number, 0)
        data += (value & (1 << 8 * size) - 1).to_bytes(size, 'little')
    return data


def global_variable(v, name):
    values = ', '.join(map(str, initial_bytes(v)))
    return f'alignas({max(v.align, 16)}) static u8 {name}[{max(v.size, 1)}] = {{{values}}};'


def may_block(module, f, seen=()):
    callees = {g.name: g for g in module.functions}
    return f.may_block or any(may_block(module, callees[c], (*seen, c)) for c in f.calls if c not in seen)


def kernel_entry(module, f):
    params = [f'{{{p.offset}, {p.size}}}' for p in f.params]
    end = max((p.offset + p.size for p in f.params), default=0)
    threads = f.directives.get('maxntid') or f.directives.get('reqntid') or [0]
    most = 1
    for n in threads:
        most *= n
    cluster = (f.directives.get('reqnctapercluster', [0]) + [1, 1])[:3]
    most_in_cluster = f.directives.get('maxclusterrank', [0])[0]
    flags = [name for name, holds in (('kernel_may_block', may_block(module, f)),
                                      ('kernel_explicit_cluster', 'explicitcluster' in f.directives)) if holds]
    local = sum(v.size for v in f.variables if v.space == 'local')
    name = identifier(f.name)
    return (f'static const Param params_{name}[] = {{{", ".join(params) or "{0, 0}"}}};\n',
            f'  {{"{f.name}", k_{name}, params_{name}, {len(params)}, {end}, {f.shared_bytes}, {f.shared_align}, {local}, {most}, '
            f'{{{", ".join(map(str, cluster))}}}, {most_in_cluster}, {" | ".join(flags) or "0"}}},\n')


def translate(text, source_name):
    module = parse(text)
    unit = Unit(module)
    out = [f'// Translated from {source_name}; do not edit.\n']
    out += [global_variable(v, 'g_' + identifier(v.name)) + '\n' for v in module.variables.values()
            if v.space in ('global', 'const') and not v.is_extern]
    out += [signature(unit, f) + ';\n' for f in module.functions if not f.is_entry]
    out += [translate_function(unit, f) + '\n' for f in module.functions]
    headers = ['arithmetic.h', *(['narrow8.h'] if any('narrow8_' in text for text in out) else [])]
    out.insert(1, ''.join(f'#include "{name}"\n' for name in headers) + '\n')
    entries = [kernel_entry(module, f) for f in module.functions if f.is_entry]
    if entries:
        out += [e[0] for e in entries]
        out += ['static const Kernel kernels[] = {\n', *(e[1] for e in entries), '};\n',
                f'static RegisterKernels registration(kernels, {len(entries)});\n']
    return ''.join(out)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument('input')
    arguments.add_argument('-o', '--output', required=True)
    options = arguments.parse_args()
    try:
        with open(options.input, encoding='utf-8') as f:
            cpp = translate(f.read(), options.input.rsplit('/', 1)[-1])
    except PtxError as error:
        sys.exit(f'{options.input}: {error}')
    with open(options.output, 'w', encoding='utf-8') as f:
        f.write(cpp)


if __name__ == '__main__':
    main()
