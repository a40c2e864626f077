/* One system call of a process goes wrong: to be preloaded (LD_PRELOAD) into a writer.
 *
 *     gcc -O1 -shared -fPIC -o shim.so shim.c -ldl
 *
 * FAULT_ROOT   only files below this folder count
 * FAULT        CALL:NUMBER:ERRNO, say pwrite:3:28; the errno 0 shortens a write to half
 *
 * When it happens, "fault met" is said on stderr. Calls: pwrite fsync fdatasync ftruncate rename
 * unlink.
 *
 * CLOCK        another date for the process: +MS or -MS beside the machine's, =MS stands still
 *              (milliseconds since 1970). Clocks that only count, and the times of files, are as
 *              they are.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static char root[PATH_MAX], call[32];
static long number, seen;
static int wrong = -1;

__attribute__((constructor)) static void learn(void)
{
    const char *folder = getenv("FAULT_ROOT"), *fault = getenv("FAULT");
    if (!folder || !fault || !realpath(folder, root))
        return;
    if (sscanf(fault, "%31[^:]:%ld:%d", call, &number, &wrong) != 3)
        _exit(99);
}

static int is_below(const char *path)
{
    size_t length = strlen(root);
    return wrong >= 0 && !strncmp(path, root, length) && path[length] == '/';
}

/* Say whether this call is the one. */
static int is_met(const char *name, const char *path)
{
    if (!is_below(path) || strcmp(name, call) || ++seen != number)
        return 0;
    static const char said[] = "fault met\n";
    syscall(SYS_write, 2, said, sizeof said - 1);
    errno = wrong;
    return 1;
}

static int is_met_by(const char *name, int fd)
{
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return 0;
    path[length] = 0;
    return is_met(name, path);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off_t at)
{
    if (is_met_by("pwrite", fd)) {
        if (wrong)
            return -1;
        size /= 2;
    }
    return syscall(SYS_pwrite64, fd, data, size, at);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t at)
{
    return pwrite64(fd, data, size, at);
}

int fsync(int fd) { return is_met_by("fsync", fd) ? -1 : (int)syscall(SYS_fsync, fd); }

int fdatasync(int fd) { return is_met_by("fdatasync", fd) ? -1 : (int)syscall(SYS_fdatasync, fd); }

int ftruncate64(int fd, off_t size)
{
    return is_met_by("ftruncate", fd) ? -1 : (int)syscall(SYS_ftruncate, fd, size);
}

int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

int rename(const char *from, const char *to)
{
    static int (*real)(const char *, const char *);
    if (!real)
        real = (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename");
    return is_met("rename", from) ? -1 : real(from, to);
}

int unlink(const char *path)
{
    static int (*real)(const char *);
    if (!real)
        real = (int (*)(const char *))dlsym(RTLD_NEXT, "unlink");
    return is_met("unlink", path) ? -1 : real(path);
}

/* --- the clock ------------------------------------------------------------------------------- */

static long long clock_ms;
static char clock_kind;

__attribute__((constructor)) static void learn_clock(void)
{
    const char *told = getenv("CLOCK");
    if (told && sscanf(told, "%c%lld", &clock_kind, &clock_ms) != 2)
        _exit(99);
    if (clock_kind == '-')
        clock_ms = -clock_ms;
}

/* Let a time of the machine say what was told. */
static void say_clock(struct timespec *now)
{
    long long ms = clock_ms;
    if (!clock_kind)
        return;
    if (clock_kind != '=')
        ms += now->tv_sec * 1000LL + now->tv_nsec / 1000000;
    now->tv_sec = ms / 1000 - (ms % 1000 < 0);
    now->tv_nsec = (ms - now->tv_sec * 1000LL) * 1000000;
}

int clock_gettime(clockid_t which, struct timespec *now)
{
    int answer = (int)syscall(SYS_clock_gettime, which, now);
    if (!answer && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE))
        say_clock(now);
    return answer;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec exact;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &exact))
        return -1;
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *kept)
{
    struct timespec exact;
    if (clock_gettime(CLOCK_REALTIME, &exact))
        return -1;
    if (kept)
        *kept = exact.tv_sec;
    return exact.tv_sec;
}
