/*
 * Options of the programs of this folder, among their own words:
 *
 *   --part K/N    one of N equal parts of what there is to visit, K from 1 to N
 *   --deep        what was not met, although it was tried again and again, is a failure
 */
#ifndef FAULTS_OPTIONS_H
#define FAULTS_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
    int part, parts;  /* part: from 0 */
    bool is_deep;
};

/* Takes the options off the words of main, wherever they stand.  Ends the program if one is wrong. */
static inline struct options options_take(int *count, char **words) {
    struct options options = {.part = 1, .parts = 1};
    int kept = 0;
    char end;
    for (int i = 0; i < *count; i++) {
        if (strncmp(words[i], "--", 2) != 0) {
            words[kept++] = words[i];
        } else if (!strcmp(words[i], "--deep")) {
            options.is_deep = true;
        } else if (strcmp(words[i], "--part") != 0 || i + 1 == *count ||
                   sscanf(words[++i], "%d/%d%c", &options.part, &options.parts, &end) != 2 || options.part < 1 ||
                   options.part > options.parts) {
            fprintf(stderr, "%s is no option here: --part K/N, with K from 1 to N, or --deep\n", words[i]);
            exit(2);
        }
    }
    words[*count = kept] = NULL;
    options.part--;
    return options;
}

/* The part of a range of numbers. */
static inline void options_narrow(const struct options *options, long *first, long *end) {
    const long from = *first, numbers = *end - from;
    *first = from + numbers * options->part / options->parts;
    *end = from + numbers * (options->part + 1) / options->parts;
}

#endif
