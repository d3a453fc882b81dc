/* test_code_cache.c -- compiled kernels on disk: keys, damaged files, folders of others, and
 * the files that are deleted when there are too many. */
#include "base/code_cache.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

static char folder[] = "/tmp/mxnp_code_cache.XXXXXX";
static const char *cache = folder;

static struct mx_code_key key_of(const char *text)
{
    return mx_code_cache_add((struct mx_code_key){{0}}, text, strlen(text));
}

static bool are_equal(struct mx_code_key a, struct mx_code_key b)
{
    return memcmp(a.words, b.words, sizeof a.words) == 0;
}

/* Returns whether the code of a key is these bytes. */
static bool holds(const char *key, const char *code)
{
    size_t size = 0;
    char *found = mx_code_cache_read(cache, key_of(key), &size);
    bool is_right = found && size == strlen(code) && memcmp(found, code, size + 1) == 0;
    free(found);
    return is_right;
}

static bool lacks(const char *key)
{
    size_t size;
    char *found = mx_code_cache_read(cache, key_of(key), &size);
    free(found);
    return !found;
}

static void write_code(const char *key, const char *code)
{
    mx_code_cache_write(cache, key_of(key), code, strlen(code));
}

static void path_of(char *path, size_t size, const char *key)
{
    struct mx_code_key words = key_of(key);
    snprintf(path, size, "%s/%016llx%016llx.code", folder, words.words[0], words.words[1]);
}

/* Replaces a byte of the file of a key; places less than 0 count from its end. */
static void damage(const char *key, long at)
{
    char path[128];
    path_of(path, sizeof path, key);
    FILE *file = fopen(path, "r+b");
    CHECK(file && fseek(file, at, at < 0 ? SEEK_END : SEEK_SET) == 0);
    int byte = fgetc(file);
    CHECK(fseek(file, at, at < 0 ? SEEK_END : SEEK_SET) == 0);
    CHECK(fputc(byte ^ 1, file) != EOF && fclose(file) == 0);
}

/* Texts that differ in one byte, wherever it is, have different keys, as have other parts. */
static void test_keys(void)
{
    char text[41];
    memset(text, 'x', sizeof text);
    text[40] = 0;
    for (size_t length = 1; length <= 40; length++) {
        struct mx_code_key key = mx_code_cache_add((struct mx_code_key){{0}}, text, length);
        CHECK(key.words[0] != key.words[1]);
        for (size_t at = 0; at < length; at++) {
            text[at] = 'y';
            CHECK(!are_equal(key, mx_code_cache_add((struct mx_code_key){{0}}, text, length)));
            text[at] = 'x';
        }
    }
    struct mx_code_key ab_c = mx_code_cache_add(key_of("ab"), "c", 1);
    CHECK(!are_equal(ab_c, mx_code_cache_add(key_of("a"), "bc", 2)));
    CHECK(!are_equal(ab_c, mx_code_cache_add(key_of("c"), "ab", 2)));
    CHECK(are_equal(ab_c, mx_code_cache_add(key_of("ab"), "c", 1)));
    CHECK(!are_equal(key_of(""), mx_code_cache_add(key_of(""), "", 0)));
}

static void test_codes_are_kept(void)
{
    CHECK(lacks("first"));
    write_code("first", "the code");
    write_code("second", "other code");
    CHECK(holds("first", "the code") && holds("second", "other code") && lacks("third"));
    write_code("first", "new");
    CHECK(holds("first", "new"));
    mx_code_cache_clear(cache);
    CHECK(lacks("first") && lacks("second"));
}

/* A byte of the head, of the sum or of the code is another one; or the end is missing. */
static void test_damaged_files(void)
{
    static const long places[] = {0, 15, 16, 31, 32, 40, -1};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        write_code("key", "some bytes of code");
        CHECK(holds("key", "some bytes of code"));
        damage("key", places[i]);
        CHECK(lacks("key"));
    }
    char path[128];
    write_code("key", "some bytes of code");
    path_of(path, sizeof path, "key");
    CHECK(truncate(path, 45) == 0 && lacks("key"));
    CHECK(truncate(path, 10) == 0 && lacks("key"));
}

/* Code is read neither through a link nor from a folder that others may write to. */
static void test_files_of_others(void)
{
    char path[128], target[140];
    write_code("key", "code");
    path_of(path, sizeof path, "key");
    snprintf(target, sizeof target, "%s.moved", path);
    CHECK(rename(path, target) == 0 && symlink(target, path) == 0 && lacks("key"));
    CHECK(unlink(path) == 0 && rename(target, path) == 0 && holds("key", "code"));
    static const mode_t modes[] = {0720, 0702, 0777};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        CHECK(chmod(folder, modes[i]) == 0 && lacks("key"));
        write_code("other", "code");
    }
    CHECK(chmod(folder, 0700) == 0 && holds("key", "code") && lacks("other"));
    mx_code_cache_clear(cache);
}

/* Files are sparse, so that they are large and take no place. */
static void add_large(const char *key, long used)
{
    char path[128];
    struct timespec times[2] = {{.tv_sec = used / 10, .tv_nsec = used % 10},
                                {.tv_sec = used / 10, .tv_nsec = used % 10}};
    write_code(key, "code");
    path_of(path, sizeof path, key);
    CHECK(truncate(path, 100 << 20) == 0 && utimensat(AT_FDCWD, path, times, 0) == 0);
}

static bool exists(const char *key)
{
    char path[128];
    path_of(path, sizeof path, key);
    return access(path, F_OK) == 0;
}

/* If there are more than 256 MiB, those that were not used for longest are deleted. */
static void test_too_many_files(void)
{
    write_code("kept", "code");
    add_large("a", 10000000002);
    add_large("b", 10000000001);
    add_large("c", 9999999999);
    add_large("d", 10000000011);
    for (int i = 0; i < 64; i++) /* one of them looks at the size */
        write_code("kept", "code");
    CHECK(exists("kept") && exists("d") && exists("a") && !exists("b") && !exists("c"));
    mx_code_cache_clear(cache);
    CHECK(!exists("a") && !exists("d") && !exists("kept"));

    /* Reading counts as use. */
    add_large("a", 10000000001);
    add_large("b", 10000000002);
    char path[128];
    struct timespec long_ago[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    write_code("read", "code");
    path_of(path, sizeof path, "read");
    CHECK(utimensat(AT_FDCWD, path, long_ago, 0) == 0 && holds("read", "code"));
    add_large("c", 10000000003);
    for (int i = 0; i < 64; i++)
        write_code("kept", "code");
    CHECK(exists("read") && !exists("a") && exists("b") && exists("c"));
    mx_code_cache_clear(cache);
}

static void test_no_folder(void)
{
    cache = "";
    write_code("key", "code");
    CHECK(lacks("key"));
    cache = "/proc/no/such/folder";
    write_code("key", "code");
    CHECK(lacks("key"));
    mx_code_cache_clear(cache);
    cache = folder;
}

int main(void)
{
    CHECK(mkdtemp(folder));
    test_keys();
    test_codes_are_kept();
    test_damaged_files();
    test_files_of_others();
    test_too_many_files();
    test_no_folder();
    CHECK(rmdir(folder) == 0);
    return 0;
}
