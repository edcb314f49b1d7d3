# plant.sh: what checks.sh and tests.sh share: copies of the tree with one fault.

. "$(dirname "$0")/lib.sh"
tree=$tmp/tree

# A copy of the tree: what the last fault changed or made there is put back. What
# was built there stays: the next make builds what depends on that.
copy() {
    if [ -d "$tree" ]; then
        rm -rf "$tree/.git"
        (cd "$tree" && find . -path ./build -prune -o -type f \
            -newer "$tmp/copied" -print) | while read -r file; do
            if [ -f "$root/$file" ]; then cp "$root/$file" "$tree/$file"
            else rm -f "$tree/$file"; fi
        done
    else
        mkdir "$tree"
        (cd "$root" && tar cf - --exclude=./.git --exclude=./build .) |
            (cd "$tree" && tar xf -)
    fi
    touch "$tmp/copied"
}

# history: the copy becomes a repository with one commit, the tree's decoder.
history() {
    git init -q "$tree" && git -C "$root" --git-dir="$tree/.git" \
        --work-tree="$root" add ipt.h ipt_impl.h &&
        commit "planted: the decoder"
}
# commit MESSAGE: what is added there, or nothing.
commit() {
    git -C "$tree" -c user.name=x -c user.email=x commit -q --allow-empty -m "$1"
}

# core LINE TEXT: a copy with TEXT in ipt_impl.h before LINE.
core() {
    copy
    { head -n $(($1 - 1)) "$root/ipt_impl.h"
      printf '%b\n\n' "$2"
      tail -n +"$1" "$root/ipt_impl.h"
    } >"$tree/ipt_impl.h"
}

# edit FILE SED-SCRIPT: a copy with one file changed; it has to change.
edit() {
    copy
    sed "$2" "$root/$1" >"$tree/$1"
    if cmp -s "$root/$1" "$tree/$1"; then fail "nothing planted in $1: $2"; fi
}

${CC:-cc} -std=c99 -O1 -o "$tmp/mutate" "$root/tests/check/mutate.c" || exit 2

# plant NAME: a copy with that row of tests/check/plants in ipt_impl.h.
plant() {
    copy
    "$tmp/mutate" plant "$root/ipt_impl.h" \
        "$(grep "^$1 " "$root/tests/check/plants")" >"$tree/ipt_impl.h" ||
        fail "nothing planted in ipt_impl.h: $1"
}
