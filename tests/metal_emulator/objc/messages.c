/* messages.c -- finds the method for a message. */
#include "classes.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CACHE_SIZE = 512, CACHE_PROBES = 8 };

/* Entries are only ever added: a reader that finds its name may use the method. */
struct cache_entry {
    const char *_Atomic name;
    IMP method;
};

struct objc_super {
    id self;
    Class class;
};

static unsigned probe(const char *name, unsigned n)
{
    return (unsigned)((uintptr_t)name / 8 + n) % CACHE_SIZE;
}

static IMP search_lists(Class class, const char *name)
{
    for (; class; class = class->superclass)
        for (struct method_list *list = class->methods; list; list = list->next)
            for (int i = 0; i < list->count; i++)
                if (list->methods[i].name == name)
                    return list->methods[i].implementation;
    return NULL;
}

static IMP search_cache(struct cache_entry *cache, const char *name)
{
    for (unsigned n = 0; n < CACHE_PROBES; n++) {
        struct cache_entry *entry = &cache[probe(name, n)];
        const char *found = atomic_load_explicit(&entry->name, memory_order_acquire);
        if (found == name)
            return entry->method;
        if (!found)
            return NULL;
    }
    return NULL;
}

static void add_to_cache(struct cache_entry *cache, const char *name, IMP method)
{
    for (unsigned n = 0; n < CACHE_PROBES; n++) {
        struct cache_entry *entry = &cache[probe(name, n)];
        if (entry->name)
            continue;
        entry->method = method;
        atomic_store_explicit(&entry->name, name, memory_order_release);
        return;
    }
}

IMP objc_find_method(Class class, const char *name)
{
    struct cache_entry *cache = __atomic_load_n(&class->cache, __ATOMIC_ACQUIRE);
    IMP method = cache ? search_cache(cache, name) : NULL;
    if (method)
        return method;
    pthread_mutex_lock(&objc_lock);
    if (!class->cache)
        __atomic_store_n(&class->cache, calloc(CACHE_SIZE, sizeof *cache), __ATOMIC_RELEASE);
    method = search_lists(class, name);
    if (method)
        add_to_cache(class->cache, name, method);
    pthread_mutex_unlock(&objc_lock);
    return method;
}

void objc_destroy_ivars(id object)
{
    static const char *_Atomic destructor;
    if (!destructor) {
        pthread_mutex_lock(&objc_lock);
        destructor = objc_intern(".cxx_destruct");
        pthread_mutex_unlock(&objc_lock);
    }
    for (Class class = object->isa; class; class = class->superclass)
        for (struct method_list *list = class->methods; list; list = list->next)
            for (int i = 0; i < list->count; i++)
                if (list->methods[i].name == destructor)
                    ((void (*)(id, SEL))list->methods[i].implementation)(object, NULL);
}

/* -- What compiled code calls ------------------------------------------------------ */

static id answer_nil(void) { return NULL; }

static id copy_block(id block) { return _Block_copy(block); }

static void release_block(id block) { _Block_release(block); }

static id autorelease_block(id block) { return objc_autorelease(block); }

static IMP find_block_method(const char *name)
{
    if (!strcmp(name, "release"))
        return (IMP)release_block;
    if (!strcmp(name, "autorelease"))
        return (IMP)autorelease_block;
    return (IMP)copy_block; /* copy and retain */
}

static _Noreturn void fail(id receiver, const char *class_name, const char *name)
{
    bool is_class = receiver->isa->info & CLASS_IS_METACLASS;
    fprintf(stderr, "objc: %c[%s %s]: unrecognized selector\n", is_class ? '+' : '-',
            class_name, name);
    abort();
}

static _Noreturn void fail_dead(id receiver, const char *name)
{
    fprintf(stderr, "objc: -[%s %s]: message sent to deallocated instance %p\n",
            receiver->isa->name, name, (void *)receiver);
    abort();
}

IMP objc_msg_lookup(id receiver, SEL selector)
{
    if (!receiver)
        return (IMP)answer_nil;
    if (objc_is_block(receiver))
        return find_block_method(selector->name);
    if (objc_is_dead(receiver))
        fail_dead(receiver, selector->name);
    IMP method = objc_find_method(receiver->isa, selector->name);
    if (!method)
        fail(receiver, receiver->isa->name, selector->name);
    return method;
}

IMP objc_msg_lookup_stret(id receiver, SEL selector)
{
    return objc_msg_lookup(receiver, selector);
}

IMP objc_msg_lookup_super(struct objc_super *super, SEL selector)
{
    IMP method = objc_find_method(super->class, selector->name);
    if (!method)
        fail(super->self, super->class->name, selector->name);
    return method;
}

IMP objc_msg_lookup_super_stret(struct objc_super *super, SEL selector)
{
    return objc_msg_lookup_super(super, selector);
}

/* -- Questions --------------------------------------------------------------------- */

bool objc_responds(id object, SEL selector)
{
    return object && objc_find_method(object->isa, selector->name);
}

bool objc_is_kind_of(id object, Class class)
{
    for (Class own = object->isa; own; own = own->superclass)
        if (own == class)
            return true;
    return false;
}

const char *objc_class_name(id object) { return object->isa->name; }
