"""Translators of loads, stores, atomics, asynchronous copies and mbarriers.  Those of multimem are in ptx_multimem.py."""
from ptx_instruction import CPP_TYPES, FLOATS, LANES, SIZES
from ptx_arithmetic import unsigned

# Hints about caches and locality: they change speed, never values.
HINTS = ('ca', 'cg', 'cs', 'lu', 'cv', 'wb', 'wt', 'nc', 'unified',
         'L1::evict_normal', 'L1::evict_unchanged', 'L1::evict_first', 'L1::evict_last', 'L1::no_allocate',
         'L2::evict_normal', 'L2::evict_first', 'L2::evict_last', 'L2::64B', 'L2::128B', 'L2::256B')
SCOPES = ('cta', 'cluster', 'gpu', 'sys')
ORDERS = {'acquire': '__ATOMIC_ACQUIRE', 'release': '__ATOMIC_RELEASE', 'relaxed': '__ATOMIC_RELAXED',
          'acq_rel': '__ATOMIC_ACQ_REL', 'volatile': '__ATOMIC_RELAXED', 'mmio': '__ATOMIC_RELAXED'}


def take_hints(i):
    """Returns whether a cache-policy operand follows."""
    while i.take(*HINTS):
        continue
    return i.take('L2::cache_hint') is not None


def runtime(i, name, *arguments, line=True):
    return i.runtime(f'{name}({", ".join(["t", *map(str, arguments), *([str(i.line)] if line else [])])})')


def memory_type(type):
    """The integer type that a value of `type` has in memory."""
    return type if type[0] == 's' and type in SIZES else f'u{8 * SIZES[type]}'


def access(i):
    """Common part of ld and st: order, space and vector width."""
    order = i.take(*ORDERS)
    i.take('weak')
    i.take(*SCOPES)
    space = i.take_space()
    take_hints(i)
    count = int((i.take('v2', 'v4', 'v8') or 'v1')[1:])
    return order, space, count


def ld(i):
    order, space, count = access(i)
    type = memory_type(i.type)
    registers = i.vector(i.args[0])
    if order:
        if i.type == 'b128':
            raise i.error('no 128-bit access is atomic')
        before = f'{runtime(i, "yield", i.address(i.args[1], space, access=None))}; '  # the peer it reads from may end meanwhile
        loads = [f'__atomic_load_n(&MEMORY({type}, from + {n * SIZES[i.type]}), {ORDERS[order]})' for n in range(count)]
    else:
        before, loads = '', [f'MEMORY({type}, from + {n * SIZES[i.type]})' for n in range(count)]
    address = i.address(i.args[1], space, count * SIZES[i.type], 'ordered' if order else 'read')
    if count == 1 and not order and i.type != 'b128':
        return i.assign_bits(registers[0], f'MEMORY({type}, {address})')
    check = f'CHECK_ALIGNED(from, {count * SIZES[i.type]}, {i.line}); '
    after = ' ' + runtime(i, 'acquired', '(u64)from') + ';' if order == 'acquire' else ''
    return f'{{ {before}const u8 *from = {address}; {check}' + ' '.join(
        i.assign_bits(r, load) for r, load in zip(registers, loads)) + f'{after} }}'


def st(i):
    order, space, count = access(i)
    type = unsigned(memory_type(i.type))
    step = SIZES[i.type]
    values = [i.value(v, 'b' + type[1:]) for v in i.vector(i.args[1])]
    address = i.address(i.args[0], space, count * step, 'ordered' if order else 'write')
    if count == 1 and not order and i.type != 'b128':
        return f'MEMORY({type}, {address}) = {values[0]};'
    check = f'CHECK_ALIGNED(to, {count * step}, {i.line}); ' + ('EFFECT(1); ' if order else '')
    if order == 'release':
        check += 'RELEASED(to); '
    if order:
        if i.type == 'b128':
            raise i.error('no 128-bit access is atomic')
        stores = [f'__atomic_store_n(&MEMORY({type}, to + {n * step}), {v}, {ORDERS[order]});' for n, v in enumerate(values)]
    else:
        stores = [f'MEMORY({type}, to + {n * step}) = {v};' for n, v in enumerate(values)]
    return f'{{ u8 *to = {address}; {check}{" ".join(stores)} }}'


FETCH = {'add': '__atomic_fetch_add', 'and': '__atomic_fetch_and', 'or': '__atomic_fetch_or', 'xor': '__atomic_fetch_xor',
         'exch': '__atomic_exchange_n'}
ATOMIC_ORDER = {None: '__ATOMIC_RELAXED', 'relaxed': '__ATOMIC_RELAXED', 'acquire': '__ATOMIC_ACQUIRE',
                'release': '__ATOMIC_RELEASE', 'acq_rel': '__ATOMIC_ACQ_REL'}


def updated(i, operation, type, old, value):
    """C++ expression for the new value (as bits) of a read-modify-write without its own fetch operation."""
    if type in LANES:
        scalar, width = LANES[type]
        low, high = (updated(i, operation, scalar, f'(u16)({old} >> {s})', f'(u16)({value} >> {s})') for s in (0, width))
        return f'((u32){low} | (u32){high} << {width})'
    a, b = i.view(old, 8 * SIZES[type], type), i.view(value, 8 * SIZES[type], type)
    if operation == 'add':
        return i.to_bits(f'{a} + {b}', type)
    if operation in ('min', 'max'):
        return i.to_bits(f'float_{operation}({a}, {b})' if type in FLOATS else
                         f'({a} {"<" if operation == "min" else ">"} {b} ? {a} : {b})', type)
    if operation == 'inc':
        return f'({old} >= {value} ? 0u : {old} + 1)'
    if operation == 'dec':
        return f'({old} == 0 || {old} > {value} ? {value} : {old} - 1)'
    raise i.error('atomic operation not supported')


def atomic_one(i, operation, type, order, offset, value, compare=None):
    """C++ expression that does one atomic at `at + offset` and yields the old bits."""
    bits = f'u{8 * SIZES[type]}'
    place = f'&MEMORY({bits}, at + {offset})'
    if operation == 'cas':
        return (f'([&] {{ {bits} old = {compare}; __atomic_compare_exchange_n({place}, &old, {value}, false, {order}, '
                f'{"__ATOMIC_ACQUIRE" if "ACQ" in order else "__ATOMIC_RELAXED"}); return old; }}())')
    if operation in FETCH and type not in FLOATS and type not in LANES:
        return f'{FETCH[operation]}({place}, {value}, {order})'
    return f'atomic_update<{bits}>(at + {offset}, [&]({bits} old) {{ return {updated(i, operation, type, "old", value)}; }})'


def effect_of(i, operation, type, value, compare):
    """C++ condition: the atomic changed its memory, given what it found there as `old`."""
    if type in FLOATS or type in LANES or operation in ('inc', 'dec'):
        return 'true'
    if operation == 'cas':
        return f'old == {compare} && old != {value}'
    return {'exch': f'old != {value}', 'add': f'{value} != 0', 'xor': f'{value} != 0', 'and': f'(old & {value}) != old',
            'or': f'(old | {value}) != old'}.get(operation) or f'{updated(i, operation, type, "old", value)} != old'


def atom(i):
    order = ATOMIC_ORDER[i.take('relaxed', 'acquire', 'release', 'acq_rel')]
    i.take(*SCOPES)
    space = i.take_space()
    operation = i.take('add', 'min', 'max', 'and', 'or', 'xor', 'exch', 'cas', 'inc', 'dec')
    i.take('noftz')
    has_policy = take_hints(i)
    i.take('v2', 'v4', 'v8')
    returns = i.base == 'atom'
    args = i.args[:-1] if has_policy else i.args
    dest, (place, *operands) = (args[0], args[1:]) if returns else (None, args)
    values = i.vector(operands[0])
    results = i.vector(dest) if returns else [None] * len(values)
    type, bits = i.type, 'b' + str(8 * SIZES[i.type])
    if type == 'b128':
        raise i.error('no 128-bit access is atomic')
    bytes = SIZES[type] * len(values)
    out = [f'u8 *at = {i.address(place, space, bytes)};', f'CHECK_ALIGNED(at, {bytes}, {i.line});']
    if order in ('__ATOMIC_RELEASE', '__ATOMIC_ACQ_REL'):
        out.append('RELEASED(at);')
    for n, (value, result) in enumerate(zip(values, results)):
        out.append(f'{CPP_TYPES[bits]} value{n} = {i.value(value, bits)};')
        new = i.value(operands[1], bits) if operation == 'cas' else f'value{n}'
        one = atomic_one(i, operation, type, order, n * SIZES[type], new, f'value{n}')
        keep = i.assign_bits(result, 'old') if returns else '(void)old;'
        out.append(f'{{ {CPP_TYPES[bits]} old = {one}; EFFECT({effect_of(i, operation, type, new, f"value{n}")}); {keep} }}')
    if order in ('__ATOMIC_ACQUIRE', '__ATOMIC_ACQ_REL'):
        out.append(runtime(i, 'acquired', '(u64)at') + ';')
    spin = f'{runtime(i, "preempt")}; ' if returns and dest != '_' else ''
    return '{ ' + spin + ' '.join(out) + ' }'


# Every fence is taken for the strongest: the emulator runs threads one at a time anyway. Those between
# proxies order no threads.
FENCE_KINDS = ('acquire', 'release', 'acq_rel', 'sc', 'sync_restrict::shared::cta', 'sync_restrict::shared::cluster', 'gl', *SCOPES)
PROXIES = ('alias', 'async', 'async::generic', 'tensormap::generic')


def fence(i):
    if i.take('mbarrier_init'):
        i.take('release')
        i.take('cluster')
        return runtime(i, 'proxy_fence', 'fence_mbarrier_init', line=False) + ';'
    proxy = i.take(*PROXIES) if i.take('proxy') else None
    space = i.take_space()
    if proxy == 'async':
        covers_shared = space in ('generic', 'shared', 'cluster')
        return runtime(i, 'proxy_fence', 'fence_mbarrier_init | fence_async_shared', line=False) + ';' if covers_shared else ';'
    if proxy == 'alias':
        return runtime(i, 'proxy_fence', 'fence_alias', line=False) + ';'
    while i.take(*FENCE_KINDS):
        continue
    return 'view.runtime->fence(t);'


def prefetch(i):
    i.take_space()
    i.take('L1', 'L2', 'tensormap', 'L2::evict_last', 'L2::evict_normal')
    return ';'


def create_policy(i):
    i.left.clear()
    return i.assign_bits(i.args[0], '0')


# ---- cp.async and cp.async.bulk ----

def cp(i):
    if not i.take('async'):
        raise i.error('copy not supported')
    if i.take('bulk'):
        return bulk(i)
    i.left += [t for t in i.types if t != 'b64']
    if i.take('commit_group'):
        return runtime(i, 'copy_commit', line=False) + ';'
    if i.take('wait_all'):
        return runtime(i, 'copy_wait', 0, 'true', line=False) + ';'
    if i.take('wait_group'):
        return runtime(i, 'copy_wait', i.args[0], 'false', line=False) + ';'
    if i.take('mbarrier'):
        i.take('arrive')
        counted = 'false' if i.take('noinc') else 'true'
        return runtime(i, 'copy_arrive', f'(u64 *){i.address(i.args[0], i.take_space())}', counted) + ';'
    take_hints(i)
    to_space, from_space = i.take_space(), i.take_space()
    take_hints(i)
    size = i.args[2]
    source_size = i.value(i.args[3], 'u32') if len(i.args) > 3 else size
    return runtime(i, 'copy_async', i.address(i.args[0], to_space), i.address(i.args[1], from_space), size, source_size) + ';'


def bulk(i):
    if i.take('commit_group'):
        return runtime(i, 'bulk_commit', line=False) + ';'
    if i.take('wait_group'):
        only_read = 'true' if i.take('read') else 'false'
        return runtime(i, 'bulk_wait', i.args[0], only_read, line=False) + ';'
    if i.take('prefetch'):
        return bulk_prefetch(i)
    to_space, from_space = i.take_space(), i.take_space()
    take_hints(i)
    if i.take('mbarrier::complete_tx::bytes'):
        ctas = i.value(i.args[4], 'u16') if i.take('multicast::cluster') else '0'
        return runtime(i, 'bulk_load', i.address(i.args[0], to_space), i.address(i.args[1], from_space),
                       i.value(i.args[2], 'u32'), f'(u64 *){i.address(i.args[3], to_space, 8)}', ctas) + ';'
    if i.take('bulk_group') and (to_space, from_space) == ('global', 'shared'):
        return runtime(i, 'bulk_store', i.address(i.args[0], to_space), i.address(i.args[1], from_space),
                       i.value(i.args[2], 'u32')) + ';'
    raise i.error('bulk copy not supported')


def bulk_prefetch(i):
    i.take('L2')
    if i.take_space() != 'global':
        raise i.error('bulk prefetch of another space than global')
    take_hints(i)
    return (f'if (((u64){i.address(i.args[0], "global")} | {i.value(i.args[1], "u32")}) % 16) '
            f'view.runtime->fail(t, 716, "cp.async.bulk.prefetch not aligned to 16 bytes", 0, {i.line});')


# ---- mbarriers ----

def mbarrier(i):
    if i.take('pending_count'):
        return i.assign(i.args[0], 'u32', f'({i.value(i.args[1], "u64")} >> 1 & 0xfffffu)')
    action = i.take(*MBARRIER_ACTIONS)
    if not action:
        raise i.error('mbarrier operation not supported')
    return MBARRIER_ACTIONS[action](i)


def mbarrier_place(i, arg, spaces=('generic', 'shared')):
    space = i.take_space()
    if space not in spaces:
        raise i.error('mbarrier in a state space that the operation does not take')
    return f'(u64 *){i.address(arg, space, 8)}'


def mbarrier_options(i):
    """The options of enum MbarrierOption that the modifiers of memory ordering stand for; without any, release or acquire in the
    block."""
    order, scope = i.take('acquire', 'release', 'relaxed'), i.take('cta', 'cluster')
    options = ['mbarrier_relaxed'] * (order == 'relaxed') + ['mbarrier_cluster_scope'] * (scope == 'cluster')
    return options or ['0']


def mbarrier_init(i):
    return runtime(i, 'mbarrier_init', mbarrier_place(i, i.args[0]), i.value(i.args[1], 'u32')) + ';'


def mbarrier_invalidate(i):
    return runtime(i, 'mbarrier_invalidate', mbarrier_place(i, i.args[0])) + ';'


def mbarrier_arrive(i, drops=False):
    """[state,] [address] {, count or bytes}: shared::cluster returns no state."""
    expects = i.take('expect_tx')
    options = ['mbarrier_drop'] * drops + ['mbarrier_no_complete'] * bool(i.take('noComplete')) + mbarrier_options(i)
    has_state = not i.args[0].startswith('[')
    dest, (place, *operands) = (i.args[0], i.args[1:]) if has_state else ('_', i.args)
    spaces = ('generic', 'shared', 'cluster') if dest == '_' else ('generic', 'shared')
    operand = i.value(operands[0], 'u32') if operands else '1'
    count, expected = ('1', operand) if expects else (operand, '0')
    call = runtime(i, 'mbarrier_arrive', mbarrier_place(i, place, spaces), count, expected, ' | '.join(options))
    return f'(void){call};' if dest == '_' else i.assign_bits(dest, call)


def mbarrier_arrive_drop(i):
    return mbarrier_arrive(i, drops=True)


def mbarrier_bytes(service):
    def translate(i):
        mbarrier_options(i)
        place = mbarrier_place(i, i.args[0], ('generic', 'shared', 'cluster'))
        return runtime(i, service, place, i.value(i.args[1], 'u32')) + ';'
    return translate


def mbarrier_wait(i):
    parity = i.take('parity')
    options = mbarrier_options(i) + ['mbarrier_parity'] * bool(parity)
    phase = i.value(i.args[2], 'u32' if parity else 'u64')
    return i.assign(i.args[0], 'pred', runtime(i, 'mbarrier_test', mbarrier_place(i, i.args[1]), phase, ' | '.join(options)))


MBARRIER_ACTIONS = {
    'init': mbarrier_init, 'inval': mbarrier_invalidate, 'arrive': mbarrier_arrive, 'arrive_drop': mbarrier_arrive_drop,
    'expect_tx': mbarrier_bytes('mbarrier_expect'), 'complete_tx': mbarrier_bytes('mbarrier_complete'),
    'test_wait': mbarrier_wait, 'try_wait': mbarrier_wait,
}


# ---- shared memory of other blocks ----

def mapa(i):
    space, rank = i.take_space(), i.value(i.args[2], 'u32')
    if space == 'cluster':
        return i.assign(i.args[0], i.type, runtime(i, 'cluster_map', i.value(i.args[1], 'u32'), rank))
    return i.assign(i.args[0], 'u64', runtime(i, 'cluster_map_generic', i.value(i.args[1], 'u64'), rank))


def getctarank(i):
    address = i.value(i.args[1], i.type)
    if i.take_space() != 'cluster':
        address = runtime(i, 'cluster_window', address)
    return i.assign(i.args[0], 'u32', runtime(i, 'cluster_rank', address))


def async_store(i, values, updates):
    """st.async and red.async: `updates` are C++ statements on `to` and `value`, which the mbarrier's completion waits for."""
    i.take('weak', 'release', 'relaxed')
    i.take(*SCOPES)
    if not i.take('mbarrier::complete_tx::bytes') or i.take_space() not in ('cluster', 'generic'):
        raise i.error('asynchronous store without an mbarrier in shared::cluster')
    size = SIZES[i.type]
    to, mbarrier = i.address(i.args[0], 'cluster'), i.address(i.args[2], 'cluster', 8)
    call = runtime(i, 'store_async', to, '(const u8 *)values', size * len(values), 'update', f'(u64 *){mbarrier}')
    return (f'{{ const u{8 * size} values[] = {{{", ".join(values)}}}; '
            f'const AsyncUpdate update = [](u8 *to, const u8 *value) {{ {" ".join(updates)} }}; {call}; }}')


def st_async(i):
    count = int((i.take('v2', 'v4') or 'v1')[1:])
    size, type = SIZES[i.type], f'u{8 * SIZES[i.type]}'
    values = [i.value(v, 'b' + type[1:]) for v in i.vector(i.args[1])]
    return async_store(i, values, [f'MEMORY({type}, to + {n * size}) = MEMORY({type}, value + {n * size});' for n in range(count)])


def red_async(i):
    operation, type = i.take('add', 'min', 'max', 'and', 'or', 'xor', 'inc', 'dec'), f'u{8 * SIZES[i.type]}'
    symbol = {'and': '&', 'or': '|', 'xor': '^'}.get(operation)
    new = f'old {symbol} with' if symbol else updated(i, operation, i.type, 'old', 'with')
    return async_store(i, [i.value(i.args[1], 'b' + type[1:])],
                       [f'{type} old = MEMORY({type}, to), with = MEMORY({type}, value); MEMORY({type}, to) = {new};'])


def store(i):
    return st_async(i) if i.take('async') else st(i)


def reduce(i):
    return red_async(i) if i.take('async') else atom(i)


MEMORY_OPCODES = {
    'ld': ld, 'ldu': ld, 'st': store, 'atom': atom, 'red': reduce, 'fence': fence, 'membar': fence,
    'prefetch': prefetch, 'prefetchu': prefetch, 'applypriority': prefetch, 'discard': prefetch, 'createpolicy': create_policy,
    'cp': cp, 'mbarrier': mbarrier, 'mapa': mapa, 'getctarank': getctarank,
}
