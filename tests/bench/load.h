/* load.h: see load.c. */
#ifndef LOAD_H
#define LOAD_H
#include "bench.h"

/* NULL, or why there is no such case. */
const char *bench_load(bench_case *c, const char *folder);

/* dense.c: the i-th stream's name, or NULL; the stream of that name. */
const char *bench_dense_name(size_t i);
const char *bench_dense(bench_case *c, const char *name);

#endif /* LOAD_H */
