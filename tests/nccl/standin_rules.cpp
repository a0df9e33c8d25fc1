// Complaints about broken rules, and the faults that a test asks for.
#include "standin.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace standin {

namespace {

std::mutex lock;
std::string set;
bool is_set;
std::atomic<bool> forgives{false};
std::string complaints;
thread_local char last[512];

std::string format_list(const char *format, va_list list) {
  char text[512];
  vsnprintf(text, sizeof text, format, list);
  return text;
}

std::string settings() {
  std::lock_guard<std::mutex> hold(lock);
  const char *value = getenv("QUERN_NCCL_STANDIN");
  return is_set ? set : value ? value : "";
}

// Calls a function with each item of the settings until it returns true.
template <class Function> void each_item(Function function) {
  std::string all = settings();
  for (size_t at = 0; at < all.size();) {
    size_t end = all.find(',', at);
    if (end == std::string::npos) end = all.size();
    if (function(all.substr(at, end - at))) return;
    at = end + 1;
  }
}

int number_behind(const std::string &item, char mark, int otherwise) {
  const size_t at = item.find(mark);
  return at == std::string::npos ? otherwise : atoi(item.c_str() + at + 1);
}

}  // namespace

ncclResult_t complain(const char *format, ...) {
  va_list list;
  va_start(list, format);
  std::string text = format_list(format, list);
  va_end(list);
  fprintf(stderr, "libnccl stand-in: %s\n", text.c_str());
  if (!forgives) abort();
  std::lock_guard<std::mutex> hold(lock);
  complaints += text + "\n";
  snprintf(last, sizeof last, "%s", text.c_str());
  return ncclInvalidUsage;
}

ncclResult_t refuse(ncclResult_t result, const char *format, ...) {
  va_list list;
  va_start(list, format);
  snprintf(last, sizeof last, "%s", format_list(format, list).c_str());
  va_end(list);
  return result;
}

const char *last_text() { return last; }

// POINT:fail=CODE, POINT:delay=MILLISECONDS, POINT:asks=QUESTIONS or POINT:hang; behind it ~RANKS of the communicator, @RANK in
// it, !NUMBER of it, %HOST and #CALL, the first call of the point that it concerns.
Fault fault_at(const char *point, const Place &place, long call) {
  static const struct {
    const char *name;
    Fault::Kind kind;
  } kinds[] = {{"fail", Fault::fail}, {"delay", Fault::delay}, {"asks", Fault::asks}, {"hang", Fault::hang}};
  Fault fault;
  const char *named = getenv("NCCL_HOSTID");
  const int host = named ? atoi(named) : 0;
  each_item([&](const std::string &item) {
    const size_t colon = item.find(':');
    if (colon == std::string::npos || item.substr(0, colon) != point) return false;
    if (number_behind(item, '~', place.ranks) != place.ranks || number_behind(item, '@', place.rank) != place.rank) return false;
    if (number_behind(item, '!', int(place.number)) != place.number || number_behind(item, '%', host) != host ||
        call < number_behind(item, '#', 0)) return false;
    for (auto &kind : kinds)
      if (!item.compare(colon + 1, strlen(kind.name), kind.name)) fault.kind = kind.kind;
    if (fault.kind == Fault::none) fprintf(stderr, "libnccl stand-in: unknown fault %s\n", item.c_str()), abort();
    fault.value = number_behind(item, '=', 0);
    return true;
  });
  return fault;
}

int setting(const char *name, int otherwise) {
  const std::string begin = std::string(name) + "=";
  each_item([&](const std::string &item) {
    if (item.compare(0, begin.size(), begin)) return false;
    otherwise = atoi(item.c_str() + begin.size());
    return true;
  });
  return otherwise;
}

}  // namespace standin

using namespace standin;

// ---- for tests ----

// Takes the place of QUERN_NCCL_STANDIN.  NULL: the variable counts again.
API void quern_standin_set(const char *settings) {
  std::lock_guard<std::mutex> hold(lock);
  is_set = settings != nullptr;
  set = settings ? settings : "";
}

// From now on a broken rule is an error of the call, and its text is kept.
API void quern_standin_forgive(void) { forgives = true; }

// The kept texts, a line each; they are forgotten then.
API void quern_standin_complaints(char *buffer, size_t bytes) {
  std::lock_guard<std::mutex> hold(lock);
  snprintf(buffer, bytes, "%s", complaints.c_str());
  complaints.clear();
}
