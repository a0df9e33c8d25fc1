"""Translators of multimem: one instruction for the memory of every device of a multicast team."""
from ptx_instruction import LANES, SIZES
from ptx_memory import FETCH, ORDERS, SCOPES, atomic_one, runtime, updated

INTEGERS = ('u32', 's32', 'u64', 's64', 'b32', 'b64')
# Added in fp32.  Of f16 and bf16 the instruction must say so; its own default is the precision of the type.
ADDED = {'f32': None, 'f16x2': 'acc::f32', 'bf16x2': 'acc::f32'}
READS = '1u << 31 | '  # in the bytes of Runtime::multicast: what the devices have there is read


def multimem(i):
    action, order = i.take('ld_reduce', 'st', 'red'), i.take('weak', 'relaxed', 'acquire', 'release')
    i.take(*SCOPES)
    space = i.take_space()
    if action == 'st' and space == 'global' and i.take('v4') and i.type == 'f32':
        return st_vector(i, ORDERS.get(order, '__ATOMIC_RELAXED'))
    if action == 'ld_reduce' and space == 'global' and i.type in ADDED:
        return ld_reduce_floats(i, ORDERS.get(order, '__ATOMIC_RELAXED'))
    if space not in ('global', 'generic') or i.type not in INTEGERS:
        raise i.error('multimem is supported on integers in global memory, its store on four floats, and its sums of floats')
    bits, operation = f'u{8 * SIZES[i.type]}', i.take('add', 'min', 'max', 'and', 'or', 'xor')
    each, before = ACTIONS[action](i, operation, bits, ORDERS.get(order, '__ATOMIC_RELAXED'))
    place = i.args[1] if action == 'ld_reduce' else i.args[0]
    devices = runtime(i, 'multicast', 'to', f'{READS if action == "ld_reduce" else ""}{SIZES[i.type]}', 'n')
    after = i.assign_bits(i.args[0], 'all') if action == 'ld_reduce' else ''
    return (f'{{ {before} const u64 to = (u64){i.address(place, "global")}; '
            f'for (u32 n = 0; u8 *at = {devices}; n++) {{ {each} }} {after} }}')


def ld_reduce(i, operation, bits, order):
    if operation in FETCH:
        both = f'all {dict(add="+", xor="^", **{"and": "&", "or": "|"})[operation]} one'
    else:
        both = updated(i, operation, i.type, 'all', 'one')
    return (f'{bits} one = __atomic_load_n(&MEMORY({bits}, at), {order}); all = n ? {both} : one;',
            f'{runtime(i, "yield", "nullptr")}; {bits} all = 0;')


def added(i, type, word, order):
    """C++ expression for the bits of the sum of one word of all devices."""
    def lane(scalar, shift):
        value = i.view(f'(__atomic_load_n(&MEMORY(u32, at + {4 * word}), {order}) >> {shift})', 0, scalar)
        nan = {'f32': '0xffc00001u', 'f16': '0xfe01u', 'bf16': '0xffc1u'}[scalar]
        return (f'bits(sum([](const u8 *at) {{ return {value}; }}), '
                f'[](float x) {{ return (u32){i.to_bits("x", scalar)}; }}, {nan})')
    if type in LANES:
        scalar, width = LANES[type]
        return f'{lane(scalar, 0)} | {lane(scalar, width)} << {width}'
    return lane(type, 0)


def ld_reduce_floats(i, order):
    """PTX states neither the order of the sum, nor the bits of a NaN, nor what becomes of subnormal values.  Here the order depends
    on the address and is never the ascending one of more than two devices; subnormal values and partial sums are 0; and a NaN has
    bits that nothing else gives it."""
    count, type = int((i.take('v2', 'v4', 'v8') or 'v1')[1:]), i.type
    bytes = count * SIZES[type]
    if bytes not in (4, 8, 16):
        raise i.error('a vector of floats has 32, 64 or 128 bits')
    if not i.take('add') or i.take('acc::f32') != ADDED[type]:
        raise i.error('of floats only the sum in fp32 is supported')
    devices = runtime(i, 'multicast', 'to', f'{READS}{bytes}', 'count')
    sums = ' '.join(i.assign_bits(register, added(i, type, word, order)) for word, register in enumerate(i.vector(i.args[0])))
    return (f'{{ const u64 to = (u64){i.address(i.args[1], "global")}; const u8 *of[64]; u32 count = 0; '
            f'while (const u8 *at = {devices}) of[count++] = at; '
            'const u32 first = to / 16 % 2 ? 0 : count - 1; '
            'const auto sum = [&](auto value) { float all = flush(value(of[first])); '
            'for (u32 n = 1; n < count; n++) all = flush(all + flush(value(of[(first + count - n) % count]))); return all; }; '
            'const auto bits = [](float x, auto narrow, u32 nan) { return x != x ? nan : narrow(x); }; '
            f'{sums} }}')


def st(i, _, bits, order):
    return f'__atomic_store_n(&MEMORY({bits}, at), value, {order});', f'EFFECT(1); const {bits} value = {i.value(i.args[1], bits)};'


def st_vector(i, order):
    registers = i.vector(i.args[1])
    values = ', '.join(i.value(register, 'b32') for register in registers)
    stores = ' '.join(f'__atomic_store_n(&MEMORY(u32, at + {4 * n}), values[{n}], {order});' for n in range(len(registers)))
    devices = runtime(i, 'multicast', 'to', 4 * len(registers), 'n')
    return (f'{{ EFFECT(1); const u32 values[] = {{{values}}}; const u64 to = (u64){i.address(i.args[0], "global")}; '
            f'for (u32 n = 0; u8 *at = {devices}; n++) {{ {stores} }} }}')


def red(i, operation, bits, order):
    return (f'(void){atomic_one(i, operation, i.type, order, 0, "value")};',
            f'EFFECT(1); const {bits} value = {i.value(i.args[1], bits)};')


ACTIONS = {'ld_reduce': ld_reduce, 'st': st, 'red': red}
MULTIMEM = {'multimem': multimem}
