#!/usr/bin/python3
"""generate.py TO: what is generated from the headers, into TO, which has the
folders of this one: rust/src/raw.rs and python/ipt/_abi.py. `make bindings`
calls it after each change of ipt.h.

bindgen parses the headers and knows all types. It has no names for structs
inside of structs, gives the values of an enum no useful type, and leaves out
constants with a cast: these are added here.

SPDX-License-Identifier: MIT
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
PERFDATA = "examples/tools/common/perf/perfdata.h"
NOTE = "Made by examples/bindings/generate.py: do not edit."


def run(*command):
    return subprocess.run(command, cwd=ROOT, check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def use_oldest_clang():
    """bindgen 0.60 of Debian 12 takes the newest libclang, and does not know
    how clang 16 calls structs that have no name."""
    files = glob.glob("/usr/lib/llvm-*/lib/libclang-[0-9]*.so*")
    if files and "LIBCLANG_PATH" not in os.environ:
        os.environ["LIBCLANG_PATH"] = os.path.dirname(
            min(files, key=lambda f: int(re.search(r"llvm-(\d+)", f)[1])))


class Header:
    """Constants, structs and functions of a header, with types as in Rust."""

    def __init__(self, path, prefix):
        upper = prefix.upper()
        text = run("bindgen", path, "--use-core", "--ctypes-prefix", "c",
                   "--no-doc-comments", "--no-layout-tests",
                   "--no-prepend-enum-name",
                   "--no-recursive-allowlist", "--size_t-is-usize",
                   "--no-rustfmt-bindings", "--allowlist-type", prefix + ".*",
                   "--allowlist-var", upper + "_.*",
                   "--allowlist-function", prefix + ".*")
        self.path = path
        self.constants = re.findall(
            r"pub const (\w+) : (\w+) = ([^;]+?) ;",
            text.replace("= - ", "= -"))
        self.structs = [
            (name, kind, self.fields(body)) for kind, name, body in re.findall(
                r"pub (struct|union) (\w+) \{ (.*?) \}", text)]
        self.functions = [
            (name, self.fields(arguments), self.tidy(result or "()"))
            for name, arguments, result in re.findall(
                r"pub fn (\w+) \((.*?)\)(?: -> ([^;]*?))? ; \}", text)]
        self.name_inner()
        self.constants = [one for one in self.constants
                          if one[1:] != ("i32", "-1")]  # bindgen's UINT64_MAX
        self.constants += self.missing(upper)

    @staticmethod
    def tidy(kind):
        kind = kind.replace("c :: ", "").replace(":: core :: option :: ", "")
        kind = re.sub(r"\* (mut|const) ", r"*\1 ", kind)
        kind = re.sub(r" ([,;:>)\]])", r"\1", kind).replace("< ", "<")
        return kind.replace("Option <", "Option<").replace("fn (", "fn(") \
            .replace("[ ", "[")

    @classmethod
    def fields(cls, text):
        """`pub a : T , pub b : U` as (name, type); no comma inside of ()."""
        depth, start, found = 0, 0, []
        for at, sign in enumerate(text + ","):
            depth += (sign in "(<[") - (sign in ")]")
            depth -= sign == ">" and text[at - 1] != "-"
            if sign == "," and not depth and text[start:at].strip():
                name, kind = text[start:at].split(":", 1)
                found.append((name.replace("pub ", "").strip(),
                              cls.tidy(kind.strip())))
            if sign == "," and not depth:
                start = at + 1
        return found

    def name_inner(self):
        """A struct inside of another one is named after where it is."""
        inner, new = re.compile(r"\w+__bindgen_ty_\w+"), {}
        for name, _, fields in self.structs:
            for field, kind in fields:
                for found in inner.findall(kind):
                    new[found] = new.get(name, name) + "_" + field
        self.structs = [
            (new.get(name, name), kind, [
                (field, inner.sub(lambda m: new[m.group()], inside))
                for field, inside in fields])
            for name, kind, fields in self.structs]

    def missing(self, upper):
        """Macros that bindgen leaves out: the compiler works them out."""
        known = {name for name, _, _ in self.constants}
        with open(os.path.join(ROOT, self.path)) as header:
            names = re.findall(
                r"^#define (%s_[A-Z0-9_]+) .*\b(?:uint64_t|u <<|0xf{16}u)"
                % upper, header.read(), re.M)
        names = [name for name in names if name not in known]
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, "missing.c")
            with open(source, "w") as out:
                print('#include <stdio.h>\n#include "%s"\nint main(void) {'
                      % self.path, file=out)
                for name in names:
                    print('printf("%%llu\\n", (unsigned long long) %s);'
                          % name, file=out)
                print("return 0; }", file=out)
            program = os.path.join(folder, "missing")
            run(os.environ.get("CC", "cc"), "-I.", "-o", program, source)
            values = run(program).split()
        return [(name, "u64", value) for name, value in zip(names, values)]

    def typed(self):
        """Constants with the type of the fields that they are for."""
        plain = {kind for name, kind, _ in self.constants
                 if name in ("IPT_END", "IPT_HOT_DECIDE")}
        for name, kind, value in self.constants:
            if kind in plain:
                kind = "c_int"
            elif not re.match(r"[iu]\d", kind):
                kind = "u8"  # an enum's
            yield name, kind, value


def rust(header, out):
    print("/* %s\n * The names of %s. */" % (NOTE, header.path), file=out)
    print("use crate::c::*;\n", file=out)
    for name, kind, value in header.typed():
        print("pub const %s: %s = %s;" % (name, kind, value), file=out)
    silent = {name for name, kind, _ in header.structs if kind == "union"}
    while True:  # a union cannot be printed, nor can what holds one
        more = {name for name, _, fields in header.structs for _, kind in fields
                if silent & set(re.findall(r"\w+", kind))} - silent
        if not more:
            break
        silent |= more
    for name, kind, fields in header.structs:
        derive = "Clone, Copy" if name in silent else "Clone, Copy, Debug"
        print("\n#[repr(C)]\n#[derive(%s)]\npub %s %s {"
              % (derive, kind, name), file=out)
        for field, inner in fields:
            print("    pub %s: %s," % (field, inner), file=out)
        print("}", file=out)
    print('\nextern "C" {', file=out)
    for name, arguments, result in header.functions:
        print("    pub fn %s(\n        %s,\n    )%s;" % (
            name, ",\n        ".join("%s: %s" % a for a in arguments),
            "" if result == "()" else " -> " + result), file=out)
    print("}\n\nimpl crate::Status {", file=out)
    for name, kind, value in header.typed():
        if kind == "c_int" and value.startswith("-"):
            print("    pub const %s: Self = Self(%s);" % (name[4:], value),
                  file=out)
    print("}", file=out)


SIMPLE = {"u8": "c_uint8", "u16": "c_uint16", "u32": "c_uint32",
          "u64": "c_uint64", "i64": "c_int64", "usize": "c_size_t",
          "c_int": "c_int", "c_uint": "c_uint", "()": "None"}


RUST_WORDS = {"box", "fn", "impl", "in", "let", "loop", "match", "mod", "move",
              "mut", "priv", "pub", "ref", "self", "trait", "type", "use",
              "where"}  # bindgen's fields of these names end with _


def python_type(kind):
    if kind in SIMPLE:
        return SIMPLE[kind]
    if kind.startswith("Option<"):
        arguments, result = re.match(
            r'Option<unsafe extern "C" fn\((.*)\)(?: -> (.*?))?>$',
            kind).groups()
        parts = [python_type(result or "()")]
        parts += [python_type(one) for _, one in Header.fields(arguments)]
        return "CFUNCTYPE(%s)" % ", ".join(parts)
    if kind.startswith("["):
        inner, count = kind[1:-1].rsplit("; ", 1)
        return "%s * %s" % (python_type(inner), count.replace("usize", ""))
    if kind.startswith("*"):
        inner = kind.split(" ", 1)[1]
        if inner in ("c_void", "c_char"):
            return inner + "_p"
        return "POINTER(%s)" % python_type(inner)
    return kind


def python(headers, out):
    print('"""%s\nStructs, constants and functions of %s."""'
          % (NOTE, ", ".join(h.path.split("/")[-1] for h in headers)),
          file=out)
    names = sorted({"CFUNCTYPE", "POINTER", "Structure", "Union", "c_char_p",
                    "c_void_p"} | set(SIMPLE.values()) - {"None"})
    print("from ctypes import (%s)\n" % ",\n    ".join(names), file=out)
    print("CONSTANTS = {", file=out)
    for header in headers:
        for name, _, value in header.constants:
            print('    "%s": %s,' % (name, value), file=out)
    print("}\n", file=out)
    structs = [s for header in headers for s in header.structs]
    for name, kind, _ in structs:
        print("class %s(%s): pass" % (
            name, "Union" if kind == "union" else "Structure"), file=out)
    print(file=out)
    done, todo = set(), {name: fields for name, _, fields in structs}

    def define(name):  # after those that are members of it
        if name in done:
            return
        done.add(name)
        for _, inner in todo[name]:
            inner = re.sub(r"\[+(.*?);.*", r"\1", inner)
            if inner in todo:
                define(inner)
        print("%s._fields_ = [" % name, file=out)
        for field, inner in todo[name]:
            if field.endswith("_") and field[:-1] in RUST_WORDS:
                field = field[:-1]
            print('    ("%s", %s),' % (field, python_type(inner)), file=out)
        print("]", file=out)

    for name in todo:
        define(name)
    print("\nFUNCTIONS = {", file=out)
    for header in headers:
        for name, arguments, result in header.functions:
            print('    "%s": (%s, [%s]),' % (
                name, python_type(result),
                ", ".join(python_type(kind) for _, kind in arguments)),
                file=out)
    print("}", file=out)


def main():
    use_oldest_clang()
    ipt = Header("ipt.h", "ipt")
    perfdata = Header(PERFDATA, "perfdata")
    for file, write in (("rust/src/raw.rs", lambda out: rust(ipt, out)),
                        ("python/ipt/_abi.py",
                         lambda out: python([ipt, perfdata], out))):
        path = os.path.join(sys.argv[1], file)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as out:
            write(out)


main()
