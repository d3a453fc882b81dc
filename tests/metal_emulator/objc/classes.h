/* classes.h -- clang's records of classes in object files, and the classes made of them. */
#pragma once
#include "runtime.h"

#include <pthread.h>

struct method {
    const char *name, *types;
    IMP implementation;
};

struct method_list {
    struct method_list *next;
    int count;
    struct method methods[];
};

struct ivar {
    const char *name, *type;
    int offset;
};

struct ivar_list {
    int count;
    struct ivar ivars[];
};

#define CLASS_IS_METACLASS 2 /* of info */

struct objc_class {
    Class isa;
    Class superclass; /* its name, before the class is resolved */
    const char *name;
    long version;
    unsigned long info;
    long size; /* of an instance; before it is resolved: minus that of the own ivars */
    struct ivar_list *ivars;
    struct method_list *methods;
    void *cache; /* the runtime's own, from here to siblings */
    Class subclasses, siblings;
    void *protocols, *extra;
    long abi_version;
    int **ivar_offsets;
    void *properties;
    long strong_pointers, weak_pointers;
};

/* Held while classes, selectors or caches change. */
extern pthread_mutex_t objc_lock;

/* Held while an object is buried; while weak references change. */
extern pthread_mutex_t objc_dead_lock, objc_weak_lock;

/* Returns the method of the class's instances for a name, or NULL. */
IMP objc_find_method(Class class, const char *name);

/* Calls the class's own .cxx_destruct and those of its superclasses: ARC's ivars. */
void objc_destroy_ivars(id object);

/* Returns the only address of a name.  The caller holds the lock. */
const char *objc_intern(const char *name);

SEL sel_registerName(const char *name);
Class objc_getClass(const char *name);
extern struct objc_class _OBJC_CLASS_NSConstantString;

bool objc_is_block(id object);
void objc_clear_weak(id object);
