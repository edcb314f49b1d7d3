# names.awk: writes a program whose objects (a program and libraries) share the
# names of their functions: C and C++ files below DIR/N, where N is the number of
# the object, 0 of the program. Variables: dir, objects, names.
#
# Each object has, of each name: a static function in a.cc and in b.cc; two
# overloads and, of some, two instances of a template in c.cc. One object has one
# of that name for all (e.c); each calls all of these (d.c), so that calls go
# through stubs in all directions; of some it takes the address as well.

function name(k) {return list[k + 1]}
function times(o, k) {return (k * 3 + o * 5) % 7 + 1}
function file(o, which) {return dir "/" o "/" which}
function attribute() {return "__attribute__((noinline, noclone)) "}

# A file with a function of each name, which calls the next one.
function statics(o, which, k, to) {
    to = file(o, which ".cc")
    print "#define N " attribute() "static" >to
    for (k = 0; k < names; k++) print "N int " name(k) "(int x);" >to
    for (k = 0; k < names; k++)
        printf "int %s(int x) {return x %% 3 == 1 ? %s(x / 2) + %d : x * %d;}\n",
               name(k), name((k + 1) % names), k, k + o + 2 >to
    run(to, which, o)
    for (k = 0; k < names; k++)
        printf "    for (i = 0; i < %d; i++) sum += %s(n + i);\n",
               times(o, k + (which == "a")), name(k) >to
    print "    return sum;\n}" >to
}
function run(to, which, o) {
    print "extern \"C\" __attribute__((visibility(\"hidden\"))) int" >to
    printf "run_%s(int n)\n{\n    int sum = 0, i;\n", which >to
}

function overloads(o, k, to) {
    to = file(o, "c.cc")
    print "#define N " attribute() "__attribute__((visibility(\"hidden\")))" >to
    print "struct big {int x[4];};" >to
    for (k = 0; k < names; k++) {
        printf "N int %s(char x) {return x * %d;}\n", name(k), k + 3 >to
        printf "N int %s(const big &x, long n)\n", name(k) >to
        printf "{return x.x[n & 3] + %s((char) n);}\n", name(k) >to
        if (k % 5 == 0)
            printf "template<class T> N int make_%s(T x) {return (int) x + %d;}\n",
                   name(k), k >to
    }
    run(to, "c", o)
    print "    big b = {{n, 2, 3, 4}};" >to
    for (k = 0; k < names; k++) {
        printf "    for (i = 0; i < %d; i++) sum += %s(b, n + i);\n",
               times(o, k + 2), name(k) >to
        printf "    for (i = 0; i < %d; i++) sum += %s((char) i);\n",
               times(o, k + 4), name(k) >to
        if (k % 5) continue
        printf "    sum += make_%s<int>(n) + make_%s((long) n);\n", name(k),
               name(k) >to
    }
    print "    return sum;\n}" >to
}

function exports(o, k, to) {
    to = file(o, "e.c")
    print "int unused_" o ";" >to
    for (k = o; k < names; k += objects)
        printf "%sint %s(int x) {return x * %d + 1;}\n", attribute(), name(k),
               k + 1 >to
    to = file(o, "d.c")
    print "int run_a(int), run_b(int), run_c(int);" >to
    for (k = 0; k < names; k++) {
        print "int " name(k) "(int);" >to
        if (k % 4 == 1)
            printf "int (*volatile to_%s_%d)(int) = 0;\n", name(k), o >to
    }
    printf "int drive_%d(int n)\n{\n", o >to
    print "    int sum = run_a(n) + run_b(n) + run_c(n), i;" >to
    for (k = 0; k < names; k++) {
        if (k % 4 == 1) {
            printf "    to_%s_%d = %s;\n", name(k), o, name(k) >to
            printf "    sum += to_%s_%d(n);\n", name(k), o >to
        }
        printf "    for (i = 0; i < %d; i++) sum += %s(n);\n",
               times(o, k + 1), name(k) >to
    }
    print "    return sum;\n}" >to
}

# It first copies where its objects are to the file that it is told.
function main_(o, to) {
    to = file(0, "main.c")
    print "#include <stdio.h>" >to
    for (o = 0; o < objects; o++) print "int drive_" o "(int);" >to
    print "int main(int argc, char **argv)\n{" >to
    print "    FILE *from = fopen(\"/proc/self/maps\", \"r\"), *to;" >to
    print "    int sum = 0, c;" >to
    print "    if (argc < 2 || !from || !(to = fopen(argv[1], \"w\"))) return 1;" >to
    print "    while ((c = getc(from)) != EOF) putc(c, to);" >to
    print "    fclose(to);" >to
    for (o = 0; o < objects; o++) print "    sum += drive_" o "(" o ");" >to
    print "    printf(\"%d\\n\", sum);\n    return 0;\n}" >to
}

BEGIN {
    split("alpha bravo charlie delta echo foxtrot golf hotel india juliett " \
          "kilo lima mike november oscar papa quebec romeo sierra tango", list)
    for (o = 0; o < objects; o++) {
        system("mkdir -p " dir "/" o)
        statics(o, "a"); statics(o, "b"); overloads(o); exports(o)
    }
    main_()
}
