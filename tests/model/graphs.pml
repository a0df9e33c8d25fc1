/*
 * Calls over NCCL in graphs, of two ranks: the library sees no launch, only what a kernel before each call and one behind it count.
 *
 *   src/ranks/nccl/nccl_captured.c  keep forget quern_nccl_count_begun quern_nccl_count_ended runs nccl.kept
 *                                   quern_nccl_await_graphs
 *   src/ranks/nccl/nccl_watch.c     look visit_group
 *   src/ranks/nccl/nccl_bounds.c    run_abort abort_beside
 *   src/ranks/nccl/nccl_rank.c      take_room quern_nccl_free_rank nccl.captured
 *
 * Each rank captures GRAPHS calls, one after the other into the same place of its table, and launches each on STREAMS streams at
 * once.  With DEATHS a rank may end at any time; EXPIRIES limits may.  NCCL runs the calls of a communicator one after the other; a
 * call ends when both ranks are in it, or when it is aborted.  ncclCommAbort ends what runs, and returns when no graph keeps the
 * communicator.
 *
 * In the end every launch has ended and every rank has left, though nothing but the watcher ends a call in which the other rank
 * takes no part.  Without a fault all launches have moved their data; what was aborted is of a group that is poisoned.  Kernels
 * count in their own place only, and not in memory that is gone; a limit ends only a launch that has run since the limit began.
 */
#include "common.pml"

#define OTHER (1 - me)
#define LIVES (!dead[me])
#define IDLE  (!due[me] && !running[me])
mtype = { LIVE, ENDING, ENDED };

byte begun[2], ended[2];       /* the place of each rank: what the kernels count */
bool kept[2], has_graph[2];    /* a graph has the place; the engine has the graph */
byte latest[2];                /* the graph of the place */
byte due[2], running[2];       /* launches */
byte entered[2], moved[2];     /* calls of NCCL */
bool busy[2];
bool aborts[2];                /* the kernels of NCCL see it */
mtype comm[2] = LIVE;
bool lock[2], poison, dead[2], ends[2], joined[2], freed[2], left[2];
byte expiries = EXPIRIES;

/* The driver, when a graph is destroyed and no launch of it runs: then ncclCommAbort returns, too. */
inline forget() {
    WHEN(!has_graph[me] && PICK(FORGOTTEN_WHILE_IT_RUNS, true, IDLE),
        kept[me] = false;
        WHEN(comm[me] == ENDING, comm[me] = ENDED))
}

/* Nothing of a rank goes on when its process has ended. */
#define WAIT(condition) dead[me] || (condition); WHEN(dead[me], goto over)

proctype Stream(bit me) {
    byte call, graph;
    end: do
    :: atomic { LIVES && due[me] ->
            due[me]--; running[me]++; graph = latest[me];
            assert(!freed[me]);
            UNLESS(NOT_COUNTED_BEFORE, begun[me]++) };
        atomic { WAIT(!busy[me]); busy[me] = true; entered[me]++; call = entered[me] };
        atomic { WAIT(aborts[me] || entered[OTHER] >= call);
            WHEN(entered[OTHER] >= call, moved[me]++);
            assert(entered[OTHER] >= call || poison);
            assert(!freed[me] && latest[me] == graph);
            busy[me] = false; ended[me]++; running[me]--;
            forget() }
    od;
over: skip
}

/* ncclCommAbort waits on a thread of its own. */
inline abort_comm() {
    atomic { comm[me] = ENDING; aborts[me] = true; WHEN(!kept[me], comm[me] = ENDED) };
    ONLY(ABORTED_WITH_THE_LOCK, comm[me] == ENDED || dead[me])
}

#define RUNS PICK(ONE_NUMBER, (before + behind) % 2, before != behind)

proctype Watcher(bit me) {
    byte before, behind, timed;   /* as read; of which launch it has noted the time */
    do
    :: atomic { ends[me] || dead[me] -> break }
    :: atomic { LIVES && !ends[me] && (before != begun[me] || behind != ended[me]) ->
            assert(!freed[me]);
            PICK(BEFORE_READ_FIRST, before = begun[me], behind = ended[me]) };
        atomic {
            assert(!freed[me]);
            PICK(BEFORE_READ_FIRST, behind = ended[me], before = begun[me]);
            PICK(TIMED_WHEN_IT_RUNS_FIRST, WHEN(timed == 0, timed = before), timed = before) }
    :: atomic { LIVES && comm[me] == LIVE && !lock[me] && PICK(POISON_NOT_SEEN, false, poison) -> lock[me] = true };
        abort_comm();
        lock[me] = false
    :: atomic { LIVES && RUNS && dead[OTHER] && !poison -> poison = true }
    :: atomic { LIVES && RUNS && expiries && !poison ->
            assert(before > behind && timed == before);
            expiries--; poison = true }
    od;
    joined[me] = true
}

/* One rank may. */
#define MAY_DIE() if :: atomic { DEATHS && me == 1 -> dead[me] = true; goto out } :: true fi

proctype Engine(bit me) {
    byte graph = 1;
    do
    :: atomic { graph > GRAPHS || poison -> break }  /* a call is refused when the group is poisoned */
    :: atomic { graph <= GRAPHS && !poison && !kept[me] && !lock[me] ->
            kept[me] = true; has_graph[me] = true; latest[me] = graph };
        MAY_DIE();
        due[me]++;
        WHEN(STREAMS > 1, MAY_DIE(); due[me]++);
        if :: IDLE :: true fi;               /* it waits for its streams, or destroys the graph while they run */
        !lock[me];                           /* any other call */
        atomic { has_graph[me] = false; forget(); graph++ }
    od;
    MAY_DIE();
    UNLESS(FREED_WITH_GRAPHS, !kept[me];)
    UNLESS(NOT_JOINED, ends[me] = true; joined[me];)
    atomic { freed[me] = true; ends[me] = true };
out:
    left[me] = true
}

init {
    byte me;
    atomic {
        LOOP(me, 2, run Stream(me); WHEN(STREAMS > 1, run Stream(me)); run Watcher(me); run Engine(me))
    };
    left[0] && left[1];
    atomic {
        LOOP(me, 2, assert(dead[me] || IDLE); assert(poison || DEATHS || moved[me] == STREAMS * GRAPHS))
    }
}
