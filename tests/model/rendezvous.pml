/*
 * How ranks meet under a name.
 *
 *   src/ranks/rendezvous.c    make_file join_file take_place await_others refuse remove_name form.made form.opened form.looked
 *   src/ranks/rendezvous.c    form.claimed form.complete form.name_compared form.name_removed form.ready form.refusing form.joined
 *
 * The first rank makes the file, each takes its place in it, and the last one removes the name and declares the group ready. Every
 * rank that is joining holds a shared lock on the file, which the kernel releases when the process ends.  So a rank that gets the
 * exclusive lock has found the remains of a dead run: it removes the name and starts again.  So does a rank that finds a file which
 * has lost its name meanwhile, has no header yet, or whose group has failed.
 *
 * A name is removed, if it still means the file, under a lock of its own.  Without that lock another rank could remove the name
 * between check and removal, and a third one make a new file.  A rank that cannot get that lock leaves the name to the lock's
 * holder, or to a rank that later finds the remains.
 *
 * A rank's wait may expire FAILURES times in all; it then tries again, as an engine may, and so do all whose group has failed. The
 * name may hold remains.  A rank may mistake a file for remains HASTE times when it has only just been made, and not yet been
 * locked.  With KILL one rank is killed before its group is ready, and a new process replaces it.
 *
 * A group becomes ready or is refused, whichever mark is first, so that either all ranks have it or none.  A rank that has it
 * starts again only if another has been killed.  In the end all ranks have met in one file; if one were left alone with a file,
 * spin would report a deadlock.
 */
#include "common.pml"

#define FILES   (2 + FAILURES + HASTE + PICK(KILL, 1, 0))
#define NO_FILE FILES
#define OWN     file[mine]

typedef File {
    bool has_name, locked_by_maker, exclusive, removing, has_header, has_dead_rank, is_ready, poison;
    byte shared, joined, met;
    bool taken[RANKS]
};

File file[FILES];
byte name = NO_FILE;       /* the file that it means */
byte made;                 /* files so far */
byte met_in = NO_FILE;
byte failures = FAILURES, haste = HASTE;
byte killed = NOBODY;

/* ---- the name ---- */

inline unlink_name() {
    d_step { assert(name == mine); name = NO_FILE; OWN.has_name = false }  /* not of a file in which others are about to meet */
}

inline remove_name() {
    UNLESS(NAME_COMPARED_WITHOUT_LOCK, atomic { WHEN(!OWN.removing, OWN.removing = true; holds_removing = true) };)
    WHEN(PICK(NAME_COMPARED_WITHOUT_LOCK, true, holds_removing),
        is_named = (name == mine);
        WHEN(is_named, unlink_name());
        d_step { OWN.removing = false; holds_removing = false; is_named = false })
}

/* ---- making or finding the file ---- */

inline let_go() {
    d_step {
        WHEN(holds_shared, OWN.shared--);
        WHEN(holds_exclusive, OWN.exclusive = false);
        WHEN(holds_removing, OWN.removing = false);
        holds_shared = false; holds_exclusive = false; holds_removing = false; mine = NO_FILE
    }
}

inline begin_anew() { let_go(); goto begin }

inline lock_shared() { atomic { WHEN(!OWN.exclusive, OWN.shared++; holds_shared = true) } }

inline lock_exclusive() {
    atomic { WHEN(OWN.shared == 0 && !OWN.exclusive, OWN.exclusive = true; holds_exclusive = true) }
}

inline make_file() {
    lock_shared();
    OWN.locked_by_maker = true;
    UNLESS(LOCK_NOT_CHECKED, WHEN(!holds_shared || !OWN.has_name, begin_anew());)
    OWN.has_header = true
}

inline join_file() {
    /* Unless it seems to be just being made, which may be a mistake. */
    atomic {
        if
        :: OWN.locked_by_maker
        :: !OWN.locked_by_maker && haste > 0 -> haste--
        :: !OWN.locked_by_maker -> begin_anew()
        fi
    };
    lock_exclusive();
    WHEN(holds_exclusive, remove_name(); begin_anew());
    lock_shared();
    WHEN(!holds_shared || !OWN.has_name || !OWN.has_header, begin_anew())
}

inline open_file() {
    atomic {
        if
        :: name == NO_FILE ->
            assert(made < FILES);
            mine = made; made++;
            OWN.has_name = true; name = mine;
            is_maker = true
        :: else -> is_maker = false
        fi
    };
    if
    :: is_maker -> make_file()
    :: else ->
        atomic {
            if
            :: name == NO_FILE -> begin_anew()
            :: else -> mine = name
            fi
        };
        join_file()
    fi
}

/* ---- meeting in it ---- */

/* The mark that the group is refused, and the poison after it. */
inline refuse()     { PICK(REFUSED_WHEN_READY, OWN.poison = true, atomic { WHEN(!OWN.is_ready, OWN.poison = true) }) }
inline mark_ready() { atomic { WHEN(!OWN.poison, OWN.is_ready = true) } }

inline take_place() {
    atomic {
        if
        :: OWN.taken[me] ->
            assert(OWN.has_dead_rank);  /* the rank that has taken the place */
            refuse();
            remove_name();
            begin_anew()
        :: else -> OWN.taken[me] = true
        fi
    };
    atomic { OWN.joined++; is_last = (OWN.joined == RANKS) };
    WHEN(is_last, remove_name(); mark_ready());
    is_last = false
}

inline await_others() {
    do
    :: OWN.is_ready -> break
    :: !OWN.is_ready && OWN.poison -> remove_name(); begin_anew()
    :: !OWN.is_ready && OWN.has_dead_rank -> refuse()
    :: atomic { !OWN.is_ready && !OWN.poison && failures > 0 -> failures-- }; refuse()
    od
}

/* A barrier that a rank which has been killed does not reach. */
inline make_first_call() {
    atomic { assert(!OWN.poison); OWN.met++ };
    if
    :: OWN.has_dead_rank -> begin_anew()
    :: OWN.met == RANKS
    fi
}

/* The kernel releases a dead process's locks; its place stays taken. */
inline bury() {
    d_step {
        WHEN(mine != NO_FILE && OWN.taken[me], OWN.has_dead_rank = true);
        let_go();
        killed = NOBODY; is_last = false; is_named = false
    }
}

proctype rank(byte me) {
    byte mine = NO_FILE;
    bool is_maker, is_last, is_named, holds_shared, holds_exclusive, holds_removing, has_met;
    do
    :: has_met -> break
    :: else ->
        {
            skip;
begin:
            open_file();
            UNLESS(POISONED_FILE_JOINED, WHEN(OWN.poison, begin_anew());)
            take_place();
            await_others();
            make_first_call();
            atomic { assert(met_in == NO_FILE || met_in == mine); met_in = mine; has_met = true };
            let_go()
        } unless {
            atomic { killed == me && !has_met && (mine == NO_FILE || !OWN.is_ready) -> bury() }
        }
    od
}

ONLY(KILL, KILLER)

/* The name may hold the remains of a dead run: a file without a header, or one with some places taken. */
inline draw_remains() {
    if
    :: true
    :: true ->
        name = 0; made = 1; file[0].has_name = true; file[0].locked_by_maker = true;
        if
        :: true
        :: true -> file[0].has_header = true; file[0].taken[0] = true; file[0].joined = 1; file[0].has_dead_rank = true
        fi
    fi
}

init {
    byte i;
    atomic { draw_remains(); LOOP(i, RANKS, run rank(i)) }
}
