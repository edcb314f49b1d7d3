/* cache.c: lines of [cache], whatever they hold.
 *
 * The invariant, is_line and is_placed in assume.h, is assumed of a line that
 * is looked at, and shown of one that is written and of any other.
 *
 * SPDX-License-Identifier: MIT
 */
#include "proof.h"

ipt_cache nondet_cache(void);
ipt_cache_line nondet_line(void);
ipt_window_ nondet_window(void);
ipt_asid nondet_asid(void);

enum { LINES = IPTI_GROUP };

static ipt_cache cache;
static ipt_cache_line lines[LINES];
static uint32_t place; /* the line where a run is looked for first */
static uint32_t other; /* the number of a line, whichever, ... */
static ipt_cache_line was; /* ... and what it held before */

/* The parts of a line by which it is found. */
static int same(const ipt_cache_line *a, const ipt_cache_line *b)
{
    return a->ip_ == b->ip_ && a->target_ == b->target_ && a->key_ == b->key_
           && a->size_ == b->size_;
}

/* A cache of one group; those that ipt_cache_init makes have eight or more.
 * Nothing that is proved here leaves the lines of ipti_cache_place. Of these
 * the last three bits, which say what may be there, are the same in any cache,
 * and prove_cache_first shows that they are in it. */
static void any_cache(void)
{
    cache = nondet_cache();
    cache.last_ = LINES - 1;
    cache.fuel = NULL;
    cache.lines_ = lines;
    for (place = 0; place < LINES; place++)
        lines[place] = nondet_line();
    place = nondet_u32();
    other = nondet_u32();
    __CPROVER_assume(other <= cache.last_);
    was = cache.lines_[other];
    __CPROVER_assume(is_line(&cache, &was) && is_placed(&was, other));
}

/* What is claimed of ipti_cache_first: a line in the cache, which of its group
 * says the address. */
static int claim_first(uint32_t first, uint64_t ip)
{
    return first <= cache.last_ && first % IPTI_GROUP == ip / 16 % IPTI_GROUP;
}

uint32_t given_ipti_cache_first(const ipt_cache *c, uint16_t space, uint64_t ip)
{
    CHECK(c == &cache);
    (void) space;
    __CPROVER_assume(claim_first(place, ip));
    return place;
}

/* In a cache of 64 lines, or of any power of two above; and where code is
 * noted that leaves it. */
void prove_cache_first(void)
{
    const unsigned bits = nondet_u8();
    const uint64_t ip = nondet_u64();
    const ipt_cache_line run = nondet_line();
    const uint16_t key = nondet_u16();
    uint32_t first;

    __CPROVER_assume(bits >= 6 && bits <= 31);
    cache.last_ = ((uint32_t) 1 << bits) - 1;
    first = ipti_cache_first(&cache, key >> IPTI_MODE_BITS, ip);
    CHECK(claim_first(first, ip));
    CHECK((first ^ (IPTI_GROUP - 1)) <= cache.last_);
    ipti_cache_lose(&cache, &run);
    first = ipti_cache_place(&cache, key, ip, IPTI_OWN);
    CHECK((first | (IPTI_GROUP - 1)) <= cache.last_);
    REACH(first == 0x7ffffffe);
    REACH(cache.last_ == 63);
}

/* A run is looked for: what is found is it. */
void prove_cache_find(void) /* unwind 9, given ipti_cache_first */
{
    const uint16_t key = nondet_u16();
    const uint64_t ip = nondet_u64();
    uint32_t i;

    any_cache();
    __CPROVER_assume(key);
    i = ipti_cache_find(&cache, key, ip);
    if (i != UINT32_MAX) {
        CHECK(i <= cache.last_);
        CHECK(lines[i].key_ == key);
        CHECK(lines[i].ip_ == ip);
    }
    REACH(i == LINES - 1);
    REACH(i == UINT32_MAX);
}

void given_ipti_cache_lose(ipt_cache *c, const ipt_cache_line *line)
{
    CHECK(c == &cache);
    CHECK(line->key_);
}

/* What cache_find proves. */
uint32_t given_ipti_cache_find(const ipt_cache *c, uint16_t key, uint64_t ip)
{
    const uint32_t i = nondet_u32();

    CHECK(c == &cache);
    __CPROVER_assume(i == UINT32_MAX
                     || (i <= cache.last_ && ipti_line_is(&lines[i], key, ip)));
    return i;
}

/* A run is put in a cache: into a line that is free, or instead of another
 * one that is not a name. Whatever else was there still is. */
void prove_cache_put(void) /* unwind 9, given ipti_cache_first
    ipti_cache_lose */
{
    const ipt_cache_line run = nondet_line();
    uint32_t to;
    uint32_t i;
    int full = 1;

    any_cache();
    __CPROVER_assume(is_line(&cache, &run) && run.key_ >> IPTI_MODE_BITS);
    __CPROVER_assume(place <= cache.last_);
    for (i = 0; i < LINES; i++) {
        __CPROVER_assume(is_placed(&lines[i], i));
        to = ipti_cache_place(&cache, run.key_, run.ip_, i);
        full &= lines[to].key_ != 0;
    }
    to = ipti_cache_put(&cache, &run);
    CHECK(to <= cache.last_);
    CHECK(same(&lines[to], &run));
    CHECK(is_line(&cache, &lines[to]));
    if (other == to) {
        CHECK(!is_name(&was));
        CHECK(full || was.key_ == 0);
    } else {
        CHECK(same(&lines[other], &was));
        CHECK(is_line(&cache, &lines[other]));
    }
    CHECK(is_placed(&lines[other], other));
    REACH(full && to == 5);
    REACH(!full && to == 7 && other == 0 && is_name(&was));
}

/* Links: one is followed, or a new one is set. */
void prove_cache_follow(void) /* unwind 9, given ipti_cache_find */
{
    const uint32_t from = nondet_u32();
    const unsigned way = nondet_u8() & 1;
    const uint16_t key = nondet_u16();
    const uint64_t ip = nondet_u64();
    const ipt_cache_line *line;
    uint32_t number = from;

    any_cache();
    __CPROVER_assume(other == (from & cache.last_));
    line = ipti_cache_follow(&cache, &number, way, key, ip);
    if (!line) {
        CHECK(number == from);
        line = ipti_cache_seek(&cache, &number, way, key, ip);
        REACH(line && number != from);
    }
    if (line) {
        CHECK(number <= cache.last_);
        CHECK(line == &lines[number]);
        CHECK(line->key_ == key);
        CHECK(line->ip_ == ip);
        CHECK(lines[other].next_[way] == number);
    } else {
        CHECK(number == from);
    }
    CHECK(is_line(&cache, &lines[other]));
    CHECK(same(&lines[other], &was));
    REACH(!line);
    REACH(line && number == LINES - 1 && from > LINES);
}

/* Names of address spaces, of which one is kept where runs are. */
void prove_cache_name(void) /* slow, unwind 9, given ipti_cache_lose */
{
    const ipt_asid name = nondet_asid();
    const uint16_t key = nondet_u16();
    const uint64_t value = nondet_u64();
    const ipt_cache_line *line;
    uint32_t i;

    any_cache();
    __CPROVER_assume(key >= IPTI_ALIAS && key <= IPTI_BY_SPACE);
    line = ipti_name_find(&cache, key, &name);
    REACH(line);
    if (line) {
        CHECK(line - lines < 2);
        return;
    }
    ipti_name_put(&cache, key, &name, value);
    line = ipti_name_find(&cache, key, &name);
    CHECK(line || key == IPTI_ALIAS);
    if (line) {
        i = (uint32_t) (line - lines);
        CHECK(i < 2);
        CHECK(ipti_name_value(line) == value);
        CHECK(i == other || same(&lines[other], &was));
        REACH(i == other && was.key_ > IPTI_BY_SPACE);
        REACH(i == other && ipti_line_numbers(&was));
    } else {
        CHECK(same(&lines[other], &was));
    }
    CHECK(is_line(&cache, &lines[other]));
    CHECK(is_placed(&lines[other], other));
    REACH(!line);
}

/* Bytes of code: the line of a block, and what a window shows of it. */
void prove_cache_bytes(void) /* slow, unwind 33, given ipti_cache_first */
{
    const uint16_t space = nondet_u16();
    const uint8_t mode = nondet_u8() & IPTI_MODE_MAX;
    const uint64_t ip = nondet_u64() & ~(uint64_t) (IPTI_BLOCK - 1);
    const unsigned n = nondet_u8() % IPTI_BLOCK;
    const ipt_window_ window = nondet_window();
    ipt_cache_line *line;
    ipt_cache_line before;
    uint32_t i;

    any_cache();
    __CPROVER_assume(space && space <= IPTI_SPACE_MAX);
    __CPROVER_assume(is_code(&window));
    line = ipti_bytes_line(&cache, space, mode, ip);
    i = (uint32_t) (line - lines);
    CHECK(i <= cache.last_);
    CHECK(i % IPTI_GROUP >= 2);
    CHECK(line->ip_ == ip);
    CHECK(line->kind_ == mode);
    CHECK(i == other || same(&lines[other], &was));
    before = *line;
    ipti_bytes_put(line, &window);
    if (ip + n - window.ip < window.size) {
        CHECK(line->target_ >> n & 1);
        CHECK(line->sizes_[n] == window.bytes[ip + n - window.ip]);
    } else {
        CHECK(((line->target_ ^ before.target_) >> n & 1) == 0);
        CHECK(line->sizes_[n] == before.sizes_[n]);
    }
    CHECK(is_line(&cache, &lines[other]));
    CHECK(is_placed(&lines[other], other));
    REACH(i == other && was.key_ && before.target_ == 0);
    REACH(before.target_ == 1 && line->target_ == 3);
    REACH(line->target_ >> 31 & 1 && window.ip > ip);
}
