/* The headers of the system that most tests need, and what C lacks. */
#ifndef HARNESS_STANDARD_H
#define HARNESS_STANDARD_H

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Of a parameter that a function has for its type only. */
#define UNUSED __attribute__((unused))

/* Of a declaration of pointers: their memory is freed when the scope ends. */
#define SCOPED __attribute__((cleanup(free_pointer)))
static inline void free_pointer(void *pointer) { free(*(void **)pointer); }

/* Memory of zeros, which the caller frees; ends the program if there is none. */
static inline void *zeroed(size_t bytes) {
    void *memory = calloc(1, bytes ? bytes : 1);
    if (!memory) abort();
    return memory;
}

#endif
