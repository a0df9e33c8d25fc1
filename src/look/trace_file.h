/* The file of a trace.  For the trace. */
#ifndef QUERN_TRACE_FILE_H
#define QUERN_TRACE_FILE_H

/* Writes all events, whole or not at all.  Returns 0 or an errno. */
int quern_write_trace(const char *path);

#endif
