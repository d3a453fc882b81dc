/* segments.metal -- updates of elements that no atomic operation is for, in their order.
 *
 * Before it come mx_item, the type of the elements, mx_update_value, that of the values, and
 * mx_update_op, whose apply(element, value) is the element after it.  The slots are sorted, so
 * that all values for an element lie in one segment, and one thread applies them one by one.
 */

/* args: the number of slots; 1, or 0 if there is one value for all; the elements of a row,
 * which a slot is the first of.  A negative slot leads to nowhere.  Threadgroups: MX_THREADS
 * elements of the rows. */
kernel void mx_update_segments(device const long *slots [[buffer(0)]],
                               device const long *places [[buffer(1)]],
                               device const uchar *values [[buffer(2)]],
                               device uchar *target [[buffer(3)]],
                               constant long *args [[buffer(4)]],
                               uint3 group [[threadgroup_position_in_grid]],
                               uint thread_index [[thread_index_in_threadgroup]])
{
    const long n = args[0], row = args[2], stride = args[1] * long(sizeof(mx_update_value));
    const long element = long(group.x) * MX_THREADS + thread_index;
    long i = element / row;
    const long column = element - i * row;
    if (i >= n || slots[i] < 0 || (i > 0 && slots[i - 1] == slots[i]))
        return;
    const long slot = slots[i];
    device uchar *at = target + (slot + column) * long(sizeof(mx_item));
    mx_item item = mx_load<mx_item>(at);
    for (; i < n && slots[i] == slot; i++)
        item = mx_update_op::apply(
            item, mx_load<mx_update_value>(values + (places[i] * row + column) * stride));
    mx_store(at, item);
}
