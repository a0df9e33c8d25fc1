/* The programs that strike ranks at calls (crossing.h), or their memory. */
#ifndef FAULTS_FAULTS_H
#define FAULTS_FAULTS_H

#include "faults/crossing.h"
#include "faults/runs.h"

void run_shrinks(const char *word, int count, char **words);
void run_meeting_place(const char *word, int count, char **words);
void run_scribbles(const char *word, int count, char **words);

#endif
