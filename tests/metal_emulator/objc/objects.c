/* objects.c -- objects, their reference counts, and dead objects. */
#include "classes.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In front of every object.  The size keeps what follows aligned as malloc does. */
struct header {
    _Atomic long references;
    _Atomic long state;
};

/* Numbers that chance does not bring, so that a wild pointer is told from an object. */
#define ALIVE 0x4c4956454f424a01L
#define DYING 0x4459494e474f4201L /* its dealloc runs: references do not count any more */
#define DEAD  0x444541444f424a01L

static _Atomic long live_objects;

/* A ring of the dead, the oldest of which is freed for good when another dies. */
static struct {
    struct header *dead[DEAD_OBJECTS];
    size_t next;
} ring;
pthread_mutex_t objc_dead_lock = PTHREAD_MUTEX_INITIALIZER;

static struct header *header_of(id object) { return (struct header *)object - 1; }

static void bury(struct header *header)
{
    pthread_mutex_lock(&objc_dead_lock);
    struct header *oldest = ring.dead[ring.next];
    ring.dead[ring.next] = header;
    ring.next = (ring.next + 1) % DEAD_OBJECTS;
    pthread_mutex_unlock(&objc_dead_lock);
    free(oldest);
}

/* Classes and constant strings, which have no header. */
static bool is_immortal(id object)
{
    Class class = object->isa;
    return class == &_OBJC_CLASS_NSConstantString || (class->info & CLASS_IS_METACLASS);
}

static bool is_counted(id object) { return !objc_is_block(object) && !is_immortal(object); }

bool objc_is_dead(id object)
{
    return object && is_counted(object) && header_of(object)->state == DEAD;
}

static void demand_life(id object, const char *message)
{
    long state = header_of(object)->state;
    if (state == ALIVE || state == DYING)
        return;
    if (state == DEAD)
        fprintf(stderr, "objc: -[%s %s]: message sent to deallocated instance %p\n",
                object->isa->name, message, (void *)object);
    else
        fprintf(stderr, "objc: %s sent to %p, which is no object\n", message, (void *)object);
    abort();
}

/* -- Life -------------------------------------------------------------------------- */

id objc_new_object(Class class)
{
    struct header *header = calloc(1, sizeof *header + (size_t)class->size);
    if (!header)
        abort();
    header->references = 1;
    header->state = ALIVE;
    id object = (id)(header + 1);
    object->isa = class;
    atomic_fetch_add(&live_objects, 1);
    return object;
}

void objc_dispose_object(id object)
{
    objc_clear_weak(object);
    objc_destroy_ivars(object);
    header_of(object)->state = DEAD;
    atomic_fetch_sub(&live_objects, 1);
    bury(header_of(object));
}

long objc_live_objects(void) { return live_objects; }

static void deallocate(id object)
{
    static SEL _Atomic dealloc;
    if (!dealloc)
        dealloc = sel_registerName("dealloc");
    header_of(object)->state = DYING;
    ((void (*)(id, SEL))objc_find_method(object->isa, dealloc->name))(object, dealloc);
}

/* -- References -------------------------------------------------------------------- */

id objc_retain(id object)
{
    if (!object)
        return NULL;
    if (objc_is_block(object))
        return _Block_copy(object);
    if (is_immortal(object))
        return object;
    demand_life(object, "retain");
    atomic_fetch_add(&header_of(object)->references, 1);
    return object;
}

/* Adds a reference if the object still has one.  Returns whether it did. */
bool objc_try_retain(id object)
{
    if (!is_counted(object))
        return objc_retain(object);
    struct header *header = header_of(object);
    long references = header->references;
    do {
        if (references <= 0 || header->state != ALIVE)
            return false;
    } while (!atomic_compare_exchange_weak(&header->references, &references, references + 1));
    return true;
}

void objc_release(id object)
{
    if (!object)
        return;
    if (objc_is_block(object)) {
        _Block_release(object);
        return;
    }
    if (is_immortal(object))
        return;
    demand_life(object, "release");
    if (atomic_fetch_sub(&header_of(object)->references, 1) == 1 &&
        header_of(object)->state == ALIVE)
        deallocate(object);
}

long objc_reference_count(id object)
{
    return is_counted(object) ? header_of(object)->references : 1;
}

void objc_storeStrong(id *variable, id value)
{
    id old = *variable;
    *variable = objc_retain(value);
    objc_release(old);
}

/* -- Properties -------------------------------------------------------------------- */

enum { PROPERTY_LOCKS = 64 };
static pthread_mutex_t property_locks[PROPERTY_LOCKS] = {[0 ... PROPERTY_LOCKS - 1] =
                                                             PTHREAD_MUTEX_INITIALIZER};

static pthread_mutex_t *lock_of(id *variable)
{
    return &property_locks[(uintptr_t)variable / sizeof *variable % PROPERTY_LOCKS];
}

void objc_setProperty(id self, SEL selector, ptrdiff_t offset, id value, signed char is_atomic,
                      signed char copies)
{
    (void)selector;
    (void)is_atomic; /* all are */
    (void)copies;    /* strings and blocks, which retain copies or need not copy */
    id *variable = (id *)((char *)self + offset);
    objc_retain(value);
    pthread_mutex_lock(lock_of(variable));
    id old = *variable;
    *variable = value;
    pthread_mutex_unlock(lock_of(variable));
    objc_release(old);
}

id objc_getProperty(id self, SEL selector, ptrdiff_t offset, signed char is_atomic)
{
    (void)selector;
    (void)is_atomic;
    id *variable = (id *)((char *)self + offset);
    pthread_mutex_lock(lock_of(variable));
    id value = objc_retain(*variable);
    pthread_mutex_unlock(lock_of(variable));
    return objc_autorelease(value);
}

void objc_enumerationMutation(id collection)
{
    fprintf(stderr, "objc: %s was changed while enumerated\n", collection->isa->name);
    abort();
}

/* Clang names it where a block or ARC cleans up; nothing is ever thrown. */
int __gnu_objc_personality_v0(void) { return 8; }
