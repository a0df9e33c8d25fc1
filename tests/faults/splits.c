/*
 * Every point (src/ranks/points.h) that a rank of several hosts comes to while its group is split, and its death there: of the
 * leader of a host and of another rank, into one group and into two.
 *
 * However it ends: every other rank returns long before the limit; a rank that has no new group is told of the one that has died,
 * by its number in the group that is split; and nobody has a group of its colour if it died before it was connected.
 *
 *   splits [--deep]    all
 *   splits TEXT        those whose names, as a failure prints them, contain the text
 *
 * The last line is `N passed, N failed`.
 */
#define _GNU_SOURCE
#include "faults/points.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "faults/private_shm.h"
#include "faults/visits.h"
#include "harness/ranks.h"

enum step { CREATE, SPLIT };

static const struct scene {
    const char *name;
    int hosts, ranks, colours;
} scenes[] = {
    {"one group", 2, 4, 1},
    {"two groups", 3, 6, 2},
};

struct plan {
    struct point_plan points;
    const struct scene *scene;
};

static quern_status split(struct rank *rank) {
    const struct plan *plan = rank->user;
    const struct point_stop *stop = &plan->points.stop[0];
    const int colours = plan->scene->colours, colour = rank->rank % colours;
    struct points *points = rank->shared;
    char name[32];
    quern_group *group, *part = NULL;
    points_begin(points, &plan->points, rank->rank);
    group = rank_group(rank, RANK_LIMIT);
    rank_ok(rank, quern_barrier(group, NULL, NULL));
    points_enter_step(SPLIT);
    rank_line_up(rank);
    const quern_status status = quern_group_split(&group, 1, &colour, &(int){-rank->rank}, &part);
    snprintf(name, sizeof name, "rank %d (process ", stop->rank);
    const bool is_unconnected = stop->point < QUERN_POINT_MEET_ANNOUNCING || stop->point == QUERN_POINT_SPLIT_WISHED ||
                                stop->point == QUERN_POINT_HOSTS_CONNECTING;
    if (status == QUERN_OK)
        rank_check(rank, !points->victim[0] || !is_unconnected || stop->rank % colours != colour, "has a group with rank %d",
                   stop->rank);
    else rank_status(rank, status, QUERN_PEER_LOST);
    if (status != QUERN_OK) rank_check_detail(rank, name);
    points_enter_step(CREATE);
    rank_ok(rank, quern_group_destroy(part));
    return quern_group_destroy(group);
}

static void name_plan(const struct plan *plan, char name[128]) {
    const struct point_stop *stop = &plan->points.stop[0];
    snprintf(name, 128, "%s, rank %d, point %s", plan->scene->name, stop->rank, point_name(stop->point));
}

/* The clocks go as they should, since no limit is to end. */
static void run_plan(const struct ranks *ranks, const struct point_stop *stop, const char *name) {
    if (!visit_is_due(stop, 0, name)) return;
    bool may_die[POINT_RANKS] = {false};
    may_die[stop->rank] = true;
    struct rank_run *run = ranks_start(ranks);
    const char *wrong = ranks_wait(run, may_die);
    if (((const struct points *)ranks_shared(run))->victim[0]) visits.met[0][stop->point][stop->fault] = true;
    for (int rank = 0; rank < ranks->count && !wrong; rank++)
        if (rank != stop->rank && ranks_result(run, rank)->status != QUERN_OK) wrong = ranks_result(run, rank)->detail;
    if (wrong) printf("%s: %s\n", name, wrong);
    visit_count(wrong);
    ranks_close(run);
}

static void run_scene(const struct scene *scene) {
    struct plan plan = {.points = {.ranks = scene->ranks}, .scene = scene};
    const struct ranks ranks = {.kind = RANK_PROCESSES, .count = scene->ranks, .hosts = scene->hosts, .function = split,
                                .user = &plan, .shared_bytes = sizeof(struct points)};
    struct rank_run *run = ranks_start(&ranks);
    const char *wrong = ranks_wait(run, NULL);
    const struct points first = *(const struct points *)ranks_shared(run);
    if (wrong) printf("%s: %s\n", scene->name, wrong);
    visit_count(wrong);
    ranks_close(run);
    for (enum quern_point point = 0; point < QUERN_POINT_COUNT && !visits.failed; point++)
        for (int victim = scene->ranks / scene->hosts; first.reached[SPLIT][point] && victim < scene->ranks / scene->hosts + 2;
             victim++) {
            char name[128];
            plan.points.stop[0] = (struct point_stop){POINT_KILL, point, victim, SPLIT, 0};
            name_plan(&plan, name);
            run_plan(&ranks, &plan.points.stop[0], name);
        }
}

static void visit_all(void) {
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) run_scene(&scenes[i]);
}

static bool is_pair(int kind, enum quern_point point, enum point_fault fault) {
    (void)kind;
    return fault == POINT_KILL && (point == QUERN_POINT_SPLIT_WISHED || point == QUERN_POINT_HOSTS_CONNECTING);
}

int main(int count, char **words) {
    setenv("QUERN_THREADS", "1", 1);
    private_shm_enter(NULL);
    return visit_pairs(count, words, visit_all, is_pair, (const char *const[VISIT_KINDS]){""});
}
