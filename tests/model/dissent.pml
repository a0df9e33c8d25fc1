/*
 * How hosts come to one poison.
 *
 *   src/ranks/poison.c           quern_poison_by_host
 *   src/ranks/hosts/monitor.c    say_poison look_for_agreement
 *
 * Each of HOSTS hosts has a rank that may find an error at any time, and a monitor; the last one does.  The error of host h has the
 * number h + 1; lower ones precede.  The first error of a host is its poison.  The monitor tells it once to all others; what it
 * hears takes its place if it precedes it, or if there is none.  When it has told its own and heard those of all others, ranks
 * return with what there is then.  In the end all hosts have returned with the same one.
 */
#include "common.pml"

#define NONE 0

chan wire[HOSTS] = [HOSTS] of { byte };  /* to each host's monitor */
byte poison[HOSTS];
byte answer[HOSTS];                      /* with which ranks return */
byte returned;

proctype finder(byte me) {
    if
    :: atomic { WHEN(poison[me] == NONE, poison[me] = me + 1) }
    :: me < HOSTS - 1 -> skip  /* it finds none; the last one does */
    fi
}

proctype monitor(byte me) {
    byte heard, word, other;
    bool told = false;
    do
    :: !told && PICK(ONLY_OWN_TOLD, poison[me] == me + 1, poison[me] != NONE) ->
        word = poison[me];
        LOOP(other, HOSTS, WHEN(other != me, wire[other]!word));
        told = true
    :: wire[me]?word ->
        heard++;
        atomic { WHEN(poison[me] == NONE || PICK(FIRST_STAYS, false, word < poison[me]), poison[me] = word) }
    :: told && PICK(NOT_AWAITED, true, PICK(ONE_AWAITED, heard >= 1, heard == HOSTS - 1)) -> break
    od;
    answer[me] = poison[me];
    returned++
}

init {
    byte host;
    atomic { LOOP(host, HOSTS, run finder(host); run monitor(host)) };
    returned == HOSTS;
    LOOP(host, HOSTS, assert(answer[host] == answer[0]))
}
