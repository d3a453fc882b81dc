#include "team.h"
size_t mx_team_run(mx_chunk_function function, void *job, size_t first, size_t n, int threads,
                   bool (*interrupted)(void *job))
{
    (void)threads;
    for (; first < n && !(interrupted && interrupted(job)); first++)
        function(job, first, 0);
    return first;
}
static int team_size = 1;
int mx_team_size(void) { return team_size; }
void mx_team_set_size(int size) { team_size = size; }
int mx_team_default_size(void) { return 1; }
void mx_team_before_fork(void) {}
void mx_team_after_fork(bool in_child) { (void)in_child; }
