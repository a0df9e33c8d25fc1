/* What the library must give back to the process: threads, descriptors and memory. */
#ifndef FUZZ_PROCESS_H
#define FUZZ_PROCESS_H

/* Counts what the process has, while no device is open. */
void process_remember(void);

/* Ends the process if it has other threads or descriptors, or if memory is lost: LeakSanitizer prints where it was allocated. */
void process_check(void);

#endif
