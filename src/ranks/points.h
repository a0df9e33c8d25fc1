/*
 * Named points at which the order of two ranks matters.  Only tests compile them: there a rank can be stopped, delayed or killed at
 * each of them (tests/faults/points.h).  In the library a point is nothing.  For src/ranks.
 *
 * A name is a group and a place in it.  A point lies behind what its name says has been done, and before the step after it.
 */
#ifndef QUERN_POINTS_H
#define QUERN_POINTS_H

#define QUERN_POINTS(point) \
    point(FORM_MADE, "form.made")                       /* the file has a name, and no lock yet */ \
    point(FORM_FILLED, "form.filled")                   /* the segment can be joined */ \
    point(FORM_FOUND, "form.found")                     /* the name is there; its file is not open */ \
    point(FORM_OPENED, "form.opened")                   /* another rank's file is open, and was not looked at */ \
    point(FORM_LOOKED, "form.looked")                   /* ... was found to be forming */ \
    point(FORM_CLAIMED, "form.claimed")                 /* the place is claimed; its process is not written */ \
    point(FORM_SEATED, "form.seated")                   /* the place is complete, and not counted */ \
    point(FORM_COMPLETE, "form.complete")               /* the last place was counted; the name is there */ \
    point(FORM_NAME_COMPARED, "form.name_compared")     /* the name's file is known, and the lock of removal is held */ \
    point(FORM_NAME_REMOVED, "form.name_removed")       /* the group is not declared ready */ \
    point(FORM_READY, "form.ready")                     /* it is; nobody was woken */ \
    point(FORM_AWAITING, "form.awaiting")               /* looked for the others, and about to sleep */ \
    point(FORM_EXPIRING, "form.expiring")               /* the limit has ended; the missing ranks are not listed */ \
    point(FORM_REFUSING, "form.refusing")               /* about to declare the group refused */ \
    point(FORM_REFUSED, "form.refused")                 /* it is; it is not poisoned */ \
    point(FORM_JOINED, "form.joined")                   /* the group is ready for this rank */ \
    point(MEET_ANNOUNCING, "meet.announcing")           /* before the first signal */ \
    point(MEET_SIGNALLED, "meet.signalled")             /* all signals are written; nobody was woken */ \
    point(MEET_ANNOUNCED, "meet.announced")             /* about to look for the others' signals */ \
    point(MEET_LOOKING, "meet.looking")                 /* somebody is missing; before the look at the poison */ \
    point(MEET_SLEEPING, "meet.sleeping")               /* wake_at is set; before the last look and the sleep */ \
    point(MEET_COMPLETE, "meet.complete")               /* the last arrival was seen */ \
    point(MEET_CHECKING, "meet.checking")               /* a rank is missing; before the look whether it has left or died */ \
    point(MEET_EXPIRING, "meet.expiring")               /* the limit has ended; the missing ranks are not listed */ \
    point(MEET_EXPIRED, "meet.expired")                 /* they are; the group is not poisoned */ \
    point(MEET_LOST, "meet.lost")                       /* a missing rank will never come; the group is not poisoned */ \
    point(POISON_WRITTEN, "poison.written")             /* the reason is complete; before the compare-and-swap */ \
    point(POISON_SWAPPED, "poison.swapped")             /* after it; before waits can see the poison */ \
    point(POISON_SET, "poison.set")                     /* waits can see it; nobody was woken */ \
    point(EXCHANGE_WRITTEN, "exchange.written")         /* the mailbox is filled; not announced */ \
    point(EXCHANGE_MET, "exchange.met")                 /* about to read the mailboxes */ \
    point(EXCHANGE_READ, "exchange.read")               /* they are read */ \
    point(SPLIT_WISHED, "split.wished")                 /* the colours of all are known; this rank has no place in its own */ \
    point(RAGGED_RECORDED, "ragged.recorded")           /* the record and the notices are written; not announced */ \
    point(RAGGED_ENTERED, "ragged.entered")             /* about to read the others' records and counts */ \
    point(RAGGED_BRIEFED, "ragged.briefed")             /* the others' eager messages are checked; before they decide */ \
    point(RAGGED_RECEIVED, "ragged.received")           /* the slices are copied out of the eager messages: the end */ \
    point(RAGGED_EXAMINED, "ragged.examined")           /* they are checked; before the vote */ \
    point(RAGGED_VOTED, "ragged.voted")                 /* all agree, by vote or eager messages; before the poison is checked */ \
    point(RAGGED_COPYING, "ragged.copying")             /* about to copy */ \
    point(RAGGED_STAGED, "ragged.staged")               /* the next window is filled; before its meeting */ \
    point(RAGGED_WINDOW, "ragged.window")               /* that meeting is over; before the look at the poison */ \
    point(RAGGED_COPIED, "ragged.copied")               /* before the exit */ \
    point(RAGGED_LEAVING, "ragged.leaving")             /* after the exit: the memory belongs to the caller again */ \
    point(COLLECTIVE_RECORDED, "collective.recorded")   /* the record is written; not announced */ \
    point(COLLECTIVE_READ, "collective.read")           /* the heads of all are copied and compared; before what they decide */ \
    point(COLLECTIVE_RECEIVED, "collective.received")   /* a small call has its result; a large one is over but for its exit */ \
    point(COLLECTIVE_REACHED, "collective.reached")     /* the buffers of all are found; before the look at the poison */ \
    point(COLLECTIVE_COPYING, "collective.copying")     /* about to read inputs and write outputs */ \
    point(COLLECTIVE_READING, "collective.reading")     /* about to read another process's memory */ \
    point(COLLECTIVE_STAGED, "collective.staged")       /* a round is over; before its meeting */ \
    point(COLLECTIVE_WINDOW, "collective.window")       /* that meeting is over; before the look at the poison */ \
    point(COLLECTIVE_COPIED, "collective.copied")       /* before the exit */ \
    point(COLLECTIVE_LEAVING, "collective.leaving")     /* after the exit: the memory belongs to the caller again */ \
    point(CHUNKS_RECORDED, "chunks.recorded")           /* the record is written; not announced */ \
    point(CHUNKS_READ, "chunks.read")                   /* those of all are copied and compared; before what they decide */ \
    point(CHUNKS_REACHED, "chunks.reached")             /* the memory of all is found; before the look at the poison */ \
    point(CHUNKS_CASTING, "chunks.casting")             /* about to write a piece of a chunk into all outputs */ \
    point(CHUNKS_SENT, "chunks.sent")                   /* a chunk is in all outputs; its words are not written */ \
    point(CHUNKS_SIGNALLED, "chunks.signalled")         /* the word of one more member is */ \
    point(CHUNKS_COMPLETE, "chunks.complete")           /* all chunks are sent; before the exit */ \
    point(CHUNKS_FAILING, "chunks.failing")             /* the group is poisoned; the words do not say so */ \
    point(CHUNKS_LEAVING, "chunks.leaving")             /* the memory belongs to the caller again */ \
    point(MEMORY_HEARD, "memory.heard")                 /* over a fabric: what the others have freed is known, and closed here */ \
    point(MEMORY_TOLD, "memory.told")                   /* ... the handles of all have come; nothing is mapped by them */ \
    point(MEMORY_STEPPING, "memory.stepping")           /* before a step that makes symmetric memory */ \
    point(MEMORY_STEPPED, "memory.stepped")             /* after the step; before the agreement about it */ \
    point(MEMORY_MADE, "memory.made")                   /* all have agreed; the range is not entered */ \
    point(MEMORY_GIVING_UP, "memory.giving_up")         /* a rank has failed; before the memory is released */ \
    point(MEMORY_FREEING, "memory.freeing")             /* before this rank's part is released */ \
    point(TRANSFER_PREPARED, "transfer.prepared")       /* the ranks of the list are told; nothing is heard */ \
    point(TRANSFER_STARTED, "transfer.started")         /* the start is to be said; nothing is sent */ \
    point(TRANSFER_HEARD, "transfer.heard")             /* a message has come; before it is obeyed */ \
    point(TRANSFER_SENDING, "transfer.sending")         /* a message of data is written; not sent */ \
    point(TRANSFER_COPYING, "transfer.copying")         /* about to copy from the memory of the sender */ \
    point(TRANSFER_RECEIVED, "transfer.received")       /* all has come; the sender does not know */ \
    point(TRANSFER_SLEEPING, "transfer.sleeping")       /* the last look is over; before the sleep */ \
    point(TRANSFER_EXPIRING, "transfer.expiring")       /* the limit has ended; the others do not know */ \
    point(TRANSFER_ENDING, "transfer.ending")           /* a rank is to be told of the end; the memory is taken back */ \
    point(HOSTS_CONNECTING, "hosts.connecting")         /* the facts of all hosts are known; there is no connection */ \
    point(MESSAGE_POSTING, "message.posting")           /* a message is about to be given to the carrier */ \
    point(MESSAGE_POSTED, "message.posted")             /* it is under way */ \
    point(MESSAGE_OVER, "message.over")                 /* the carrier is done with it; nothing is read of it yet */ \
    point(STAGE_LISTENING, "stage.listening")           /* the window is asked for; the word is not sent */ \
    point(STAGE_SHOWN, "stage.shown")                   /* its descriptor is sent; the word that says so is not */ \
    point(STAGE_OPENED, "stage.opened")                 /* the receiver has the window open */ \
    point(STAGE_FILLING, "stage.filling")               /* copies into a half have begun */ \
    point(STAGE_SAID, "stage.said")                     /* they have ended; the word that says so is not sent */ \
    point(STAGE_TAKEN, "stage.taken")                   /* the half is free again; the word that says so is not sent */ \
    point(NCCL_NOTICED, "nccl.noticed")                 /* the notice of a collective is written; not announced */ \
    point(NCCL_TOLD, "nccl.told")                       /* the notices of all have come; they are not compared */ \
    point(NCCL_AGREED, "nccl.agreed")                   /* they are; nothing is enqueued */ \
    point(NCCL_MOVED, "nccl.moved")                     /* a group of a reduction is enqueued; the kernel behind it is not */ \
    point(NCCL_COMBINED, "nccl.combined")               /* that is; the next group is not */ \
    point(NCCL_KEPT, "nccl.kept")                       /* a graph keeps the call; nothing of it is captured */ \
    point(NCCL_CAPTURED, "nccl.captured")               /* the graph has all of it; the caller does not know */ \
    point(LEAVE_BEGUN, "leave.begun")                   /* the handle is dead; the memory of the group is there */ \
    point(LEAVE_DETACHED, "leave.detached")             /* the peers do not know that this rank leaves */ \
    point(LEAVE_LEFT, "leave.left")                     /* they can; the segment is mapped */ \
    point(LEAVE_UNMAPPED, "leave.unmapped")             /* it is not, unless another rank of the process has it */

#ifdef QUERN_WITH_POINTS

enum quern_point {
#define QUERN_POINT_ROW(name, text) QUERN_POINT_##name,
    QUERN_POINTS(QUERN_POINT_ROW)
#undef QUERN_POINT_ROW
    QUERN_POINT_COUNT
};

/* Defined by the test. */
void quern_at_point(enum quern_point point);

#define QUERN_POINT(name) quern_at_point(QUERN_POINT_##name)

#else

#define QUERN_POINT(name) ((void)0)

#endif

#endif
