/* charge.c: whose time it is (examples/tools/common/flow/charge.h). */
#include "examples/tools/common/flow/charge.c"
#include "dice.h"
#include "test.h"

#define NS CHARGE_FINE

/* What comes out: time by line, and by gap. */
static struct {
    uint64_t line[8], insns[8], cycles[8], gap[CHARGE_GAPS], guess;
    uint32_t notes[64];
    uint64_t note_at[64];
    unsigned note_count, stops[CHARGE_GAPS];
    unsigned now; /* charge_gap */
} out;

static void on_spend(const calltree_cost *cost, uint32_t line, void *user)
{
    (void) user;
    out.guess += cost->guess;
    if (out.now && cost->insns == 0) {
        out.gap[out.now] += cost->ns;
        return;
    }
    out.line[line] += cost->ns;
    out.insns[line] += cost->insns;
    out.cycles[line] += cost->cycles;
}

static void on_note(const charge_part *note, void *user)
{
    const charge *const c = (const charge *) user;
    out.notes[out.note_count] = note->number;
    out.note_at[out.note_count++] = c->ns;
}

static void on_stop(charge_gap why, void *user)
{
    (void) user;
    CHECK_EQ(out.now, CHARGE_NO_GAP);
    out.now = why;
    out.stops[why]++;
}

static void on_go(void *user)
{
    (void) user;
    CHECK(out.now != CHARGE_NO_GAP);
    out.now = CHARGE_NO_GAP;
}

static const charge_config config = {on_spend, on_note, on_stop, on_go};

static void begin(charge *c)
{
    memset(&out, 0, sizeof out);
    charge_init(c, &config, c);
    c->timed = 1;
}

/* Evenly, by instructions; cycles, too; a note has the time of its place. */
TEST(intervals)
{
    charge c;
    begin(&c);
    charge_date(&c, 1000 * NS, 50, 1);
    charge_run(&c, 30, 1);
    charge_note(&c, 0, 7, 0, 0);
    charge_run(&c, 10, 2);
    CHECK_EQ(out.note_count, 0);
    charge_date(&c, 1100 * NS, 250, 0);
    CHECK_EQ(out.line[1], 75 * NS);
    CHECK_EQ(out.line[2], 25 * NS);
    CHECK_EQ(out.cycles[1], 150);
    CHECK_EQ(out.note_at[0], 1075 * NS);
    charge_date(&c, 1200 * NS, 260, 0); /* nothing ran: it is the next one's */
    charge_run(&c, 5, 3);
    charge_date(&c, 1090 * NS, 260, 0); /* back: ignored */
    charge_date(&c, 1300 * NS, 270, 0);
    CHECK_EQ(out.line[3], 200 * NS);
    CHECK_EQ(out.guess, 0);
    charge_end(&c);
    charge_free(&c);
}

/* What executed between two dates that are the same took no time. */
TEST(no_time)
{
    charge c;
    begin(&c);
    charge_date(&c, 1000 * NS, 0, 1);
    charge_run(&c, 10, 1);
    charge_date(&c, 1100 * NS, 0, 0);
    charge_run(&c, 10, 2);
    charge_date(&c, 1100 * NS, 0, 0);
    charge_run(&c, 10, 3);
    charge_date(&c, 1200 * NS, 0, 0);
    CHECK_EQ(out.line[1], 100 * NS);
    CHECK_EQ(out.line[2], 0);
    CHECK_EQ(out.line[3], 100 * NS);
    CHECK_EQ(out.insns[2], 10);
    charge_end(&c);
    charge_free(&c);
}

/* A thread begins where tracing was enabled, also if a date comes before it
 * has executed anything. What was before that is not known. */
TEST(begins)
{
    charge c;
    begin(&c);
    charge_date(&c, 1000 * NS, 0, 1);
    charge_go(&c);
    charge_date(&c, 1500 * NS, 0, 0);
    charge_run(&c, 10, 1);
    charge_date(&c, 1600 * NS, 0, 0);
    CHECK_EQ(out.line[1], 600 * NS);
    CHECK_EQ(out.gap[CHARGE_UNKNOWN], 0);
    charge_end(&c);
    charge_free(&c);
    begin(&c);
    charge_date(&c, 1000 * NS, 0, 0);
    charge_go(&c);
    charge_date(&c, 1500 * NS, 0, 0);
    charge_run(&c, 10, 1);
    charge_date(&c, 1600 * NS, 0, 0);
    CHECK_EQ(out.gap[CHARGE_UNKNOWN], 500 * NS);
    CHECK_EQ(out.line[1], 100 * NS);
    charge_end(&c);
    charge_free(&c);
}

/* A gap with dates at its edges is exact; without them instructions take what
 * others did. */
TEST(gaps)
{
    charge c;
    begin(&c);
    charge_date(&c, 0, 0, 1);
    charge_run(&c, 100, 1);
    charge_date(&c, 100 * NS, 0, 1);
    charge_stop(&c, CHARGE_SYSCALL);
    charge_date(&c, 700 * NS, 0, 0);
    charge_date(&c, 900 * NS, 0, 1);
    charge_go(&c);
    CHECK_EQ(out.gap[CHARGE_SYSCALL], 800 * NS);
    charge_run(&c, 10, 2);
    charge_date(&c, 910 * NS, 0, 0);
    CHECK_EQ(out.line[2], 10 * NS);
    CHECK_EQ(out.guess, 0);
    charge_run(&c, 20, 3);
    charge_stop(&c, CHARGE_INTERRUPT);
    charge_go(&c);
    charge_run(&c, 20, 3);
    charge_date(&c, 1910 * NS, 0, 0);
    CHECK_EQ(out.line[3], 40 * NS);
    CHECK_EQ(out.gap[CHARGE_INTERRUPT], 960 * NS);
    CHECK_EQ(out.guess, 1000 * NS);
    charge_run(&c, 7, 4);
    charge_stop(&c, CHARGE_SYSCALL); /* it does not end */
    charge_date(&c, 99999 * NS, 0, 0);
    charge_end(&c);
    CHECK_EQ(out.line[4], 7 * NS);
    CHECK_EQ(out.gap[CHARGE_SYSCALL], 800 * NS);
    CHECK_EQ(out.now, CHARGE_NO_GAP);
    charge_free(&c);
}

/* A gap that does not end has no time, and no other one has it. */
static void without_an_end(int edge, charge_gap why)
{
    const int known = edge && why == CHARGE_SYSCALL;
    charge c;
    begin(&c);
    charge_date(&c, 0, 0, 1);
    charge_run(&c, 100, 1);
    charge_date(&c, 100 * NS, 0, 0);
    charge_run(&c, 20, 2);
    charge_stop(&c, CHARGE_INTERRUPT);
    charge_go(&c);
    charge_run(&c, 20, 2);
    charge_stop(&c, why);
    charge_note(&c, 0, 7, 0, 0);
    charge_date(&c, 1100 * NS, 0, edge);
    charge_end(&c);
    CHECK_EQ(out.line[2], 40 * NS);
    CHECK_EQ(out.gap[CHARGE_INTERRUPT], 480 * NS);
    CHECK_EQ(out.gap[why], known ? 480 * NS : 0);
    CHECK_EQ(out.note_count, 1);
    CHECK_EQ(out.note_at[0], known ? 1100 * NS : 620 * NS);
    charge_free(&c);
}

TEST(a_gap_without_an_end)
{
    without_an_end(0, CHARGE_SYSCALL);
    without_an_end(1, CHARGE_SYSCALL); /* the thread has gone by then */
    without_an_end(1, CHARGE_FILTERED);
}

/* A switch cuts a gap, or an interval without one. */
TEST(switches)
{
    charge c;
    begin(&c);
    charge_date(&c, 0, 0, 1);
    charge_run(&c, 100, 1);
    charge_date(&c, 100 * NS, 0, 1);
    charge_stop(&c, CHARGE_SYSCALL);
    charge_off(&c, 150 * NS, 1150 * NS);
    charge_date(&c, 1160 * NS, 0, 1);
    charge_go(&c);
    charge_run(&c, 50, 2);
    charge_off(&c, 1210 * NS, 2000 * NS);
    charge_run(&c, 10, 3);
    charge_date(&c, 2010 * NS, 0, 0);
    CHECK_EQ(out.gap[CHARGE_SYSCALL], 60 * NS);
    CHECK_EQ(out.gap[CHARGE_OFF_CPU], 1790 * NS);
    CHECK_EQ(out.line[2], 50 * NS);
    CHECK_EQ(out.line[3], 10 * NS);
    CHECK_EQ(out.guess, 0);
    charge_end(&c);
    charge_free(&c);
}

/* A switch at one of the stops of an interval: it goes on, without that time. */
TEST(switch_at_some_stop)
{
    charge c;
    begin(&c);
    charge_date(&c, 0, 0, 1);
    charge_run(&c, 100, 1);
    charge_date(&c, 100 * NS, 0, 0);
    charge_run(&c, 100, 1);
    charge_stop(&c, CHARGE_SYSCALL);
    charge_off_once(&c, 500 * NS, 1500 * NS);
    charge_go(&c);
    charge_run(&c, 300, 2);
    charge_stop(&c, CHARGE_INTERRUPT);
    charge_off_once(&c, 1600 * NS, 1700 * NS);
    charge_go(&c);
    charge_run(&c, 100, 3);
    charge_date(&c, 2200 * NS, 0, 0);
    CHECK_EQ(out.line[1], 200 * NS);
    CHECK_EQ(out.line[2], 300 * NS);
    CHECK_EQ(out.line[3], 100 * NS);
    CHECK_EQ(out.gap[CHARGE_SYSCALL], 250 * NS);
    CHECK_EQ(out.gap[CHARGE_INTERRUPT], 250 * NS);
    CHECK_EQ(out.gap[CHARGE_OFF_CPU], 1100 * NS);
    charge_end(&c);
    charge_free(&c);
}

/* Whatever comes in: all instructions and notes come out, in order, time never
 * goes back and its sum is that from the first date to the last. */
TEST(whatever)
{
    for (int run = 0; run < 2000; run++) {
        uint64_t insns = 0, sum = 0, got = 0, time = 0;
        unsigned notes = 0;
        charge c;
        begin(&c);
        for (int i = 0; i < 40; i++) {
            switch (dice(7)) {
            case 0:
                time += dice(1000);
                charge_date(&c, time, dice(1000), dice(2) != 0);
                break;
            case 1: charge_stop(&c, (charge_gap) (1 + dice(7))); break;
            case 2: charge_go(&c); break;
            case 3:
                time += 1 + dice(50);
                (dice(2) ? charge_off : charge_off_once)(&c, time, time + 9);
                time += 9;
                break;
            case 4:
                if (notes < 60) charge_note(&c, 1, notes++, 0, 0);
                break;
            default:
                charge_run(&c, 1 + (unsigned) i % 9, 1 + dice(7));
                insns += 1 + (unsigned) i % 9;
                break;
            }
        }
        if (c.gap) charge_go(&c);
        charge_run(&c, 1, 1);
        charge_date(&c, time += 5, 0, 0);
        charge_end(&c);
        for (unsigned i = 0; i < 8; i++) got += out.insns[i];
        for (unsigned i = 0; i < 8; i++) sum += out.line[i] + out.gap[i];
        CHECK_EQ(got, insns + 1);
        CHECK_EQ(out.note_count, notes);
        for (unsigned i = 0; i < notes; i++) CHECK_EQ(out.notes[i], i);
        for (unsigned i = 1; i < notes; i++)
            CHECK(out.note_at[i] >= out.note_at[i - 1]);
        CHECK(sum <= time);
        CHECK_EQ(out.now, CHARGE_NO_GAP);
        charge_free(&c);
    }
}

/* Without dates it comes out at once, instructions when something else does. */
TEST(untimed)
{
    charge c;
    begin(&c);
    c.timed = 0;
    charge_run(&c, 3, 1);
    charge_run(&c, 2, 1);
    charge_run(&c, 9, 2);
    CHECK_EQ(out.insns[1], 5);
    CHECK_EQ(out.insns[2], 0);
    charge_stop(&c, CHARGE_LOST);
    CHECK_EQ(out.insns[2], 9);
    CHECK_EQ(out.now, CHARGE_LOST);
    charge_run(&c, 4, 1);
    CHECK_EQ(out.now, CHARGE_NO_GAP);
    CHECK_EQ(out.line[1], 0);
    charge_note(&c, 0, 5, 0, 0);
    CHECK_EQ(out.notes[0], 5);
    CHECK_EQ(out.insns[1], 9);
    charge_run(&c, 1, 1);
    charge_stop(&c, CHARGE_SYSCALL);
    charge_stop(&c, CHARGE_LOST);
    CHECK_EQ(out.now, CHARGE_LOST);
    charge_run(&c, 7, 3);
    charge_end(&c);
    CHECK_EQ(out.insns[1], 10);
    CHECK_EQ(out.insns[3], 7);
    CHECK_EQ(out.now, CHARGE_NO_GAP);
    charge_free(&c);
}

/* More than is held back: no instruction is forgotten. */
TEST(too_much)
{
    charge c;
    uint64_t got = 0;
    begin(&c);
    charge_date(&c, 0, 0, 1);
    for (uint32_t i = 0; i < CHARGE_HELD + 1000; i++)
        charge_run(&c, 1, 1 + i % 2);
    CHECK(c.count <= CHARGE_HELD);
    charge_date(&c, (uint64_t) CHARGE_HELD * NS, 0, 0);
    for (unsigned i = 0; i < 8; i++) got += out.insns[i];
    CHECK_EQ(got, CHARGE_HELD + 1000);
    CHECK_EQ(out.line[1] + out.line[2], (uint64_t) CHARGE_HELD * NS);
    CHECK(out.guess > 0);
    charge_end(&c);
    charge_free(&c);
}

int main(void)
{
    RUN(intervals);
    RUN(no_time);
    RUN(begins);
    RUN(gaps);
    RUN(a_gap_without_an_end);
    RUN(switches);
    RUN(switch_at_some_stop);
    RUN(whatever);
    RUN(untimed);
    RUN(too_much);
    return test_report();
}
