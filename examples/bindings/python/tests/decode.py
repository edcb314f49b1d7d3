"""decode.py TRACE CODE BASE BITMAP: how many instructions ran, a hash of their
addresses, and a fuzzer's bitmap into a file."""
import sys

import ipt

trace, code, base, to = sys.argv[1:]
with open(trace, "rb") as file:
    trace = file.read()
with open(code, "rb") as file:
    read = ipt.code(int(base, 16), file.read())

count, value = 0, 0xcbf29ce484222325
for insn in ipt.Instructions(ipt.Trace(trace), read):
    value = (value ^ insn.ip) * 0x100000001b3 & (1 << 64) - 1
    count += 1
print("%d instructions, hash %x" % (count, value))
counters, verdict = ipt.bitmap(ipt.Trace(trace), read)
with open(to, "wb") as file:
    file.write(counters)
print("verdict %d" % verdict)
