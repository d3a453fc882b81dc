// binding.h -- makes an entry of the engine's table from a kernel function.
//
// The attribute of a parameter comes from the text of the program, its type from the compiler.
#pragma once
#include "metal_atomic"

namespace __msl
{
// -- What a parameter is

template <typename T> inline constexpr msl_space space_of = MSL_THREAD;
template <typename T> inline constexpr msl_space space_of<device T> = MSL_DEVICE;
template <typename T> inline constexpr msl_space space_of<const device T> = MSL_DEVICE;
template <typename T> inline constexpr msl_space space_of<constant T> = MSL_CONSTANT;
template <typename T> inline constexpr msl_space space_of<threadgroup T> = MSL_THREADGROUP;
template <typename T> inline constexpr msl_space space_of<const threadgroup T> =
    MSL_THREADGROUP;
template <typename T> inline constexpr msl_space space_of<volatile device T> = MSL_DEVICE;
template <typename T>
inline constexpr msl_space space_of<const volatile device T> = MSL_DEVICE;
template <typename T>
inline constexpr msl_space space_of<volatile threadgroup T> = MSL_THREADGROUP;

template <typename P> struct target {
    using type = char;
    static constexpr bool is_pointer = false, is_reference = false;
};
template <typename T> struct target<T *> {
    using type = T;
    static constexpr bool is_pointer = true, is_reference = false;
};
template <typename T> struct target<T &> {
    using type = T;
    static constexpr bool is_pointer = false, is_reference = true;
};

template <typename P> inline constexpr msl_space target_space =
    space_of<typename target<P>::type>;

// -- What an attribute takes

template <typename P>
inline constexpr bool is_memory = target<P>::is_pointer || target<P>::is_reference;

template <typename P>
inline constexpr bool is_buffer =
    is_memory<P> && (target_space<P> == MSL_DEVICE || target_space<P> == MSL_CONSTANT);

template <typename P>
inline constexpr bool is_one_level = !__is_pointer(typename target<P>::type);

template <typename P>
inline constexpr bool is_threadgroup_memory =
    is_memory<P> && target_space<P> == MSL_THREADGROUP;

template <typename P>
inline constexpr bool is_position = __is_same(typename components<P>::type, uint) ||
                                    __is_same(typename components<P>::type, ushort);

template <typename P>
inline constexpr bool is_index = is_position<P> && components<P>::count == 1;

// -- A kernel's parameters

template <typename... P> struct parameters {
    static constexpr uint count = sizeof...(P);
};
template <typename... P> parameters<P...> parameters_of(void (*)(P...));

template <typename List, uint n> struct nth_of;
template <typename First, typename... Rest> struct nth_of<parameters<First, Rest...>, 0> {
    using type = First;
};
template <typename First, typename... Rest, uint n>
struct nth_of<parameters<First, Rest...>, n> : nth_of<parameters<Rest...>, n - 1> {};
template <typename F, uint n>
using parameter = typename nth_of<decltype(parameters_of((F) nullptr)), n>::type;

template <typename P> inline constexpr int count_of = components<P>::count;

// -- An entry

template <msl_argument_kind kind, uint index> struct attribute {};

template <typename P> __MSL_FUNCTION P position(const uint32_t (&value)[3])
{
    if constexpr (components<P>::count == 1) {
        return P(value[0]);
    } else {
        P result;
        for (int i = 0; i < components<P>::count; i++)
            result[i] = typename components<P>::type(value[i]);
        return result;
    }
}

template <typename P> __MSL_FUNCTION P memory(void *at)
{
    if constexpr (target<P>::is_pointer)
        return (P)(uintptr_t)at;
    else
        return *(typename target<P>::type *)(uintptr_t)at;
}

template <msl_argument_kind kind, uint index, typename P>
__MSL_FUNCTION P argument(const msl_thread *self)
{
    if constexpr (kind == MSL_BUFFER)
        return memory<P>(self->buffers[index]);
    else if constexpr (kind == MSL_THREADGROUP_MEMORY)
        return memory<P>(self->threadgroup_memory[index]);
    else if constexpr (kind == MSL_THREAD_POSITION_IN_GRID)
        return position<P>(self->position_in_grid);
    else if constexpr (kind == MSL_THREAD_POSITION_IN_THREADGROUP)
        return position<P>(self->position_in_threadgroup);
    else if constexpr (kind == MSL_THREADGROUP_POSITION_IN_GRID)
        return position<P>(self->threadgroup_position);
    else if constexpr (kind == MSL_THREADS_PER_THREADGROUP)
        return position<P>(self->threads_per_threadgroup);
    else if constexpr (kind == MSL_THREADGROUPS_PER_GRID)
        return position<P>(self->threadgroups_per_grid);
    else if constexpr (kind == MSL_THREADS_PER_GRID)
        return position<P>(self->threads_per_grid);
    else if constexpr (kind == MSL_THREAD_INDEX_IN_THREADGROUP)
        return P(self->index_in_threadgroup);
    else if constexpr (kind == MSL_THREAD_INDEX_IN_SIMDGROUP)
        return P(self->index_in_simdgroup);
    else if constexpr (kind == MSL_SIMDGROUP_INDEX_IN_THREADGROUP)
        return P(self->simdgroup_index);
    else if constexpr (kind == MSL_THREADS_PER_SIMDGROUP)
        return P(self->threads_per_simdgroup);
    else if constexpr (kind == MSL_SIMDGROUPS_PER_THREADGROUP)
        return P(self->simdgroups_per_threadgroup);
    else if constexpr (kind == MSL_THREAD_INDEX_IN_QUADGROUP)
        return P(self->index_in_threadgroup % 4);
    else if constexpr (kind == MSL_QUADGROUP_INDEX_IN_THREADGROUP)
        return P(self->index_in_threadgroup / 4);
    else
        return P((self->threads_per_threadgroup[0] * self->threads_per_threadgroup[1] *
                      self->threads_per_threadgroup[2] +
                  3) /
                 4);
}

template <typename F, F function, typename Parameters, typename... Attributes> struct entry;

template <typename F, F function, typename... P, msl_argument_kind... kind, uint... index>
struct entry<F, function, parameters<P...>, attribute<kind, index>...> {
    __attribute__((no_sanitize("coverage"))) static void run(const msl_thread *self)
    {
        function(argument<kind, index, P>(self)...);
    }
    static inline constexpr msl_argument arguments[sizeof...(P) + 1] = {
        {kind, index, __is_const(typename target<P>::type), target_space<P>,
         is_memory<P> ? sizeof(typename target<P>::type) : 0}...};
};

template <typename F, F function, typename... Attributes>
__MSL_FUNCTION msl_kernel describe(const char *name, uint max_threads)
{
    using Parameters = decltype(parameters_of(function));
    using Entry = entry<F, function, Parameters, Attributes...>;
    return {name,
            &Entry::run,
            Entry::arguments,
            Parameters::count,
            max_threads,
            0,
            (const void *)(uintptr_t)function};
}

// Storage of a threadgroup variable: automatic variables have no address space.  The section
// gets a record of each, with an address within the kernel, so that the memory of a kernel is
// known before it runs: struct threadgroup_record of runtime.cpp.
template <typename T, uint number> __MSL_FUNCTION threadgroup T &threadgroup_variable()
{
    asm volatile("77: .pushsection msl_threadgroup, \"aw\"\n"
                 ".quad 77b, %c0, %c1\n"
                 ".popsection"
                 :
                 : "i"(number), "i"(sizeof(T)));
    return *(threadgroup T *)(uintptr_t)__msl_engine->threadgroup_variable(number, sizeof(T));
}
} // namespace __msl
