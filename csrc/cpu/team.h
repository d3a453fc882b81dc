#pragma once
/* team.h -- interim. */
#include "../base.h"
#define MX_MAX_THREADS 64
typedef void (*mx_chunk_function)(void *job, size_t chunk, int thread);
size_t mx_team_run(mx_chunk_function function, void *job, size_t first, size_t n, int threads,
                   bool (*interrupted)(void *job));
int mx_team_size(void);
void mx_team_set_size(int size);
int mx_team_default_size(void);
void mx_team_before_fork(void);
void mx_team_after_fork(bool in_child);
