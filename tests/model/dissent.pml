/*
 * How hosts come to one poison: quern_poison_by_host (src/ranks/poison.c), say_poison and look_for_agreement
 * (src/ranks/hosts/monitor.c).
 *
 * Each of HOSTS hosts has a rank that may find an error at any time, and a monitor; the last one does.  The error of host h has
 * the number h + 1; lower ones precede.  The first error of a host is its poison.  The monitor tells it once to all others; what it
 * hears takes its place if it precedes it, or if there is none.  When it has told its own and heard those of all others, ranks
 * return with what there is then.  In the end all hosts have returned with the same one.
 */
#define NONE 0

chan wire[HOSTS] = [HOSTS] of { byte };  /* to each host's monitor */
byte poison[HOSTS];
byte answer[HOSTS];                      /* with which ranks return */
byte returned;

#define NEED (HOSTS - 1)

proctype finder(byte me) {
    if
    :: atomic {
           if
           :: poison[me] == NONE -> poison[me] = me + 1
           :: else -> skip
           fi
       }
    :: me < HOSTS - 1 -> skip  /* it finds none; the last one does */
    fi
}

proctype monitor(byte me) {
    byte heard, word, other;
    bool told = false;
    do
#ifdef ONLY_OWN_TOLD
    :: !told && poison[me] == me + 1 ->
#else
    :: !told && poison[me] != NONE ->
#endif
        word = poison[me];
        other = 0;
        do
        :: other < HOSTS && other != me -> wire[other]!word; other++
        :: other < HOSTS && other == me -> other++
        :: other == HOSTS -> break
        od;
        told = true
    :: wire[me]?word ->
        heard++;
        atomic {
            if
            :: poison[me] == NONE -> poison[me] = word
#ifndef FIRST_STAYS
            :: poison[me] != NONE && word < poison[me] -> poison[me] = word
            :: poison[me] != NONE && word >= poison[me] -> skip
#else
            :: poison[me] != NONE -> skip
#endif
            fi
        }
#ifdef NOT_AWAITED
    :: told -> break
#else
#ifdef ONE_AWAITED
    :: told && heard >= 1 -> break
#else
    :: told && heard == NEED -> break
#endif
#endif
    od;
    answer[me] = poison[me];
    returned++
}

init {
    byte host = 0;
    atomic {
        do
        :: host < HOSTS -> run finder(host); run monitor(host); host++
        :: host == HOSTS -> break
        od
    };
    returned == HOSTS;
    host = 1;
    do
    :: host < HOSTS -> assert(answer[host] == answer[0]); host++
    :: host == HOSTS -> break
    od
}
