/* The system's number of the calling thread, by which other processes reach its memory.  For traces and collectives. */
#ifndef QUERN_THREAD_ID_H
#define QUERN_THREAD_ID_H

#include <stdint.h>

int32_t quern_thread_id(void);

#endif
