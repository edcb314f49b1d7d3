/* stack.c: call stacks from flow (common/flow/stack.h). Functions are
 * letters: a has the addresses from 0x1000 on, b those from 0x2000, and so on;
 * capitals are kernel code. Expectations are written by hand. */
#include "examples/tools/common/flow/stack.c"
#include "dice.h"
#include "test.h"

#define KERNEL 0xffffffff80000000u

/* Addresses in functions: A(0x10) is 0x10 into a. */
#define AT(n, offset) ((n) * 0x1000u + (offset))
#define A(offset) AT(1, offset)
#define B(offset) AT(2, offset)
#define C(offset) AT(3, offset)
#define D(offset) AT(4, offset)
#define E(offset) AT(5, offset)
#define K(offset) (KERNEL + AT(1, offset))
#define L(offset) (KERNEL + AT(2, offset))

static stack s;
static char shown[400];  /* the stack as letters, the bottom first */
static char told[4000];  /* what was entered, +, and left, - */
static size_t told_count;
static size_t depth;     /* by what was told */

static stack_function whole_page(uint64_t ip, void *user)
{
    stack_function f = {0};
    (void) user;
    f.first = ip & ~(uint64_t) 0xfff;
    f.last = ip | 0xfff;
    f.name = (uint32_t) (f.first >> 12 & 31);
    f.part = ip >> 16 == 0x80; /* 0x802000 is b.cold */
    if (f.part) f.name = (uint32_t) (f.first >> 12 & 15);
    f.gap = f.name == 16;                /* p */
    f.start = f.name == 17;              /* q */
    return f;
}

static char letter(const stack_frame *f)
{
    const uint64_t first = f->function.first;
    const char n = (char) (first >> 12 & 31);
    return (char) (n + (first >> 63 ? 'A' : 'a') - 1);
}

static void tell(char sign, const stack_frame *f, stack_why why)
{
    static const char reasons[] = "ctmfusle";
    if (told_count + 4 > sizeof told) return;
    told[told_count++] = sign;
    told[told_count++] = letter(f);
    told[told_count++] = reasons[why];
    told[told_count] = 0;
}

static void entered(stack *from, stack_frame *f, stack_why why)
{
    CHECK(f == &from->frames.list[from->frames.count - 1]);
    CHECK_EQ(from->frames.count, ++depth);
    if (why == STACK_CALLED || why == STACK_FOUND) f->user = &told[told_count];
    CHECK(why != STACK_UNWOUND);
    CHECK(why != STACK_ENDED);
    CHECK(f->user != NULL);
    tell('+', f, why);
}

static void left(stack *from, stack_frame *f, stack_why why)
{
    CHECK(f == &from->frames.list[from->frames.count - 1]);
    CHECK_EQ(from->frames.count, depth--);
    CHECK(why != STACK_FOUND);
    tell('-', f, why);
}

static const stack_config config = {whole_page, entered, left};

static void begin_test(void)
{
    stack_free(&s);
    stack_init(&s, &config, NULL);
    told_count = depth = 0;
    told[0] = 0;
}

static uint8_t size_of(uint8_t kind)
{
    switch (kind) {
    case IPT_INSN_RET: return 1;
    case IPT_INSN_CALL: return 5;
    case IPT_INSN_OTHER: return 4;
    default: return 2;
    }
}

static int is_stack(const char *want)
{
    size_t n = 0;
    for (size_t i = 0; i < s.frames.count && n + 1 < sizeof shown; i++)
        shown[n++] = letter(&s.frames.list[i]);
    shown[n] = 0;
    if (strcmp(shown, want) == 0) return 1;
    printf("    stack %s, expected %s; %s\n", shown, want, told);
    return 0;
}

static int was_told(const char *want)
{
    const int same = strcmp(told, want) == 0;
    if (!same) printf("    told     %s\n    expected %s\n", told, want);
    told_count = 0;
    told[0] = 0;
    return same;
}

/* Straight code from ip to the instruction at end; then the stack is `want`. */
#define RUNS(ip, end, kind, want)                                             \
    do {                                                                      \
        run_block(ip, end, kind);                                             \
        CHECK(is_stack(want));                                                \
    } while (0)

static int quiet;       /* nothing came after a block of the top's function */
static unsigned stayed; /* blocks that stack_branch took */

static int is_in_top(uint64_t ip)
{
    return s.frames.count && holds(&top_of(&s.frames)->function, ip);
}

static void run_block(uint64_t ip, uint64_t end, uint8_t kind)
{
    ipt_block b;
    stack quick = s;
    const size_t before = told_count;
    int took;
    memset(&b, 0, sizeof b);
    b.ip = ip;
    b.end_ip = end;
    b.count = 1;
    b.kind = kind;
    b.last_size = size_of(kind);
    b.mode = IPT_MODE_64;
    took = quiet && is_in_top(ip) && stack_branch(&quick, &b);
    CHECK_EQ(stack_flow(&s, &b), 0);
    quiet = is_in_top(ip);
    if (!took) return;
    CHECK_EQ(told_count, before); /* the frame is the same, ... */
    CHECK(memcmp(&quick, &s, sizeof s) == 0); /* ... and all else */
    stayed++;
}

static void event_at(uint8_t type, uint64_t ip)
{
    ipt_event e;
    memset(&e, 0, sizeof e);
    e.type = type;
    e.ip = ip;
    if (type == IPT_EVT_TSX) e.u.tsx.aborted = 1;
    quiet = 0;
    CHECK_EQ(stack_event(&s, &e), 0);
}

#define CALL IPT_INSN_CALL
#define RET IPT_INSN_RET
#define JMP IPT_INSN_JMP
#define JCC IPT_INSN_JCC
#define JUMP IPT_INSN_JMP_INDIRECT
#define SYSCALL IPT_INSN_SYSCALL
#define IRET IPT_INSN_IRET
#define OTHER IPT_INSN_OTHER

TEST(calls_and_returns)
{
    begin_test();
    RUNS(A(0x10), A(0x20), CALL, "a");
    RUNS(B(0), B(0x10), JCC, "ab");
    RUNS(B(0x40), B(0x50), CALL, "ab");
    RUNS(C(0), C(8), RET, "abc");
    RUNS(B(0x55), B(0x60), RET, "ab");
    RUNS(A(0x25), A(0x30), CALL, "a");
    RUNS(A(0), A(0x10), CALL, "aa"); /* recursion */
    RUNS(B(0), B(0), RET, "aab");
    RUNS(A(0x15), A(0x18), RET, "aa");
    RUNS(A(0x35), A(0x38), OTHER, "a");
    CHECK(was_told("+af+bc+cc-cc-bc+ac+bc-bc-ac"));
    stack_end(&s, STACK_ENDED);
    CHECK(was_told("-ae"));
}

TEST(call_of_the_next_instruction)
{
    begin_test();
    RUNS(A(0x10), A(0x20), CALL, "a");
    RUNS(A(0x25), A(0x30), RET, "a");
    CHECK(was_told("+af"));
}

TEST(start_in_the_middle)
{
    begin_test();
    RUNS(C(0x10), C(0x20), RET, "c");
    RUNS(B(0x25), B(0x30), RET, "b");
    RUNS(A(0x25), A(0x30), CALL, "a");
    RUNS(B(0), B(0), RET, "ab");
    CHECK(was_told("+cf-cc+bf-bc+af+bc"));
}

TEST(tail_call)
{
    begin_test();
    RUNS(A(0x10), A(0x20), CALL, "a");
    RUNS(B(0), B(0x10), JMP, "ab");
    RUNS(C(0), C(0x10), JUMP, "ac");
    RUNS(D(0), D(0x10), JCC, "ad");
    RUNS(E(0), E(0x10), RET, "ae");
    RUNS(A(0x25), A(0x30), OTHER, "a");
    CHECK(was_told("+af+bc-bt+ct-ct+dt-dt+et-ec"));
}

TEST(jump_into_the_middle)
{
    begin_test();
    RUNS(A(0x10), A(0x20), CALL, "a");
    RUNS(B(0), B(0x10), JMP, "ab");
    RUNS(C(0x40), C(0x50), JMP, "ac"); /* b.cold, say */
    RUNS(B(0x20), B(0x30), RET, "ab");
    RUNS(A(0x25), A(0x30), OTHER, "a");
    CHECK(was_told("+af+bc-bm+cm-cm+bm-bc"));
}

TEST(cold_part)
{
    begin_test();
    RUNS(A(0x10), A(0x20), CALL, "a");
    RUNS(B(0), B(0x10), JCC, "ab");
    RUNS(0x802000, 0x802010, JCC, "ab"); /* where a call would enter */
    RUNS(0x802040, 0x802050, CALL, "ab");
    RUNS(C(0), C(0x10), RET, "abc");
    RUNS(0x802055, 0x802060, JMP, "ab");
    RUNS(B(0x20), B(0x30), CALL, "ab");
    RUNS(C(0), C(0x10), JUMP, "abc");
    RUNS(0x802080, 0x802090, JMP, "ab"); /* a landing pad */
    RUNS(B(0x40), B(0x50), RET, "ab");
    RUNS(A(0x25), A(0x30), OTHER, "a");
}

/* Stubs without symbols have the file's name, and are entered anywhere. */
TEST(code_without_symbols)
{
    begin_test();
    RUNS(A(0x10), A(0x20), CALL, "a");
    RUNS(B(0), B(0x10), JMP, "ab");
    RUNS(AT(16, 0x40), AT(16, 0x46), JUMP, "ap");
    RUNS(C(0), C(0x10), CALL, "ac");
    RUNS(AT(16, 0x50), AT(16, 0x56), JUMP, "acp");
    RUNS(D(0), D(0x10), RET, "acd");
    RUNS(C(0x15), C(0x20), RET, "ac");
    RUNS(A(0x25), A(0x30), OTHER, "a");
    CHECK(was_told("+af+bc-bt+pt-pt+ct+pc-pt+dt-dc-cc"));
}

TEST(straight_into_the_next_function)
{
    begin_test();
    RUNS(A(0x10), A(0x20), CALL, "a");
    RUNS(B(0x10), B(0xffc), OTHER, "ab");
    RUNS(C(0), C(0x10), RET, "ac");
    RUNS(A(0x25), A(0x30), OTHER, "a");
}

TEST(plt_stub)
{
    begin_test();
    RUNS(A(0x10), A(0x20), CALL, "a");
    RUNS(B(0x40), B(0x46), JUMP, "ab"); /* name@plt */
    RUNS(C(0), C(0x10), RET, "ac");
    RUNS(A(0x25), A(0x30), CALL, "a");
    RUNS(B(0x50), B(0x56), JUMP, "ab"); /* the first call of another: */
    RUNS(B(0x0), B(0x8), JUMP, "ab");   /* ... plt0 */
    RUNS(D(0), D(0x10), CALL, "ad");    /* _dl_runtime_resolve */
    RUNS(E(0), E(0x10), RET, "ade");    /* _dl_fixup */
    RUNS(D(0x15), D(0x20), JUMP, "ad");
    RUNS(C(0), C(0x10), RET, "ac");
    RUNS(A(0x35), A(0x40), OTHER, "a");
}

TEST(retpoline)
{
    begin_test();
    RUNS(A(0x10), A(0x20), CALL, "a");
    RUNS(B(0), B(0), CALL, "ab");     /* __x86_indirect_thunk */
    RUNS(B(0x10), B(0x14), RET, "abb");
    RUNS(C(0), C(0x10), RET, "ac");
    RUNS(A(0x25), A(0x30), OTHER, "a");
    CHECK(was_told("+af+bc+bc-bc-bt+ct-cc"));
}

TEST(subroutine_of_a_function)
{
    begin_test();
    RUNS(A(0x10), A(0x20), CALL, "a");
    RUNS(A(0x80), A(0x90), RET, "aa");
    RUNS(A(0x25), A(0x30), OTHER, "a");
}

/* setjmp is left before longjmp is called. */
TEST(longjmp)
{
    begin_test();
    RUNS(A(0x10), A(0x20), CALL, "a");
    RUNS(B(0), B(0x10), RET, "ab"); /* setjmp */
    RUNS(A(0x25), A(0x30), CALL, "a");
    RUNS(C(0), C(0x10), CALL, "ac");
    RUNS(D(0), D(0x10), CALL, "acd");
    RUNS(E(0), E(0x10), JUMP, "acde"); /* longjmp */
    RUNS(A(0x25), A(0x30), OTHER, "a");
    CHECK(was_told("+af+bc-bc+cc+dc+ec-eu-du-cu"));
}

/* What unwinds goes to the landing pad by RET, or by an indirect jump. */
TEST(exception)
{
    for (unsigned jumps = 0; jumps < 2; jumps++) {
        begin_test();
        RUNS(A(0x10), A(0x20), CALL, "a");
        RUNS(B(0), B(0x10), CALL, "ab");
        RUNS(C(0), C(0x10), CALL, "abc");
        RUNS(D(0), D(0x10), CALL, "abcd"); /* __cxa_throw */
        RUNS(E(0), E(0x10), jumps ? JUMP : RET, "abcde");
        RUNS(B(0x80), B(0x90), OTHER, "ab");
        CHECK(was_told("+af+bc+cc+dc+ec-eu-du-cu"));
    }
}

/* A handler that came at A(0x18), returned to the restorer, d. */
static void handler_returns(uint64_t to)
{
    RUNS(C(0), C(0x10), CALL, "abc");
    RUNS(D(0), D(0x10), RET, "abcd");
    RUNS(C(0x15), C(0x20), RET, "abc");
    RUNS(E(0x30), E(0x38), SYSCALL, "abe");
    RUNS(to, B(0x80), OTHER, "ab");
}

TEST(signal_between_instructions)
{
    begin_test();
    RUNS(A(0x10), A(0x20), CALL, "a");
    RUNS(B(0), B(0x14), OTHER, "ab");
    event_at(IPT_EVT_ASYNC_DISABLED, B(0x18));
    handler_returns(B(0x18));
    CHECK(was_told("+af+bc+cc+dc-dc-ct+et-ec"));
}

/* The branch before it is settled. */
TEST(signal_after_a_branch)
{
    begin_test();
    RUNS(A(0x10), A(0x20), CALL, "a");
    event_at(IPT_EVT_ASYNC_DISABLED, B(0));
    handler_returns(B(0));
    RUNS(B(0x84), B(0x90), RET, "ab");
    event_at(IPT_EVT_ASYNC_DISABLED, A(0x25));
    RUNS(C(0), C(0x10), OTHER, "ac");
}

TEST(signal_in_a_system_call)
{
    begin_test();
    RUNS(A(0x10), A(0x20), CALL, "a");
    RUNS(B(0), B(0x20), SYSCALL, "ab");
    handler_returns(B(0x22));
    RUNS(B(0x84), B(0x90), SYSCALL, "ab");
    handler_returns(B(0x90)); /* the system call begins again */
}

TEST(signal_whose_handler_changes_where_flow_goes_on)
{
    begin_test();
    RUNS(A(0x10), A(0x20), CALL, "a");
    RUNS(B(0), B(0x14), OTHER, "ab");
    event_at(IPT_EVT_ASYNC_DISABLED, B(0x18));
    handler_returns(B(0x60));
}

TEST(signal_in_a_handler)
{
    begin_test();
    RUNS(A(0x10), A(0x20), OTHER, "a");
    event_at(IPT_EVT_ASYNC_DISABLED, A(0x24));
    RUNS(B(0), B(0x10), OTHER, "ab");
    event_at(IPT_EVT_ASYNC_DISABLED, B(0x14));
    RUNS(C(0), C(0x10), RET, "abc");
    RUNS(E(0x30), E(0x38), SYSCALL, "abe");
    RUNS(B(0x14), B(0x20), RET, "ab");
    RUNS(E(0x30), E(0x38), SYSCALL, "ae");
    RUNS(A(0x24), A(0x30), OTHER, "a");
}

/* One that was waiting for the first to end. */
TEST(signal_after_a_signal)
{
    begin_test();
    RUNS(A(0x10), A(0x20), OTHER, "a");
    event_at(IPT_EVT_ASYNC_DISABLED, A(0x24));
    RUNS(B(0), B(0x10), RET, "ab");
    RUNS(E(0x30), E(0x38), SYSCALL, "ae");
    RUNS(C(0), C(0x10), RET, "ac");
    RUNS(E(0x30), E(0x38), SYSCALL, "ae");
    RUNS(A(0x24), A(0x30), OTHER, "a");
}

TEST(longjmp_out_of_a_handler)
{
    begin_test();
    RUNS(A(0x10), A(0x20), CALL, "a");
    RUNS(B(0), B(0x10), OTHER, "ab");
    event_at(IPT_EVT_ASYNC_DISABLED, B(0x14));
    RUNS(C(0), C(0x10), CALL, "abc");
    RUNS(D(0), D(0x10), JUMP, "abcd");
    RUNS(A(0x60), A(0x70), OTHER, "a");
}

TEST(aborted_transaction)
{
    begin_test();
    RUNS(A(0x10), A(0x20), IPT_INSN_XBEGIN, "a");
    RUNS(A(0x22), A(0x30), CALL, "a");
    RUNS(B(0), B(0x10), OTHER, "ab");
    event_at(IPT_EVT_TSX, B(0x14));
    event_at(IPT_EVT_ASYNC_BRANCH, B(0x14));
    RUNS(A(0x80), A(0x90), OTHER, "a");
    CHECK(was_told("+af+bc-bu"));
}

/* b is swapcontext, c the scheduler's caller, d and e run on stacks of their
 * own. swapcontext leaves by RET. */
TEST(coroutine_by_ret)
{
    begin_test();
    RUNS(A(0x10), A(0x20), CALL, "a");
    RUNS(B(0), B(0x10), RET, "ab");
    RUNS(D(0), D(0x10), CALL, "d");
    RUNS(E(0), E(0x10), CALL, "de");
    RUNS(B(0), B(0x10), RET, "deb");
    RUNS(A(0x25), A(0x30), CALL, "a");
    RUNS(B(0), B(0x10), RET, "ab");
    RUNS(E(0x15), E(0x20), RET, "de");
    RUNS(D(0x15), D(0x20), CALL, "d");
    RUNS(B(0), B(0x10), RET, "db");
    RUNS(A(0x35), A(0x40), OTHER, "a");
    CHECK(was_told("+af+bc-bs-as+dc+ec+bc-bs-es-ds+as+bc-bs-as+ds+es-ec+bc"
                   "-bs-ds+as"));
}

/* b jumps after it has taken the return address from the other stack. */
TEST(coroutine_by_jmp)
{
    begin_test();
    RUNS(A(0x10), A(0x20), CALL, "a");
    RUNS(B(0), B(0x10), JUMP, "ab");
    RUNS(D(0), D(0x10), CALL, "ad"); /* looks like a tail call */
    RUNS(B(0), B(0x10), JUMP, "adb");
    RUNS(A(0x25), A(0x30), CALL, "a");
    RUNS(B(0), B(0x10), JUMP, "ab");
    RUNS(D(0x15), D(0x20), CALL, "d");
    RUNS(B(0), B(0x10), JUMP, "db");
    RUNS(A(0x35), A(0x40), OTHER, "a");
}

TEST(exec)
{
    begin_test();
    RUNS(A(0x10), A(0x20), CALL, "a");
    RUNS(B(0), B(0x20), SYSCALL, "ab");
    RUNS(AT(17, 0), AT(17, 0x10), CALL, "q");
    RUNS(B(0), B(0x20), RET, "qb");
    RUNS(AT(17, 0x15), AT(17, 0x20), OTHER, "q");
    CHECK(was_told("+af+bc-be-ae+qf+bc-bc"));
}

/* More stacks than are kept: those that are gone begin again. */
TEST(many_coroutines)
{
    begin_test();
    run_block(A(0x10), A(0x20), CALL);
    for (unsigned i = 0; i < 3 * STACK_PARKED; i++) {
        run_block(B(0), B(0x10), RET);
        CHECK_EQ(s.frames.count, 2);
        run_block(AT(10 + i, 0), AT(10 + i, 0x10), CALL);
        CHECK_EQ(s.frames.count, 1);
    }
    CHECK_EQ(s.parked_count, STACK_PARKED);
    run_block(B(0), B(0x10), RET);
    RUNS(A(0x25), A(0x30), OTHER, "a");
}

TEST(missing_trace)
{
    begin_test();
    RUNS(A(0x10), A(0x20), CALL, "a");
    RUNS(B(0), B(0x10), CALL, "ab");
    RUNS(C(0), C(0x10), CALL, "abc");
    stack_break(&s);
    CHECK(is_stack(""));
    CHECK(was_told("+af+bc+cc-cl-bl-al"));
    RUNS(D(0x30), D(0x40), CALL, "d");
    RUNS(E(0), E(0x10), RET, "de");
    RUNS(D(0x45), D(0x50), RET, "d"); /* is c still there? no: */
    RUNS(A(0x25), A(0x30), OTHER, "a"); /* b is left, too */
    CHECK(was_told("+df+ec-ec-dc+al"));
    stack_break(&s);
    RUNS(D(0x30), D(0x40), RET, "d");
    RUNS(B(0x30), B(0x40), RET, "b"); /* into nothing that was there */
    CHECK(was_told("-al+df-dc+bf"));
}

/* Missing code calls where flow comes to the start of a function, only. */
TEST(missing_code)
{
    begin_test();
    RUNS(A(0x10), A(0x20), RET, "a");
    stack_missing(&s, 0);
    CHECK(is_stack(""));
    CHECK(was_told("+af-al"));
    stack_missing(&s, 0);
    RUNS(B(0), B(0x10), RET, "b");
    stack_missing(&s, 0);
    RUNS(C(0x10), C(0x20), CALL, "c");
    RUNS(D(0), D(0x10), CALL, "cd");
    CHECK(was_told("+bc-bl+cf+dc"));
    stack_missing(&s, 0);
    stack_break(&s); /* trace is missing, too */
    RUNS(B(0), B(0x10), RET, "b");
    CHECK(was_told("-dl-cl+bf"));
}

TEST(system_call_of_a_traced_kernel)
{
    begin_test();
    RUNS(A(0x10), A(0x20), SYSCALL, "a");
    RUNS(K(0), K(0x10), CALL, "aA");
    RUNS(L(0), L(0x10), OTHER, "aAB");
    event_at(IPT_EVT_ASYNC_BRANCH, L(0x14));
    RUNS(K(0x800), K(0x810), IRET, "aABA");
    RUNS(L(0x14), L(0x20), RET, "aAB");
    RUNS(K(0x15), K(0x20), IRET, "aA");
    RUNS(A(0x22), A(0x30), OTHER, "a");
}

/* Flow that comes back is in another function, from a kernel that is traced or is
 * not, and after a signal. */
TEST(system_call_that_ends_a_function)
{
    begin_test();
    RUNS(A(0x10), A(0x20), CALL, "a");
    RUNS(B(0), B(0xffe), SYSCALL, "ab");
    RUNS(C(0), C(0x10), RET, "ac");
    RUNS(A(0x25), A(0x30), CALL, "a");
    CHECK(was_told("+af+bc-bt+ct-cc"));
    RUNS(B(0), B(0xffe), SYSCALL, "ab");
    RUNS(K(0), K(0x10), IRET, "abA");
    RUNS(C(0), C(0x10), RET, "ac");
    RUNS(A(0x35), A(0x40), CALL, "a");
    RUNS(B(0), B(0xffe), SYSCALL, "ab");
    RUNS(D(0), D(0x10), RET, "abd");
    RUNS(E(0x30), E(0x38), SYSCALL, "abe");
    RUNS(C(0), C(0x10), RET, "ac");
    RUNS(A(0x45), A(0x50), CALL, "a");
    RUNS(B(0), B(0xffe), SYSCALL, "ab");
    RUNS(K(0), K(0x10), IRET, "abA");
    RUNS(B(0xffe), B(0xffe), SYSCALL, "ab"); /* begun again */
}

TEST(signal_from_a_traced_kernel)
{
    begin_test();
    RUNS(A(0x10), A(0x20), OTHER, "a");
    event_at(IPT_EVT_ASYNC_BRANCH, A(0x24));
    RUNS(K(0), K(0x10), IRET, "aA");
    RUNS(B(0), B(0x10), RET, "ab");
    RUNS(E(0x30), E(0x38), SYSCALL, "ae");
    RUNS(K(0), K(0x10), IRET, "aeA");
    RUNS(A(0x24), A(0x30), OTHER, "a");
}

TEST(user_interrupt)
{
    begin_test();
    RUNS(A(0x10), A(0x20), OTHER, "a");
    event_at(IPT_EVT_ASYNC_BRANCH, A(0x24));
    RUNS(B(0), B(0x10), IPT_INSN_UIRET, "ab");
    RUNS(A(0x24), A(0x30), OTHER, "a");
}

TEST(start_in_the_kernel)
{
    begin_test();
    RUNS(K(0), K(0x10), IRET, "A");
    RUNS(A(0x24), A(0x30), OTHER, "a");
}

TEST(very_deep)
{
    begin_test();
    run_block(A(0x10), A(0x20), CALL);
    for (unsigned i = 0; i < STACK_DEEP + 100; i++)
        run_block(A(0), A(0x20), CALL);
    CHECK_EQ(s.frames.count, 101);
    for (unsigned i = 0; i < 200; i++) run_block(A(0x25), A(0x30), RET);
    CHECK_EQ(s.frames.count, 1);
}

/* Any flow at all: frames are entered and left in order, which entered() and
 * left() check, and there is always one of the function that runs. */
TEST(any_flow)
{
    begin_test();
    for (unsigned i = 0; i < 200000; i++) {
        uint64_t ip = AT(1 + dice(8), dice(3) ? 0 : 16 * dice(4));
        if (dice(16) == 0) ip += KERNEL;
        if (dice(2) && s.going) ip = s.next;
        if (dice(50) == 0) event_at(IPT_EVT_ASYNC_BRANCH, s.next);
        if (dice(900) == 0) event_at(IPT_EVT_TSX, s.next);
        if (dice(700) == 0) stack_break(&s);
        if (dice(3000) == 0) stack_end(&s, STACK_ENDED);
        run_block(ip, ip + 8, (uint8_t) dice(IPT_INSN_COUNT));
        CHECK(s.frames.count != 0);
        CHECK(s.parked_count <= STACK_PARKED);
        told_count = 0;
    }
    stack_end(&s, STACK_ENDED);
    CHECK_EQ(depth, 0);
    CHECK(stayed > 500);
    stack_free(&s);
}

int main(void)
{
    RUN(calls_and_returns);
    RUN(call_of_the_next_instruction);
    RUN(start_in_the_middle);
    RUN(tail_call);
    RUN(jump_into_the_middle);
    RUN(cold_part);
    RUN(code_without_symbols);
    RUN(straight_into_the_next_function);
    RUN(plt_stub);
    RUN(retpoline);
    RUN(subroutine_of_a_function);
    RUN(longjmp);
    RUN(exception);
    RUN(signal_between_instructions);
    RUN(signal_after_a_branch);
    RUN(signal_in_a_system_call);
    RUN(signal_whose_handler_changes_where_flow_goes_on);
    RUN(signal_in_a_handler);
    RUN(signal_after_a_signal);
    RUN(longjmp_out_of_a_handler);
    RUN(aborted_transaction);
    RUN(coroutine_by_ret);
    RUN(coroutine_by_jmp);
    RUN(exec);
    RUN(many_coroutines);
    RUN(missing_trace);
    RUN(missing_code);
    RUN(system_call_of_a_traced_kernel);
    RUN(system_call_that_ends_a_function);
    RUN(signal_from_a_traced_kernel);
    RUN(user_interrupt);
    RUN(start_in_the_kernel);
    RUN(very_deep);
    RUN(any_flow);
    return test_report();
}
