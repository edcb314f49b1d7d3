"""perf.data: records, and the trace in them, by the C reader of ipt's tools.

    with ipt.perf.Data("perf.data") as data:
        read, config = data.read_code(), data.config()
        for queue, trace in data.traces():
            for insn in ipt.Instructions(trace, read, **config):
                print(queue.tid, hex(insn.ip))

SPDX-License-Identifier: MIT
"""
import ctypes
import os
from ctypes import byref

from . import Trace, _abi
from ._library import LIBRARY as _lib

globals().update((_name[9:], _value) for _name, _value in
                 _abi.CONSTANTS.items() if _name.startswith("PERFDATA_"))
_C = _abi.CONSTANTS
_FULL = _C["PERFDATA_ERR_MEMORY"]
_READ = dict(_abi.perfdata_config._fields_)["read"]

Record = _abi.perfdata_record
_PAYLOADS = {
    "MMAP": "mmap", "MMAP2": "mmap", "LOST": "lost", "LOST_SAMPLES": "lost",
    "COMM": "comm", "EXIT": "task", "FORK": "task", "THROTTLE": "throttle",
    "UNTHROTTLE": "throttle", "ITRACE_START": "thread", "READ": "thread",
    "SWITCH_CPU_WIDE": "thread", "AUX": "aux", "NAMESPACES": "namespaces",
    "KSYMBOL": "ksymbol", "BPF_EVENT": "bpf", "CGROUP": "cgroup",
    "TEXT_POKE": "text_poke", "AUX_OUTPUT_HW_ID": "hw_id", "SAMPLE": "event",
    "HEADER_ATTR": "attr", "TRACING_DATA": "tracing", "BUILD_ID": "build_id",
    "AUXTRACE_INFO": "info", "AUXTRACE": "auxtrace",
    "AUXTRACE_ERROR": "error", "TIME_CONV": "time_conv",
    "HEADER_FEATURE": "feature", "COMPRESSED": "compressed",
    "COMPRESSED2": "compressed"}
_PAYLOADS = {_C["PERFDATA_" + name]: member
             for name, member in _PAYLOADS.items()}
Record.payload = property(
    lambda record: getattr(record.u, _PAYLOADS[record.type])
    if record.type in _PAYLOADS else None)


class Error(Exception):
    """A status of perfdata.h."""

    def __init__(self, status, offset):
        self.status = status
        super().__init__("byte %#x: %s" % (
            offset, _lib.perfdata_text(status).decode()))


_lib.perfdata_text.restype = ctypes.c_char_p


class Data:
    """A file, which is not compressed. As an iterator: its records, of which
    each holds until the next one."""

    def __init__(self, path):
        self._file = open(path, "rb")
        self._config = _abi.perfdata_config(size=os.fstat(
            self._file.fileno()).st_size)

        def read(buffer, size, offset, context):
            found = self._pread(size, offset)
            ctypes.memmove(buffer, found, len(found))
            return len(found) - size
        self._config.read = self._callback = _READ(read)
        self._raw = _abi.perfdata()
        events, ids = 16, 1024
        while True:
            self._room(events, ids)
            status = _lib.perfdata_open(byref(self._raw), byref(self._config))
            if status != _FULL:
                break
            events = max(events, self._raw.event_need)
            ids = max(ids, self._raw.id_need)
        if status < 0:
            self.close()
            raise Error(status, self._raw.offset)

    def close(self):
        self._file.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def _pread(self, size, offset):
        return os.pread(self._file.fileno(), size, offset)

    def _room(self, events, ids):
        new = (_abi.perfdata_attr * events)(), (_abi.perfdata_id * ids)()
        if self._config.events:
            for one, old, count in zip(
                    new, (self._config.events, self._config.ids),
                    (self._config.event_max, self._config.id_max)):
                one[:count] = old[:count]
        self._arrays = new
        self._config.events, self._config.ids = new
        self._config.event_max, self._config.id_max = events, ids

    def __iter__(self):
        _lib.perfdata_rewind(byref(self._raw))
        record = Record()
        while True:
            status = _lib.perfdata_next(byref(self._raw), byref(record))
            if status == _C["PERFDATA_END"]:
                return
            if status == _FULL:
                self._room(2 * self._config.event_max + self._raw.event_need,
                           2 * self._config.id_max + self._raw.id_need)
                continue
            if status < 0:
                raise Error(status, record.offset)
            yield record

    def _info(self):
        for record in self:
            if record.type == _C["PERFDATA_AUXTRACE_INFO"]:
                copy = Record.from_buffer_copy(record)
                event = _lib.perfdata_pt_event(byref(self._raw), byref(copy))
                if event != 0xffffffff:
                    return copy.u.info.word, self._config.events[event].config
        raise ValueError("%s has no trace of Intel PT" % self._file.name)

    def config(self):
        """What perf noted of the processor: fields for a decoder."""
        word, bits = self._info()

        def of(name):
            return word[_C["PERFDATA_PT_" + name]]
        mask = of("MTC_FREQ_BITS")
        return {
            "flags": _C["IPT_CONFIG_NO_RETCOMP"]
            if bits & of("NORETCOMP_BIT") else 0,
            "mtc_freq": (bits & mask) // (mask & -mask) if mask else 0,
            "nom_freq": of("MAX_NONTURBO_RATIO") & 0xff,
            "cpuid_15_eax": of("TSC_CTC_D") & 0xffffffff,
            "cpuid_15_ebx": of("TSC_CTC_N") & 0xffffffff}

    def traces(self):
        """(perfdata_queue, Trace) of each cpu, or thread. Lost trace is a gap
        of an unknown number of bytes, which counts as one."""
        queues = _abi.perfdata_queues()

        def room(pieces):
            for name, kind, count in (("piece", "piece", pieces),
                                      ("loss", "loss", pieces),
                                      ("queue", "queue", pieces)):
                plural = {"loss": "losses"}.get(name, name + "s")
                new = (getattr(_abi, "perfdata_" + kind) * count)()
                old, used = getattr(queues, plural), \
                    getattr(queues, name + "_count")
                if used:
                    new[:used] = old[:used]
                setattr(queues, plural, new)
                setattr(queues, name + "_max", count)
                keep[name] = new
        keep = {}
        room(1024)
        for record in self:
            while _lib.perfdata_queues_add(byref(queues), byref(record)) == \
                    _FULL:
                room(2 * queues.piece_max)
        while _lib.perfdata_queues_finish(byref(queues)) == _FULL:
            room(2 * queues.piece_max + queues.loss_max)
        status = _lib.perfdata_queues_trim(byref(queues), byref(self._raw))
        if status < 0:
            raise Error(status, 0)
        for queue in queues.queues[:queues.queue_count]:
            parts = []
            for piece in queues.pieces[queue.first:queue.first + queue.count]:
                if piece.gap and parts:
                    parts.append(1)
                parts.append(self._pread(piece.size, piece.data))
            yield queue, Trace(*parts)

    def read_code(self, symfs=""):
        """A `read` for the programs and libraries that the file names, of all
        processes together: for recordings of one. The kernel is not there."""
        maps = []
        for record in self:
            if record.type in (_C["PERFDATA_MMAP"], _C["PERFDATA_MMAP2"]) and \
                    record.misc & _C["PERFDATA_MISC_CPUMODE_MASK"] == \
                    _C["PERFDATA_MISC_USER"]:
                mmap = record.u.mmap
                maps.insert(0, (mmap.addr, mmap.addr + mmap.len, mmap.pgoff,
                                symfs + os.fsdecode(mmap.name)))
        files = {}

        def read(size, asid, ip):
            for start, end, offset, name in maps:
                if start <= ip < end:
                    if name not in files:
                        try:
                            with open(name, "rb") as file:
                                files[name] = file.read()
                        except OSError:
                            files[name] = b""
                    at = ip - start + offset
                    return files[name][at:at + min(size, end - ip)]
            return b""
        return read
