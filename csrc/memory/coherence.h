#pragma once
/* coherence.h -- where the current contents of a buffer are: on the processor, on the device,
 * or on both.
 *
 * A device that shares the processor's memory needs none of this, and neither does the
 * processor alone: the functions then only allocate.  For other devices a buffer may have
 * memory on both.  Only these functions copy: once, when the memory that is used is not
 * current.  A buffer that only kernels use is never copied.
 *
 * The device's memory is cached like that of the pool.  Kernels run in order, so memory that
 * was released is reused by later kernels without waiting.  When the device is full, the
 * buffers that kernels have not used for the longest time move to the processor.
 *
 * The thread that holds the stream calls these functions, unless a comment allows others. Those
 * that return an int return a status: MX_ERROR_MEMORY if there is no memory, and
 * MX_ERROR_DEVICE if the device fails, with which contents that only it has are lost.
 */
#include "memory/buffer.h"

/* Memory of a device: functions of its driver, see gpu/device.h. */
struct mx_device_memory {
    int (*allocate)(void **out, size_t nbytes);
    void (*release_memory)(void *memory);
    int (*copy_in)(void *memory, const void *host, size_t nbytes);
    int (*copy_out)(void *host, const void *memory, size_t nbytes);
    int (*clear)(void *memory, size_t nbytes);
    int (*join)(void); /* waits for all work of the device, also for that of other code */
};

/* Sets the device's memory, once, at the start.  NULL: it is the processor's. */
void mx_coherence_use(const struct mx_device_memory *device);

/* Returns whether there is a device with its own memory.  Any thread may call it. */
bool mx_coherence_is_on(void);

/* -- On the processor -------------------------------------------------------------- */

/* Allocate the buffer's memory here, make its contents current and return its address.  After
 * mx_coherence_write only the processor has the contents.  If the caller overwrites all of
 * them, it does not need what the buffer held before (`keeps`). */
int mx_coherence_read(struct mx_buffer *buffer, char **data);
int mx_coherence_write(struct mx_buffer *buffer, bool keeps, char **data);

/* Copies the first bytes of a buffer that has contents, and leaves the buffer where it is. */
int mx_coherence_peek(const struct mx_buffer *buffer, void *bytes, size_t nbytes);

/* -- On the device ----------------------------------------------------------------- */

/* Begins the next kernel, whose number is returned: what is bound from here on stays on the
 * device. */
uint64_t mx_coherence_begin_kernel(void);
uint64_t mx_coherence_last_kernel(void);

/* Does the same on the device, for a kernel that comes next.  If the device shares memory, the
 * buffer is only allocated, and *memory is NULL. */
int mx_coherence_bind(struct mx_buffer *buffer, bool keeps, void **memory);

/* Notes that the kernel writes a bound buffer: only the device has the contents. */
void mx_coherence_note_written(struct mx_buffer *buffer);

/* Takes back what kernels after that of a number wrote to a buffer.  They have ended.  Returns
 * whether the contents are those of before, on the processor: no other kernel wrote them, or
 * the processor still has them.  Otherwise the buffer stays as it is. */
bool mx_coherence_undo(struct mx_buffer *buffer, uint64_t kernel);

/* Makes all of a buffer zero where a kernel uses it next. */
int mx_coherence_clear(struct mx_buffer *buffer);

/* Returns a new buffer whose bytes from `lead` on are a copy of memory, for a kernel.  NULL
 * after mx_fail. */
struct mx_buffer *mx_coherence_new_copy(const char *data, size_t size, size_t lead);

/* -- Memory of the device that other code uses --------------------------------------- */

/* Memory of a buffer on the device is lent while other code may read and write it there.  It
 * stays where it is, and only the device has the contents: each read on the processor copies
 * them, after all work of the device has ended.  What the processor writes is copied to the
 * device by mx_coherence_return, which every user of mx_coherence_write has to call soon. */

/* Copies the contents to the device, waits until they are there, and counts a user.  The second
 * function returns the address of a lent buffer. */
int mx_coherence_lend(struct mx_buffer *buffer);
void *mx_coherence_address(const struct mx_buffer *buffer);
void mx_coherence_end_loan(struct mx_buffer *buffer); /* one user less; any thread */
static inline bool mx_coherence_is_lent(const struct mx_buffer *buffer)
{
    return atomic_load_explicit(&buffer->n_lent, memory_order_acquire) > 0;
}

/* Returns a new buffer over the device's memory of other code, which is lent for as long as the
 * buffer lives.  Then `end` is called with `owner`, by any thread.  NULL after mx_fail. */
struct mx_buffer *mx_coherence_borrow(void *memory, size_t nbytes, void (*end)(void *owner),
                                      void *owner);

/* Copies to the device what the processor wrote to lent buffers.  The second function returns
 * how many there are; any thread may call it. */
int mx_coherence_return(void);
size_t mx_coherence_edited_count(void);

/* -- Which place is worth it -------------------------------------------------------- */

/* The processor moves 5 bytes between its memory and its cores while 2 are copied to the
 * device: see docs/design/15-gpu-memory.md. */
#define MX_MOVED_MEANWHILE 5
#define MX_COPIED_EACH     2

/* Whether the processor takes longer to move some bytes than their copy to the device takes. */
bool mx_coherence_is_worth(int64_t moved, size_t copied);

/* Whether only the device has the contents of a buffer, or a kernel of the plan writes it. */
bool mx_coherence_lacks(const struct mx_buffer *buffer);

/* Whether a kernel should read a buffer: the device has its contents or shares the processor's
 * memory, or the copy is worth it.  Each call adds bytes which the processor moves otherwise.
 */
bool mx_coherence_is_near(struct mx_buffer *buffer, int64_t moved);

/* Notes that a kernel of the plan writes a buffer, or that the processor does. */
void mx_coherence_expect(struct mx_buffer *buffer, bool on_device);

/* -- After a flush ----------------------------------------------------------------- */

/* Makes the processor the only holder of buffers that other code may use (`is_shared`). */
int mx_coherence_settle(void);

/* Makes the contents of all buffers current on the processor.  The device keeps them too, or
 * not. */
int mx_coherence_fetch_all(bool device_keeps);

enum mx_place { MX_HERE, MX_ON_BOTH, MX_AWAY }; /* AWAY: only the device has the contents */

/* These may be called by any thread.  The second returns a buffer of an array whose place or
 * memory has changed since it was last returned, with a reference, or NULL.  The third returns
 * how many buffers have memory on the device. */
enum mx_place mx_coherence_place(const struct mx_buffer *buffer);
struct mx_buffer *mx_coherence_take_changed(void);
size_t mx_coherence_count(void);

void mx_coherence_trim(void); /* returns cached memory to the device */

/* Adds what was copied and moved since the start. */
void mx_coherence_add_counts(struct mx_gpu_counts *out);

/* Called around fork.  A child has no device: contents that only it had are lost there. */
void mx_coherence_before_fork(void);
void mx_coherence_after_fork(bool in_child);
