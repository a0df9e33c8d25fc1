/* What the shared object engine.so exports to host.c.  Every function returns NULL, or the reason why it failed. */
#ifndef UNLOADING_ENGINE_H
#define UNLOADING_ENGINE_H

struct engine {
    const char *(*open)(int devices);          /* opens devices of several threads each, and prepares Adam */
    const char *(*use)(void);                  /* one step of Adam on every device, on several threads */
    const char *(*close)(void);                /* closes the devices */
    const char *(*close_at_unload)(void);      /* registers an exit handler that does so, like a static object of C++ */
    const char *(*join)(const char *name, int rank, int ranks);  /* makes a group with symmetric memory and a plan */
    const char *(*meet)(int rank);             /* waits for the other rank */
    const char *(*log)(void);                  /* sends lines to a callback of the engine, and opens one more device */
    const char *(*linger)(int milliseconds);   /* the time that the engine's last destructor sleeps, after the library's */
};

#endif
