//! The recording of examples/recording: what the crate gives is what executed,
//! and what C gives.
use ipt::{raw, Asid, Blocks, CacheLine, Config, Coverage, Events, Instructions, MemoLine};
use ipt::{Packets, Segment, Status, Step, Trace};
use std::mem::zeroed;
use std::ptr;

const TRACE: &[u8] = include_bytes!("trace.pt");
const CODE: &[u8] = include_bytes!("pages.bin");
const IPS: &[u8] = include_bytes!("ips.u64"); // of what executed

fn executed() -> Vec<u64> {
    IPS.chunks_exact(8).map(|ip| u64::from_le_bytes(ip.try_into().unwrap())).collect()
}

fn read(buffer: &mut [u8], _: &Asid, ip: u64) -> Result<usize, i32> {
    ipt::copy_code(buffer, ip, 0x401000, CODE)
}

unsafe extern "C" fn c_read(
    buffer: *mut u8,
    size: usize,
    asid: *const Asid,
    ip: u64,
    _: *mut ipt::c::c_void,
) -> i32 {
    read(std::slice::from_raw_parts_mut(buffer, size), &*asid, ip).unwrap() as i32
}

/// A config and a trace for C.
fn c_config() -> (raw::ipt_config, raw::ipt_segment) {
    let mut config: raw::ipt_config = unsafe { zeroed() };
    config.read = Some(c_read);
    (config, raw::ipt_segment { data: TRACE.as_ptr(), size: TRACE.len() })
}

#[test]
fn instructions_are_what_executed() {
    let mut lines = [CacheLine::EMPTY; 64];
    let mut config = Config::new().code(read).cache(&mut lines).unwrap();
    let mut trace = Trace::new(TRACE);
    let decoder = Instructions::new(&mut config, &mut trace).unwrap();
    let ips: Vec<u64> = decoder.map(|insn| insn.unwrap().ip).collect();
    assert_eq!(ips.len(), 9254);
    assert_eq!(ips, executed());
    // Once more, with what the cache knows now, and in pieces.
    let pieces: Vec<Segment> = TRACE.chunks(100).map(Segment::new).collect();
    let mut trace = Trace::pieces(&pieces).unwrap();
    let decoder = Instructions::new(&mut config, &mut trace).unwrap();
    assert!(decoder.map(|insn| insn.unwrap().ip).eq(executed()));
}

#[test]
fn blocks_and_events_say_the_same() {
    let mut config = Config::new().code(read);
    let mut trace = Trace::new(TRACE);
    let blocks = Blocks::new(&mut config, &mut trace).unwrap();
    let count: u32 = blocks.map(|block| u32::from(block.unwrap().count)).sum();
    assert_eq!(count, 9254);
    let decoder = Instructions::new(&mut config, &mut trace).unwrap();
    let (mut insns, mut events) = (0, Vec::new());
    for step in decoder.with_events() {
        match step.unwrap() {
            Step::Item(_) => insns += 1,
            Step::Event(event) => events.push((event.offset, event.type_)),
        }
    }
    assert_eq!(insns, 9254);
    let mut config = Config::new();
    let wanted: Vec<_> = Events::new(&mut config, &mut trace)
        .unwrap()
        .map(|event| event.unwrap())
        .filter(|event| ![raw::IPT_EVT_TIP, raw::IPT_EVT_TNT].contains(&event.type_))
        .map(|event| (event.offset, event.type_))
        .collect();
    assert!(!wanted.is_empty());
    assert_eq!(events, wanted);
}

#[test]
fn packets_are_what_c_gives() {
    let (config, piece) = c_config();
    let trace = raw::ipt_trace { seg: &piece, count: 1, open: 0, offset: 0 };
    let mut wanted = Vec::new();
    unsafe {
        let mut decoder: raw::ipt_pkt_decoder = zeroed();
        assert_eq!(raw::ipt_pkt_init(&mut decoder, &config, &trace), 0);
        assert_eq!(raw::ipt_pkt_sync_forward(&mut decoder), 0);
        let tnt = [raw::IPT_PKT_TNT_8, raw::IPT_PKT_TNT_64];
        let mut packet: raw::ipt_packet = zeroed();
        while raw::ipt_pkt_next(&mut decoder, &mut packet) >= 0 {
            let mut bytes = [0_u8; 16];
            let size = raw::ipt_pkt_encode(bytes.as_mut_ptr(), 16, &packet);
            assert_eq!(size, packet.size as i32);
            let bits = tnt.contains(&packet.type_).then(|| packet.u.tnt.bits);
            wanted.push((packet.offset, packet.type_, bits));
        }
    }
    let mut config = Config::new();
    let mut trace = Trace::new(TRACE);
    let got: Vec<_> = Packets::new(&mut config, &mut trace)
        .unwrap()
        .map(|packet| packet.unwrap())
        .map(|packet| (packet.offset, packet.type_, packet.tnt().map(|tnt| tnt.bits)))
        .collect();
    assert_eq!(got, wanted);
}

#[test]
fn one_bitmap_with_c() {
    let mut wanted = vec![0_u8; 65536];
    let hash;
    unsafe {
        let (config, piece) = c_config();
        let trace = raw::ipt_trace { seg: &piece, count: 1, open: 0, offset: 0 };
        let mut cov: raw::ipt_cov_config = zeroed();
        cov.bitmap = wanted.as_mut_ptr();
        cov.bitmap_size = 65536;
        cov.flags = raw::IPT_COV_HASH;
        let mut decoder: raw::ipt_cov_decoder = zeroed();
        let cache = ptr::null_mut();
        assert_eq!(raw::ipt_cov_init(&mut decoder, &config, &cov, &trace, cache), 0);
        assert_eq!(raw::ipt_cov_run(&mut decoder), raw::IPT_END);
        assert_eq!(decoder.verdict, 0);
        hash = decoder.hash;
    }
    let mut lines = [CacheLine::EMPTY; 1024];
    let mut memo = [MemoLine::EMPTY; 1024];
    let mut config = Config::new().code(read).cache(&mut lines).unwrap();
    let mut coverage = Coverage::new(&mut config, &mut memo, raw::IPT_COV_HASH).unwrap();
    let mut bitmap = vec![0_u8; 65536];
    for _ in 0..3 {
        bitmap.fill(0);
        let mut trace = Trace::new(TRACE);
        let mut run = coverage.begin(&mut trace, &mut bitmap).unwrap();
        assert!(run.next().is_none());
        assert_eq!((run.verdict(), run.hash()), (0, hash));
        assert!(bitmap == wanted);
    }
    // The edges, each counted as the bitmap's are.
    let mut counted = vec![0_u8; 65536];
    let mix = |v: u64| (v ^ v >> 31).wrapping_mul(0x7fb5d329728ea185);
    let verdict = coverage.edges(&mut Trace::new(TRACE), |from, to, _| {
        let slot = (mix(to) ^ mix(from) >> 1) as u32 as usize % counted.len();
        counted[slot] = counted[slot].wrapping_add(1);
    });
    assert_eq!(verdict, Ok(0));
    assert!(counted == wanted);
}

#[test]
fn a_stream_in_bits_on_little_fuel() {
    for chunk in [1, 7, 100, 4096] {
        let mut buffer = [0_u8; 64];
        let mut config = Config::new().code(read).fuel(1);
        let mut trace = Trace::stream(&mut buffer);
        let mut decoder = Instructions::new(&mut config, &mut trace).unwrap();
        let mut rest = TRACE;
        let mut ips = Vec::new();
        let (mut more, mut budget) = (0, 0);
        while let Some(insn) = decoder.next() {
            match insn {
                Ok(insn) => ips.push(insn.ip),
                Err(Status::MORE) if rest.is_empty() => decoder.close(),
                Err(Status::MORE) => {
                    let count = decoder.push(&rest[..chunk.min(rest.len())]);
                    assert!(count > 0);
                    rest = &rest[count..];
                    more += 1;
                }
                Err(Status::BUDGET) => {
                    decoder.refuel(50);
                    budget += 1;
                }
                Err(other) => panic!("{other}"),
            }
        }
        assert_eq!(ips, executed());
        assert!(more >= TRACE.len() / 64);
        assert!(budget > 10);
    }
}

#[test]
fn pushing_at_any_time_keeps_what_is_there() {
    let mut buffer = [0_u8; 256];
    let mut config = Config::new();
    let mut trace = Trace::stream(&mut buffer).offset(1000);
    let mut decoder = Packets::new(&mut config, &mut trace).unwrap();
    let mut rest = TRACE;
    let (mut count, mut end) = (0, 1000);
    loop {
        let pushed = decoder.push(&rest[..rest.len().min(5)]);
        rest = &rest[pushed..];
        if rest.is_empty() {
            decoder.close();
        }
        match decoder.next() {
            Some(Ok(packet)) => {
                count += 1;
                end = packet.offset + u64::from(packet.size);
            }
            Some(Err(status)) => assert_eq!(status, Status::MORE),
            None => break,
        }
    }
    assert!(count > 100);
    assert_eq!(end, 1000 + TRACE.len() as u64);
}

#[test]
fn missing_code_is_asked_for_twice_then_given_up() {
    let there = std::cell::Cell::new(false);
    let reader = |buffer: &mut [u8], asid: &Asid, ip| match there.get() {
        true => read(buffer, asid, ip),
        false => Ok(0),
    };
    let mut config = Config::new().code(reader);
    let mut trace = Trace::new(TRACE);
    let mut decoder = Instructions::new(&mut config, &mut trace).unwrap();
    assert_eq!(decoder.next().unwrap().unwrap_err(), Status::NEED_PAGE);
    let missing = decoder.at().missing;
    assert!((0x401000..0x402000).contains(&missing));
    there.set(true);
    assert!(decoder.map(|insn| insn.unwrap().ip).eq(executed()));

    there.set(false);
    let decoder = Instructions::new(&mut config, &mut trace).unwrap();
    let stops: Vec<_> = decoder.map(|insn| insn.unwrap_err()).collect();
    assert!(!stops.is_empty() && stops.iter().all(|&stop| stop == Status::NEED_PAGE));
    let mut coverage = Coverage::new(&mut config, &mut [], 0).unwrap();
    let mut bitmap = [0_u8; 1000];
    let verdict = coverage.begin(&mut trace, &mut bitmap).unwrap().finish().unwrap();
    assert_eq!(verdict & raw::IPT_COV_NO_PAGE, raw::IPT_COV_NO_PAGE);
}

#[test]
fn an_error_of_the_reader_is_kept() {
    let mut config = Config::new().code(|_: &mut [u8], _: &Asid, _| Err(-1000));
    let mut trace = Trace::new(TRACE);
    let mut decoder = Instructions::new(&mut config, &mut trace).unwrap();
    assert_eq!(decoder.next().unwrap().unwrap_err(), Status::ERR_IMAGE);
    assert_eq!(decoder.at().image_error, -1000);
}

/// A loop that goes on after each error ends, whatever the trace holds.
#[test]
fn damaged_traces_end() {
    let mut errors = 0;
    for at in (0..TRACE.len()).step_by(3) {
        let mut bytes = TRACE.to_vec();
        bytes[at] ^= 0x55;
        let mut trace = Trace::new(&bytes);
        let mut config = Config::new().code(read);
        let limit = 40000;
        let mut items = 0;
        for insn in Instructions::new(&mut config, &mut trace).unwrap() {
            errors += insn.is_err() as u32;
            items += 1;
            assert!(items < limit, "instructions do not end: byte {at}");
        }
        for block in Blocks::new(&mut config, &mut trace).unwrap() {
            items += block.is_ok() as u32;
            assert!(items < 2 * limit, "blocks do not end: byte {at}");
        }
        for step in Instructions::new(&mut config, &mut trace).unwrap().with_events() {
            items += step.is_ok() as u32;
            assert!(items < 3 * limit, "steps do not end: byte {at}");
        }
        for event in Events::new(&mut config, &mut trace).unwrap() {
            items += event.is_ok() as u32;
            assert!(items < 4 * limit, "events do not end: byte {at}");
        }
        let mut bitmap = [0_u8; 256];
        let mut coverage = Coverage::new(&mut config, &mut [], 0).unwrap();
        let mut stops = 0;
        for _ in coverage.begin(&mut trace, &mut bitmap).unwrap() {
            stops += 1;
            assert!(stops < 2000, "coverage does not end: byte {at}");
        }
    }
    assert!(errors > 100);
}

#[test]
fn no_psb_is_not_all_decoded() {
    let mut config = Config::new();
    let mut trace = Trace::new(&TRACE[16..200]);
    let mut decoder = Packets::new(&mut config, &mut trace).unwrap();
    assert!(decoder.next().is_none());
    assert!(!decoder.at().synced());
}

#[test]
fn code_that_changed_is_read_again() {
    let calls = std::cell::Cell::new(0);
    let reader = |buffer: &mut [u8], asid: &Asid, ip| {
        calls.set(calls.get() + 1);
        read(buffer, asid, ip)
    };
    let mut lines = [CacheLine::EMPTY; 1024];
    let mut config = Config::new().code(reader).cache(&mut lines).unwrap();
    let mut trace = Trace::new(TRACE);
    assert_eq!(Instructions::new(&mut config, &mut trace).unwrap().count(), 9254);
    let first = calls.replace(0);
    assert!(first > 0);
    let mut decoder = Instructions::new(&mut config, &mut trace).unwrap();
    assert_eq!(decoder.by_ref().count(), 9254);
    assert_eq!(calls.get(), 0);
    let mut bytes = [0_u8; 1];
    assert!(decoder.code(&decoder.at().asid.clone(), 3, 0x401000, &mut bytes).is_ok());
    assert_eq!(bytes[0], CODE[0]);
    calls.set(0);
    config.invalidate(None, 0, 0);
    assert_eq!(Instructions::new(&mut config, &mut trace).unwrap().count(), 9254);
    assert_eq!(calls.get(), first);
}

/// Each type of packet and event has a function for its payload, or none to
/// have.
#[test]
fn types_are_complete() {
    let plain = [
        raw::IPT_PKT_NONE,
        raw::IPT_PKT_PAD,
        raw::IPT_PKT_PSB,
        raw::IPT_PKT_PSBEND,
        raw::IPT_PKT_OVF,
        raw::IPT_PKT_STOP,
        raw::IPT_PKT_UNKNOWN,
        raw::IPT_PKT_INVALID,
    ];
    for kind in 0..raw::IPT_PKT_COUNT {
        assert!(plain.contains(&kind) != ipt::Packet::TYPES.contains(&kind), "packet {kind}");
    }
    let plain = [
        raw::IPT_EVT_NONE,
        raw::IPT_EVT_ENABLED,
        raw::IPT_EVT_OVERFLOW,
        raw::IPT_EVT_STOP,
        raw::IPT_EVT_EXSTOP,
        raw::IPT_EVT_TIP,
        raw::IPT_EVT_TICK,
    ];
    for kind in 0..raw::IPT_EVT_COUNT {
        assert!(plain.contains(&kind) != ipt::Event::TYPES.contains(&kind), "event {kind}");
    }
}

#[test]
fn statuses_have_names() {
    assert_eq!(Status::ERR_RETURN_LOST.name(), "IPT_ERR_RETURN_LOST");
    assert_eq!(format!("{:?}", Status::MORE), "IPT_MORE");
    assert!(Status::END.to_string().contains(Status::END.cause()));
    assert!(Status::BUDGET.is_note() && !Status::ERR_ARG.is_note());
}

/// Between two decoders trace and config may move.
#[test]
fn trace_and_config_may_move() {
    let mut lines = [CacheLine::EMPTY; 64];
    let mut config = Config::new().code(read).cache(&mut lines).unwrap().fuel(1 << 20);
    let mut trace = Trace::new(TRACE);
    assert_eq!(Instructions::new(&mut config, &mut trace).unwrap().count(), 9254);
    let mut moved = std::mem::replace(&mut trace, Trace::new(&[]));
    let mut moved_config = std::mem::replace(&mut config, Config::new().code(read).fuel(0));
    assert_eq!(Instructions::new(&mut moved_config, &mut moved).unwrap().count(), 9254);
    assert_eq!(Packets::new(&mut config, &mut trace).unwrap().count(), 0);
}

/// A panic does not go through C: the program ends.
#[test]
fn a_panic_ends_the_program() {
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_reader_that_panics", "--ignored"])
        .output()
        .unwrap();
    assert!(child.status.code().is_none(), "{}", child.status); // by a signal
}

#[test]
#[ignore = "it ends the program"]
fn a_reader_that_panics() {
    let reader = |_: &mut [u8], _: &Asid, _| -> Result<usize, i32> { panic!("planted") };
    let mut config = Config::new().code(reader);
    let mut trace = Trace::new(TRACE);
    Instructions::new(&mut config, &mut trace).unwrap().next();
}
