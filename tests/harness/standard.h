/* The headers of the system that most tests need, and two words that C lacks. */
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

#endif
