/* load.h: see load.c. */
#ifndef LOAD_H
#define LOAD_H
#include "bench.h"

/* NULL, or why there is no such case. */
const char *bench_load(bench_case *c, const char *folder);

#endif /* LOAD_H */
