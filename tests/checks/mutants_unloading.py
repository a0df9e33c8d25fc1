"""Mutants of the library's lifetime in a process, and of the text of numbers: rows of mutants.py."""

from __future__ import annotations

HOST = "unloading/host"

CPU = [
    ("workers that nobody joins", "src/runtime/threads.c",
     "pthread_join(dismissed[i], NULL);", "pthread_detach(dismissed[i]);", HOST),
    ("workers that outlive the last device", "src/runtime/threads.c",
     "    if (pool.devices)\n        pthread_mutex_unlock", "    if (pool.posted)\n        pthread_mutex_unlock", HOST),
    ("workers beyond the device's threads", "src/runtime/threads.c", "open_gate(job, threads - 1);", "open_gate(job, pool.workers);",
     "test_device"),
    ("a worker too many", "src/runtime/threads.c", "grow_pool(threads - 1);", "grow_pool(threads);", "test_device"),
    ("workers of another process awaited", "src/runtime/threads.c",
     "pool.workers && pool.process == getpid() ? pool.workers : 0;", "pool.workers;", HOST),
    ("a pool that remembers the workers of the parent", "src/runtime/threads.c",
     "    pool.workers = 0;\n    pool.sleepers", "    pool.sleepers", HOST),
    ("nothing done at dlclose", "src/os/unload.c", "if (run && (unloading ||", "if (false && (unloading ||", HOST),
    ("workers left to an exit handler", "src/os/unload.c", "step == QUERN_UNLOAD_WATCHER || step == QUERN_UNLOAD_THREADS;",
     "false;", HOST),
    ("everything freed at exit", "src/os/unload.c", "unloading = !__atomic_load_n(&exiting, __ATOMIC_RELAXED);",
     "unloading = true;", HOST),
    ("exit unseen by an object of the start-up", "src/os/unload.c", "    if (!before && atexit(",
     "    static bool watched;\n    if (!__atomic_exchange_n(&watched, true, __ATOMIC_RELAXED) && !before && atexit(", HOST),
    ("cleanup before the engine's", "src/os/unload.c", "destructor(101)", "destructor", HOST),
    ("devices left at dlclose", "src/runtime/device_open.c",
     "    quern_on_unload(QUERN_UNLOAD_DEVICES, close_forgotten);\n", "    (void)close_forgotten;\n", HOST),
    ("a log file left open", "src/runtime/log.c", "    if (*value) quern_on_unload(QUERN_UNLOAD_LOG, close_file);\n",
     "    (void)close_file;\n", HOST),
    ("groups left at dlclose", "src/ranks/group/form.c",
     "    quern_on_unload(QUERN_UNLOAD_GROUPS, end_forgotten);\n", "    (void)end_forgotten;\n", HOST),
    ("a child that leaves its parent's group", "src/ranks/group/form.c",
     "|| !quern_is_own_roster(member->roster))) continue;\n", ")) continue;\n", HOST),
    ("plans left at dlclose", "src/ranks/ragged/ragged_all_to_all.c",
     "    quern_on_unload(QUERN_UNLOAD_PLANS, free_forgotten);\n", "    (void)free_forgotten;\n", HOST),
    ("ties rounded up", "src/os/decimal.c", "    return digits[PRECISION - 1] % 2;\n", "    return true;\n", "test_text"),
    ("digits behind a tie dropped", "src/os/decimal.c",
     "        if (digits[i]) return true;\n", "        (void)digits;\n", "test_text"),
    ("a carry out of the first digit lost", "src/os/decimal.c", "        ++*exponent;\n", "", "test_text"),
]
