/* segments.metal -- updates in order, and of elements for which there are no atomic operations.
 *
 * These definitions precede it: mx_item, the type of the elements; mx_update_value, the type of
 * the values; and mx_update_op, whose apply(element, value) returns the new element.  The slots
 * are sorted, so that all values for an element are in one segment.  One thread applies them in
 * order.
 */

/* args: the number of slots; 1, or 0 if all slots have the same value; the number of elements
 * of a row, whose first element is the slot; the first slot of this dispatch, and their number.
 * A negative slot is skipped.  Each threadgroup has MX_THREADS elements of the rows.  A segment
 * that earlier dispatches began goes on with the first slot. */
[[max_total_threads_per_threadgroup(256)]]
kernel void mx_update_segments(device const long *slots [[buffer(0)]],
                               device const long *places [[buffer(1)]],
                               device const uchar *values [[buffer(2)]],
                               device uchar *target [[buffer(3)]],
                               constant long *args [[buffer(4)]],
                               uint3 group [[threadgroup_position_in_grid]],
                               uint thread_index [[thread_index_in_threadgroup]])
{
    const long first = args[3], end = mx_lesser(first + args[4], args[0]);
    const long row = args[2], stride = args[1] * long(sizeof(mx_update_value));
    const long element = long(group.x) * MX_THREADS + thread_index;
    long i = first + element / row;
    const long column = element % row;
    if (i >= end || slots[i] < 0 || (i > first && slots[i - 1] == slots[i]))
        return;
    const long slot = slots[i];
    device uchar *at = target + (slot + column) * long(sizeof(mx_item));
    mx_item item = mx_load<mx_item>(at);
    for (; i < end && slots[i] == slot; i++)
        item = mx_update_op::apply(
            item, mx_load<mx_update_value>(values + (places[i] * row + column) * stride));
    mx_store(at, item);
}
