"""Translators of instructions that compute registers from registers."""
from ptx_instruction import FLOATS, LANES, SIZES, literal

UNSIGNED = {'s8': 'u8', 's16': 'u16', 's32': 'u32', 's64': 'u64'}
DIRECTED = {'rz': 'round_zero', 'rm': 'round_down', 'rp': 'round_up'}


def unsigned(type):
    return UNSIGNED.get(type, type)


def is_float(type):
    return LANES.get(type, (type,))[0] in FLOATS


# ---- add, sub, mul, fma, div on floats ----

def float_result(i, type, exact, nearest, rounding):
    """Chooses between plain C++ (nearest even) and a directed rounding of an odd-rounded double."""
    if rounding in (None, 'rn'):
        return nearest
    if type != 'f32':
        raise i.error(f'rounding .{rounding} is supported for f32 only')
    return f'{DIRECTED[rounding]}({exact})'


def float_binary(i, nearest, exact):
    rounding, ftz, sat = i.take('rn', 'rz', 'rm', 'rp'), i.take('ftz'), i.take('sat')
    use_relu, i_type = i.take('relu'), i.type
    if ftz and i_type not in ('f32', 'f32x2'):
        raise i.error('.ftz is supported for f32 only')
    i.take('noftz')

    def operation(type, v):
        if ftz:
            v = [f'flush({x})' for x in v]
        r = float_result(i, type, exact(type, v), nearest(type, v), rounding)
        r = f'flush({r})' if ftz else r
        r = f'saturate({r})' if sat else r
        return f'relu({r})' if use_relu else r
    return i.lanewise(i_type, operation, i.args[0], i.args[1:])


def fused(type, v):
    if type in ('f16', 'bf16'):
        return f'fma_narrow({v[0]}, {v[1]}, {v[2]})'
    return f'__builtin_fma{"f" if type == "f32" else ""}({v[0]}, {v[1]}, {v[2]})'


# operation: (rounded to nearest, odd-rounded double)
FLOAT_BINARY = {
    'add': (lambda t, v: f'({v[0]} + {v[1]})', lambda t, v: f'add_to_odd({v[0]}, {v[1]})'),
    'sub': (lambda t, v: f'({v[0]} - {v[1]})', lambda t, v: f'add_to_odd({v[0]}, -{v[1]})'),
    'mul': (lambda t, v: f'({v[0]} * {v[1]})', lambda t, v: f'((double){v[0]} * {v[1]})'),
    'fma': (fused, lambda t, v: f'add_to_odd((double){v[0]} * {v[1]}, {v[2]})'),
}


def integer_add(i):
    carry_out, saturated = i.take('cc'), i.take('sat')
    sign = '+' if i.base in ('add', 'addc') else '-'
    with_carry = i.base in ('addc', 'subc')
    type = unsigned(i.type)
    if saturated:
        a, b = (i.value(x, i.type) for x in i.args[1:3])
        return i.assign(i.args[0], i.type, f'saturate_to<s32>((__int128){a} {sign} {b})')
    if not (carry_out or with_carry):
        return i.lanewise(type, lambda t, v: f'{v[0]} {sign} {v[1]}', i.args[0], i.args[1:])
    a, b = (i.value(x, type) for x in i.args[1:3])
    total = f'(unsigned __int128){a} {sign} {b} {sign} {"carry" if with_carry else "0u"}'
    set_carry = f' carry = (u32)(wide >> {8 * SIZES[type]}) & 1;' if carry_out else ''
    return f'{{ unsigned __int128 wide = {total};{set_carry} {i.assign(i.args[0], type, "wide")} }}'


def add(i):
    return float_binary(i, *FLOAT_BINARY[i.base]) if is_float(i.type) else integer_add(i)


def wide_type(type):
    return type[0] + str(16 * SIZES[type])


def product(i, type):
    """(C++ expression, result type) of the product in mul and mad."""
    form = i.take('wide', 'hi', 'lo')
    a, b = i.value(i.args[1], type), i.value(i.args[2], type)
    if form == 'wide':
        w = wide_type(type)
        return f'({w}){a} * ({w}){b}', w
    if form == 'hi':
        return f'multiply_high({a}, {b})', type
    if form == 'lo':
        u = unsigned(type)
        a, b = i.value(i.args[1], u), i.value(i.args[2], u)
        return (f'(u32){a} * {b}' if u == 'u16' else f'{a} * {b}'), u
    raise i.error('.lo, .hi or .wide missing')


def mul(i):
    if is_float(i.type):
        return float_binary(i, *FLOAT_BINARY['mul'])
    expression, type = product(i, i.type)
    return i.assign(i.args[0], type, expression)


def mad(i):
    if is_float(i.type):
        return float_binary(i, *FLOAT_BINARY['fma'])
    carry_out = i.take('cc')
    expression, type = product(i, i.type)
    with_carry = i.base == 'madc'
    addend = i.value(i.args[3], unsigned(type))
    if not (carry_out or with_carry):
        return i.assign(i.args[0], unsigned(type), f'({unsigned(type)})({expression}) + {addend}')
    total = f'(unsigned __int128)({unsigned(type)})({expression}) + {addend} + {"carry" if with_carry else "0u"}'
    set_carry = f' carry = (u32)(wide >> {8 * SIZES[type]}) & 1;' if carry_out else ''
    return f'{{ unsigned __int128 wide = {total};{set_carry} {i.assign(i.args[0], unsigned(type), "wide")} }}'


def mul24(i):
    if not i.take('lo'):
        raise i.error('only .lo is supported')
    a, b = (f'({i.value(x, i.type)} << 8 >> 8)' for x in i.args[1:3])
    plus = f' + {i.value(i.args[3], i.type)}' if i.base == 'mad24' else ''
    return i.assign(i.args[0], i.type, f'{a} * {b}{plus}')


def div(i):
    a, b = i.args[1:3]
    if not is_float(i.type):
        name = 'divide' if i.base == 'div' else 'remainder'
        return i.assign(i.args[0], i.type, f'{name}({i.value(a, i.type)}, {i.value(b, i.type)})')
    result = 'approximate_quotient({} / {}, SEED)' if i.take('approx', 'full') else '({} / {})'
    return float_binary(i, lambda t, v: result.format(*v), lambda t, v: '')


def unary_float(exact=None):
    """sqrt and rcp, rounded once, or an approximation (approximations.h)."""
    def translate(i):
        form, ftz = i.take('approx', 'rn'), i.take('ftz')
        if form != 'rn' and i.type not in ('f32', 'f64'):
            raise i.error('approximations of 16-bit values are not supported')

        def operation(type, v):
            source = f'flush({v[0]})' if ftz and type == 'f32' else v[0]
            r = exact(type, source) if form == 'rn' else f'approximate_{i.base}({source}, SEED)'
            return f'flush({r})' if ftz and type == 'f32' else r
        return i.lanewise(i.type, operation, i.args[0], i.args[1:])
    return translate


def suffix(type):
    return '' if type == 'f64' else 'f'


def reciprocal(type, x):
    return f'(1.0{"" if type == "f64" else "f"} / {x})'


def square_root(type, x):
    return f'__builtin_sqrt{suffix(type)}({x})'


def absolute(i):
    ftz = i.take('ftz')
    if not is_float(i.type):
        u = unsigned(i.type)
        return i.lanewise(i.type, lambda t, v: f'({v[0]} < 0 ? ({u})0 - ({u}){v[0]} : ({u}){v[0]})', i.args[0], i.args[1:])
    wrap = 'flush({})' if ftz and i.type == 'f32' else '{}'
    return i.lanewise(i.type, lambda t, v: wrap.format(f'__builtin_fabs{suffix(t)}({v[0]})'), i.args[0], i.args[1:])


def negate(i):
    ftz = i.take('ftz')
    if not is_float(i.type):
        return i.lanewise(unsigned(i.type), lambda t, v: f'0u - {v[0]}', i.args[0], i.args[1:])
    wrap = 'flush({})' if ftz and i.type == 'f32' else '{}'
    return i.lanewise(i.type, lambda t, v: wrap.format(f'(-{v[0]})'), i.args[0], i.args[1:])


def min_max(i):
    ftz, nan, use_relu = i.take('ftz'), i.take('NaN'), i.take('relu')
    compare = '<' if i.base == 'min' else '>'

    def operation(type, v):
        if type in FLOATS:
            if ftz and type == 'f32':
                v = [f'flush({x})' for x in v]
            r = v[0]
            for x in v[1:]:
                r = f'float_{i.base}{"_nan" if nan else ""}({r}, {x})'
            return f'relu({r})' if use_relu else r
        r = f'({v[0]} {compare} {v[1]} ? {v[0]} : {v[1]})'
        return f'({r} > 0 ? {r} : 0)' if use_relu else r
    return i.lanewise(i.type, operation, i.args[0], i.args[1:])


def copysign(i):
    """PTX takes the sign from the first source and the magnitude from the second."""
    return i.lanewise(i.type, lambda t, v: f'__builtin_copysign{suffix(t)}({v[1]}, {v[0]})', i.args[0], i.args[1:])


# ---- comparisons ----

ORDERED = {'eq': '==', 'lt': '<', 'le': '<=', 'gt': '>', 'ge': '>=', 'lo': '<', 'ls': '<=', 'hi': '>', 'hs': '>='}
UNORDERED = {'equ': ('<', '>'), 'ltu': ('>=',), 'leu': ('>',), 'gtu': ('<=',), 'geu': ('<',)}
COMPARISONS = (*ORDERED, 'ne', 'equ', 'neu', 'ltu', 'leu', 'gtu', 'geu', 'num', 'nan')
COMBINE = {'and': '&', 'or': '|', 'xor': '^'}


def comparison(name, type, a, b):
    if name in ORDERED:
        return f'({a} {ORDERED[name]} {b})'
    if name in UNORDERED:  # true unless the opposite ordered comparison holds
        return '!(' + ' || '.join(f'{a} {o} {b}' for o in UNORDERED[name]) + ')'
    if name == 'ne' and type in FLOATS:
        return f'({a} < {b} || {a} > {b})'
    if name in ('ne', 'neu'):
        return f'({a} != {b})'
    both = f'({a} == {a} && {b} == {b})'
    return both if name == 'num' else '!' + both


def compare_operands(i, type, ftz, shift=0):
    scalar = LANES[type][0] if type in LANES else type
    a, b = (i.value(x, scalar, shift) for x in i.args[1:3])
    return (scalar, f'flush({a})', f'flush({b})') if ftz and scalar == 'f32' else (scalar, a, b)


def setp(i):
    name, combine, ftz, type = i.take(*COMPARISONS), i.take(*COMBINE), i.take('ftz'), i.type
    first, _, second = i.args[0].partition('|')
    result = comparison(name, *compare_operands(i, type, ftz))
    if type in LANES:
        other = comparison(name, *compare_operands(i, type, ftz, LANES[type][1]))
    else:
        other = f'!{result}'
    if combine:
        c = i.predicate(i.args[3])
        result, other = f'({result}) {COMBINE[combine]} {c}', f'({other}) {COMBINE[combine]} {c}'
    out = f'bool first = {result}, second = {other}; (void)second; '
    out += f'{i.name(first.strip()).cpp_name} = first;' if first.strip() != '_' else '(void)first;'
    return '{ ' + out + (f' {i.name(second.strip()).cpp_name} = second;' if second and second.strip() != '_' else '') + ' }' \
        if second else i.assign(first.strip(), 'pred', result)


TRUE_VALUES = {'f32': '0x3f800000u', 'u32': '0xffffffffu', 's32': '0xffffffffu', 'f16': '0x3c00u', 'bf16': '0x3f80u',
               'u16': '0xffffu', 's16': '0xffffu'}


def set_(i):
    name, combine, ftz = i.take(*COMPARISONS), i.take(*COMBINE), i.take('ftz')
    result_type, type = i.types if len(i.types) == 2 else i.types * 2
    c = f' {COMBINE[combine]} {i.predicate(i.args[3])}' if combine else ''
    low = f'({comparison(name, *compare_operands(i, type, ftz))}{c})'
    if type not in LANES:
        return i.assign_bits(i.args[0], f'{low} ? {TRUE_VALUES[result_type]} : 0u')
    high = f'({comparison(name, *compare_operands(i, type, ftz, 16))}{c})'
    true = TRUE_VALUES[LANES[result_type][0]] if result_type in LANES else '0xffffu'
    return i.assign_bits(i.args[0], f'({low} ? {true} : 0u) | ({high} ? {true} << 16 : 0u)')


def selp(i):
    t = 'b' + str(8 * SIZES[i.type])
    return i.assign(i.args[0], t, f'{i.predicate(i.args[3])} ? {i.value(i.args[1], t)} : {i.value(i.args[2], t)}')


def slct(i):
    ftz = i.take('ftz')
    type, condition = i.types
    t = 'b' + str(8 * SIZES[type])
    c = i.value(i.args[3], condition)
    c = f'flush({c})' if ftz else c
    return i.assign(i.args[0], t, f'{c} >= 0 ? {i.value(i.args[1], t)} : {i.value(i.args[2], t)}')


# ---- bits ----

def bitwise(operator):
    def translate(i):
        a, b = (i.value(x, i.type) for x in i.args[1:3])
        return i.assign(i.args[0], i.type, f'{a} {operator} {b}')
    return translate


def not_(i):
    return i.assign(i.args[0], i.type, ('!' if i.type == 'pred' else '~') + i.value(i.args[1], i.type))


def cnot(i):
    return i.assign(i.args[0], i.type, f'{i.value(i.args[1], i.type)} == 0')


def shift(i):
    type = unsigned(i.type) if i.base == 'shl' else i.type
    name, width = ('shift_left' if i.base == 'shl' else 'shift_right'), 8 * SIZES[type]
    amount = i.args[2]
    if amount.isdigit() and int(amount) < width:
        operator = '<<' if i.base == 'shl' else '>>'
        return i.assign(i.args[0], type, f'{i.value(i.args[1], type)} {operator} {amount}')
    return i.assign(i.args[0], type, f'{name}({i.value(i.args[1], type)}, {i.value(amount, "u32")})')


def funnel_shift(i):
    direction, mode = i.take('l', 'r'), i.take('wrap', 'clamp')
    low, high, n = (i.value(x, 'u32') for x in i.args[1:4])
    n = f'({n} & 31)' if mode == 'wrap' else f'({n} > 32 ? 32u : {n})'
    name = 'funnel_left' if direction == 'l' else 'funnel_right'
    return i.assign(i.args[0], 'b32', f'{name}({low}, {high}, {n})')


def bfe(i):
    a = i.value(i.args[1], i.type)
    return i.assign(i.args[0], i.type, f'bit_field_extract({a}, {i.value(i.args[2], "u32")}, {i.value(i.args[3], "u32")})')


def bfi(i):
    a, b = (i.value(x, i.type) for x in i.args[1:3])
    return i.assign(i.args[0], i.type, f'bit_field_insert({a}, {b}, {i.value(i.args[3], "u32")}, {i.value(i.args[4], "u32")})')


def bfind(i):
    amount, t = i.take('shiftamt'), i.type
    signed = 'true' if t[0] == 's' else 'false'
    return i.assign(i.args[0], 'u32', f'find_leading({i.value(i.args[1], unsigned(t))}, {signed}, {8 * SIZES[t]}, '
                    f'{"true" if amount else "false"})')


def bmsk(i):
    mode = i.take('clamp', 'wrap')
    a, b = (i.value(x, 'u32') for x in i.args[1:3])
    if mode == 'wrap':
        return i.assign(i.args[0], 'b32', f'bit_field_insert(~0u, 0u, {a} & 31, {b} & 31)')
    return i.assign(i.args[0], 'b32', f'bit_field_insert(~0u, 0u, {a} > 255 ? 255u : {a}, {b} > 255 ? 255u : {b})')


def brev(i):
    return i.assign(i.args[0], i.type, f'reverse_bits({i.value(i.args[1], i.type)}, {8 * SIZES[i.type]})')


def clz(i):
    return i.assign(i.args[0], 'u32', f'count_leading_zeros({i.value(i.args[1], i.type)}, {8 * SIZES[i.type]})')


def popc(i):
    return i.assign(i.args[0], 'u32', f'__builtin_popcountll({i.value(i.args[1], i.type)})')


def prmt(i):
    mode = i.take('f4e', 'b4e', 'rc8', 'ecl', 'ecr', 'rc16')
    a, b, c = (i.value(x, 'u32') for x in i.args[1:4])
    if mode:
        return i.assign(i.args[0], 'b32', f'permute_mode({a}, {b}, {c}, permute_{mode})')
    return i.assign(i.args[0], 'b32', f'permute_bytes({a}, {b}, {c})')


def lop3(i):
    """Sum of the minterms of the truth table; the C++ compiler simplifies it."""
    a, b, c = (i.value(x, 'b32') for x in i.args[1:4])
    table = int(i.args[4], 0)
    terms = [f'({"" if n & 4 else "~"}{a} & {"" if n & 2 else "~"}{b} & {"" if n & 1 else "~"}{c})'
             for n in range(8) if table >> n & 1]
    return i.assign(i.args[0], 'b32', ' | '.join(terms) or '0u')


def dp4a(i):
    a_type, b_type = i.types
    a, b, c = (i.value(x, 'u32') for x in i.args[1:4])
    flags = ', '.join('true' if t[0] == 's' else 'false' for t in (a_type, b_type))
    return i.assign(i.args[0], 'u32', f'dot_product_4({a}, {b}, {c}, {flags})')


def sad(i):
    a, b = (i.value(x, i.type) for x in i.args[1:3])
    u = unsigned(i.type)
    return i.assign(i.args[0], u, f'({a} < {b} ? ({u}){b} - ({u}){a} : ({u}){a} - ({u}){b}) + {i.value(i.args[3], u)}')


def testp(i):
    kind = i.take('finite', 'infinite', 'number', 'notanumber', 'normal', 'subnormal')
    x = i.value(i.args[1], i.type)
    tests = {'finite': f'__builtin_isfinite({x})', 'infinite': f'__builtin_isinf({x})', 'number': f'!__builtin_isnan({x})',
             'notanumber': f'__builtin_isnan({x})', 'normal': f'__builtin_isnormal({x})',
             'subnormal': f'(__builtin_isfinite({x}) && !__builtin_isnormal({x}) && {x} != 0)'}
    return i.assign(i.args[0], 'pred', tests[kind])


# ---- moves and conversions ----

def mov(i):
    dest, source = i.args
    width = 8 * SIZES[i.type]
    if dest.startswith('{'):
        parts, wide = i.vector(dest), i.value(source, f'b{width}')
        step = width // len(parts)
        return f'{{ u{width} whole = {wide}; ' + ' '.join(
            i.assign(p, f'b{step}', f'whole >> {n * step}') for n, p in enumerate(parts) if p != '_') + ' }'
    if source.startswith('{'):
        parts = i.vector(source)
        step = width // len(parts)
        return i.assign(dest, f'b{width}', ' | '.join(
            f'(u{width}){i.value(p, f"b{step}")} << {n * step}' for n, p in enumerate(parts)))
    type = i.type if i.type == 'pred' else f'b{width}'
    value = i.value(source, type)
    return i.assign(dest, type, f'canonical_bits({value})' if i.shows_bits(dest, source) else value)


INTEGER_ROUNDING = {'rni': '__builtin_rint', 'rzi': '__builtin_trunc', 'rmi': '__builtin_floor', 'rpi': '__builtin_ceil'}


def cvt(i):
    if len(i.args) == 3:
        return cvt_pack(i)
    to, source = i.types
    if source == 'e4m3x2':
        return widen_e4m3(i)
    i.take('satfinite')
    rounding = i.take('rn', 'rz', 'rm', 'rp', 'rni', 'rzi', 'rmi', 'rpi', 'rna')
    ftz, sat, use_relu = i.take('ftz'), i.take('sat'), i.take('relu')
    x = i.value(i.args[1], source)
    if ftz and source == 'f32':
        x = f'flush({x})'
    if source in FLOATS:
        result = float_to_float(i, to, source, x, rounding) if to in FLOATS else float_to_integer(i, to, x, rounding)
        if to in FLOATS:
            result = f'saturate({result})' if sat else result
            result = f'relu({result})' if use_relu else result
            if ftz and to == 'f32':
                result = f'flush({result})'
            if to in ('f16', 'bf16') and rounding == 'rz':
                return i.assign_bits(i.args[0], f'{to}_bits_rz({result})')
        return i.assign(i.args[0], to, result)
    if to in FLOATS:
        return i.assign(i.args[0], to, integer_to_float(i, to, source, x, rounding))
    return i.assign(i.args[0], to, f'saturate_to<{to.replace("b", "u")}>({x})' if sat else f'({to.replace("b", "u")}){x}')


def float_to_float(i, to, source, x, rounding):
    if rounding in INTEGER_ROUNDING:
        return f'{INTEGER_ROUNDING[rounding]}{suffix(source)}({x})'
    if source != 'f64':
        return f'(double){x}' if to == 'f64' else x
    if to == 'f64':
        return x
    if to in ('f16', 'bf16'):
        return f'narrow_to_odd({x})'
    return f'{DIRECTED[rounding]}({x})' if rounding in DIRECTED else f'(float){x}'


def float_to_integer(i, to, x, rounding):
    if rounding not in INTEGER_ROUNDING:
        raise i.error('rounding to integer missing')
    return f'float_to<{to}>({INTEGER_ROUNDING[rounding]}((double){x}))'


def integer_to_float(i, to, source, x, rounding):
    if rounding in DIRECTED:
        if SIZES[source] > 4 or to != 'f32':
            raise i.error('directed rounding is supported from 32-bit integers to f32 only')
        return f'{DIRECTED[rounding]}((double){x})'
    if to in ('f16', 'bf16'):
        return f'narrow_to_odd((double){x})'
    return f'(double){x}' if to == 'f64' else f'(float){x}'


def widen_e4m3(i):
    """cvt.rn.f16x2.e4m3x2 d, a: the lower byte goes to the lower half.  A code's bits are those of an f16 2^-8 times as large."""
    if i.types[0] != 'f16x2' or not i.take('rn'):
        raise i.error('conversion not supported')
    codes = i.value(i.args[1], 'u16')
    halves = [f'(({codes} >> {shift} & 0x7f) == 0x7f ? 0x7fffu : (u32)f16_bits(256 * f16_value(({codes} >> {shift} & 0x80) << 8 | '
              f'({codes} >> {shift} & 0x7f) << 7)))' for shift in (0, 8)]
    return i.assign_bits(i.args[0], f'{halves[0]} | {halves[1]} << 16')


def narrow_to_8_bits(i, to):
    """cvt.rn.satfinite.e4m3x2.f32 d, a, b: a goes to the upper byte."""
    if i.types[1] != 'f32' or not i.take('rn') or not i.take('satfinite'):
        raise i.error('conversion not supported')
    high, low = (f'narrow8_{to}({i.value(x, "f32")})' for x in i.args[1:3])
    return i.assign_bits(i.args[0], f'(u16)({low} | {high} << 8)')


def cvt_pack(i):
    """cvt.rn.bf16x2.f32 d, a, b: a goes to the upper half."""
    if i.types[0] in ('e4m3x2', 'e5m2x2'):
        return narrow_to_8_bits(i, i.types[0].removesuffix('x2'))
    to = LANES.get(i.types[0])
    if not to or i.types[1] != 'f32':
        raise i.error('conversion not supported')
    rounding, use_relu = i.take('rn', 'rz'), i.take('relu')
    i.take('satfinite')
    name = to[0] + ('_bits_rz' if rounding == 'rz' else '_bits')
    high, low = (i.value(x, 'f32') for x in i.args[1:3])
    if use_relu:
        high, low = f'relu({high})', f'relu({low})'
    return i.assign_bits(i.args[0], f'(u32){name}({low}) | (u32){name}({high}) << 16')


def cvta(i):
    """Generic addresses are host pointers; shared addresses are offsets into the block's shared memory."""
    to, space = i.take('to'), i.take_space()
    source = i.value(i.args[1], i.type)
    if space == 'shared':
        source = f'{source} - (u64)shared' if to else f'(u64)shared + (u32){source}'
    elif space == 'cluster' and to:
        source = i.runtime(f'cluster_window(t, {source}, {i.line})')
    elif space == 'cluster':
        source = f'(u64){i.runtime(f"cluster_address(t, (u32){source}, 0, peer_ordered, {i.line})")}'
    return i.assign(i.args[0], i.type, source)


def isspacep(i):
    space = i.take_space()
    call = f'view.runtime->address_space(t, {i.value(i.args[1], "u64")})'
    test = {'global': '{0} == space_global', 'shared': '{0} == space_shared', 'local': '{0} == space_local',
            'const': 'false && {0}', 'param': '{0} == space_param',
            'cluster': '({0} == space_shared || {0} == space_shared_cluster)'}[space]
    return i.assign(i.args[0], 'pred', test.format(call))


ARITHMETIC = {
    'add': add, 'sub': add, 'addc': integer_add, 'subc': integer_add, 'mul': mul, 'fma': mad, 'mad': mad, 'madc': mad,
    'mul24': mul24, 'mad24': mul24, 'div': div, 'rem': div, 'sqrt': unary_float(square_root), 'rcp': unary_float(reciprocal),
    'rsqrt': unary_float(), 'ex2': unary_float(), 'lg2': unary_float(), 'sin': unary_float(), 'cos': unary_float(),
    'tanh': unary_float(),
    'abs': absolute, 'neg': negate, 'min': min_max, 'max': min_max, 'copysign': copysign,
    'setp': setp, 'set': set_, 'selp': selp, 'slct': slct, 'testp': testp,
    'and': bitwise('&'), 'or': bitwise('|'), 'xor': bitwise('^'), 'not': not_, 'cnot': cnot,
    'shl': shift, 'shr': shift, 'shf': funnel_shift, 'bfe': bfe, 'bfi': bfi, 'bfind': bfind, 'bmsk': bmsk, 'brev': brev,
    'clz': clz, 'popc': popc, 'prmt': prmt, 'lop3': lop3, 'dp4a': dp4a, 'sad': sad,
    'mov': mov, 'cvt': cvt, 'cvta': cvta, 'isspacep': isspacep,
}
