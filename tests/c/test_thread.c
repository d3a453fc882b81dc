/* test_thread.c -- threads of the core do not handle the signals of the program. */
#define _GNU_SOURCE /* pthread_getattr_np */
#include "base/thread.h"

#include <pthread.h>
#include <signal.h>

#include "check.h"

static sigset_t mask;
static size_t stack_size;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_ended = PTHREAD_COND_INITIALIZER;
static int n_ended;

static void *look(void *argument)
{
    CHECK(argument == &mask);
    CHECK(pthread_mutex_lock(&lock) == 0);
    CHECK(pthread_sigmask(SIG_SETMASK, NULL, &mask) == 0);
#ifdef __linux__
    pthread_attr_t attributes;
    int state;
    CHECK(pthread_getattr_np(pthread_self(), &attributes) == 0);
    CHECK(pthread_attr_getstacksize(&attributes, &stack_size) == 0);
    CHECK(pthread_attr_getdetachstate(&attributes, &state) == 0);
    CHECK(state == PTHREAD_CREATE_DETACHED);
    pthread_attr_destroy(&attributes);
#endif
    n_ended++;
    CHECK(pthread_cond_signal(&has_ended) == 0);
    CHECK(pthread_mutex_unlock(&lock) == 0);
    return NULL;
}

int main(void)
{
    static const int blocked[] = {SIGINT, SIGTERM, SIGALRM, SIGUSR1, SIGCHLD, SIGPROF};
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    sigset_t before, after;
    sigemptyset(&before);
    sigaddset(&before, SIGUSR2);
    CHECK(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
    CHECK(mx_thread_start(look, &mask, (size_t)3 << 20));
    CHECK(pthread_mutex_lock(&lock) == 0);
    while (n_ended == 0)
        CHECK(pthread_cond_wait(&has_ended, &lock) == 0);
    CHECK(pthread_mutex_unlock(&lock) == 0);

    for (size_t i = 0; i < sizeof blocked / sizeof *blocked; i++)
        CHECK(sigismember(&mask, blocked[i]) == 1);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        CHECK(sigismember(&mask, faults[i]) == 0);
    CHECK(pthread_sigmask(SIG_SETMASK, NULL, &after) == 0);
    CHECK(sigismember(&after, SIGUSR2) == 1 && sigismember(&after, SIGINT) == 0);
#ifdef __linux__
    CHECK(stack_size >= (size_t)3 << 20 && stack_size <= (size_t)4 << 20);
#endif
    return 0;
}
