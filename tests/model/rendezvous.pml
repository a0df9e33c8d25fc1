/*
 * How ranks meet under a name: src/ranks/rendezvous.c.
 *
 * The first rank makes the file, each takes its place in it, and the last one removes the name and declares the group ready.
 * Every rank that is joining holds a shared lock on the file, which the kernel releases when the process ends.  So a rank that
 * gets the exclusive lock has found the remains of a dead run: it removes the name and starts again.  So does a rank that finds a
 * file which has lost its name meanwhile, has no header yet, or whose group has failed.
 *
 * A name is removed, if it still means the file, under a lock of its own.  Without that lock another rank could remove the name
 * between check and removal, and a third one make a new file.  A rank that cannot get that lock leaves the name to the lock's
 * holder, or to a rank that later finds the remains.
 *
 * A rank's wait may expire FAILURES times in all; it then tries again, as an engine may, and so do all whose group has failed.
 * The name may hold remains.  A rank may mistake a file for remains HASTE times when it has only just been made, and not yet been
 * locked.  With KILL one rank is killed before its group is ready, and a new process replaces it.
 *
 * A group becomes ready or is refused, whichever mark is first, so that either all ranks have it or none.  A rank that has it
 * starts again only if another has been killed.  In the end all ranks have met in one file; if one were left alone with a file,
 * spin would report a deadlock.
 */
#ifdef KILL
#define KILLS 1
#else
#define KILLS 0
#endif
#define FILES   (2 + FAILURES + HASTE + KILLS)
#define NO_FILE FILES
#define NOBODY  RANKS

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
    d_step {
        assert(name == mine);  /* and not the name of a file that others are about to meet in */
        name = NO_FILE;
        file[mine].has_name = false
    }
}

inline remove_name() {
#ifndef NAME_COMPARED_WITHOUT_LOCK
    atomic {
        if
        :: !file[mine].removing -> file[mine].removing = true; holds_removing = true
        :: file[mine].removing
        fi
    };
    if
    :: !holds_removing
    :: else ->
#else
    if
    :: true ->
#endif
        is_named = (name == mine);
        if
        :: is_named -> unlink_name()
        :: else
        fi;
        d_step { file[mine].removing = false; holds_removing = false; is_named = false }
    fi
}

/* ---- making or finding the file ---- */

inline let_go() {
    d_step {
        if
        :: holds_shared -> file[mine].shared--
        :: else
        fi;
        if
        :: holds_exclusive -> file[mine].exclusive = false
        :: else
        fi;
        if
        :: holds_removing -> file[mine].removing = false
        :: else
        fi;
        holds_shared = false;
        holds_exclusive = false;
        holds_removing = false;
        mine = NO_FILE
    }
}

inline begin_anew() { let_go(); goto begin }

inline lock_shared() {
    atomic {
        if
        :: file[mine].exclusive
        :: else -> file[mine].shared++; holds_shared = true
        fi
    }
}

inline lock_exclusive() {
    atomic {
        if
        :: file[mine].shared == 0 && !file[mine].exclusive -> file[mine].exclusive = true; holds_exclusive = true
        :: else
        fi
    }
}

inline make_file() {
    lock_shared();
    file[mine].locked_by_maker = true;
#ifndef LOCK_NOT_CHECKED
    if
    :: !holds_shared || !file[mine].has_name -> begin_anew()
    :: else
    fi;
#endif
    file[mine].has_header = true
}

inline join_file() {
    /* Unless it seems to be just being made, which may be a mistake. */
    atomic {
        if
        :: file[mine].locked_by_maker
        :: !file[mine].locked_by_maker && haste > 0 -> haste--
        :: !file[mine].locked_by_maker -> begin_anew()
        fi
    };
    lock_exclusive();
    if
    :: holds_exclusive ->
        remove_name();
        begin_anew()
    :: else
    fi;
    lock_shared();
    if
    :: !holds_shared || !file[mine].has_name || !file[mine].has_header -> begin_anew()
    :: else
    fi
}

inline open_file() {
    atomic {
        if
        :: name == NO_FILE ->
            assert(made < FILES);
            mine = made;
            made++;
            file[mine].has_name = true;
            name = mine;
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
inline refuse() {
#ifndef REFUSED_WHEN_READY
    atomic {
        if
        :: !file[mine].is_ready -> file[mine].poison = true
        :: file[mine].is_ready
        fi
    }
#else
    file[mine].poison = true
#endif
}

inline mark_ready() {
    atomic {
        if
        :: !file[mine].poison -> file[mine].is_ready = true
        :: file[mine].poison
        fi
    }
}

inline take_place() {
    atomic {
        if
        :: file[mine].taken[me] ->
            assert(file[mine].has_dead_rank);  /* the rank that has taken the place */
            refuse();
            remove_name();
            begin_anew()
        :: else -> file[mine].taken[me] = true
        fi
    };
    atomic { file[mine].joined++; is_last = (file[mine].joined == RANKS) };
    if
    :: is_last -> remove_name(); mark_ready()
    :: else
    fi;
    is_last = false
}

inline await_others() {
    do
    :: file[mine].is_ready -> break
    :: !file[mine].is_ready && file[mine].poison -> remove_name(); begin_anew()
    :: !file[mine].is_ready && file[mine].has_dead_rank -> refuse()
    :: atomic { !file[mine].is_ready && !file[mine].poison && failures > 0 -> failures-- }; refuse()
    od
}

/* A barrier that a rank which has been killed does not reach. */
inline make_first_call() {
    atomic {
        assert(!file[mine].poison);
        file[mine].met++
    };
    if
    :: file[mine].has_dead_rank -> begin_anew()
    :: file[mine].met == RANKS
    fi
}

/* The kernel releases a dead process's locks; its place stays taken. */
inline bury() {
    d_step {
        if
        :: mine != NO_FILE && file[mine].taken[me] -> file[mine].has_dead_rank = true
        :: else
        fi;
        let_go();
        killed = NOBODY;
        is_last = false;
        is_named = false
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
#ifndef POISONED_FILE_JOINED
            if
            :: file[mine].poison -> begin_anew()
            :: else
            fi;
#endif
            take_place();
            await_others();
            make_first_call();
            atomic {
                assert(met_in == NO_FILE || met_in == mine);
                met_in = mine;
                has_met = true
            };
            let_go()
        } unless {
            atomic { killed == me && !has_met && (mine == NO_FILE || !file[mine].is_ready) -> bury() }
        }
    od
}

#ifdef KILL
active proctype killer() {
    byte victim;
    atomic { select (victim : 0 .. RANKS - 1); killed = victim }
}
#endif

/* The name may hold the remains of a dead run: a file without a header, or one with some places taken. */
inline draw_remains() {
    if
    :: true
    :: true ->
        name = 0;
        made = 1;
        file[0].has_name = true;
        file[0].locked_by_maker = true;
        if
        :: true
        :: true ->
            file[0].has_header = true;
            file[0].taken[0] = true;
            file[0].joined = 1;
            file[0].has_dead_rank = true
        fi
    fi
}

init {
    byte first;
    atomic {
        draw_remains();
        for (first : 0 .. RANKS - 1) { run rank(first) }
    }
}
