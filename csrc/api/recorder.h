#pragma once
/* recorder.h -- the functions of the core that the bridge calls, which recorder.def lists.
 *
 * The bridge and the core are separate extension modules, so the bridge calls the core through
 * this table.  A field has the name and the type of its function: core->mx_buffer_new(nbytes).
 */
#include "base/alloc.h"
#include "base/error.h"
#include "cpu/compiled/compiled.h"
#include "cpu/kernels/casts.h"
#include "cpu/kernels/compact.h"
#include "cpu/kernels/copies.h"
#include "cpu/kernels/factoring.h"
#include "cpu/kernels/indices.h"
#include "cpu/kernels/native_loops.h"
#include "cpu/kernels/partition.h"
#include "cpu/kernels/products.h"
#include "cpu/kernels/ranges.h"
#include "cpu/kernels/rows.h"
#include "cpu/kernels/running.h"
#include "cpu/kernels/search.h"
#include "cpu/kernels/sort.h"
#include "cpu/plan/gather.h"
#include "cpu/plan/order.h"
#include "cpu/threads/thread_pool.h"
#include "draws/generators.h"
#include "draws/streams.h"
#include "gpu/atomics.h"
#include "gpu/device.h"
#include "gpu/launch.h"
#include "ir/layouts.h"
#include "memory/coherence.h"
#include "scheduler/stream.h"

struct mx_recorder {
#define FUNCTION(name) __typeof__(name) *name;
#include "api/recorder.def"
#undef FUNCTION
};
