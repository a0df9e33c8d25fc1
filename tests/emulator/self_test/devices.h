// The common code of the self-tests of several devices: memory that devices share, and further processes.
#pragma once
#include <sys/socket.h>
#include <chrono>
#include <cstdint>
#include <cstring>

#include "driver.h"

static std::string program;
static constexpr size_t block = 2 << 20;  // granularity of virtual memory
static constexpr uint64_t second = 1000000000;

static double seconds_since(std::chrono::steady_clock::time_point t) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - t).count();
}

// ---- memory as the collective code will use it ----

static MemoryProp property(int device, unsigned handle_types = 1) { return {1, handle_types, {1, device}, nullptr, {}}; }

static Pointer map(Handle handle, size_t bytes, const std::vector<int> &devices) {
  const Pointer p = GIVEN(cuMemAddressReserve, bytes, 0, 0, 0);
  OK(cuMemMap(p, bytes, 0, handle, 0));
  for (int d : devices) {
    MemoryAccess access = {{1, d}, 3};
    OK(cuMemSetAccess(p, bytes, &access, 1));
  }
  return p;
}

static void unmap(Pointer p, size_t bytes) {
  OK(cuMemUnmap(p, bytes));
  OK(cuMemAddressFree(p, bytes));
}

static Handle create(int device, size_t bytes) {
  MemoryProp p = property(device);
  return GIVEN(cuMemCreate, bytes, &p, 0);
}

template <class T> static T read(Pointer p) {
  T value;
  OK(cuMemcpyDtoH_v2(&value, p, sizeof value));
  return value;
}

// ---- processes ----

// Starts this program again in a role; returns its process number and the socket to it.
static pid_t start_role(const char *role, int &socket) {
  int ends[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    std::string end = std::to_string(ends[1]);
    execl(program.c_str(), program.c_str(), directory.c_str(), role, end.c_str(), nullptr);
    _exit(127);
  }
  close(ends[1]);
  socket = ends[0];
  return child;
}

static int finish_role(pid_t child, int socket) {
  int status = 0;
  close(socket);
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// ---- the program ----

struct Role { const char *name; void (*run)(int socket); };

// Each begins on the first device.  In a role runs that role alone, for the process that started this one; else all tests.
template <size_t tests, size_t roles>
static int run_program(int count, char **arguments, const Test (&all)[tests], const Role (&other)[roles]) {
  if (count < 2) return fprintf(stderr, "usage: %s DIRECTORY [ROLE SOCKET]\n", arguments[0]), 2;
  program = arguments[0];
  setenv("QUERN_EMULATOR", "9.0,9.0", 0);
  start(arguments[1], "5", "/ranks.fatbin");
  if (count > 3) {
    test_name = arguments[2];
    for (const Role &r : other)
      if (test_name == r.name) r.run(atoi(arguments[3]));
    return failed != 0;
  }
  for (const Test &t : all) use_device(0), test_name = t.name, t.run();
  return end();
}
