/* All barriers of this program, turn by turn, with the same ranks in the same places. */
#include <string.h>

#include "barriers.h"
#include "lines.h"
#include "ranks.h"
#include "rounds.h"

/* What the ranks share: the barriers that take part, and the memory of each. */
struct job {
    const struct rank_options *options;
    struct rounds *rounds;
    int count;
    const struct barrier *barriers[BARRIERS];
    void *shared[BARRIERS];
};

static void name_contenders(const struct job *job, struct contender *contenders, struct barrier_seat *seats) {
    for (int i = 0; i < job->count; i++)
        contenders[i] = (struct contender){job->barriers[i]->name, job->barriers[i]->meet, seats ? &seats[i] : NULL};
}

static void run_rank(void *context, int rank) {
    const struct job *job = context;
    const struct rank_options *options = job->options;
    struct barrier_seat seats[BARRIERS];
    struct contender contenders[BARRIERS];
    for (int i = 0; i < job->count; i++) {
        seats[i] = (struct barrier_seat){.shared = job->shared[i], .rank = rank, .ranks = options->team.ranks};
        if (job->barriers[i]->join) job->barriers[i]->join(&seats[i]);
    }
    name_contenders(job, contenders, seats);
    rounds_run(job->rounds, rank, options->team.ranks, contenders, job->count, options->turns, options->seconds / options->turns);
    for (int i = 0; i < job->count; i++)
        if (job->barriers[i]->leave) job->barriers[i]->leave(&seats[i]);
}

static const char *run_job(struct job *job) {
    const struct rank_options *options = job->options;
    for (int i = 0; i < job->count; i++) {
        if (!job->shared[i]) return "not enough memory";
        if (job->barriers[i]->prepare) job->barriers[i]->prepare(job->shared[i], &options->team);
    }
    if (!job->rounds) return "not enough memory";
    const char *problem = team_run(&options->team, run_rank, job);
    if (problem) return problem;
    struct contender contenders[BARRIERS];
    name_contenders(job, contenders, NULL);
    write_barriers(job->rounds, team_kind_names[options->team.kind], options->team.ranks, contenders, job->count, options->turns);
    return NULL;
}

void measure_barriers(const struct rank_options *options) {
    int ranks = options->team.ranks;
    struct job job = {.options = options, .rounds = team_memory(rounds_bytes(ranks))};
    for (int i = 0; i < BARRIERS; i++) {
        if (ranks < 2 || ranks > barriers[i].most_ranks) continue;
        if (options->only && strcmp(options->only, barriers[i].name) != 0) continue;
        job.shared[job.count] = team_memory(barriers[i].bytes(ranks));
        job.barriers[job.count++] = &barriers[i];
    }
    const char *problem = run_job(&job);
    if (problem) write_skipped("barrier", "quern", team_kind_names[options->team.kind], ranks, problem);
    for (int i = 0; i < job.count; i++) team_release(job.shared[i], job.barriers[i]->bytes(ranks));
    team_release(job.rounds, rounds_bytes(ranks));
}
