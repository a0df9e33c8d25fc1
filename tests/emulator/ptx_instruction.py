"""One PTX instruction while it is being translated: its modifiers and operands as C++.

A translator takes every modifier it understands; what is left over at the end
is an error, so that no modifier is ever ignored by accident.
"""
import re

from ptx_parser import SIZES, Function, Label, PtxError, Register, Variable, split_commas

CPP_TYPES = {'pred': 'bool', 'f16': 'u16', 'bf16': 'u16', 'e4m3x2': 'u16', 'e5m2x2': 'u16', 'f32': 'float', 'f64': 'double',
             'f16x2': 'u32', 'bf16x2': 'u32', 'u16x2': 'u32', 's16x2': 'u32', 'f32x2': 'u64'}
for _bits in ('8', '16', '32', '64', '128'):
    CPP_TYPES.update({'b' + _bits: 'u' + _bits, 'u' + _bits: 'u' + _bits, 's' + _bits: 's' + _bits})

# Packed types and the scalar type of their lanes.
LANES = {'f16x2': ('f16', 16), 'bf16x2': ('bf16', 16), 'u16x2': ('u16', 16), 's16x2': ('s16', 16), 'f32x2': ('f32', 32)}

FLOATS = ('f16', 'bf16', 'f32', 'f64')

VECTOR_SPECIALS = {'%tid': 't.tid', '%ntid': 'view.ntid', '%ctaid': 'view.ctaid', '%nctaid': 'view.nctaid',
                   '%clusterid': 'view.clusterid', '%nclusterid': 'view.nclusterid',
                   '%cluster_ctaid': 'view.cluster_ctaid', '%cluster_nctaid': 'view.cluster_nctaid'}

CLOCKS = {'%clock': '', '%clock64': '', '%clock_hi': ' >> 32', '%globaltimer': '', '%globaltimer_lo': '',
          '%globaltimer_hi': ' >> 32'}
SCALAR_SPECIALS = {
    '%laneid': 't.lane', '%warpid': 't.warp', '%nwarpid': 'view.nwarpid', '%smid': 'view.smid', '%nsmid': 'view.nsmid',
    '%gridid': 'view.gridid', '%cluster_ctarank': 'view.cluster_ctarank', '%cluster_nctarank': 'view.cluster_nctarank',
    '%lanemask_eq': '(1u << t.lane)', '%lanemask_lt': '((1u << t.lane) - 1)',
    '%lanemask_le': '((2u << t.lane) - 1)', '%lanemask_gt': '~((2u << t.lane) - 1)',
    '%lanemask_ge': '~((1u << t.lane) - 1)', '%dynamic_smem_size': 'view.dynamic_shared_bytes',
    '%total_smem_size': 'view.shared_bytes', 'WARP_SZ': '32u'}

SPACES = {'global': 'global', 'const': 'const', 'local': 'local', 'param': 'param', 'param::entry': 'param',
          'param::func': 'param', 'shared': 'shared', 'shared::cta': 'shared', 'shared::cluster': 'cluster'}


def literal(value, bits, signed=False):
    value &= (1 << bits) - 1
    text = f'{value:#x}' + ('ull' if bits == 64 else 'u')
    return f'(s{bits}){text}' if signed else f'(u{bits}){text}' if bits < 32 else text


class Instruction:
    def __init__(self, statement, text, unit):
        self.line, self.scope, self.unit, self.text = statement.line, statement.scope, unit, text
        opcode, _, operands = text.partition(' ')
        if '{' in opcode:                           # "mov.b64{%r1,%r2},%rd" never comes from nvcc
            raise self.error('opcode not understood')
        self.base, *self.modifiers = opcode.split('.')
        self.args = split_commas(operands)
        self.types = [m for m in self.modifiers if m in SIZES]
        self.left = [m for m in self.modifiers if m not in SIZES]

    def error(self, message):
        return PtxError(self.line, f'{message}: {self.text}')

    # ---- modifiers ----

    def take(self, *names):
        """Takes the first of `names` that the instruction has; None if it has none of them."""
        for name in names:
            if name in self.left:
                self.left.remove(name)
                return name
        return None

    def take_space(self):
        """The first state space in the order of the opcode: copies name the destination's first."""
        name = self.take(*[m for m in self.left if m in SPACES])
        return SPACES[name] if name else 'generic'

    def check_all_taken(self):
        if self.left:
            raise self.error(f'unknown modifier .{self.left[0]}')

    @property
    def type(self):
        if not self.types:
            raise self.error('type missing')
        return self.types[-1]

    # ---- operands ----

    def name(self, arg, kind=Register):
        found = self.scope.find(arg)
        if not isinstance(found, kind):
            raise self.error(f'unknown operand {arg}')
        return found

    def predicate(self, arg):
        negated = arg.startswith('!')
        if arg == '%is_explicit_cluster':
            return 'view.is_explicit_cluster'
        if arg.lstrip('!') in ('%pt', '1', '-1'):
            return 'false' if negated else 'true'
        return ('!' if negated else '') + self.name(arg.lstrip('!')).cpp_name

    def shows_bits(self, dest, source):
        """Whether the bits of an fp32 register go to one of integers."""
        to, of = self.scope.find(dest), self.scope.find(source)
        return isinstance(to, Register) and isinstance(of, Register) and of.type == 'f32' and to.type != 'f32'

    def bits(self, arg):
        """(C++ expression, width in bits) of a register, immediate, special register or symbol."""
        register = self.scope.find(arg)
        if isinstance(register, Register):
            return register.cpp_name, 8 * SIZES[register.type]
        if re.fullmatch(r'0[fF][0-9a-fA-F]{8}', arg):
            return f'0x{arg[2:]}u', 32
        if re.fullmatch(r'0[dD][0-9a-fA-F]{16}', arg):
            return f'0x{arg[2:]}ull', 64
        if arg in CLOCKS:
            self.unit.function.may_block = True
            return f'(view.runtime->clock(t, {self.line}){CLOCKS[arg]})', 0
        if arg in SCALAR_SPECIALS:
            return SCALAR_SPECIALS[arg], 0
        vector, _, axis = arg.rpartition('.')
        if vector in VECTOR_SPECIALS and axis in 'xyz':
            return f'{VECTOR_SPECIALS[vector]}.{axis}', 32
        return self.unit.symbol(self, arg), 64

    def value(self, arg, type, lane=0):
        """The operand as a C++ value of `type`; narrow floats come as float."""
        size = 8 * SIZES[type]
        if re.fullmatch(r'-?(0[xX][0-9a-fA-F]+|\d+)U?', arg):
            number = int(arg.rstrip('U'), 0 if 'x' in arg.lower() or not re.match(r'-?0\d', arg) else 8) >> lane
            if type == 'pred':
                return 'true' if number else 'false'
            expression, width = literal(number, size, type[0] == 's'), size
            if type[0] == 's':
                return expression
        elif type == 'pred':
            return self.predicate(arg)
        else:
            expression, width = self.bits(arg)
            if lane:
                expression, width = f'({expression} >> {lane})', 0
        return self.view(expression, width, type)

    @staticmethod
    def view(expression, width, type):
        if type == 'f32':
            return f'F32({expression})'
        if type == 'f64':
            return f'F64({expression})'
        if type in ('f16', 'bf16'):
            return f'{type}_value((u16){expression})'
        cpp = CPP_TYPES[type]
        return expression if cpp[0] == 'u' and width == 8 * SIZES[type] else f'({cpp}){expression}'

    @staticmethod
    def to_bits(expression, type):
        """The bit pattern of a C++ value of `type`."""
        if type in FLOATS:
            return {'f32': 'BITS32', 'f64': 'BITS64', 'f16': 'f16_bits', 'bf16': 'bf16_bits'}[type] + f'({expression})'
        return f'({CPP_TYPES[type]})({expression})'

    def assign(self, arg, type, expression):
        return self.assign_bits(arg, self.to_bits(expression, type))

    def assign_bits(self, arg, bits):
        if arg == '_':
            return f'(void)({bits});'
        return f'{self.name(arg).cpp_name} = {bits};'

    def lanewise(self, type, operation, dest, sources):
        """Assigns operation(scalar type, sources as C++ values), lane by lane if the type is packed."""
        if type not in LANES:
            return self.assign(dest, type, operation(type, [self.value(s, type) for s in sources]))
        scalar, width = LANES[type]
        word = 'u64' if width == 32 else 'u32'
        parts = []
        for shift in (0, width):
            values = [self.value(s, scalar, shift) if not s.startswith('{')
                      else self.value(split_commas(s.strip('{}'))[shift > 0], scalar)
                      for s in sources]
            parts.append(f'({word}){self.to_bits(operation(scalar, values), scalar)}')
        return self.assign_bits(dest, f'{parts[0]} | {parts[1]} << {width}')

    def vector(self, arg):
        return split_commas(arg.strip()[1:-1]) if arg.startswith('{') else [arg]

    # ---- addresses ----

    def address(self, arg, space, bytes=1, access='ordered'):
        """C++ pointer expression (u8 *) for an operand in brackets.

        `bytes` and `access` (one of ClusterAccess) tell what happens there, should it be another block's shared memory.
        With access None it is not looked up there, but still a pointer that tells one place from another."""
        m = re.fullmatch(r'\[\s*([^\]+\s]+)\s*(?:\+\s*(-?(?:0x[0-9a-fA-F]+|\d+)))?\s*\]', arg)
        if not m:
            raise self.error(f'address not understood: {arg}')
        base, offset = m[1], int(m[2] or '0', 0)
        plus = f' + {offset}' if offset > 0 else f' - {-offset}' if offset else ''
        found = self.scope.find(base)
        if space == 'param' and not isinstance(found, Register):
            return f'({self.unit.param(self, base)}{plus})'
        expression, _ = self.bits(base) if not re.fullmatch(r'\d+', base) else (base, 64)
        if space == 'shared':
            return f'(shared + (u32)({expression}{plus}))'
        what = f'{bytes}, peer_{access}, {self.line}'
        if space == 'cluster' and access:
            return self.runtime(f'cluster_address(t, (u32)({expression}{plus}), {what})')
        pointer = f'(u8 *)(u64)({expression}{plus})'
        if space == 'generic' and access and self.unit.module.maps_peers:
            return self.runtime(f'cluster_generic(t, {pointer}, {what})')
        return pointer

    def runtime(self, call):
        self.unit.function.may_block = True
        return f'view.runtime->{call}'
