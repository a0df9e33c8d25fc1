/*
 * Files that appear whole or not at all: they are written under another name in the same folder, which is changed at the end.  A
 * limit on the size of files is an error as a full disk is, and no signal.  For src/look.
 *
 * A symbolic link stays, and the file behind it is replaced.  A link to nothing is an error.
 */
#ifndef QUERN_WHOLE_FILE_H
#define QUERN_WHOLE_FILE_H

#include <stddef.h>

struct quern_whole_file;

/* Begins a file, and writes it.  0 or an errno.  Writing keeps the first error until the end. */
int quern_begin_file(const char *path, struct quern_whole_file **file);
void quern_write_file(struct quern_whole_file *file, const void *data, size_t bytes);

/* Ends a file: it replaces one of the same name.  Returns 0, or the errno of the first step that failed; then nothing is left. */
int quern_end_file(struct quern_whole_file *file);

/* Ends a file of which nothing is wanted. */
void quern_drop_file(struct quern_whole_file *file);

/* Appends to a file that exists and is no symbolic link: all bytes or none.  0 or an errno.  Thread-safe. */
int quern_append_to_file(const char *path, const void *data, size_t bytes);

/* The path from the root, which survives a change of the working directory.  To be freed; NULL: errno has the reason. */
char *quern_absolute_path(const char *path);

#endif
