"""Translators of control flow, barriers and warp collectives."""
from ptx_instruction import SIZES
from ptx_memory import runtime
from ptx_parser import Label, Variable, split_commas

ALL = '0xffffffffu'


def label(i, name):
    return i.name(name, Label).cpp_name


def bra(i):
    i.take('uni')
    return f'goto {label(i, i.args[0])};'


def brx(i):
    i.take('idx')
    i.take('uni')
    targets = i.name(i.args[1], Label).targets
    cases = ' '.join(f'case {n}: goto {label(i, t)};' for n, t in enumerate(targets))
    return f'switch ({i.value(i.args[0], "u32")}) {{ {cases} default: __builtin_unreachable(); }}'


def ret(i):
    i.take('uni')
    return 'return;'


def exit_(i):
    if not i.unit.function.is_entry:
        raise i.error('exit inside a device function is not supported')
    return 'return;'


def trap(i):
    return f'view.runtime->fail(t, 719, "trap", 0, {i.line});'


# Functions the CUDA toolkit provides: error code and message of the failure they stand for.
SYSTEM_CALLS = {'__assertfail': f'view.runtime->fail(t, 710, "device-side assertion", 0, {{}});'}


def call(i):
    i.take('uni')
    args = list(i.args)
    results = [x.strip() for x in split_commas(args.pop(0).strip('()'))] if args[0].startswith('(') else []
    name = args.pop(0)
    params = split_commas(args[0].strip('() ')) if args else []
    if name in SYSTEM_CALLS:
        return SYSTEM_CALLS[name].format(i.line)
    if name not in i.unit.function_names:
        raise i.error(f'call of unknown function {name}')
    i.unit.function.calls.append(name)
    passed = [i.name(p, Variable).cpp_name for p in results + params]
    return f'{i.unit.function_names[name]}({", ".join(["t", *passed])});'


# ---- barriers ----

def bar(i):
    i.take('cta')
    if i.take('warp'):
        i.take('sync')
        return collective(i, 'warp_barrier', i.value(i.args[0], 'u32')) + ';'
    if i.take('cluster'):
        return cluster_barrier(i)
    action = i.take('sync', 'arrive', 'red')
    i.take('aligned')
    if action == 'red':
        return barrier_reduce(i)
    threads = i.value(i.args[1], 'u32') if len(i.args) > 1 else '0'
    service = 'barrier' if action == 'sync' else 'barrier_arrive'
    return runtime(i, service, i.value(i.args[0], 'u32'), threads) + ';'


def barrier_reduce(i):
    operation = i.take('popc', 'and', 'or')
    dest, barrier, *rest = i.args
    threads = i.value(rest[0], 'u32') if len(rest) > 1 else '0'
    call = runtime(i, 'barrier_reduce', i.value(barrier, 'u32'), threads, f'reduce_{operation}', i.predicate(rest[-1]))
    return i.assign(dest, 'u32' if operation == 'popc' else 'pred', call)


def cluster_barrier(i):
    action = i.take('arrive', 'wait')
    options = ['cluster_relaxed'] if i.take('release', 'relaxed', 'acquire') == 'relaxed' else []
    if i.take('aligned'):
        options.append('cluster_aligned')
    return runtime(i, f'cluster_{action}', ' | '.join(options) or '0') + ';'


# ---- warp collectives ----

def collective(i, operation, mask, value='0', argument='0', clamp='0', predicate='nullptr'):
    return runtime(i, 'collective', operation, mask, value, argument, clamp, predicate)


def shfl(i):
    i.take('sync')
    mode = i.take('up', 'down', 'bfly', 'idx')
    operation = {'up': 'shuffle_up', 'down': 'shuffle_down', 'bfly': 'shuffle_xor', 'idx': 'shuffle_index'}[mode]
    dest, _, predicate = i.args[0].partition('|')
    out = f'&{i.name(predicate.strip()).cpp_name}' if predicate and predicate.strip() != '_' else 'nullptr'
    value, lane, clamp, mask = (i.value(x, 'u32') for x in i.args[1:5])
    return i.assign(dest.strip(), 'b32', collective(i, operation, mask, value, lane, clamp, out))


def vote(i):
    i.take('sync')
    mode = i.take('all', 'any', 'uni', 'ballot')
    operation = {'all': 'vote_all', 'any': 'vote_any', 'uni': 'vote_uniform', 'ballot': 'vote_ballot'}[mode]
    return i.assign(i.args[0], i.type, collective(i, operation, i.value(i.args[2], 'u32'), i.predicate(i.args[1])))


def match(i):
    i.take('sync')
    mode = i.take('any', 'all')
    dest, _, predicate = i.args[0].partition('|')
    out = f'&{i.name(predicate.strip()).cpp_name}' if predicate else 'nullptr'
    call = collective(i, f'match_{mode}', i.value(i.args[2], 'u32'), i.value(i.args[1], i.type), predicate=out)
    return i.assign(dest.strip(), 'b32', call)


def redux(i):
    i.take('sync')
    operation = i.take('add', 'min', 'max', 'and', 'or', 'xor')
    absolute, nan = i.take('abs'), i.take('NaN')
    name = f'redux_{operation}'
    if operation in ('min', 'max'):
        name += f'_{i.type}' + ('_abs' if absolute else '') + ('_nan' if nan else '')
    bits = 'b' + str(8 * SIZES[i.type])
    return i.assign(i.args[0], bits, collective(i, name, i.value(i.args[2], 'u32'), i.value(i.args[1], bits)))


def elect(i):
    i.take('sync')
    dest, _, predicate = i.args[0].partition('|')
    call = collective(i, 'elect_one', i.value(i.args[1], 'u32'), predicate=f'&{i.name(predicate.strip()).cpp_name}')
    return i.assign(dest.strip(), 'b32', call)


def activemask(i):
    i.unit.function.may_block = True
    return i.assign(i.args[0], 'b32', 'view.runtime->active_mask(t)')


def nanosleep(i):
    return runtime(i, 'yield', 'nullptr') + ';'


def grid_control(i):
    service = {'launch_dependents': 'launch_dependents', 'wait': 'wait_for_grid'}[i.take('launch_dependents', 'wait')]
    return runtime(i, service) + ';'


def nothing(i):
    i.left.clear()
    return ';'


CONTROL = {
    'bra': bra, 'brx': brx, 'ret': ret, 'exit': exit_, 'trap': trap, 'call': call,
    'bar': bar, 'barrier': bar, 'shfl': shfl, 'vote': vote, 'match': match, 'redux': redux, 'elect': elect,
    'activemask': activemask, 'nanosleep': nanosleep, 'griddepcontrol': grid_control,
    # Hints: registers cost nothing here.
    'setmaxnreg': nothing, 'pmevent': nothing, 'brkpt': nothing,
}
