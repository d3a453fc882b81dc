/* weak.c -- weak references: a table of the variables that hold them. */
#include "classes.h"

#include <stdlib.h>

enum { BUCKETS = 1024 };

struct entry {
    struct entry *next;
    id *variable, object;
};

/* The lock is held from asking whether an object lives to retaining it. */
pthread_mutex_t objc_weak_lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *buckets[BUCKETS];

bool objc_try_retain(id object);

static struct entry **bucket_of(id object)
{
    return &buckets[(uintptr_t)object / 16 % BUCKETS];
}

static void add(id *variable, id object)
{
    struct entry *entry = malloc(sizeof *entry);
    struct entry **bucket = bucket_of(object);
    *entry = (struct entry){*bucket, variable, object};
    *bucket = entry;
}

static void drop(id *variable, id object)
{
    for (struct entry **link = bucket_of(object); *link; link = &(*link)->next)
        if ((*link)->variable == variable) {
            struct entry *found = *link;
            *link = found->next;
            free(found);
            return;
        }
}

static void assign(id *variable, id value)
{
    if (*variable)
        drop(variable, *variable);
    *variable = value;
    if (value)
        add(variable, value);
}

void objc_clear_weak(id object)
{
    pthread_mutex_lock(&objc_weak_lock);
    struct entry **link = bucket_of(object);
    while (*link) {
        struct entry *entry = *link;
        if (entry->object != object) {
            link = &entry->next;
            continue;
        }
        *entry->variable = NULL;
        *link = entry->next;
        free(entry);
    }
    pthread_mutex_unlock(&objc_weak_lock);
}

id objc_storeWeak(id *variable, id value)
{
    pthread_mutex_lock(&objc_weak_lock);
    bool lives = value && objc_try_retain(value);
    assign(variable, lives ? value : NULL);
    pthread_mutex_unlock(&objc_weak_lock);
    if (lives)
        objc_release(value);
    return lives ? value : NULL;
}

id objc_initWeak(id *variable, id value)
{
    *variable = NULL;
    return objc_storeWeak(variable, value);
}

id objc_loadWeakRetained(id *variable)
{
    pthread_mutex_lock(&objc_weak_lock);
    id object = *variable;
    if (object && !objc_try_retain(object))
        object = NULL;
    pthread_mutex_unlock(&objc_weak_lock);
    return object;
}

id objc_loadWeak(id *variable) { return objc_autorelease(objc_loadWeakRetained(variable)); }

void objc_destroyWeak(id *variable) { objc_storeWeak(variable, NULL); }

void objc_copyWeak(id *to, id *from)
{
    id object = objc_loadWeakRetained(from);
    objc_initWeak(to, object);
    objc_release(object);
}

void objc_moveWeak(id *to, id *from)
{
    objc_copyWeak(to, from);
    objc_destroyWeak(from);
}
