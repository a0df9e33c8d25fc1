/* Reads what a trace or a dump has written. */
#include "harness/looking.h"

#include <dirent.h>

#include "harness/check.h"

const char *make_folder(void) {
    static char folder[4][64];
    static int next;
    char *name = folder[next++ % 4];
    strcpy(name, "/tmp/quern-look-XXXXXX");
    check(mkdtemp(name), "no temporary folder");
    return name;
}

const char *path_in(const char *folder, const char *name) {
    static char paths[8][512];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

/* One level of folders inside. */
static void empty(const char *folder) {
    DIR *directory = opendir(folder);
    if (!directory) return;
    for (const struct dirent *entry; (entry = readdir(directory));) {
        char path[768];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") && unlink(path) != 0) {
            empty(path);
            rmdir(path);
        }
    }
    closedir(directory);
}

void drop_folder(const char *folder) {
    empty(folder);
    rmdir(folder);
}

char *read_text(const char *path, size_t *bytes) {
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    fseek(file, 0, SEEK_END);
    const size_t size = (size_t)ftell(file);
    rewind(file);
    char *text = malloc(size + 1);
    const size_t got = text ? fread(text, 1, size, file) : 0;
    fclose(file);
    check(text && got == size, "%s cannot be read", path);
    text[size] = 0;
    if (bytes) *bytes = size;
    return text;
}

int count_files(const char *folder) {
    DIR *directory = opendir(folder);
    int count = 0;
    check(directory, "no folder %s", folder);
    for (const struct dirent *entry; (entry = readdir(directory));) count += entry->d_name[0] != '.';
    closedir(directory);
    return count;
}

/* The line from `text` on, to be freed; *next is behind it. */
static char *take_line(const char *text, const char **next) {
    const size_t length = strcspn(text, "\n");
    *next = text + length + (text[length] == '\n');
    return strndup(text, length);
}

char *find_line(const char *text, const char *part, const char *other, int n) {
    for (const char *at = text; *at;) {
        char *line = take_line(at, &at);
        if (strstr(line, part) && strstr(line, other) && n-- == 0) return line;
        free(line);
    }
    cr_assert_fail("no line with %s and %s in:\n%.4000s", part, other, text);
    return NULL;
}

int count_lines(const char *text, const char *part, const char *other) {
    int count = 0;
    for (const char *at = text; *at;) {
        SCOPED char *line = take_line(at, &at);
        count += strstr(line, part) && strstr(line, other);
    }
    return count;
}

double number_in(const char *line, const char *key) {
    const char *at = strstr(line, key);
    check(at, "no %s in %.2000s", key, line);
    char *end;
    const double number = strtod(at + strlen(key), &end);
    check(end != at + strlen(key), "no number behind %s in %.2000s", key, line);
    return number;
}

void *read_tensor(const char *path, const char *name, const char *dtype, const char *shape, size_t *bytes) {
    size_t size;
    char entry[256], *text = read_text(path, &size);
    check(text, "no file %s", path);
    uint64_t header;
    memcpy(&header, text, sizeof header);
    check(size >= 8 && header <= size - 8, "%s has %zu bytes and a header of %llu", path, size, (unsigned long long)header);
    snprintf(entry, sizeof entry, "\"%s\":{\"dtype\":\"%s\",\"shape\":%s,\"data_offsets\":[", name, dtype, shape);
    const char *at = memmem(text + 8, header, entry, strlen(entry));
    check(at, "no %s in %s: %.*s", entry, path, (int)header, text + 8);
    size_t begin, end;
    check(sscanf(at + strlen(entry), "%zu,%zu]", &begin, &end) == 2, "no offsets in %s", path);
    check(begin <= end && 8 + header + end <= size, "%s: %s ends behind the file", path, name);
    char *data = malloc(end - begin + 1);
    memcpy(data, text + 8 + header + begin, end - begin);
    if (bytes) *bytes = end - begin;
    free(text);
    return data;
}
