#pragma once
/* recorder.h -- the functions of the core that the bridge calls.
 *
 * The bridge and the core are separate extension modules, so the bridge calls the core through
 * this table.  Each field has the name of its function without the prefix mx_, or mx_stream_.
 */
#include "cpu/compiled/compiled.h"
#include "cpu/kernels/compact.h"
#include "cpu/kernels/partition.h"
#include "cpu/kernels/rows.h"
#include "cpu/kernels/running.h"
#include "cpu/kernels/sort.h"
#include "draws/streams.h"
#include "memory/coherence.h"
#include "scheduler/stream.h"

struct mx_recorder {
    struct mx_buffer *(*buffer_new)(size_t nbytes);
    void (*buffer_retain)(struct mx_buffer *buffer);
    void (*buffer_release)(struct mx_buffer *buffer);
    int (*buffer_publish)(struct mx_buffer *buffer);
    struct mx_buffer *(*buffer_take_refused)(void);
    char *(*buffer_address)(struct mx_buffer *buffer);
    struct mx_buffer *(*buffer_get)(const char *address);

    bool (*coherence_is_on)(void);
    int (*coherence_read)(struct mx_buffer *buffer, char **data);
    int (*coherence_write)(struct mx_buffer *buffer, bool keeps, char **data);
    int (*coherence_fetch_all)(bool device_keeps);
    enum mx_place (*coherence_place)(const struct mx_buffer *buffer);
    struct mx_buffer *(*coherence_take_changed)(void);
    size_t (*coherence_count)(void);
    int (*coherence_lend)(struct mx_buffer *buffer);
    void *(*coherence_address)(const struct mx_buffer *buffer);
    void (*coherence_end_loan)(struct mx_buffer *buffer);
    struct mx_buffer *(*coherence_borrow)(void *memory, size_t nbytes, void (*end)(void *owner),
                                          void *owner);
    int (*coherence_return)(void);
    size_t (*coherence_edited_count)(void);

    int (*append)(const struct mx_instruction *in, int64_t *sequence);
    int64_t (*recorded)(void);
    int64_t (*done)(void);
    void (*enter)(void);
    bool (*try_enter)(void);
    void (*leave)(void);
    void (*set_measured)(bool is_measured);
    int (*prepare)(size_t *n_taken);
    int (*run)(bool (*interrupted)(void));
    struct mx_instruction *(*take_back)(size_t *count);
    void (*release)(struct mx_instruction *in);
    uintptr_t (*thread)(void);
    const char *(*device_message)(void);
    void *(*elision_owner)(void);
    size_t (*rematerializable)(void);
    bool (*may_reread)(const struct mx_buffer *buffer);
    struct mx_instruction *(*drop_rematerializable)(size_t *count);
    void (*free)(void *memory);

    int (*loop_find)(struct mx_loop *out, uintptr_t ufunc_fields, int nin, int nout, int ntypes,
                     const char *types);
    bool (*native_loop)(struct mx_loop *out, int op, const int *dtypes,
                        const struct mx_loop *numpys);
    bool (*native_has_numpys_bits)(int op, int dtype);
    mx_loop_function (*cast_loop)(int from, int to);
    const struct mx_row_kernels *(*rows_find)(int op, int dtype, bool keeps_order);
    const struct mx_square_kernels *(*rows_squares)(int dtype);
    mx_running_kernel *(*running_find)(int op, int dtype);
    mx_loop_function (*range_loop)(int dtype);
    mx_loop_function (*copy_loop)(int itemsize);
    mx_loop_function (*copy_select_loop)(int itemsize);
    mx_loop_function (*index_check_loop)(int dtype);
    mx_loop_function gather_loop;
    mx_loop_function (*search_loop)(int dtype, bool is_right);
    void (*index_range)(const char *data, int dtype, int ndim, const intptr_t *shape,
                        const intptr_t *strides, int64_t *least, int64_t *most);
    bool (*index_find_invalid)(const struct mx_instruction *check, int64_t *index);
    bool (*index_has_update)(enum mx_update update, int dtype);
    int (*compact_count)(struct mx_compaction *out, const uint8_t *mask, intptr_t n);
    void (*compact_write)(const struct mx_compaction *c, const char *from, int itemsize,
                          char *to);
    void (*compact_free)(struct mx_compaction *c);
    bool (*sort_has)(int dtype);
    int (*sort_rows)(const struct mx_sort *sort);
    bool (*partition_has)(int dtype);
    int (*partition_row)(const struct mx_partition *partition);
    int (*generator_find)(const char *name);
    size_t (*generator_state_size)(int generator);
    int (*streams_find)(const char *name);
    const char *(*streams_name)(int sampler);
    bool (*streams_draw)(struct mx_draws *draws);
    void (*compiled_start)(mx_compiler *compiler, bool is_immediate);
    void (*compiled_stop)(void);
    void (*compiled_pause)(void);
    void (*compiled_resume)(void);
    int (*gpu_is_used)(void);
    int (*gpu_has_own_memory)(void);
    const char *(*gpu_name)(void);
    bool (*gpu_supports)(int dtype);
    bool (*gpu_supports_update)(int op, int dtype);
    int (*launch_check)(const struct mx_launch *launch);
    const struct mx_op_row *(*op_get)(int op);
    const char *(*error_message)(void);
};
