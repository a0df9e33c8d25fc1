"""The runs of the models: each model as it is, in several sizes, and its broken variants with the way in which they must fail."""

from __future__ import annotations

from dataclasses import dataclass

DEADLOCK = "a deadlock"

# The correct runs: each model with its sizes.
CORRECT = {
    "meeting": ["RANKS=2 ROUNDS=6 FIRST=5", "RANKS=3 ROUNDS=2 FIRST=6", "RANKS=3 ROUNDS=3 FIRST=5", "RANKS=4 ROUNDS=1 FIRST=7",
        "RANKS=3 ROUNDS=3 FIRST=5 LINES", "RANKS=2 ROUNDS=3 FIRST=6 TAGS", "RANKS=3 ROUNDS=2 FIRST=6 TAGS",
        "RANKS=2 ROUNDS=3 FIRST=6 TAGS MULTICAST", "RANKS=3 ROUNDS=2 FIRST=6 TAGS MULTICAST"],
    "sleep": ["RANKS=2 ROUNDS=4 SLEEPERS=2", "RANKS=3 ROUNDS=2 SLEEPERS=2", "RANKS=4 ROUNDS=1 SLEEPERS=1",
        "RANKS=2 ROUNDS=3 SLEEPERS=2 POISON", "RANKS=3 ROUNDS=1 SLEEPERS=3 POISON", "RANKS=3 ROUNDS=2 SLEEPERS=1 POISON",
        "RANKS=2 ROUNDS=5 ALL", "RANKS=3 ROUNDS=2 ALL", "RANKS=2 ROUNDS=3 ALL POISON", "RANKS=3 ROUNDS=1 ALL POISON"],
    "exchange": ["RANKS=2 ROUNDS=3", "RANKS=3 ROUNDS=2", "RANKS=4 ROUNDS=1", "RANKS=3 ROUNDS=2 FETCH",
        "RANKS=2 ROUNDS=4 EAGER", "RANKS=3 ROUNDS=2 EAGER", "RANKS=2 ROUNDS=3 GPU", "RANKS=3 ROUNDS=2 GPU",
        "RANKS=2 ROUNDS=5 SLOTS", "RANKS=3 ROUNDS=3 SLOTS", "RANKS=2 ROUNDS=5 SLOTS MULTICAST", "RANKS=3 ROUNDS=3 SLOTS MULTICAST"],
    "pieces": ["RANKS=2 ROUNDS=2", "RANKS=2 ROUNDS=2 KILL", "RANKS=3 ROUNDS=1 CHUNKS=1 KILL", "RANKS=2 ROUNDS=1 CHUNKS=1 HELPERS",
        "HOSTS ROUNDS=1 PIECES=3", "HOSTS ROUNDS=2 PIECES=1", "HOSTS ROUNDS=1 PIECES=1 KILL"],
    "expiry": ["RANKS=2 ROUNDS=3 KILL", "RANKS=3 ROUNDS=2 KILL", "RANKS=3 ROUNDS=2 KILL ONE_LIMIT", "RANKS=3 ROUNDS=2 ABORT",
        "RANKS=2 ROUNDS=2 KILL ABORT KERNEL", "RANKS=3 ROUNDS=1 KERNEL"],
    "hosts": ["ROUNDS=3", "ROUNDS=2 KILL"],
    "dissent": ["HOSTS=2", "HOSTS=3"],
    "rendezvous": ["RANKS=2 FAILURES=2 HASTE=1", "RANKS=3 FAILURES=1 HASTE=0", "RANKS=3 FAILURES=0 HASTE=1",
        "RANKS=2 FAILURES=1 HASTE=0 KILL", "RANKS=3 FAILURES=0 HASTE=0 KILL"],
    "shrink": ["RANKS=2 DEATHS=1 EXPIRIES=1 FAILURES=1", "RANKS=3 DEATHS=2 EXPIRIES=0 FAILURES=0",
        "RANKS=3 DEATHS=1 EXPIRIES=1 FAILURES=0", "RANKS=3 DEATHS=1 EXPIRIES=0 FAILURES=1"],
    "quorum": ["HOSTS=3 PER=1 DEATHS=1 EXPIRIES=0", "HOSTS=2 PER=2 DEATHS=1 EXPIRIES=0", "HOSTS=2 PER=2 DEATHS=0 EXPIRIES=0 CUT",
        "HOSTS=3 PER=1 DEATHS=1 EXPIRIES=0 CUT", "HOSTS=3 PER=1 DEATHS=0 EXPIRIES=1 CUT", "HOSTS=3 PER=1 DEATHS=2 EXPIRIES=0"],
    "transfer": ["ROUNDS=2", "ROUNDS=2 THREADS"],
    "link": ["ROUNDS=2", "ROUNDS=3"],
    "graphs": ["GRAPHS=2 STREAMS=1 DEATHS=0 EXPIRIES=0", "GRAPHS=1 STREAMS=1 DEATHS=1 EXPIRIES=1",
        "GRAPHS=2 STREAMS=1 DEATHS=0 EXPIRIES=1", "GRAPHS=2 STREAMS=1 DEATHS=1 EXPIRIES=0",
        "GRAPHS=1 STREAMS=2 DEATHS=0 EXPIRIES=0", "GRAPHS=1 STREAMS=2 DEATHS=1 EXPIRIES=0"],
    "paths": ["TRANSFERS=2 PIECES=3 SLOTS=2 TAGS=2", "TRANSFERS=3 PIECES=2 SLOTS=2 TAGS=3",
        "STAGE TRANSFERS=2 PIECES=3 CANCELS=2 FAILURES=0", "STAGE TRANSFERS=2 PIECES=3 CANCELS=1 FAILURES=1",
        "STAGE TRANSFERS=3 PIECES=2 CANCELS=1 FAILURES=2"],
}

# The broken variants of each model: in a size, the one thing that is wrong, and how it fails: by a deadlock, or an assertion with
# this in it.
BROKEN = {
    "meeting": (
        ("RANKS=3 ROUNDS=2 FIRST=6", {"SIGNAL_BEFORE_DATA": "data[", "NO_EXIT": "data[", "COMPARE_EQUAL": DEADLOCK,
            "COMPARE_UNSIGNED": "data[", "SELF_CLEARING_FLAGS": DEADLOCK, "CENTRAL_COUNTER": "data[",
            "ONE_COUNT_FOR_ALL_PEERS": DEADLOCK, "COUNT_RESTARTED": "data[", "PAD_OF_ZEROS": "data[", "SLOT_SWAPPED": "data[",
            "NON_MEMBERS_AWAITED": DEADLOCK}),
        ("RANKS=3 ROUNDS=2 FIRST=6 TAGS", {"TAG_AFTER_EPOCH": "odd_rank", "TAG_COMPARED_WHEN_AHEAD": "odd_rank",
            "TAG_NOT_COMPARED": "poison"}),
        ("RANKS=3 ROUNDS=2 FIRST=6 TAGS MULTICAST", {"SLOT_READ_BEFORE_OTHER": "odd_rank"}),
        ("RANKS=3 ROUNDS=1 FIRST=6 TAGS MULTICAST", {"OTHER_NOT_READ": DEADLOCK}),
    ),
    "sleep": (
        ("RANKS=2 ROUNDS=2 SLEEPERS=2", {"PUTTER_CLEARS_FLAG": DEADLOCK, "WAKE_AT_READ_BEFORE_ARRIVAL": DEADLOCK,
            "ARRIVAL_BEFORE_SIGNAL": DEADLOCK, "MISSING_COUNTED_BEFORE_ARRIVALS": DEADLOCK,
            "COMPARE_AND_SLEEP_IN_TWO_STEPS": DEADLOCK}),
        ("RANKS=2 ROUNDS=2 SLEEPERS=2 POISON", {"WAKE_WITHOUT_ARRIVAL": DEADLOCK, "ARRIVAL_WITHOUT_WAKE": DEADLOCK}),
        ("RANKS=3 ROUNDS=2 ALL", {"CLEARED_AFTER_WAKING": DEADLOCK}),
        ("RANKS=2 ROUNDS=2 ALL", {"ASKED_BEFORE_FENCE": DEADLOCK, "SAID_AFTER_LOOK": DEADLOCK, "COUNT_READ_LAST": DEADLOCK,
            "WAKE_WITHOUT_COUNT": DEADLOCK, "COUNT_WITHOUT_WAKE": DEADLOCK}),
        ("RANKS=2 ROUNDS=2 ALL POISON", {"WAKE_WITHOUT_COUNT": DEADLOCK}),
    ),
    "exchange": (
        ("RANKS=3 ROUNDS=2", {"NO_ENTRY": "record[", "NO_VOTE_MEETING": "odd_round", "VOTE_READ_BEFORE_MEETING": "vote[",
            "NO_EXIT": "output[", "NO_EXIT_AFTER_BAD_VOTE": "vote[", "INBOX_BY_PLACE": "inbox["}),
        ("RANKS=3 ROUNDS=2 FETCH", {"NO_EXIT": "inside[", "NOTICES_BEFORE_EXIT": "record["}),
        ("RANKS=2 ROUNDS=3 EAGER", {"ONE_HALF": "record[", "NO_ENTRY": "record[", "NO_EXIT": "output[",
            "OWN_OFFER_DECIDES": "judgement["}),
        ("RANKS=2 ROUNDS=2 GPU", {"EXIT_NOT_AWAITED": "output[", "GROUP_GOES_ON": "report[",
            "DISSENT_LOST_WHEN_AHEAD": "judgement["}),
        ("RANKS=2 ROUNDS=3 SLOTS", {"SIGNAL_BEFORE_DATA": "slots[", "ONE_SLOT": "slots["}),
        ("RANKS=3 ROUNDS=3 SLOTS", {"HALF_OF_ALL_CALLS": "slots["}),
        ("RANKS=3 ROUNDS=3 SLOTS MULTICAST", {"HALF_OF_THE_MEETING": "slots["}),
    ),
    "pieces": (
        ("RANKS=2 ROUNDS=1", {"NO_ENTRY": "inside[", "NO_EXIT": "output[", "WORD_BEFORE_DATA": "output["}),
        ("RANKS=2 ROUNDS=2", {"VALUE_USED_AGAIN": "output["}),
        ("RANKS=2 ROUNDS=1 CHUNKS=1 HELPERS", {"WORD_BY_EACH_PIECE": "output["}),
        ("RANKS=2 ROUNDS=1 KILL", {"WORDS_STAY": DEADLOCK}),
        ("HOSTS ROUNDS=1 PIECES=3", {"ONE_WINDOW": "staged["}),
        ("HOSTS ROUNDS=1 PIECES=2", {"NO_MEETING": "staged[", "RESULTS_A_STEP_EARLY": "arrived["}),
    ),
    "expiry": (
        ("RANKS=2 ROUNDS=2", {"EXPIRY_WITHOUT_POISON": "failed"}),
        ("RANKS=2 ROUNDS=2 ONE_LIMIT", {"POISON_CHECKED_ONLY_AT_BEGIN": DEADLOCK}),
        ("RANKS=2 ROUNDS=2", {"POISON_BEFORE_TEXT": "text[", "POISON_OVERWRITTEN": "returned", "CLAIM_TAKEN_OVER": "text["}),
        ("RANKS=2 ROUNDS=2 KERNEL", {"KERNEL_STORES_POISON": "returned"}),
    ),
    "hosts": (
        ("ROUNDS=2", {"NO_GATHERING": "entered[", "NO_RELEASE": "entered[", "NOT_HEARD": "entered[",
            "END_BEFORE_LAST_MESSAGE": "failed"}),
        ("ROUNDS=2 KILL", {"DEATH_NOT_SEEN_IN_MEMORY": DEADLOCK}),
    ),
    "dissent": (
        ("HOSTS=2", {"FIRST_STAYS": "answer[", "NOT_AWAITED": "answer["}),
        ("HOSTS=3", {"ONE_AWAITED": "answer[", "ONLY_OWN_TOLD": DEADLOCK}),
    ),
    "rendezvous": (
        ("RANKS=2 FAILURES=1 HASTE=1", {"LOCK_NOT_CHECKED": DEADLOCK}),
        ("RANKS=2 FAILURES=1 HASTE=0", {"NAME_COMPARED_WITHOUT_LOCK": "name==", "POISONED_FILE_JOINED": "has_dead_rank",
            "REFUSED_WHEN_READY": "poison"}),
    ),
    "shrink": (
        ("RANKS=3 DEATHS=1 EXPIRIES=1 FAILURES=0", {"COME_WITHOUT_COMPARING": "round_of[",
            "EXCLUDE_WITHOUT_COMPARING": "round_of["}),
        ("RANKS=3 DEATHS=1 EXPIRIES=0 FAILURES=1", {"EXCLUDED_FROM_ITS_ROUND": DEADLOCK}),
        ("RANKS=3 DEATHS=1 EXPIRIES=0 FAILURES=0", {"ROUND_NEVER_OVER": DEADLOCK, "LEFT_WITHOUT_REFUSING": DEADLOCK}),
        ("RANKS=3 DEATHS=1 EXPIRIES=0 FAILURES=1", {"FAILED_WITHOUT_EXCLUSION": DEADLOCK}),
    ),
    "quorum": (
        ("HOSTS=3 PER=1 DEATHS=1 EXPIRIES=0 CUT", {"NO_QUORUM": "group=="}),
        ("HOSTS=2 PER=2 DEATHS=0 EXPIRIES=0 CUT", {"HALF_WITHOUT_RANK_0": "group=="}),
        ("HOSTS=3 PER=1 DEATHS=1 EXPIRIES=0 CUT", {"MAJORITY_OF_THOSE_THAT_LIVE": "group==", "AGAIN_AFTER_THE_LAST": "group=="}),
        ("HOSTS=3 PER=1 DEATHS=1 EXPIRIES=0", {"STALE_NUMBER": "group!="}),
        ("HOSTS=2 PER=2 DEATHS=0 EXPIRIES=0 CUT", {"NO_LIMIT": DEADLOCK}),
    ),
    "transfer": (
        ("ROUNDS=1", {"END_IS_NOT_SAID": DEADLOCK, "NOT_WITHDRAWN": "rubbish", "NOT_LOOKED_AFTER_THE_COPY": "rubbish"}),
        ("ROUNDS=1 THREADS", {"NOT_LOOKED_BEFORE_THE_COPY": "gone", "COPY_NOT_AWAITED": "gone",
            "WITHDRAWN_AFTER_THE_LOOK": "gone"}),
        ("ROUNDS=1", {"NOTIFY_BEFORE_THE_WORD": DEADLOCK, "LISTEN_AFTER_THE_LOOK": DEADLOCK}),
    ),
    "link": (
        ("ROUNDS=2", {"FLOWN_FAILS": "cancelled[", "LEFT_ALONE_IN_NCCL": DEADLOCK, "ONLY_OWN_FLIGHT_FAILS": DEADLOCK,
            "BREAK_NOT_SAID": DEADLOCK, "OLD_BREAK_OBEYED": "cancelled[", "BREAK_HEARD_TWICE": "cancelled[",
            "GO_BEFORE_CONNECTED": "ready", "FORGOTTEN_NOT_SAID": DEADLOCK, "FORGOTTEN_FAILS": "cancelled[",
            "FORGOTTEN_NOT_OBEYED": DEADLOCK}),
    ),
    "graphs": (
        ("GRAPHS=1 STREAMS=1 DEATHS=1 EXPIRIES=0", {"NOT_COUNTED_BEFORE": DEADLOCK, "POISON_NOT_SEEN": DEADLOCK,
            "ABORTED_WITH_THE_LOCK": DEADLOCK}),
        ("GRAPHS=2 STREAMS=1 DEATHS=0 EXPIRIES=0", {"FORGOTTEN_WHILE_IT_RUNS": "freed[", "FREED_WITH_GRAPHS": "freed[",
            "NOT_JOINED": "freed["}),
        ("GRAPHS=1 STREAMS=2 DEATHS=1 EXPIRIES=0", {"ONE_NUMBER": DEADLOCK}),
        ("GRAPHS=2 STREAMS=1 DEATHS=0 EXPIRIES=1", {"BEFORE_READ_FIRST": "behind", "TIMED_WHEN_IT_RUNS_FIRST": "timed"}),
    ),
    "paths": (
        ("TRANSFERS=2 PIECES=3 SLOTS=2 TAGS=2", {"READY_BEFORE_THE_RECEIVE": "posted[", "NONE_NOT_SAID": DEADLOCK,
            "NONE_WITHOUT_A_NUMBER": DEADLOCK, "CANCELLED_WITHOUT_NONE": "posted[", "BYTES_OF_WHAT_IS_OVER": "slot["}),
        ("STAGE TRANSFERS=2 PIECES=3 CANCELS=2 FAILURES=0", {"STAGED_BEFORE_THE_END": "state[", "TAKEN_BEFORE_THE_COPY": "window[",
            "FREE_BEFORE_TAKEN": "state[", "COPY_OUTLIVES_ITS_TRANSFER": "owner[", "SAID_OUT_OF_ORDER": "piece_of[",
            "NOT_TAKEN_WHEN_OVER": DEADLOCK, "KEPT_BY_WHAT_IS_OVER": DEADLOCK}),
        ("STAGE TRANSFERS=1 PIECES=1 CANCELS=0 FAILURES=0", {"LISTENING_BEFORE_THE_SOCKET": "listening",
            "WINDOW_BEFORE_THE_DESCRIPTOR": "in_socket", "ASKED_AGAIN": "asked", "COPIED_BEFORE_IT_IS_OPEN": "opened"}),
        ("STAGE TRANSFERS=2 PIECES=2 CANCELS=0 FAILURES=1", {"WINDOW_COMES_FOR_EVER": "in_socket",
            "FORGOTTEN_BY_A_FAILURE": DEADLOCK, "SHOWN_ONCE": DEADLOCK, "SHOWN_WITH_A_FREE_HALF": DEADLOCK}),
    ),
}


@dataclass(frozen=True)
class Run:
    model: str
    size: str
    variant: str = ""   # empty: correct
    symptom: str = ""

    @property
    def name(self) -> str:
        return f"{self.model} {self.size}" + (f" {self.variant}" if self.variant else "")

    def definitions(self) -> list[str]:
        return [f"-D{word}" for word in (*self.size.split(), *self.variant.split())]


def all_runs() -> list[Run]:
    return [Run(model, size) for model, sizes in CORRECT.items() for size in sizes] + \
        [Run(model, size, *broken) for model, sizes in BROKEN.items() for size, variants in sizes for broken in variants.items()]
