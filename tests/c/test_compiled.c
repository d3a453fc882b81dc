/* test_compiled.c -- the table of compiled kernels, and the thread that has them compiled. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "cpu/compiled/compiled.h"

enum { HOT = 3, N_KEYS = 100, N_THREADS = 4 };

static atomic_int n_calls, n_running;
static atomic_bool is_held; /* the compiler waits */

static void rest(void) { nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL); }

static void kernel(char *const *data, const intptr_t *strides, intptr_t n)
{
    (void)data, (void)strides, (void)n;
}

/* The first number of a key is the number of its runs, or the failure to return. */
static int compile(const short *key, int n, struct mx_compiled_run *runs)
{
    CHECK(atomic_fetch_add(&n_running, 1) == 0);
    while (atomic_load(&is_held))
        rest();
    for (int i = 1; i < n; i++)
        CHECK(key[i] == (short)(key[1] + i - 1));
    for (int r = 0; r < key[0]; r++)
        runs[r] = (struct mx_compiled_run){.first = r, .n_calls = n, .kernel = kernel};
    atomic_fetch_add(&n_calls, 1);
    atomic_fetch_sub(&n_running, 1);
    return key[0];
}

static struct mx_compiled_key make_key(int result, int number, int n)
{
    struct mx_compiled_key key = {.n = n};
    key.numbers[0] = (short)result;
    for (int i = 1; i < n; i++)
        key.numbers[i] = (short)(number + i - 1);
    return key;
}

static const struct mx_compiled *get(int result, int number)
{
    struct mx_compiled_key key = make_key(result, number, 5 + number % 40);
    return mx_compiled_get(&key, MX_COMPILED_WORK / HOT + 1);
}

static void make_hot(int result, int number)
{
    for (int i = 0; i < HOT; i++)
        get(result, number);
}

static void test_keys_are_compiled_when_they_are_hot(void)
{
    for (int i = 0; i < HOT; i++) {
        mx_compiled_wait();
        CHECK(!get(2, 1));
    }
    mx_compiled_wait();
    const struct mx_compiled *compiled = get(2, 1);
    CHECK(compiled && compiled->n_runs == 2 && compiled->runs[1].first == 1);
    CHECK(compiled->runs[1].n_calls == 6 && compiled->runs[1].kernel == kernel);
    CHECK(get(2, 1) == compiled && !get(2, 2));
    CHECK(atomic_load(&n_calls) == 1);
}

static void test_keys_without_kernels_are_compiled_once(void)
{
    struct mx_compiled_stats before, after;
    int calls = atomic_load(&n_calls);
    mx_compiled_stats(&before);
    for (int i = 0; i < 3 * HOT; i++) {
        CHECK(!get(0, 10) && !get(MX_COMPILER_FAILED, 11));
        mx_compiled_wait();
    }
    mx_compiled_stats(&after);
    CHECK(atomic_load(&n_calls) == calls + 2 && after.n_failures == before.n_failures + 1);
    CHECK(after.n_keys == before.n_keys + 2 && after.n_kernels == before.n_kernels);
}

static void *look_up(void *unused)
{
    for (int number = 100; number < 100 + N_KEYS; number++)
        while (!get(1, number))
            rest();
    return unused;
}

static void test_threads_share_kernels(void)
{
    pthread_t threads[N_THREADS];
    int calls = atomic_load(&n_calls);
    for (int t = 0; t < N_THREADS; t++)
        CHECK(pthread_create(&threads[t], NULL, look_up, NULL) == 0);
    for (int t = 0; t < N_THREADS; t++)
        CHECK(pthread_join(threads[t], NULL) == 0);
    CHECK(atomic_load(&n_calls) == calls + N_KEYS);
}

static void test_nothing_is_compiled_during_a_pause(void)
{
    mx_compiled_pause();
    int calls = atomic_load(&n_calls);
    make_hot(1, 300);
    for (int i = 0; i < 50; i++)
        rest();
    CHECK(atomic_load(&n_calls) == calls && !get(1, 300));
    mx_compiled_resume();
    mx_compiled_wait();
    CHECK(get(1, 300));
}

static int in_child(int (*function)(void))
{
    int status;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        mx_compiled_after_fork(true);
        _exit(function());
    }
    mx_compiled_after_fork(false);
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int compile_in_child(void)
{
    make_hot(1, 400);
    mx_compiled_wait();
    return get(1, 400) && get(2, 1) ? 7 : 1;
}

static int find_no_compiler(void)
{
    make_hot(1, 401);
    mx_compiled_wait();
    return mx_compiled_is_on() || get(1, 401) ? 1 : 7;
}

static void test_fork(void)
{
    mx_compiled_before_fork();
    CHECK(in_child(compile_in_child) == 7);
    atomic_store(&is_held, true);
    make_hot(1, 402);
    while (atomic_load(&n_running) == 0)
        rest();
    mx_compiled_before_fork();
    CHECK(in_child(find_no_compiler) == 7);
    atomic_store(&is_held, false);
    mx_compiled_wait();
    CHECK(get(1, 402));
}

static void test_immediate_compilation(void)
{
    mx_compiled_start(compile, true);
    CHECK(get(1, 500) && get(1, 500) && !get(0, 501));
    mx_compiled_start(compile, false);
}

static void test_the_table_is_finite(void)
{
    for (int number = 1000; number < 6000; number++)
        get(1, number);
    CHECK(get(2, 1)); /* it was there before */
}

static void test_a_missing_compiler_turns_it_off(void)
{
    struct mx_compiled_stats before, after;
    mx_compiled_start(compile, true);
    mx_compiled_stats(&before);
    CHECK(!get(MX_NO_COMPILER, 10));
    mx_compiled_stats(&after);
    CHECK(!mx_compiled_is_on() && !get(2, 1) && after.n_failures == before.n_failures);
}

static void test_stop(void)
{
    mx_compiled_start(compile, false);
    make_hot(1, 3);
    mx_compiled_stop();
    CHECK(!mx_compiled_is_on() && atomic_load(&n_running) == 0);
}

static void test_keys_are_forgotten_without_a_compiler(void)
{
    for (int round = 0; round < 2; round++) {
        int calls = atomic_load(&n_calls);
        mx_compiled_start(NULL, false);
        CHECK(!get(1, 3000));
        mx_compiled_start(compile, true);
        CHECK(get(1, 3000) && get(1, 9000) && atomic_load(&n_calls) == calls + 2);
    }
}

int main(void)
{
    CHECK(!get(1, 0) && !mx_compiled_is_on());
    mx_compiled_start(compile, false);
    test_keys_are_compiled_when_they_are_hot();
    test_keys_without_kernels_are_compiled_once();
    test_threads_share_kernels();
    test_nothing_is_compiled_during_a_pause();
    test_fork();
    test_immediate_compilation();
    test_a_missing_compiler_turns_it_off();
    test_stop();
    mx_compiled_start(compile, false);
    test_the_table_is_finite();
    test_keys_are_forgotten_without_a_compiler();
    puts("ok");
    return 0;
}
