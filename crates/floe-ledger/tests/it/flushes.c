/* Loaded into a program before its C library (flushes.rs). Notes each call that changes or flushes a file: one line in the
   file that FLOE_TEST_CALLS names, with the call and its paths. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define C_LIBRARY(call) ((__typeof__(&call))dlsym(RTLD_NEXT, #call))

static void note(const char *call, const char *path, const char *to)
{
    char line[2 * PATH_MAX + 32];
    int bytes = snprintf(line, sizeof line, "%s\t%s\t%s\n", call, path, to);
    int calls = open(getenv("FLOE_TEST_CALLS"), O_WRONLY | O_APPEND);
    /* Not by `write`, which is noted. A test without its lines fails. */
    syscall(SYS_write, calls, line, bytes);
    close(calls);
}

static void note_file(const char *call, int file)
{
    char name[32], path[PATH_MAX];
    snprintf(name, sizeof name, "/proc/self/fd/%d", file);
    ssize_t bytes = readlink(name, path, sizeof path - 1);
    path[bytes < 0 ? 0 : bytes] = 0;
    note(call, file == STDOUT_FILENO ? "stdout" : path, "");
}

ssize_t write(int file, const void *bytes, size_t count)
{
    ssize_t written = C_LIBRARY(write)(file, bytes, count);
    if (written > 0)
        note_file("write", file);
    return written;
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset)
{
    ssize_t written = C_LIBRARY(pwrite)(file, bytes, count, offset);
    if (written > 0)
        note_file("write", file);
    return written;
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset)
{
    ssize_t written = C_LIBRARY(pwrite64)(file, bytes, count, offset);
    if (written > 0)
        note_file("write", file);
    return written;
}

int fsync(int file)
{
    int failed = C_LIBRARY(fsync)(file);
    if (!failed)
        note_file("flush", file);
    return failed;
}

int fdatasync(int file)
{
    int failed = C_LIBRARY(fdatasync)(file);
    if (!failed)
        note_file("flush", file);
    return failed;
}

int mkdir(const char *path, mode_t mode)
{
    int failed = C_LIBRARY(mkdir)(path, mode);
    if (!failed)
        note("mkdir", path, "");
    return failed;
}

int link(const char *path, const char *to)
{
    int failed = C_LIBRARY(link)(path, to);
    if (!failed)
        note("link", path, to);
    return failed;
}

int linkat(int dir, const char *path, int to_dir, const char *to, int flags)
{
    int failed = C_LIBRARY(linkat)(dir, path, to_dir, to, flags);
    if (!failed)
        note("link", path, to);
    return failed;
}

int rename(const char *path, const char *to)
{
    int failed = C_LIBRARY(rename)(path, to);
    if (!failed)
        note("rename", path, to);
    return failed;
}

int unlink(const char *path)
{
    int failed = C_LIBRARY(unlink)(path);
    if (!failed)
        note("unlink", path, "");
    return failed;
}
