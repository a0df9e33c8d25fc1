/* The CUDA driver for the race programs: memory of device 0, and waiting for it. */
#ifndef RACE_DRIVER_H
#define RACE_DRIVER_H

#include <stddef.h>

/* A failure ends the program. */
void driver_open(void);

/* Memory with these contents, or zeros if contents is NULL. */
void *driver_memory(size_t bytes, const void *contents);
void driver_free(const void *memory);

/* Waits for all work; 0, or the driver's error. */
int driver_synchronize(void);

#endif
