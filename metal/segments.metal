/* segments.metal -- updates in order, and of elements for which there are no atomic operations.
 *
 * These definitions precede it: mx_item, the type of the elements; mx_update_value, the type of
 * the values; and mx_update_op, whose apply(element, value) returns the new element.  The slots
 * are sorted, so that all values for an element are in one segment.  One thread applies them in
 * order.
 */

/* args: the number of slots; 1, or 0 if all slots have the same value; the number of elements
 * of a row, whose first element is the slot; the origin of the grid.  A negative slot is
 * skipped.  Each threadgroup has MX_THREADS elements of the rows, which are numbered along one
 * row after the other.  A segment that earlier dispatches began goes on with the first element
 * of this one. */
[[max_total_threads_per_threadgroup(256)]]
kernel void mx_update_segments(
    device const long *slots [[buffer(0)]], device const long *places [[buffer(1)]],
    device const uchar *values [[buffer(2)]], device uchar *target [[buffer(3)]],
    constant long *args [[buffer(4)]], uint3 group [[threadgroup_position_in_grid]],
    uint3 groups [[threadgroups_per_grid]], uint thread_index [[thread_index_in_threadgroup]])
{
    const long row = args[2], stride = args[1] * long(sizeof(mx_update_value));
    const long first = args[3] * MX_THREADS;
    const long end = mx_lesser(first + long(groups.x) * MX_THREADS, args[0] * row);
    const long element = first + long(group.x) * MX_THREADS + thread_index;
    long i = element / row;
    const long column = element % row;
    if (element >= end || slots[i] < 0 || (element >= first + row && slots[i - 1] == slots[i]))
        return;
    const long slot = slots[i];
    device uchar *at = target + (slot + column) * long(sizeof(mx_item));
    mx_item item = mx_load<mx_item>(at);
    for (; i * row + column < end && slots[i] == slot; i++)
        item = mx_update_op::apply(
            item, mx_load<mx_update_value>(values + (places[i] * row + column) * stride));
    mx_store(at, item);
}
