/* Writes the events of a trace in Chrome's trace event format.  Called when a trace ends. */
#include "look/look.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "os/whole_file.h"

enum { PIECE = 1 << 16, FIRST_STREAM = 1 << 30 /* the first number of a track that is no thread */ };

/* A row of the picture: a thread, or a stream of a device. */
struct track {
    int ordinal;             /* of a stream: its device */
    const void *stream;
    int32_t thread;          /* 0: a stream */
    int32_t rank, ranks;     /* of a thread: the one rank whose calls it makes; ranks 0: none, -1: several */
};

struct picture {
    struct quern_json json;
    struct quern_whole_file *file;
    struct track *tracks;
    int count, capacity, last;
    int process;
    bool failed;
};

/* ---- tracks ---- */

static bool is_on(const struct track *track, const struct quern_event *event, bool is_stream) {
    if (!is_stream) return track->thread == event->thread;
    return !track->thread && track->ordinal == event->ordinal && track->stream == event->stream;
}

static struct track *new_track(struct picture *picture) {
    if (picture->count == picture->capacity) {
        const int capacity = picture->capacity ? 2 * picture->capacity : 16;
        struct track *tracks = realloc(picture->tracks, (size_t)capacity * sizeof *tracks);
        if (!tracks) return NULL;
        picture->tracks = tracks, picture->capacity = capacity;
    }
    return &picture->tracks[picture->count++];
}

static struct track *track_of(struct picture *picture, const struct quern_event *event, bool is_stream) {
    if (picture->last < picture->count && is_on(&picture->tracks[picture->last], event, is_stream))
        return &picture->tracks[picture->last];
    for (int i = 0; i < picture->count; i++)
        if (is_on(&picture->tracks[picture->last = i], event, is_stream)) return &picture->tracks[i];
    struct track *track = new_track(picture);
    picture->failed |= !track;
    if (!track) return NULL;
    *track = (struct track){.ordinal = event->ordinal, .stream = event->stream, .thread = is_stream ? 0 : event->thread,
                            .rank = event->rank, .ranks = event->ranks};
    picture->last = picture->count - 1;
    return track;
}

static int64_t number_of(const struct picture *picture, const struct track *track) {
    return track->thread ? track->thread : FIRST_STREAM + (track - picture->tracks);
}

static void note_rank(struct track *track, const struct quern_event *event) {
    if (!event->ranks || track->ranks < 0) return;
    if (!track->ranks) track->rank = event->rank, track->ranks = event->ranks;
    if (track->rank != event->rank || track->ranks != event->ranks) track->ranks = -1;
}

/* ---- events ---- */

static void add_device(struct quern_json *json, const char *key, const struct quern_event *event) {
    char name[16];
    struct quern_text text = quern_text_begin(name, sizeof name);
    if (event->ordinal == -2) return;
    if (event->ordinal < 0) quern_text_add(&text, "cpu");
    else quern_text_add(&text, "cuda:%d", event->ordinal);
    quern_json_text(json, key, name);
}

static void add_call(struct quern_json *json, const struct quern_event *event) {
    quern_json_open(json, "kernels", '[');
    for (int i = 0; i < event->kernel_count; i++) quern_json_text(json, NULL, event->kernels[i]);
    quern_json_close(json, ']');
    quern_json_integer(json, "bytes", event->number);
    quern_json_text(json, "status", quern_status_string((quern_status)event->status));
}

static void add_kernel(struct quern_json *json, const struct quern_event *event) {
    if (event->is_captured) quern_json_flag(json, "captured", true);
    else if (!event->has_times) quern_json_text(json, "times", "unknown");
}

static void add_wait(struct quern_json *json, const struct quern_event *event) {
    quern_json_open(json, "for", '[');
    for (int i = 0; i < event->awaited_count; i++) quern_json_integer(json, NULL, event->awaited[i]);
    quern_json_close(json, ']');
    quern_json_integer(json, "missing", event->missing);
    quern_json_text(json, "status", quern_status_string((quern_status)event->status));
    if (event->name) quern_json_text(json, "call", event->name);
}

static void add_step(struct quern_json *json, const struct quern_event *event) {
    quern_json_integer(json, "step", event->number);
}

static const struct {
    const char *category;
    const char *name;  /* NULL: that of the event */
    void (*add)(struct quern_json *json, const struct quern_event *event);
} kinds[] = {
    [QUERN_EVENT_CALL] = {"operation", NULL, add_call},
    [QUERN_EVENT_KERNEL] = {"kernel", NULL, add_kernel},
    [QUERN_EVENT_WAIT] = {"wait", "wait", add_wait},
    [QUERN_EVENT_STEP] = {"step", "step", add_step},
};

static void add_event(struct picture *picture, const struct quern_event *event) {
    struct quern_json *json = &picture->json;
    const bool is_moment = event->kind == QUERN_EVENT_STEP || (event->kind == QUERN_EVENT_KERNEL && !event->has_times);
    struct track *track = track_of(picture, event, event->kind == QUERN_EVENT_KERNEL && !is_moment);
    if (!track) return;
    note_rank(track, event);
    quern_json_open(json, NULL, '{');
    quern_json_text(json, "name", kinds[event->kind].name ? kinds[event->kind].name : event->name);
    quern_json_text(json, "cat", kinds[event->kind].category);
    quern_json_text(json, "ph", is_moment ? "i" : "X");
    if (is_moment) quern_json_text(json, "s", event->kind == QUERN_EVENT_STEP ? "p" : "t");
    quern_json_thousandths(json, "ts", event->began);
    if (!is_moment) quern_json_thousandths(json, "dur", event->ended - event->began);
    quern_json_integer(json, "pid", picture->process);
    quern_json_integer(json, "tid", number_of(picture, track));
    quern_json_open(json, "args", '{');
    add_device(json, "device", event);
    if (event->ranks) quern_json_integer(json, "rank", event->rank), quern_json_integer(json, "ranks", event->ranks);
    kinds[event->kind].add(json, event);
    quern_json_close(json, '}');
    quern_json_close(json, '}');
    quern_json_line(json);
}

static void add_name(struct picture *picture, const char *kind, int64_t number, const char *name) {
    struct quern_json *json = &picture->json;
    quern_json_open(json, NULL, '{');
    quern_json_text(json, "name", kind);
    quern_json_text(json, "ph", "M");
    quern_json_integer(json, "pid", picture->process);
    quern_json_integer(json, "tid", number);
    quern_json_open(json, "args", '{');
    quern_json_text(json, "name", name);
    quern_json_close(json, '}');
    quern_json_close(json, '}');
    quern_json_line(json);
}

static void add_track(struct picture *picture, const struct track *track) {
    char name[80];
    struct quern_text text = quern_text_begin(name, sizeof name);
    if (!track->thread) quern_text_add(&text, "cuda:%d stream %zu", track->ordinal, (size_t)track->stream);
    else if (track->ranks > 0) quern_text_add(&text, "rank %d of %d, thread %d", track->rank, track->ranks, track->thread);
    else quern_text_add(&text, "thread %d", track->thread);
    add_name(picture, "thread_name", number_of(picture, track), name);
}

/* ---- the file ---- */

static void flush(struct picture *picture) {
    quern_write_file(picture->file, picture->json.text, picture->json.length);
    quern_json_clear(&picture->json);
}

static void add_all(struct picture *picture) {
    struct quern_json *json = &picture->json;
    int64_t count, left_out;
    const struct quern_event *events = quern_events(&count, &left_out);
    quern_json_open(json, NULL, '{');
    quern_json_text(json, "displayTimeUnit", "ns");
    quern_json_open(json, "otherData", '{');
    quern_json_integer(json, "quern_version", QUERN_VERSION);
    quern_json_integer(json, "events", count);
    quern_json_integer(json, "events_left_out", left_out);
    quern_json_close(json, '}');
    quern_json_open(json, "traceEvents", '[');
    add_name(picture, "process_name", 0, "quern");
    for (int64_t i = 0; i < count && !json->failed; i++) {
        if (__atomic_load_n(&events[i].is_complete, __ATOMIC_ACQUIRE)) add_event(picture, &events[i]);
        if (json->length >= PIECE) flush(picture);
    }
    for (int i = 0; i < picture->count; i++) add_track(picture, &picture->tracks[i]);
    quern_json_close(json, ']');
    quern_json_close(json, '}');
    quern_json_line(json);
}

int quern_write_trace(const char *path) {
    struct picture picture = {.process = (int)getpid()};
    int error = quern_begin_file(path, &picture.file);
    if (error) return error;
    add_all(&picture);
    const bool failed = picture.failed || picture.json.failed;
    if (failed) {
        quern_drop_file(picture.file);
        error = ENOMEM;
    } else {
        flush(&picture);
        error = quern_end_file(picture.file);
    }
    quern_json_free(&picture.json);
    free(picture.tracks);
    return error;
}
