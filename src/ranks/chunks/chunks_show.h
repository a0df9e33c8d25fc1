/* Shows quantised chunks to the trace and the dump. */
#ifndef QUERN_CHUNKS_SHOW_H
#define QUERN_CHUNKS_SHOW_H

#include "runtime/look.h"

extern const struct quern_view quern_quantize_chunks_view, quern_chunk_wait_view;

#endif
