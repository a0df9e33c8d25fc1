// The threads of the checker, of which one runs at a time, and the choices of an execution.  For memory.cpp and accesses.cpp.
#pragma once
#include <cstddef>
#include <cstdint>

namespace model {

int current_thread();

// Whether accesses are explored: not while a program is set up.
bool is_exploring();

// Before a step that other threads can see: perhaps another thread runs first.
void step();

// Another thread runs, if one can: this one waits for it without a word to wait for.
void give_way();

// One of the stores from the newest (0) back to the oldest that may be read.
int choose_store(int count);

// Ends the program: a line with the reason, the number of the execution and the thread.
[[noreturn]] void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Whether an address is of the thread-local variables, of which each thread has its own.
bool is_of_thread(const void *address);

// Blocks until wake_all of the same key.
void block(const void *key);
void wake_all(const void *key);

// A new thread; it begins when it is chosen.
int start_thread(void *(*function)(void *), void *argument);
void await_thread(int thread);

// From 0 on.
int64_t next_time();

}  // namespace model
