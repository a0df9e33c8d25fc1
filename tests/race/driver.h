/* The driver of CUDA for the race programs: memory of device 0, and waiting for it. */
#ifndef RACE_DRIVER_H
#define RACE_DRIVER_H

#include <stddef.h>

/* What cannot be done ends the program. */
void driver_open(void);

/* Memory with these contents, or of zeros where contents is NULL. */
void *driver_memory(size_t bytes, const void *contents);
void driver_free(const void *memory);

/* Waits for everything; 0, or the driver's error. */
int driver_synchronize(void);

#endif
