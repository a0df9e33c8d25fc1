/* Chooses the experts of each token, forward and backward.  Called by mixture.c. */
#include "router.h"

#include <math.h>
#include <stdlib.h>

#include "matmul.h"
#include "memory.h"
#include "threads.h"

enum { ROWS_PER_TASK = 64 };

static const float BALANCE_WEIGHT = 0.05f;

void router_create(struct router *router, int64_t rows, int experts, int64_t width) {
    *router = (struct router){
        .experts = experts,
        .width = width,
        .probabilities = allocate((size_t)(rows * experts) * sizeof(float)),
        .chosen = allocate((size_t)rows * CHOICES * sizeof(int32_t)),
        .gates = allocate((size_t)rows * CHOICES * sizeof(float)),
    };
}

void router_free(struct router *router) {
    free(router->probabilities);
    free(router->chosen);
    free(router->gates);
    *router = (struct router){0};
}

struct router_task {
    struct router *router;
    int64_t rows;
    const float *gate_grad, *probability_grad;
};

/* The logits are divided by sqrt(width): a step of Adam moves every weight and must not change all choices of the router. */
static float logit_scale(const struct router *router) { return 1 / sqrtf((float)router->width); }

/* The softmax of scale * values. */
static void softmax(int count, float *values, float scale) {
    float maximum = values[0], sum = 0;
    for (int i = 1; i < count; i++) maximum = fmaxf(maximum, values[i]);
    for (int i = 0; i < count; i++) sum += values[i] = expf(scale * (values[i] - maximum));
    for (int i = 0; i < count; i++) values[i] /= sum;
}

/* The most probable experts; the lower index wins a tie. */
static void choose(int experts, const float *probabilities, int32_t *chosen) {
    for (int choice = 0; choice < CHOICES; choice++) {
        int32_t best = choice > 0 && chosen[0] == 0 ? 1 : 0;
        for (int32_t e = best + 1; e < experts; e++)
            if (probabilities[e] > probabilities[best] && (choice == 0 || e != chosen[0])) best = e;
        chosen[choice] = best;
    }
}

static void route_rows(void *context, int64_t task) {
    const struct router_task *t = context;
    const struct router *router = t->router;
    for (int64_t r = task * ROWS_PER_TASK; r < t->rows && r < (task + 1) * ROWS_PER_TASK; r++) {
        float *probabilities = router->probabilities + r * router->experts, *gates = router->gates + r * CHOICES;
        int32_t *chosen = router->chosen + r * CHOICES;
        softmax(router->experts, probabilities, logit_scale(router));
        choose(router->experts, probabilities, chosen);
        float sum = probabilities[chosen[0]] + probabilities[chosen[1]];
        for (int choice = 0; choice < CHOICES; choice++) gates[choice] = probabilities[chosen[choice]] / sum;
    }
}

static int64_t tasks_for(int64_t rows) { return (rows + ROWS_PER_TASK - 1) / ROWS_PER_TASK; }

void router_forward(struct thread_pool *pool, struct router *router, int64_t rows, const float *in) {
    struct matrix x = {in, router->width}, w = {router->weight, router->width};
    matmul_transposed_right(pool, rows, router->experts, router->width, x, w, 0, router->probabilities, router->experts);
    threads_for(pool, tasks_for(rows), route_rows, &(struct router_task){.router = router, .rows = rows});
}

/* p * (g - sum(p * g)): the gradient through a softmax, over the probabilities and over the gates. */
static void route_rows_backward(void *context, int64_t task) {
    const struct router_task *t = context;
    const struct router *router = t->router;
    for (int64_t r = task * ROWS_PER_TASK; r < t->rows && r < (task + 1) * ROWS_PER_TASK; r++) {
        float *logits_grad = router->probabilities + r * router->experts, along = 0;
        const float *gates = router->gates + r * CHOICES, *gate_grad = t->gate_grad + r * CHOICES;
        const int32_t *chosen = router->chosen + r * CHOICES;
        for (int e = 0; e < router->experts; e++) along += logits_grad[e] * t->probability_grad[e];
        for (int e = 0; e < router->experts; e++) logits_grad[e] *= t->probability_grad[e] - along;
        float gates_along = gates[0] * gate_grad[0] + gates[1] * gate_grad[1];
        for (int choice = 0; choice < CHOICES; choice++)
            logits_grad[chosen[choice]] += gates[choice] * (gate_grad[choice] - gates_along);
        for (int e = 0; e < router->experts; e++) logits_grad[e] *= logit_scale(router);
    }
}

void router_backward(struct thread_pool *pool, struct router *router, int64_t rows, const float *in, const float *gate_grad,
                     const float *probability_grad, float *in_grad) {
    int64_t experts = router->experts, width = router->width;
    struct router_task task = {router, rows, gate_grad, probability_grad};
    threads_for(pool, tasks_for(rows), route_rows_backward, &task);
    struct matrix g = {router->probabilities, experts}, w = {router->weight, width}, x = {in, width};
    matmul_transposed_left(pool, experts, width, rows, g, x, 0, router->weight_grad, width);
    matmul(pool, rows, width, experts, g, w, 0, in_grad, width);
}

void router_balance(const int64_t *loads, int experts, float *probability_grad) {
    int64_t sent = 0;
    for (int e = 0; e < experts; e++) sent += loads[e];
    double tokens = fmax(1, (double)sent / CHOICES);
    for (int e = 0; e < experts; e++) {
        double share = (double)loads[e] / fmax(1, (double)sent);
        probability_grad[e] = (float)(BALANCE_WEIGHT * experts * share / tokens);
    }
}
