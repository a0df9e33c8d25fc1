/*
 * The barrier of several hosts.
 *
 *   src/ranks/hosts/net.c        quern_net_meet meet_locally meet_leaders
 *   src/ranks/hosts/sendrecv.c   is_lost report_lost
 *   src/ranks/hosts/monitor.c    say_states hear_states
 *
 * Two hosts of two ranks each.  The ranks of a host meet in its memory; then the leaders, which are the lower ranks, send each
 * other a message; then the ranks of a host meet again.  Ranks go through ROUNDS barriers and leave.  With KILL one leader may be
 * killed at any step.  Its connection then ends behind its last message.  In the end every living rank has returned; each rank that
 * leaves a barrier has done so after all others have entered it; and no call fails if nobody was killed.
 */
#define HOST(rank)    ((rank) / 2)
#define LEADER(host) (2 * (host))
#define RANKS 4
#include "common.pml"

chan conn[2] = [2] of { byte };  /* [host]: to its leader */
bool over[2];                    /* [host]: its leader sends nothing more */
byte entered[4];                 /* barriers, by rank */
byte met[4];                     /* meetings in the host's memory, by rank */
bool left[4];
bool poison[2];                  /* [host] */
byte killed = NOBODY;

#define LIVES(rank) (killed != (rank))

#define MATE_IS_LOST PICK(DEATH_NOT_SEEN_IN_MEMORY, (left[mate]), (left[mate] || !LIVES(mate)))

/* A meeting of the host's two ranks.  Sets failed if the group is poisoned, or the other one will never come. */
inline meet_here() {
    met[me]++;
    if
    :: met[mate] >= met[me]
    :: poison[host] -> failed = true
    :: MATE_IS_LOST && met[mate] < met[me] -> poison[host] = true; failed = true
    fi
}

/* What has come is read before the end of the connection is: a leader may leave when it has said all. */
#define CONN_IS_OVER PICK(END_BEFORE_LAST_MESSAGE, (over[1 - host]), (over[1 - host] && empty(conn[host])))

inline meet_leader() {
    conn[1 - host]!entered[me];
    if
    ONLY(NOT_HEARD, :: true)
    :: atomic { PICK(END_BEFORE_LAST_MESSAGE, !over[1 - host] && nempty(conn[host]), nempty(conn[host])) -> conn[host]?heard }
    :: CONN_IS_OVER -> poison[host] = true; failed = true
    :: poison[host] -> failed = true
    fi
}

#define MAY_DIE WHEN(killed == me, goto dead)

proctype rank(byte me) {
    byte host = HOST(me), mate = me + 1 - 2 * (me % 2), heard;
    bool failed;
    do
    :: entered[me] < ROUNDS && !failed ->
        MAY_DIE;
        entered[me]++;
        UNLESS(NO_GATHERING, meet_here(); MAY_DIE;)
        WHEN(!failed && me == LEADER(host), meet_leader(); MAY_DIE);
        UNLESS(NO_RELEASE, WHEN(!failed, meet_here(); MAY_DIE);)
        if
        :: !failed ->
            d_step {
                assert(entered[0] >= entered[me] && entered[1] >= entered[me]);
                assert(entered[2] >= entered[me] && entered[3] >= entered[me])
            }
        :: else -> assert(failed && killed != NOBODY)
        fi
    :: else -> break
    od;
    skip;
    d_step { left[me] = true; WHEN(me == LEADER(host), over[host] = true) };
dead:
    skip
}

/* Tells the other host of a poison; it ends with its leader, or when all have returned. */
proctype monitor(byte host) {
end:
    if
    :: poison[host] && LIVES(LEADER(host)) -> poison[1 - host] = true
    :: !LIVES(LEADER(host))
    fi
}

#ifdef KILL
proctype killer() {
    byte whom;
    if
    :: whom = 0
    :: whom = 2
    fi;
    d_step { WHEN(!left[whom], killed = whom; over[HOST(whom)] = true) }
}
#endif

init {
    atomic {
        run rank(0); run rank(1); run rank(2); run rank(3);
        run monitor(0); run monitor(1);
        ONLY(KILL, run killer())
    }
}
