"""Tests of the installed package, on the recording of examples/recording. With
IPT_PERFDATA=FILE that file, which ptrecord has made of it, is decoded, too."""
import ctypes
import os
import re
import subprocess
import tempfile
import unittest
from array import array

import ipt
import ipt.perf
from ipt import _abi

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "../../../..")
RECORDING = os.path.join(ROOT, "examples/recording")


def load(name):
    with open(os.path.join(RECORDING, name), "rb") as file:
        return file.read()


TRACE, PAGES = load("trace.pt"), load("pages.bin")
READ = ipt.code(0x401000, PAGES)
IPS = array("Q", load("ips.u64")).tolist()


class Abi(unittest.TestCase):
    """Structs have the sizes and offsets that the compiler gives them."""

    def places(self, kind, path=""):
        for name, inner, *_ in kind._fields_:
            at = path + name
            yield at, getattr(kind, name)
            if isinstance(inner, type) and issubclass(
                    inner, (ctypes.Structure, ctypes.Union)) and \
                    "_u" in inner.__name__:
                yield from self.places(inner, at + ".")

    def compiled(self, lines, header):
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, "abi.c")
            with open(source, "w") as out:
                print('#include "%s"\n#include <stdio.h>\n'
                      '#define SIZE(x) printf("%%u\\n", (unsigned) (x))\n'
                      "int main(void) {" % header, file=out)
                print("\n".join(lines), file=out)
                print("return 0; }", file=out)
            program = os.path.join(folder, "abi")
            subprocess.run([*os.environ.get("CC", "cc").split(), "-I", ROOT,
                            "-o", program, source], check=True)
            return list(map(int, subprocess.check_output(program).split()))

    def check(self, header, prefix):
        with open(os.path.join(ROOT, header)) as file:
            text = file.read()
        names = sorted(set(re.findall(
            r"^(?:typedef )?struct (%s\w*) \{" % prefix, text, re.M)))
        self.assertGreater(len(names), 5)
        lines, wanted = [], []
        for name in names:
            kind = getattr(_abi, name)  # each of them is there
            lines.append("SIZE(sizeof(struct %s));" % name)
            wanted.append((name, ctypes.sizeof(kind)))
            for path, place in self.places(kind):
                if "." not in path:
                    start = place.offset
                    starts = {path: start}
                else:
                    outer = path.rsplit(".", 1)[0]
                    start = starts[outer] + place.offset
                    starts[path] = start
                member = "((struct %s *) 0)->%s" % (name, path)
                lines += ["SIZE(offsetof(struct %s, %s));" % (name, path),
                          "SIZE(sizeof(%s));" % member]
                wanted += [(name + "." + path, start),
                           ("size of " + name + "." + path, place.size)]
        found = self.compiled(lines, header)
        self.assertEqual(len(found), len(wanted))
        for (what, size), compiled in zip(wanted, found):
            self.assertEqual(size, compiled, what)
        return len(found)

    def test_ipt(self):
        self.assertGreater(self.check("ipt.h", "ipt_"), 1000)

    def test_perfdata(self):
        self.check("examples/tools/common/perf/perfdata.h", "perfdata")

    def test_functions(self):
        with open(os.path.join(ROOT, "ipt.h")) as file:
            names = re.findall(r"^IPT_API [^(]*?(\w+)\(", file.read(), re.M)
        self.assertEqual(sorted(names), sorted(
            name for name in _abi.FUNCTIONS if name.startswith("ipt_")))


class Recording(unittest.TestCase):
    def test_instructions(self):
        decoder = ipt.Instructions(ipt.Trace(TRACE), READ)
        ips = [insn.ip for insn in decoder]
        self.assertEqual(len(ips), 9254)
        self.assertEqual(ips, IPS)
        self.assertTrue(decoder.synced)

    def test_pieces(self):
        pieces = [TRACE[at:at + 100] for at in range(0, len(TRACE), 100)]
        decoder = ipt.Instructions(ipt.Trace(*pieces), READ)
        self.assertEqual([insn.ip for insn in decoder], IPS)

    def test_blocks(self):
        count = sum(block.count for block in ipt.Blocks(
            ipt.Trace(TRACE), READ))
        self.assertEqual(count, 9254)

    def test_events(self):
        wanted = [(event.offset, event.type) for event in ipt.Events(
            ipt.Trace(TRACE)) if event.type not in (ipt.EVT_TIP, ipt.EVT_TNT)]
        self.assertTrue(wanted)
        both = list(ipt.Instructions(ipt.Trace(TRACE), READ, events=True))
        self.assertEqual(wanted, [(item.offset, item.type) for item in both
                                  if isinstance(item, ipt.Event)])
        self.assertEqual(len(both), 9254 + len(wanted))

    def test_packets(self):
        end, bits = 0, 0
        for packet in ipt.Packets(ipt.Trace(TRACE)):
            self.assertEqual(packet.offset, end)
            end += packet.size
            if packet.name.startswith("tnt"):
                bits += packet.payload.count
        self.assertEqual(end, len(TRACE))
        events = ipt.Events(ipt.Trace(TRACE))
        self.assertEqual(bits, sum(event.payload.count for event in events
                                   if event.type == ipt.EVT_TNT))

    def test_coverage(self):
        counters, verdict = ipt.bitmap(ipt.Trace(TRACE), READ)
        self.assertEqual(verdict, 0)
        wanted = bytearray(65536)

        def mix(v):
            return (v ^ v >> 31) * 0x7fb5d329728ea185 & (1 << 64) - 1
        edges = ipt.Edges(ipt.Trace(TRACE), READ)
        for start, to, kind in edges:
            self.assertEqual(kind, ipt.INSN_JCC)
            slot = (mix(to) ^ mix(start) >> 1) & 0xffff
            wanted[slot] = wanted[slot] + 1 & 0xff
        self.assertEqual(edges.verdict, 0)
        self.assertEqual(counters, wanted)
        if "IPT_BITMAP" in os.environ:
            with open(os.environ["IPT_BITMAP"], "wb") as file:
                file.write(counters)

    def test_stream(self):
        trace = ipt.Trace(open=True)
        decoder = ipt.Instructions(trace, READ)
        ips, rest, more = [], TRACE, 0
        while True:
            try:
                ips.append(next(decoder).ip)
            except ipt.Error as error:
                self.assertEqual(error.status, ipt.MORE)
                trace.append(rest[:37])
                more, rest = more + 1, rest[37:]
                if not rest:
                    trace.close()
            except StopIteration:
                break
        self.assertEqual(ips, IPS)
        self.assertGreater(more, 40)

    def test_missing_code(self):
        there = False

        def read(size, asid, ip):
            return READ(size, asid, ip) if there else b""
        decoder = ipt.Instructions(ipt.Trace(TRACE), read)
        with self.assertRaises(ipt.Error) as caught:
            next(decoder)
        self.assertEqual(caught.exception.status, ipt.NEED_PAGE)
        self.assertEqual(caught.exception.at.missing, IPS[0])
        there = True
        self.assertEqual([insn.ip for insn in decoder], IPS)
        there = False
        stops = 0
        decoder = ipt.Instructions(ipt.Trace(TRACE), read)
        while True:
            try:
                next(decoder)
            except ipt.Error:
                stops += 1
                self.assertLess(stops, 1000)
            except StopIteration:
                break
        _, verdict = ipt.bitmap(ipt.Trace(TRACE), read)
        self.assertTrue(verdict & ipt.COV_NO_PAGE)

    def test_damaged(self):
        """Going on after each error ends, whatever the trace holds."""
        errors = 0
        for at in range(0, len(TRACE), 40):
            damaged = bytearray(TRACE)
            damaged[at] ^= 0x55
            for decoder in (ipt.Blocks(ipt.Trace(damaged), READ, events=True),
                            ipt.Packets(ipt.Trace(damaged))):
                count = 0
                while True:
                    count += 1
                    self.assertLess(count, 20000, at)
                    try:
                        next(decoder)
                    except ipt.Error:
                        errors += 1
                    except StopIteration:
                        break
            ipt.bitmap(ipt.Trace(damaged), READ)
        self.assertGreater(errors, 10)

    def test_a_callback_that_raises(self):
        def read(size, asid, ip):
            raise KeyError(ip)
        with self.assertRaises(KeyError):
            next(ipt.Instructions(ipt.Trace(TRACE), read))
        with self.assertRaises(KeyError):
            ipt.bitmap(ipt.Trace(TRACE), read)
        with self.assertRaises(TypeError):
            ipt.Instructions(ipt.Trace(TRACE))

    def test_no_psb(self):
        decoder = ipt.Packets(ipt.Trace(TRACE[16:200]))
        self.assertEqual(list(decoder), [])
        self.assertFalse(decoder.synced)

    def test_payloads(self):
        """Each type has a payload, or is known to have none."""
        for prefix, item, plain in (
                ("IPT_PKT_", ipt.Packet, "NONE PAD PSB PSBEND OVF STOP INVALID"
                 " COUNT"),
                ("IPT_EVT_", ipt.Event, "NONE ENABLED OVERFLOW STOP EXSTOP TIP"
                 " TICK COUNT")):
            self.assertEqual(
                {name[8:] for name, value in _abi.CONSTANTS.items()
                 if name.startswith(prefix)
                 and item(type=value).payload is None}, set(plain.split()))


class Perf(unittest.TestCase):
    @unittest.skipUnless("IPT_PERFDATA" in os.environ, "no IPT_PERFDATA")
    def test_file(self):
        data = ipt.perf.Data(os.environ["IPT_PERFDATA"])
        self.addCleanup(data.close)
        kinds = {record.type for record in data}
        self.assertIn(ipt.perf.AUXTRACE, kinds)
        read = data.read_code()
        count = 0
        for queue, trace in data.traces():
            decoder = ipt.Instructions(trace, read, **data.config())
            count += sum(1 for insn in decoder)
        self.assertEqual(count, 9254)

    def test_no_file(self):
        with self.assertRaises(ipt.perf.Error):
            ipt.perf.Data(os.path.join(RECORDING, "trace.pt"))


if __name__ == "__main__":
    unittest.main()
