/* coherence.c -- where the current contents of a buffer are. */
#include "memory/coherence.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

/* A piece of the device's memory.  Either a buffer has it, and then its contents are current,
 * or it is cached. */
struct mx_remote {
    void *memory;
    size_t size;
    struct mx_buffer *buffer;        /* NULL: it is cached */
    struct mx_remote *newer, *older; /* in the order of use; cached: `older` is the next one */
    uint64_t kernel;                 /* number of the last kernel that it was bound to */
    uint64_t only_since;             /* of the kernel whose results only the device has */
    atomic_bool is_only;             /* the processor's memory is not current */
    void (*end)(void *owner); /* borrowed memory: called when it is given back; or NULL */
    void *owner;
    uint64_t fetch; /* number of the last fetch of all contents, if it was lent then */
};

static struct {
    const struct mx_device_memory *device; /* NULL: it shares the processor's memory */
    bool is_used;                          /* some of its memory was allocated */
    bool is_lost;                          /* in the child of a fork, if it was used before */
    uint64_t kernel;                       /* number of the kernel that is being bound */
    uint64_t fetch;                        /* number of the last fetch of all contents */
    struct mx_buffer *unsettled;
    struct mx_buffer *edited; /* lent, and written by the processor */
    atomic_size_t n_edited;
    int64_t bytes_in, bytes_out, evicted;

    pthread_mutex_t lock;              /* protects the fields below and the lists */
    struct mx_remote *newest, *oldest; /* those that buffers have */
    struct mx_remote *cached[MX_POOL_CLASSES];
    struct mx_buffer *changed;
    atomic_size_t count;
} memory = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void forget(struct mx_buffer *buffer);

void mx_coherence_use(const struct mx_device_memory *device)
{
    memory.device = device;
    mx_buffer_set_forget(forget);
}

bool mx_coherence_is_on(void) { return memory.device != NULL; }

/* -- Lists ------------------------------------------------------------------------- */

/* The callers of these functions hold the lock. */

static void link_newest(struct mx_remote *remote)
{
    remote->newer = NULL;
    remote->older = memory.newest;
    *(memory.newest ? &memory.newest->newer : &memory.oldest) = remote;
    memory.newest = remote;
}

static void unlink_remote(struct mx_remote *remote)
{
    *(remote->newer ? &remote->newer->older : &memory.newest) = remote->older;
    *(remote->older ? &remote->older->newer : &memory.oldest) = remote->newer;
}

static void cache(struct mx_remote *remote)
{
    struct mx_remote **list = &memory.cached[mx_pool_class(remote->size)];
    remote->buffer = NULL;
    remote->older = *list;
    *list = remote;
}

/* Takes the memory on the device away from a buffer.  Returns it if it was borrowed. */
static struct mx_remote *detach(struct mx_buffer *buffer)
{
    struct mx_remote *remote = atomic_load(&buffer->remote);
    if (!remote)
        return NULL;
    unlink_remote(remote);
    atomic_store(&buffer->remote, NULL);
    atomic_fetch_sub(&memory.count, 1);
    if (remote->end)
        return remote;
    cache(remote);
    return NULL;
}

/* -- Buffers ----------------------------------------------------------------------- */

/* A buffer without references is freed. */
static void forget(struct mx_buffer *buffer)
{
    pthread_mutex_lock(&memory.lock);
    struct mx_remote *borrowed = detach(buffer);
    pthread_mutex_unlock(&memory.lock);
    if (!borrowed)
        return;
    if (!memory.is_lost)
        borrowed->end(borrowed->owner);
    mx_free(borrowed);
}

static void coherence_drop(struct mx_buffer *buffer)
{
    forget(buffer);
    buffer->is_expected = false;
}

/* Notes that an array has to know of the buffer's place or memory.  It is called after the
 * change, because another thread may look immediately. */
static void note_change(struct mx_buffer *buffer)
{
    if (!memory.device || !__atomic_load_n(&buffer->published, __ATOMIC_RELAXED))
        return;
    pthread_mutex_lock(&memory.lock);
    if (!buffer->is_changed) {
        mx_buffer_retain(buffer);
        buffer->is_changed = true;
        buffer->changed = memory.changed;
        memory.changed = buffer;
    }
    pthread_mutex_unlock(&memory.lock);
    if (atomic_load(&buffer->is_shared) && !buffer->is_unsettled) {
        mx_buffer_retain(buffer);
        buffer->is_unsettled = true;
        buffer->unsettled = memory.unsettled;
        memory.unsettled = buffer;
    }
}

struct mx_buffer *mx_coherence_take_changed(void)
{
    if (!memory.device)
        return NULL;
    pthread_mutex_lock(&memory.lock);
    struct mx_buffer *buffer = memory.changed;
    if (buffer) {
        memory.changed = buffer->changed;
        buffer->is_changed = false;
    }
    pthread_mutex_unlock(&memory.lock);
    return buffer;
}

enum mx_place mx_coherence_place(const struct mx_buffer *buffer)
{
    enum mx_place place = MX_HERE;
    if (!atomic_load(&buffer->remote))
        return place;
    pthread_mutex_lock(&memory.lock); /* another thread may free what `remote` points to */
    const struct mx_remote *remote = atomic_load(&buffer->remote);
    if (remote)
        place = atomic_load(&remote->is_only) || mx_coherence_is_lent(buffer) ? MX_AWAY
                                                                              : MX_ON_BOTH;
    pthread_mutex_unlock(&memory.lock);
    return place;
}

size_t mx_coherence_count(void) { return atomic_load(&memory.count); }

/* -- On the processor -------------------------------------------------------------- */

static int fail_as_forked(void)
{
    return mx_fail(MX_ERROR_DEVICE,
                   "the contents are on the device of the process that forked");
}

static int copy_out(struct mx_buffer *buffer, struct mx_remote *remote)
{
    if (memory.is_lost)
        return fail_as_forked();
    bool is_lent = mx_coherence_is_lent(buffer);
    int status = is_lent ? memory.device->join() : MX_OK;
    if (status == MX_OK)
        status = memory.device->copy_out(buffer->data, remote->memory, buffer->nbytes);
    if (status != MX_OK)
        return status;
    memory.bytes_out += (int64_t)buffer->nbytes;
    atomic_store(&remote->is_only, is_lent);
    return MX_OK;
}

/* Allocates the memory, and copies the contents there if they are needed and not current. */
static int make_local(struct mx_buffer *buffer, bool keeps, char **data)
{
    struct mx_remote *remote = atomic_load(&buffer->remote);
    if (!remote && buffer->data) {
        *data = buffer->data;
        return MX_OK;
    }
    bool is_new = !buffer->data;
    int status = mx_buffer_allocate(buffer);
    if (status == MX_OK && remote && keeps && atomic_load(&remote->is_only))
        status = copy_out(buffer, remote);
    if (status == MX_OK && (is_new || remote))
        note_change(buffer);
    *data = buffer->data;
    return status;
}

/* Notes that the processor is about to write a lent buffer. */
static void note_edit(struct mx_buffer *buffer)
{
    struct mx_remote *remote = atomic_load(&buffer->remote);
    atomic_store(&remote->is_only, false);
    if (buffer->is_edited)
        return;
    mx_buffer_retain(buffer);
    buffer->is_edited = true;
    buffer->edited = memory.edited;
    memory.edited = buffer;
    atomic_fetch_add(&memory.n_edited, 1);
}

int mx_coherence_read(struct mx_buffer *buffer, char **data)
{
    return make_local(buffer, true, data);
}

int mx_coherence_write(struct mx_buffer *buffer, bool keeps, char **data)
{
    int status = make_local(buffer, keeps, data);
    buffer->is_unwritten = false;
    if (status == MX_OK && mx_coherence_is_lent(buffer)) {
        note_edit(buffer);
    } else if (status == MX_OK && atomic_load(&buffer->remote)) {
        coherence_drop(buffer);
        note_change(buffer);
    }
    return status;
}

int mx_coherence_peek(const struct mx_buffer *buffer, void *bytes, size_t nbytes)
{
    const struct mx_remote *remote = atomic_load(&buffer->remote);
    if (!remote || !atomic_load(&remote->is_only)) {
        memcpy(bytes, buffer->data, nbytes);
        return MX_OK;
    }
    if (memory.is_lost)
        return fail_as_forked();
    int status = memory.device->copy_out(bytes, remote->memory, nbytes);
    memory.bytes_out += status == MX_OK ? (int64_t)nbytes : 0;
    return status;
}

/* -- A full device ------------------------------------------------------------------ */

static void release_chain(struct mx_remote *remote)
{
    while (remote) {
        struct mx_remote *next = remote->older;
        if (!memory.is_lost)
            memory.device->release_memory(remote->memory);
        mx_free(remote);
        remote = next;
    }
}

/* Returns whether anything was cached. */
static bool release_cached(void)
{
    struct mx_remote *all = NULL;
    pthread_mutex_lock(&memory.lock);
    for (int i = 0; i < MX_POOL_CLASSES; i++)
        while (memory.cached[i]) {
            struct mx_remote *remote = memory.cached[i];
            memory.cached[i] = remote->older;
            remote->older = all;
            all = remote;
        }
    pthread_mutex_unlock(&memory.lock);
    release_chain(all);
    return all != NULL;
}

void mx_coherence_trim(void) { release_cached(); }

/* Retains a buffer unless its last reference is gone. */
static bool retain_living(struct mx_buffer *buffer)
{
    long count = atomic_load(&buffer->count);
    while (count > 0 && !atomic_compare_exchange_weak(&buffer->count, &count, count + 1))
        ;
    return count > 0;
}

/* Moves the buffer that no kernel has used for the longest time to the processor. */
static int coherence_evict(void)
{
    char *data;
    pthread_mutex_lock(&memory.lock);
    struct mx_remote *remote = memory.oldest;
    while (remote && remote->kernel < memory.kernel && mx_coherence_is_lent(remote->buffer))
        remote = remote->newer;
    struct mx_buffer *buffer = remote && remote->kernel < memory.kernel ? remote->buffer : NULL;
    bool is_living = buffer && retain_living(buffer);
    if (buffer && !is_living)
        detach(buffer); /* the thread that frees it waits for the lock */
    pthread_mutex_unlock(&memory.lock);
    if (!buffer)
        return mx_fail(MX_ERROR_MEMORY, "the memory of the device is full");
    if (!is_living)
        return MX_OK;
    int status = mx_coherence_write(buffer, true, &data);
    mx_buffer_release(buffer);
    memory.evicted += status == MX_OK;
    struct mx_buffer *refused = mx_buffer_take_refused();
    if (refused)
        mx_buffer_release(refused); /* the caller reports its own buffer */
    return status;
}

static struct mx_remote *take_cached(size_t size)
{
    pthread_mutex_lock(&memory.lock);
    struct mx_remote **list = &memory.cached[mx_pool_class(size)], *remote = *list;
    if (remote)
        *list = remote->older;
    pthread_mutex_unlock(&memory.lock);
    return remote;
}

static struct mx_remote *new_remote(void *address, size_t size)
{
    struct mx_remote *remote = mx_alloc(sizeof *remote);
    if (!remote) {
        memory.device->release_memory(address);
        mx_fail(MX_ERROR_MEMORY, "unable to keep memory of the device");
        return NULL;
    }
    *remote = (struct mx_remote){.memory = address, .size = size};
    return remote;
}

/* Gets memory of the device: cached, or new, or that of buffers which move out. */
static int coherence_take(size_t nbytes, struct mx_remote **out)
{
    size_t size = mx_pool_data_size(nbytes);
    int status = MX_OK;
    while (status == MX_OK) {
        void *address;
        *out = take_cached(size);
        if (*out)
            return MX_OK;
        status = memory.device->allocate(&address, size);
        memory.is_used = true;
        if (status == MX_OK) {
            *out = new_remote(address, size);
            return *out ? MX_OK : MX_ERROR_MEMORY;
        }
        if (status == MX_ERROR_MEMORY)
            status = release_cached() ? MX_OK : coherence_evict();
    }
    return status;
}

/* -- On the device ----------------------------------------------------------------- */

uint64_t mx_coherence_begin_kernel(void) { return ++memory.kernel; }

uint64_t mx_coherence_last_kernel(void) { return memory.kernel; }

static void attach(struct mx_buffer *buffer, struct mx_remote *remote)
{
    remote->buffer = buffer;
    atomic_store(&remote->is_only, false);
    pthread_mutex_lock(&memory.lock);
    link_newest(remote);
    atomic_store(&buffer->remote, remote);
    atomic_fetch_add(&memory.count, 1);
    pthread_mutex_unlock(&memory.lock);
}

static void give_back(struct mx_remote *remote)
{
    pthread_mutex_lock(&memory.lock);
    cache(remote);
    pthread_mutex_unlock(&memory.lock);
}

static void note_use(struct mx_remote *remote)
{
    pthread_mutex_lock(&memory.lock);
    unlink_remote(remote);
    link_newest(remote);
    remote->kernel = memory.kernel;
    pthread_mutex_unlock(&memory.lock);
}

static int make_remote(struct mx_buffer *buffer, bool keeps)
{
    struct mx_remote *remote;
    if (atomic_load(&buffer->remote))
        return MX_OK;
    int status = coherence_take(buffer->nbytes, &remote);
    if (status != MX_OK)
        return status;
    if (keeps && buffer->data && !buffer->is_unwritten) {
        status = memory.device->copy_in(remote->memory, buffer->data, buffer->nbytes);
        memory.bytes_in += status == MX_OK ? (int64_t)buffer->nbytes : 0;
    }
    if (status == MX_OK)
        attach(buffer, remote);
    else
        give_back(remote);
    return status;
}

int mx_coherence_bind(struct mx_buffer *buffer, bool keeps, void **address)
{
    *address = NULL;
    if (!memory.device)
        return mx_buffer_allocate(buffer);
    int status = make_remote(buffer, keeps);
    if (status == MX_OK && buffer->is_edited) /* the loan may have ended since */
        status = mx_coherence_return();
    else if (status == MX_OK && mx_coherence_is_lent(buffer))
        status = memory.device->join();
    if (status != MX_OK)
        return status;
    struct mx_remote *remote = atomic_load(&buffer->remote);
    note_use(remote);
    note_change(buffer);
    *address = remote->memory;
    return MX_OK;
}

void mx_coherence_note_written(struct mx_buffer *buffer)
{
    buffer->is_unwritten = false;
    struct mx_remote *remote = atomic_load(&buffer->remote);
    buffer->written_by = memory.kernel;
    if (!remote)
        return;
    if (!atomic_load(&remote->is_only))
        remote->only_since = memory.kernel;
    atomic_store(&remote->is_only, true);
    note_change(buffer);
}

bool mx_coherence_undo(struct mx_buffer *buffer, uint64_t kernel)
{
    const struct mx_remote *remote = atomic_load(&buffer->remote);
    if (buffer->written_by <= kernel)
        return true;
    if (!remote || !atomic_load(&remote->is_only) || remote->only_since <= kernel ||
        mx_coherence_is_lent(buffer))
        return false;
    buffer->written_by = kernel;
    coherence_drop(buffer);
    note_change(buffer);
    return true;
}

int mx_coherence_clear(struct mx_buffer *buffer)
{
    void *address;
    char *data;
    int status;
    if (memory.device) {
        status = mx_coherence_bind(buffer, false, &address);
        if (status == MX_OK)
            status = memory.device->clear(address, buffer->nbytes);
        mx_coherence_note_written(buffer);
        return status;
    }
    status = mx_coherence_write(buffer, false, &data);
    if (status == MX_OK)
        memset(data, 0, buffer->nbytes);
    return status;
}

static int coherence_fill(struct mx_buffer *buffer, const char *data, size_t size, size_t lead)
{
    void *address;
    char *own;
    int status;
    if (memory.device) {
        status = mx_coherence_bind(buffer, false, &address);
        if (status == MX_OK && size)
            status = memory.device->copy_in((char *)address + lead, data, size);
        memory.bytes_in += status == MX_OK ? (int64_t)size : 0;
        mx_coherence_note_written(buffer);
        return status;
    }
    status = mx_coherence_write(buffer, false, &own);
    if (status == MX_OK && size)
        memcpy(own + lead, data, size);
    return status;
}

struct mx_buffer *mx_coherence_new_copy(const char *data, size_t size, size_t lead)
{
    struct mx_buffer *buffer = mx_buffer_new(lead + size);
    if (buffer && coherence_fill(buffer, data, size, lead) != MX_OK) {
        mx_buffer_release(buffer);
        return NULL;
    }
    return buffer;
}

/* -- Memory of the device that other code uses --------------------------------------- */

int mx_coherence_lend(struct mx_buffer *buffer)
{
    void *address;
    mx_coherence_begin_kernel();
    int status = mx_coherence_bind(buffer, true, &address);
    if (status == MX_OK)
        status = memory.device->join();
    if (status != MX_OK)
        return status;
    mx_buffer_retain(buffer);
    atomic_fetch_add(&buffer->n_lent, 1);
    mx_coherence_note_written(buffer);
    return MX_OK;
}

void *mx_coherence_address(const struct mx_buffer *buffer)
{
    return atomic_load(&buffer->remote)->memory;
}

void mx_coherence_end_loan(struct mx_buffer *buffer)
{
    atomic_fetch_sub_explicit(&buffer->n_lent, 1, memory_order_release);
    mx_buffer_release(buffer);
}

struct mx_buffer *mx_coherence_borrow(void *address, size_t nbytes, void (*end)(void *owner),
                                      void *owner)
{
    struct mx_buffer *buffer = mx_buffer_new(nbytes);
    struct mx_remote *remote = buffer ? mx_alloc(sizeof *remote) : NULL;
    if (!remote) {
        if (buffer)
            mx_buffer_release(buffer);
        mx_fail(MX_ERROR_MEMORY, "unable to keep memory of the device");
        return NULL;
    }
    *remote = (struct mx_remote){.memory = address, .end = end, .owner = owner};
    buffer->is_whole = true;
    memory.is_used = true;
    atomic_store(&buffer->n_lent, 1);
    attach(buffer, remote);
    mx_coherence_note_written(buffer);
    return buffer;
}

/* Takes a buffer from the list of those that the processor wrote. */
static struct mx_buffer *take_edited(void)
{
    struct mx_buffer *buffer = memory.edited;
    memory.edited = buffer->edited;
    buffer->is_edited = false;
    atomic_fetch_sub(&memory.n_edited, 1);
    return buffer;
}

int mx_coherence_return(void)
{
    int status = memory.edited && !memory.is_lost ? memory.device->join() : MX_OK;
    bool has_copied = false;
    while (memory.edited) {
        struct mx_buffer *buffer = take_edited();
        struct mx_remote *remote = atomic_load(&buffer->remote);
        if (status == MX_OK && remote && !memory.is_lost) {
            status = memory.device->copy_in(remote->memory, buffer->data, buffer->nbytes);
            memory.bytes_in += status == MX_OK ? (int64_t)buffer->nbytes : 0;
            atomic_store(&remote->is_only, status == MX_OK);
            has_copied = true;
        }
        mx_buffer_release(buffer);
    }
    return has_copied && status == MX_OK ? memory.device->join() : status;
}

size_t mx_coherence_edited_count(void) { return atomic_load(&memory.n_edited); }

/* -- Which place is worth it -------------------------------------------------------- */

bool mx_coherence_lacks(const struct mx_buffer *buffer)
{
    const struct mx_remote *remote = atomic_load(&buffer->remote);
    return remote ? atomic_load(&remote->is_only) : buffer->is_expected;
}

bool mx_coherence_is_worth(int64_t moved, size_t copied)
{
    return MX_COPIED_EACH * (double)moved >= MX_MOVED_MEANWHILE * (double)copied;
}

bool mx_coherence_is_near(struct mx_buffer *buffer, int64_t moved)
{
    if (!memory.device || atomic_load(&buffer->remote))
        return true;
    buffer->n_missed =
        buffer->n_missed > INT64_MAX - moved ? INT64_MAX : buffer->n_missed + moved;
    return mx_coherence_is_worth(buffer->n_missed, buffer->nbytes);
}

void mx_coherence_expect(struct mx_buffer *buffer, bool on_device)
{
    buffer->is_expected = on_device;
}

/* -- After a flush ----------------------------------------------------------------- */

int mx_coherence_settle(void)
{
    int status = MX_OK;
    while (memory.unsettled) {
        struct mx_buffer *buffer = memory.unsettled;
        char *data;
        memory.unsettled = buffer->unsettled;
        buffer->is_unsettled = false;
        int written = mx_coherence_is_lent(buffer) ? mx_coherence_read(buffer, &data)
                                                   : mx_coherence_write(buffer, true, &data);
        status = status == MX_OK ? written : status;
        mx_buffer_release(buffer);
    }
    int returned = mx_coherence_return();
    return status == MX_OK ? returned : status;
}

/* Returns a buffer that the device has, or that only the device has, with a reference.  NULL if
 * there is none.  Lent buffers stay on the device and are passed over. */
static struct mx_buffer *find_remote(bool is_only)
{
    struct mx_buffer *found = NULL;
    pthread_mutex_lock(&memory.lock);
    for (struct mx_remote *remote = memory.oldest; remote && !found; remote = remote->newer)
        if ((!is_only || atomic_load(&remote->is_only)) &&
            !mx_coherence_is_lent(remote->buffer) && retain_living(remote->buffer))
            found = remote->buffer;
    pthread_mutex_unlock(&memory.lock);
    return found;
}

/* Returns a lent buffer that this fetch has not passed yet, with a reference, or NULL. */
static struct mx_buffer *find_lent(void)
{
    struct mx_buffer *found = NULL;
    pthread_mutex_lock(&memory.lock);
    for (struct mx_remote *remote = memory.oldest; remote && !found; remote = remote->newer)
        if (remote->fetch != memory.fetch && mx_coherence_is_lent(remote->buffer) &&
            retain_living(remote->buffer)) {
            remote->fetch = memory.fetch;
            found = remote->buffer;
        }
    pthread_mutex_unlock(&memory.lock);
    return found;
}

int mx_coherence_fetch_all(bool device_keeps)
{
    int status = MX_OK;
    memory.fetch++;
    while (memory.device && status == MX_OK) {
        char *data;
        struct mx_buffer *buffer = find_remote(device_keeps);
        if (!buffer && !(buffer = find_lent()))
            break;
        status = device_keeps ? mx_coherence_read(buffer, &data)
                              : mx_coherence_write(buffer, true, &data);
        mx_buffer_release(buffer);
    }
    return status;
}

void mx_coherence_add_counts(struct mx_gpu_counts *out)
{
    out->bytes_in += memory.bytes_in;
    out->bytes_out += memory.bytes_out;
    out->evicted += memory.evicted;
}

/* -- Fork -------------------------------------------------------------------------- */

void mx_coherence_before_fork(void) { pthread_mutex_lock(&memory.lock); }

void mx_coherence_after_fork(bool in_child)
{
    if (!in_child) {
        pthread_mutex_unlock(&memory.lock);
        return;
    }
    pthread_mutex_init(&memory.lock, NULL);
    for (struct mx_remote *remote = memory.oldest; remote; remote = remote->newer)
        if (mx_coherence_is_lent(remote->buffer)) {
            atomic_store(&remote->buffer->n_lent, 0);
            atomic_store(&remote->is_only, remote->fetch != memory.fetch);
        }
    memory.is_lost = memory.is_used;
}
