"""Decoder of Intel Processor Trace.

    trace = ipt.Trace(open("trace.pt", "rb").read())
    for insn in ipt.Instructions(trace, read):
        print(hex(insn.ip))

`read(size, asid, ip)` returns the code at ip: `size` bytes, or fewer if the
mapping ends there, or b"" if there is none now. `ipt.code(base, bytes)` makes
one of bytes in memory.

Packets(trace), Events(trace), Blocks(trace, read), Instructions(trace, read)
are iterators; so is Edges(trace, read), and bitmap(trace, read) fills a
fuzzer's. They begin at the first PSB. Errors are raised as ipt.Error, and
`next` goes on after one: after MORE with what was appended to the trace, after
NEED_PAGE by asking once more for at.missing, after other errors where the trace
next says where flow is. If there is no PSB the iterator is empty, and `synced`
is False.

Fields of a config are given by name: Packets(trace, errata=ipt.ERRATUM_BDM64).
Constants have the names of ipt.h without IPT_; items are its structs, of which
`payload` is the member of u that `type` names.

SPDX-License-Identifier: MIT
"""
import ctypes
from ctypes import POINTER, byref, cast

from . import _abi
from ._library import LIBRARY as _lib

globals().update((_name[4:], _value) for _name, _value in
                 _abi.CONSTANTS.items() if _name.startswith("IPT_"))
_C = _abi.CONSTANTS
END, MORE, BUDGET = _C["IPT_END"], _C["IPT_MORE"], _C["IPT_BUDGET"]
_NEED_PAGE, _EVENT_FIRST = _C["IPT_NEED_PAGE"], _C["IPT_EVENT_FIRST"]
_FAILED = -1000  # what C is told when a callback raises

Packet, Event = _abi.ipt_packet, _abi.ipt_event
Block, Insn, Asid = _abi.ipt_block, _abi.ipt_insn, _abi.ipt_asid


# Of each type: the member of u. Most have its name.
_PACKETS = {
    number: name[8:].lower() for name, number in _C.items()
    if name.startswith("IPT_PKT_")
    and hasattr(_abi.ipt_packet_u, name[8:].lower())}
_PACKETS.update((_C["IPT_PKT_" + name], member) for name, member in (
    ("TNT_8", "tnt"), ("TNT_64", "tnt"), ("TIP", "ip"), ("TIP_PGE", "ip"),
    ("TIP_PGD", "ip"), ("FUP", "ip"), ("MODE_EXEC", "exec"),
    ("MODE_TSX", "tsx")))
_EVENTS = {
    number: name[8:].lower() for name, number in _C.items()
    if name.startswith("IPT_EVT_")
    and hasattr(_abi.ipt_event_u, name[8:].lower())}
_EVENTS.update((_C["IPT_EVT_" + name], member) for name, member in (
    ("DISABLED", "branch"), ("ASYNC_DISABLED", "branch"),
    ("ASYNC_BRANCH", "branch"), ("ASYNC_PAGING", "paging"),
    ("ASYNC_VMCS", "vmcs"), ("EXEC_MODE", "exec"), ("IFLAGS", "exec"),
    ("PEBS_BEGIN", "pebs"), ("PEBS_ITEM", "pebs"), ("PEBS_END", "pebs")))


def _payload(table):
    def payload(item):
        """What the item holds, by its type, or None."""
        member = table.get(item.type)
        return getattr(item.u, member) if member else None
    return property(payload)


Packet.payload, Event.payload = _payload(_PACKETS), _payload(_EVENTS)
Packet.name = property(lambda item: _lib.ipt_pkt_name(item.type).decode())
Event.name = property(lambda item: _lib.ipt_evt_name(item.type).decode())
Insn.name = property(lambda item: _lib.ipt_insn_name(item.kind).decode())
Block.name = property(lambda item: _lib.ipt_insn_name(item.kind).decode())


class Error(Exception):
    """A status below 0, with the decoder's `at` of that moment, or None."""

    def __init__(self, status, at=None):
        self.status, self.at = status, at
        self.name = _lib.ipt_status_name(status).decode()
        text = "%s: %s; %s" % (
            self.name, _lib.ipt_status_cause(status).decode(),
            _lib.ipt_status_remedy(status).decode())
        if at is not None:
            text = "byte %#x, ip %#x: %s" % (at.offset, at.ip, text)
        super().__init__(text)


def _check(status, at=None):
    if status < 0:
        raise Error(status, at)
    return status


class Trace:
    """What one logical processor or thread wrote: pieces, the oldest first. A
    piece is bytes, or the number of bytes that were lost. With open=True more
    may be appended while it is decoded; close() says that this was all."""

    def __init__(self, *pieces, open=False, offset=0):
        self._raw = _abi.ipt_trace(offset=offset, open=open)
        self._pieces, self._room, self._array = [], 0, None
        for piece in pieces:
            self.append(piece)

    def append(self, piece):
        if not isinstance(piece, int):
            piece = bytes(piece)
        count = len(self._pieces)
        if count == self._room:  # C takes a copy of the array, too
            self._room = 2 * count + 4
            array = (_abi.ipt_segment * self._room)()
            array[:count] = (self._array or [])[:count]
            self._array = array
            self._raw.seg = array
        segment = self._array[count]
        if isinstance(piece, int):
            segment.size = piece
        else:
            segment.data = cast(ctypes.c_char_p(piece),
                                POINTER(ctypes.c_uint8))
            segment.size = len(piece)
        self._pieces.append(piece)  # which keeps it
        self._raw.count = count + 1

    def close(self):
        self._raw.open = 0


def code(base, bytes_):
    """A `read` for code that lies at base."""
    def read(size, asid, ip):
        return bytes_[ip - base:ip - base + size] if ip >= base else b""
    return read


_READ = dict(_abi.ipt_config._fields_)["read"]
_EDGE = dict(_abi.ipt_cov_config._fields_)["edge"]
_CACHE_LINES = 16384  # 1 MiB


class _Code:
    """A config with its callback, and the cache of its code."""

    def __init__(self, read, fields):
        self.raw = _abi.ipt_config(**fields)
        self.cache, self.error = None, None
        if read is None:
            return

        def call(buffer, size, asid, ip, context):
            try:
                found = read(size, asid[0], ip)
                ctypes.memmove(buffer, bytes(found), min(len(found), size))
                return len(found)
            except BaseException as error:  # it cannot go through C
                self.error = error
                return _FAILED
        self.raw.read = self.callback = _READ(call)
        self.lines = (_abi.ipt_cache_line * _CACHE_LINES)()
        self.cache = _abi.ipt_cache()
        _check(_lib.ipt_cache_init(byref(self.cache), self.lines,
                                   _CACHE_LINES))

    def check(self, status, at):
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        return _check(status, at)


class _Decoder:
    """An iterator; see __init__.py. `events`: events as well, in order."""
    layer, item, needs_code = None, None, False

    def __init__(self, trace, read=None, events=False, **fields):
        if self.needs_code and read is None:
            raise TypeError("%s needs `read`" % type(self).__name__)
        self._trace, self._code = trace, _Code(read, fields)
        self._raw = getattr(_abi, "ipt_%s_decoder" % self.layer)()
        self._events = events and self.needs_code
        for verb in ("next", "sync_forward", "resync", "event"):
            setattr(self, "_" + verb, getattr(
                _lib, "ipt_%s_%s" % (self.layer, verb), None))
        self._resync = self._resync or self._sync_forward
        self._self = byref(self._raw)
        more = [self._code.cache and byref(self._code.cache)] \
            if self.needs_code else []
        _check(getattr(_lib, "ipt_%s_init" % self.layer)(
            self._self, byref(self._code.raw), byref(trace._raw), *more))
        # How the next call begins; `asked`: after NEED_PAGE; `pending`: events
        # are; `last`: flow goes on nowhere, but an item may be left.
        self._begin, self._asked = self._sync_forward, False
        self._pending = self._last = False

    @property
    def at(self):
        """Where it stands: ipt_where, which changes as it goes on."""
        return self._raw.at

    @property
    def synced(self):
        return bool(self._raw.at.valid & _C["IPT_AT_SYNC"])

    def _stop(self, status):
        """Raises; or finds out what the next call begins with."""
        begin = self._begin
        if status in (MORE, BUDGET):
            pass
        elif status == END and begin is self._resync is not \
                self._sync_forward:
            self._begin, self._last = None, True
            return
        elif status == END:
            raise StopIteration
        elif status == _NEED_PAGE:
            asked, self._asked = self._asked, not self._asked
            if asked:
                self._begin = self._resync
                return
        elif -31 <= status <= -16 and status != _C["IPT_ERR_NOSYNC"]:
            self._last = True
        else:
            self._begin = self._sync_forward if begin else self._resync
        self._code.check(status, type(self.at).from_buffer_copy(self.at))

    def __iter__(self):
        return self

    def __next__(self):
        while True:
            if self._pending:
                event = Event()
                status = self._event(self._self, byref(event))
                self._pending = status > 0 and bool(status & 1)
                if status >= 0:
                    return event
            if self._begin:
                status = self._begin(self._self)
                if status < 0 and status != _EVENT_FIRST:
                    self._stop(status)
                    continue
                self._begin = None
                self._pending = self._events and bool(status & 1)
                continue
            item = self.item()
            status = self._next(self._self, byref(item))
            if status >= 0:
                self._asked = False
                self._pending = self._events and bool(status & 1)
                return item
            if status == _EVENT_FIRST:
                self._pending = self._events
            elif self._last:
                raise StopIteration
            else:
                self._stop(status)


class Packets(_Decoder):
    layer, item = "pkt", Packet


class Events(_Decoder):
    layer, item = "evt", Event


class Blocks(_Decoder):
    layer, item, needs_code = "blk", Block, True


class Instructions(_Decoder):
    layer, item, needs_code = "insn", Insn, True


class _Run:
    """A run of the decoder of coverage."""

    def __init__(self, trace, read, fields, **cov):
        self._code, self._trace = _Code(read, fields), trace
        self._cov = _abi.ipt_cov_config(**cov)
        self._raw = _abi.ipt_cov_decoder()
        _check(_lib.ipt_cov_init(
            byref(self._raw), byref(self._code.raw), byref(self._cov),
            byref(trace._raw), byref(self._code.cache)))
        self._go = _lib.ipt_cov_run

    def run(self):
        """To the end, over errors and missing code; MORE or BUDGET."""
        while True:
            status = self._go(byref(self._raw))
            if self._code.error is not None:
                self._code.check(status, None)
            if status in (END, MORE, BUDGET):
                return status
            if -31 <= status <= -16 or status == _C["IPT_ERR_INTERNAL"]:
                raise Error(status, self._raw.at)
            self._go = _lib.ipt_cov_run if status >= 0 else \
                _lib.ipt_cov_resync


def bitmap(trace, read, size=65536, flags=0, **fields):
    """Counts the edges of a trace as a fuzzer does. Returns the counters and
    the verdict: COV_ bits; 0: this is all that ran."""
    counters = (ctypes.c_uint8 * size)()
    run = _Run(trace, read, fields, bitmap=counters, bitmap_size=size,
               flags=flags)
    status = run.run()
    if status != END:
        raise Error(status, run._raw.at)
    return bytearray(counters), run._raw.verdict


class Edges:
    """An iterator over edges: (from, to, IPT_INSN_ of the branch). At its end
    `verdict` is what became of the trace."""

    def __init__(self, trace, read, flags=0, **fields):
        self._found = []
        self._fuel = ctypes.c_uint64()

        def edge(start, to, kind, context):
            self._found.append((start, to, kind))
        self._callback = _EDGE(edge)
        self._run = _Run(trace, read, dict(fields, fuel=ctypes.pointer(
            self._fuel)), edge=self._callback, flags=flags)
        self._at = iter(())

    @property
    def verdict(self):
        return self._run._raw.verdict

    def __iter__(self):
        return self

    def __next__(self):
        while True:
            for found in self._at:
                return found
            if self._found:
                self._at, self._found = iter(self._found), []
                continue
            self._fuel.value = 1000  # so that there are not too many at a time
            status = self._run.run()
            if status == MORE:
                raise Error(status, self._run._raw.at)
            if status == END and not self._found:
                raise StopIteration
