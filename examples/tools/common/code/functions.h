/* functions.h: which function it is, and what it is called where there are
 * others of its name.
 *
 *     functions_init(&f);
 *     n = functions_add(&f, &about);     // the same for the same function
 *     ...
 *     functions_settle(&f);              // all are known
 *     puts(functions_text(&f, n));
 *     functions_free(&f);
 *
 * A function is where its symbol begins in a build of a file: two of one name
 * are two, and one that is known by two names or paths is one. Numbers begin at
 * 1 and are dense.
 *
 * Its text is the first of these that no other function has: NAME; NAME(TYPES)
 * of C++; NAME [SOURCE FILE], of one that only this file sees; NAME [FILE];
 * then more of that, and its place in the file. Before functions_settle it is
 * the first one that no function asked for before has.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FUNCTIONS_H
#define FUNCTIONS_H
#include "buildid.h"
#include "files.h"
#include "names.h"
#include <stddef.h>
#include <stdint.h>

/* A function, or the code of a file of which no function is known. */
typedef struct functions_about {
    const char *symbol;     /* NULL: none is known */
    const files_file *file; /* or NULL: the kernel, perf-PID.map, ... */
    const char *object;     /* the file's name as it was mapped; or NULL */
    const char *source;     /* or NULL */
    uint64_t first;         /* where it begins in that */
    uint32_t pid;           /* of perf-PID.map; else 0 */
    uint8_t kind;           /* SYMBOL_ */
} functions_about;

typedef struct functions_one {
    functions_about about;  /* its texts are kept */
    uint32_t name;          /* numbers of texts: without parameters, ... */
    uint32_t text;          /* what is printed; 0: not known yet */
    uint32_t object;        /* 1 + its index, or 0 */
    uint32_t whole;         /* yours: what it is a part of */
    uint8_t form;           /* which of the texts that is */
} functions_one;

/* A build of a file. */
typedef struct functions_object {
    const files_file *file;
    uint32_t same; /* 1 + the index of the first one with this build id */
    buildid id;
} functions_object;

typedef struct functions_slot {
    uint64_t place;
    uint32_t object; /* or that of the texts */
    uint32_t pid;
    uint32_t number; /* 0: free */
} functions_slot;

typedef struct functions {
    functions_one *list;    /* number n is list[n - 1] */
    uint32_t count;
    uint32_t max;
    functions_object *objects;
    uint32_t object_count;
    uint32_t last;          /* object found last, 1 + its index */
    functions_slot *slots;
    uint32_t slot_count;    /* in use */
    uint32_t size;          /* a power of two, or 0 */
    names_table texts;
    uint32_t *owners;       /* which function has a text, by its number */
    uint32_t owner_max;
    uint8_t mangled;        /* names as the linker has them; yours to set */
} functions;

void functions_init(functions *f);
void functions_free(functions *f);

/* The number of a function; 0 without memory. Functions of texts that are given
 * have to be there until functions_free, `object` only now. */
uint32_t functions_add(functions *f, const functions_about *about);

/* The number of a text that is not a function's, such as a thread's. Functions of
 * the same text have another one. */
uint32_t functions_label(functions *f, const char *text);

/* The name without parameters; NULL: it has no symbol. */
const char *functions_name(const functions *f, uint32_t number);

/* Set the texts of all functions that are known now. */
void functions_settle(functions *f);

/* The text of a function; "?" for 0. */
const char *functions_text(functions *f, uint32_t number);

/* Is it a function that the user calls so? By its name, with parameters or
 * without, by its text, or by FILE:NAME, where FILE is a file or a source file,
 * with folders or without. */
int functions_match(functions *f, uint32_t number, const char *pattern);

/* Functions that the user chose by a name. */
typedef struct functions_choice {
    const char *pattern;
    uint8_t *states;  /* by number - 1: 0 not known, 1 no, 2 yes; free it */
    uint32_t max;
} functions_choice;

/* Is this one of them? -1 without memory. */
int functions_chosen(functions *f, functions_choice *c, uint32_t number);

/* Functions with such a name: at most `max` numbers, the best first; how
 * many. */
size_t functions_similar(functions *f, const char *pattern, uint32_t *numbers,
                         size_t max);

#endif /* FUNCTIONS_H */
