// driver.metal -- kernels for the tests of the Metal emulator.
#include <metal_stdlib>
using namespace metal;

constant float table[4] = {1.0f, 2.0f, 4.0f, 8.0f};

kernel void add_one(device float* a [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  a[i] = a[i] + 1.0f;
}
kernel void saxpy(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                  constant float& s [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  y[i] = s * x[i] + y[i];
}
kernel void look_up(device float* a [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  a[i] = table[i & 3u];
}
kernel void copy(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                 uint i [[thread_position_in_grid]]) {
  y[i] = x[i];
}
kernel void store_at(device float* a [[buffer(0)]], constant int& shift [[buffer(1)]],
                     uint i [[thread_position_in_grid]]) {
  a[(int)i + shift] = 7.0f;
}
kernel void store_at_guarded(device float* a [[buffer(0)]], constant int& shift [[buffer(1)]],
                             constant int& n [[buffer(2)]],
                             uint i [[thread_position_in_grid]]) {
  int at = (int)i + shift;
  if (at >= 0 && at < n) a[at] = 7.0f;
}
kernel void multiply(device atomic<float>* out [[buffer(0)]],
                     device const float* v [[buffer(1)]],
                     uint i [[thread_position_in_grid]]) {
  float expected = atomic_load_explicit(out, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(out, &expected, expected * v[i],
                                                memory_order_relaxed, memory_order_relaxed)) {
  }
}
kernel void multiply_bits(device atomic_uint* out [[buffer(0)]],
                          device const float* v [[buffer(1)]],
                          uint i [[thread_position_in_grid]]) {
  uint expected = atomic_load_explicit(out, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(
      out, &expected, as_type<uint>(as_type<float>(expected) * v[i]), memory_order_relaxed,
      memory_order_relaxed)) {
    if ((expected & 0x7fffffffu) > 0x7f800000u) break;
  }
}
kernel void count(device atomic_uint* out [[buffer(0)]]) {
  atomic_fetch_add_explicit(out, 1u, memory_order_relaxed);
}
kernel void lose_counts(device uint* out [[buffer(0)]]) { out[0] = out[0] + 1u; }
kernel void deep(device float* out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  volatile float big[30000];
  big[i] = out[0];
  out[0] = big[i] + big[29999u - i];
}
kernel void forever(volatile device uint* out [[buffer(0)]]) {
  while (out[0] == 0u) out[1] = out[1] + 1u;
}
kernel void tree_sum(device const float* x [[buffer(0)]], device float* out [[buffer(1)]],
                     uint i [[thread_position_in_grid]],
                     uint t [[thread_position_in_threadgroup]],
                     uint g [[threadgroup_position_in_grid]]) {
  threadgroup float part[256];
  part[t] = x[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint s = 128u; s > 0u; s >>= 1) {
    if (t < s) part[t] += part[t + s];
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  if (t == 0u) out[g] = part[0];
}
kernel void racy_tree_sum(device const float* x [[buffer(0)]], device float* out [[buffer(1)]],
                          uint i [[thread_position_in_grid]],
                          uint t [[thread_position_in_threadgroup]],
                          uint g [[threadgroup_position_in_grid]]) {
  threadgroup float part[256];
  part[t] = x[i];
  for (uint s = 128u; s > 0u; s >>= 1) {
    if (t < s) part[t] += part[t + s];
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  if (t == 0u) out[g] = part[0];
}
kernel void diverged_barrier(device float* out [[buffer(0)]],
                             uint t [[thread_position_in_threadgroup]]) {
  if (t & 1u) threadgroup_barrier(mem_flags::mem_threadgroup);
  out[t] = 1.0f;
}
kernel void unset(device uint* out [[buffer(0)]], uint t [[thread_position_in_threadgroup]]) {
  threadgroup uint memory[64];
  if (t == 64u) memory[0] = 0u;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[t] = memory[t];
}
kernel void reverse(device uint* a [[buffer(0)]], threadgroup uint* memory [[threadgroup(0)]],
                    uint t [[thread_position_in_threadgroup]],
                    uint n [[threads_per_threadgroup]]) {
  memory[t] = a[t];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  a[t] = memory[n - 1u - t];
}
kernel void beyond_memory(device uint* a [[buffer(0)]],
                          threadgroup uint* memory [[threadgroup(0)]],
                          uint t [[thread_position_in_threadgroup]]) {
  memory[t] = t;
  a[t] = memory[t];
}
kernel void positions(device uint* out [[buffer(0)]], uint3 grid [[thread_position_in_grid]],
                      uint3 group [[threadgroup_position_in_grid]],
                      uint3 in_group [[thread_position_in_threadgroup]],
                      uint3 size [[threads_per_threadgroup]],
                      uint3 all [[threads_per_grid]], uint3 groups [[threadgroups_per_grid]],
                      uint index [[thread_index_in_threadgroup]],
                      uint lane [[thread_index_in_simdgroup]],
                      uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  uint at = 16u * (grid.x + all.x * (grid.y + all.y * grid.z));
  out[at] = group.x; out[at + 1u] = group.y; out[at + 2u] = group.z;
  out[at + 3u] = in_group.x; out[at + 4u] = in_group.y; out[at + 5u] = in_group.z;
  out[at + 6u] = size.x; out[at + 7u] = size.y; out[at + 8u] = size.z;
  out[at + 9u] = groups.x; out[at + 10u] = groups.y; out[at + 11u] = groups.z;
  out[at + 12u] = index; out[at + 13u] = lane; out[at + 14u] = simdgroup;
}
kernel void simd_functions(device const uint* x [[buffer(0)]], device uint* out [[buffer(1)]],
                           uint t [[thread_position_in_threadgroup]]) {
  uint v = x[t];
  out[8u * t] = simd_sum(v);
  out[8u * t + 1u] = simd_max(v);
  out[8u * t + 2u] = simd_min(v);
  out[8u * t + 3u] = simd_shuffle_xor(v, (ushort)1);
  out[8u * t + 4u] = simd_broadcast(v, (ushort)3);
  out[8u * t + 5u] = simd_prefix_inclusive_sum(v);
  out[8u * t + 6u] = simd_any(v == 5u) ? 1u : 0u;
  out[8u * t + 7u] = simd_all(v < 1000u) ? 1u : 0u;
}
kernel void diverged_sum(device const uint* x [[buffer(0)]], device uint* out [[buffer(1)]],
                         uint t [[thread_position_in_threadgroup]],
                         uint lane [[thread_index_in_simdgroup]]) {
  uint v = x[t];
  if (lane < 10u) {
    out[t] = simd_sum(v);
  } else {
    threadgroup_barrier(mem_flags::mem_none);
    out[t] = simd_sum(v);
  }
  if (lane < 10u) threadgroup_barrier(mem_flags::mem_none);
}
kernel void divide(device int* a [[buffer(0)]], constant int& by [[buffer(1)]]) {
  a[0] = a[0] / by;
}
kernel void flush(device float* a [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  a[i] = a[i] * 0.5f;
}
