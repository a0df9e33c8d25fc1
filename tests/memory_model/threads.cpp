// Threads as fibers, of which one runs at a time.  An execution either draws, by its number, when another thread goes on and which
// store a load returns, or, for programs without loops, takes the next of all sequences of choices.
#include "threads.h"

#include <elf.h>
#include <link.h>
#include <ucontext.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "checker.h"
#include "memory.h"

namespace model {

namespace {

constexpr size_t stack_bytes = 1 << 20;
constexpr int most_stale = 24;      // stores before the newest that a thread reads in an execution
constexpr int most_steps = 400000;  // of an execution
constexpr int most_in_turn = 400;   // steps of a thread while others could run

struct Thread {
  ucontext_t context;
  std::vector<char> stack, locals;
  int error;           // errno
  void *(*function)(void *);
  void *argument;
  bool exists, ended;
  const void *awaits;  // what it is blocked on; nullptr: it can run
  int stale;
  Knowledge start, end;
};

Thread threads[most_threads];
int running, steps, in_turn;
bool exploring;
const char *program_name = "";
int number_of_execution;
int64_t time_now = 1;

// ---- choices ----

bool takes_all;
std::vector<std::pair<int, int>> path;  // choices and their counts, of a program whose executions are all taken
size_t taken;
uint64_t state;
int switch_bits, stale_bits;            // another thread, or an older store, is chosen once in 2^bits times
int64_t time_step;                      // between two looks at the clock: slices of sleep end or not

uint64_t draw() {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state * 0x2545f4914f6cdd1du >> 33;
}

int choose(int count) {
  if (!takes_all) return static_cast<int>(draw() % static_cast<uint64_t>(count));
  if (taken == path.size()) path.emplace_back(0, count);
  return path[taken++].first;
}

bool next_path() {
  while (!path.empty() && path.back().first + 1 == path.back().second) path.pop_back();
  if (path.empty()) return false;
  path.back().first++;
  return true;
}

void begin_choices(int number) {
  taken = 0;
  state = static_cast<uint64_t>(number) * 0x9e3779b97f4a7c15u + 0x632be59bd9b4e019u;
  for (int i = 0; i < 4; i++) draw();
  switch_bits = 1 + 2 * static_cast<int>(draw() % 3);
  stale_bits = static_cast<int>(draw() % 4);
  time_step = draw() % 2 ? 20000 : 30000000;
}

// ---- switching ----

// The thread-local variables of the program, below the thread pointer, and their first values.
char *locals_begin;
size_t locals_bytes;
std::vector<char> first_locals;

int find_locals(dl_phdr_info *info, size_t, void *) {
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) &part = info->dlpi_phdr[i];
    if (part.p_type != PT_TLS) continue;
    locals_bytes = (part.p_memsz + part.p_align - 1) / part.p_align * part.p_align;
    locals_begin = static_cast<char *>(__builtin_thread_pointer()) - locals_bytes;
  }
  return 1;  // the program comes first
}

void run_function(int number) {
  Thread &thread = threads[number];
  memcpy(locals_begin, first_locals.data(), locals_bytes);
  take_over(number, thread.start);
  thread.function(thread.argument);
  hand_over(number, thread.end);
  thread.ended = true;
  wake_all(&thread);
  block(&thread.ended);
}

void switch_to(int number) {
  const int from = running;
  if (number == from) return;
  threads[from].locals.assign(locals_begin, locals_begin + locals_bytes);
  threads[from].error = errno;
  running = number;
  in_turn = 0;
  swapcontext(&threads[from].context, &threads[number].context);
  memcpy(locals_begin, threads[from].locals.data(), locals_bytes);
  errno = threads[from].error;
}

// Those that can run, without this one.  The first thread runs only when no other can.
int others_that_run(int others[most_threads]) {
  int count = 0;
  for (int i = 1; i < most_threads; i++)
    if (i != running && threads[i].exists && !threads[i].awaits) others[count++] = i;
  return count;
}

void go_on_with_any(bool turns) {
  int others[most_threads];
  const int count = others_that_run(others);
  if (!count) return;
  int next = others[0];
  if (exploring && !turns) next = others[choose(count)];
  else for (int i = count; i-- > 0;)
    if (others[i] > running) next = others[i];
  switch_to(next);
}

void run_all(void (*function)(int), int ranks) {
  static void (*called)(int);
  if (!function) return;
  called = function;
  for (int rank = 0; rank < ranks; rank++)
    start_thread([](void *argument) -> void * { called(static_cast<int>(reinterpret_cast<intptr_t>(argument))); return nullptr; },
                 reinterpret_cast<void *>(static_cast<intptr_t>(rank)));
  steps = in_turn = 0;
  for (int others[most_threads]; others_that_run(others);) {
    if (exploring) switch_to(others[choose(others_that_run(others))]);
    else switch_to(others[0]);
  }
  for (int rank = 1; rank <= ranks; rank++) {
    if (!threads[rank].ended) fail("thread %d waits, and nobody will wake it", rank);
    threads[rank].exists = false;
  }
}

}  // namespace

int current_thread() { return running; }
bool is_exploring() { return exploring; }

bool is_of_thread(const void *address) {
  const char *byte = static_cast<const char *>(address);
  return (byte >= locals_begin && byte < locals_begin + locals_bytes) || address == &errno;
}

void step() {
  if (!exploring) return;
  if (++steps > most_steps) fail("no end after %d steps", most_steps);
  int others[most_threads];
  if (takes_all) {
    if (in_turn++ == 0) return;  // it has just been chosen
    const int count = others_that_run(others), choice = choose(count + 1);
    if (choice) switch_to(others[choice - 1]);
  } else if (!(draw() & ((1u << switch_bits) - 1)) || ++in_turn > most_in_turn) {
    go_on_with_any(false);
  }
}

void give_way() {
  if (exploring && ++steps > most_steps) fail("no end after %d steps", most_steps);
  go_on_with_any(!exploring);
}

int choose_store(int count) {
  if (!exploring || count == 1) return 0;
  if (takes_all) return choose(count);
  int &stale = threads[running].stale;
  if (stale >= most_stale || draw() & ((1u << stale_bits) - 1)) return 0;
  const int chosen = choose(count);
  stale += chosen != 0;
  return chosen;
}

void block(const void *key) {
  threads[running].awaits = key;
  int others[most_threads];
  if (others_that_run(others)) go_on_with_any(false);
  else switch_to(0);
}

void wake_all(const void *key) {
  for (Thread &thread : threads)
    if (thread.awaits == key) thread.awaits = nullptr;
}

int start_thread(void *(*function)(void *), void *argument) {
  int number = 1;
  while (number < most_threads && threads[number].exists) number++;
  if (number == most_threads) fail("more than %d threads", most_threads);
  Thread &thread = threads[number];
  thread.stack.resize(stack_bytes);
  thread.function = function;
  thread.argument = argument;
  thread.exists = true;
  thread.ended = false;
  thread.awaits = nullptr;
  thread.start = thread.end = {};
  hand_over(running, thread.start);
  getcontext(&thread.context);
  thread.context.uc_stack.ss_sp = thread.stack.data();
  thread.context.uc_stack.ss_size = stack_bytes;
  makecontext(&thread.context, reinterpret_cast<void (*)()>(run_function), 1, number);
  return number;
}

void await_thread(int number) {
  Thread &thread = threads[number];
  while (!thread.ended) block(&thread);
  take_over(running, thread.end);
  thread.exists = false;
}

int64_t next_time() { return time_now += time_step; }

void fail(const char *format, ...) {
  va_list list;
  va_start(list, format);
  printf("%s: execution %d, thread %d: ", program_name, number_of_execution, running);
  vprintf(format, list);
  printf("\n");
  fflush(stdout);
  va_end(list);
  _Exit(1);
}

}  // namespace model

using namespace model;

void checker_run(const checker_program *program) {
  program_name = program->name;
  dl_iterate_phdr(find_locals, nullptr);
  first_locals.assign(locals_begin, locals_begin + locals_bytes);
  threads[0].exists = true;
  takes_all = !program->executions;
  path.clear();
  forget_all();
  number_of_execution = 0;
  run_all(program->set_up, program->ranks);
  do {
    begin_choices(++number_of_execution);
    run_all(program->begin, program->ranks);
    forget_all();
    for (Thread &thread : threads) thread.stale = 0;
    exploring = true;
    run_all(program->run, program->ranks);
    exploring = false;
    run_all(program->end, program->ranks);
  } while (takes_all ? next_path() : number_of_execution < program->executions);
}

int checker_choose(int count) { return choose(count); }

void checker_fail(const char *format, ...) {
  char text[512];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  fail("%s", text);
}
