/* pools.c -- autorelease pools. */
#include "classes.h"

#include <stdio.h>
#include <stdlib.h>

struct pool {
    struct pool *outer;
    id *objects;
    size_t count, capacity;
};

static _Thread_local struct pool *innermost;

void *objc_autoreleasePoolPush(void)
{
    struct pool *pool = calloc(1, sizeof *pool);
    pool->outer = innermost;
    return innermost = pool;
}

/* Ends the pool and those inside it that were left by a return. */
void objc_autoreleasePoolPop(void *outermost)
{
    struct pool *ended;
    do {
        ended = innermost;
        for (size_t i = 0; i < ended->count; i++) /* which may add to the pool */
            objc_release(ended->objects[i]);
        innermost = ended->outer;
        free(ended->objects);
        free(ended);
    } while (ended != outermost);
}

id objc_autorelease(id object)
{
    struct pool *pool = innermost;
    if (!object)
        return NULL;
    if (!pool) {
        fprintf(stderr, "objc: %s autoreleased with no pool in place, it leaks\n",
                objc_is_block(object) ? "a block" : object->isa->name);
        return object;
    }
    if (pool->count == pool->capacity) {
        pool->capacity = pool->capacity ? 2 * pool->capacity : 16;
        pool->objects = realloc(pool->objects, pool->capacity * sizeof *pool->objects);
    }
    return pool->objects[pool->count++] = object;
}

/* -- What ARC calls ---------------------------------------------------------------- */

id objc_retainAutorelease(id object) { return objc_autorelease(objc_retain(object)); }

id objc_autoreleaseReturnValue(id object) { return objc_autorelease(object); }

id objc_retainAutoreleaseReturnValue(id object) { return objc_retainAutorelease(object); }

id objc_retainAutoreleasedReturnValue(id object) { return objc_retain(object); }

id objc_unsafeClaimAutoreleasedReturnValue(id object) { return object; }
