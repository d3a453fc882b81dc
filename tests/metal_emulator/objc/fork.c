/* fork.c -- opens the runtime's locks in a forked process, in which their holders do not exist. */
#include "classes.h"

static pthread_mutex_t *const locks[] = {&objc_lock, &objc_dead_lock, &objc_weak_lock};
enum { LOCKS = sizeof locks / sizeof *locks };

static void take_all(void)
{
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_lock(locks[i]);
}

static void give_back_all(void)
{
    for (int i = LOCKS; i-- > 0;)
        pthread_mutex_unlock(locks[i]);
}

__attribute__((constructor)) static void prepare(void)
{
    pthread_atfork(take_all, give_back_all, give_back_all);
}
