/* bind.c: how an event binds, whatever the event is.
 *
 * SPDX-License-Identifier: MIT
 */
#include "proof.h"

ipt_next_ nondet_next(void);

/* The event at hand binds in one of the ways of the table of [bind]. */
void prove_bind_event(void)
{
    const unsigned taken = nondet_u8();
    const uint8_t kind = nondet_u8() & 31;
    ipt_next_ next = nondet_next();
    const ipt_bind_ *bind = &next.bind;

    __CPROVER_assume(is_event(&next.event));
    ipti_next_bind(&next);
    CHECK(next.has_event == 1);
    CHECK(bind->how <= IPTI_BIND_COUNT);
    CHECK((bind->once & (bind->once - 1)) == 0);
    CHECK(bind->how == IPTI_BIND_HERE || bind->how == IPTI_BIND_AT
          || bind->how == IPTI_BIND_COUNT || bind->kinds);
    CHECK(bind->how != IPTI_BIND_COUNT || (!bind->kinds && !bind->once));
    CHECK(bind->how != IPTI_BIND_AFTER || bind->once);
    CHECK(bind->how != IPTI_BIND_CAUSED || bind->once);
    CHECK(bind->how != IPTI_BIND_BEFORE || !bind->once);
    CHECK(bind->how == IPTI_BIND_COUNT || bind->count == 0);
    if (ipti_bind_of(bind, kind, taken)) {
        CHECK(bind->kinds >> kind & 1);
        CHECK(bind->once & ~taken);
    }
    REACH(bind->how == IPTI_BIND_AFTER);
    REACH(bind->how == IPTI_BIND_BEFORE);
    REACH(bind->how == IPTI_BIND_COUNT && bind->count);
    REACH(ipti_bind_of(bind, kind, taken) && bind->how == IPTI_BIND_AT);
}
