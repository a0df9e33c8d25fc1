/*
 * What a trace or a dump has written: lines of JSON with known keys, which tests/checks/look.py reads with Python's own parser, and
 * files of tensors.  In a temporary folder of the test.
 */
#ifndef HARNESS_LOOKING_H
#define HARNESS_LOOKING_H

#include "harness/standard.h"

/* A new folder; it and the files in it are removed by drop_folder. */
const char *make_folder(void);
void drop_folder(const char *folder);

/* The path of a file in a folder; valid for the next seven calls. */
const char *path_in(const char *folder, const char *name);

/* The whole file, with a zero behind it, to be freed.  NULL: there is none. */
char *read_text(const char *path, size_t *bytes);

/* How many files there are in a folder. */
int count_files(const char *folder);

/* The lines of a text that contain both parts; the text is not changed. */
int count_lines(const char *text, const char *part, const char *other);

/* The n-th of these lines, to be freed; the test fails if there are fewer. */
char *find_line(const char *text, const char *part, const char *other, int n);

/* A number behind a key of a line: number_in(line, "\"ts\":"); the test fails without it. */
double number_in(const char *line, const char *key);

/* The data of a tensor in a file, to be freed.  The test fails without one of this dtype and shape, "[4,8]" for instance. */
void *read_tensor(const char *path, const char *name, const char *dtype, const char *shape, size_t *bytes);

#endif
