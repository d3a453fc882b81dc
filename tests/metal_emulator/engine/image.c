/* image.c -- finds where a shared library lies in memory. */
#include <link.h>

#include "engine.h"

struct image_search {
    uintptr_t inside;
    struct engine_range image;
};

static int find_image(struct dl_phdr_info *information, size_t size, void *argument)
{
    (void)size;
    struct image_search *search = argument;
    uintptr_t low = UINTPTR_MAX, high = 0;
    for (int i = 0; i < information->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &information->dlpi_phdr[i];
        uintptr_t start = information->dlpi_addr + header->p_vaddr;
        if (header->p_type != PT_LOAD)
            continue;
        low = start < low ? start : low;
        high = start + header->p_memsz > high ? start + header->p_memsz : high;
    }
    if (search->inside < low || search->inside >= high)
        return 0;
    search->image = (struct engine_range){(const uint8_t *)low, high - low};
    return 1;
}

struct engine_range engine_image_of(const void *inside)
{
    struct image_search search = {.inside = (uintptr_t)inside};
    dl_iterate_phdr(find_image, &search);
    return search.image;
}
