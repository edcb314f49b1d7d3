// throws.cc: exceptions, for ptprof; see calls.c.
#define FUNCTION __attribute__((noinline))

static volatile int work;

FUNCTION void thrower(int depth)
{
    if (depth == 0) throw 1;
    thrower(depth - 1);
    work = work + 1;
}

FUNCTION void landed() { work = work + 1; }

FUNCTION void catcher()
{
    try {
        thrower(3);
    } catch (int) {
        landed();
    }
    work = work + 1;
}

int main()
{
    catcher();
    landed();
}
