//! What the contract of ipt.h forbids does not compile. Each program compiles
//! without its lines that begin with `WRONG`, and with them it does not, for
//! the reason that is named.
use std::path::PathBuf;
use std::process::Command;
use std::{env, fs};

const CASES: &[(&str, &str, &str)] = &[
    ("E0505", "trace is freed while it is decoded", "
        let bytes = vec![0; 100];
        let mut config = Config::new();
        let mut trace = Trace::new(&bytes);
        let mut decoder = Packets::new(&mut config, &mut trace)?;
        WRONG drop(bytes);
        decoder.next();"),
    ("E0506", "trace is overwritten while it is decoded", "
        let mut bytes = [0; 100];
        let mut config = Config::new();
        let mut trace = Trace::new(&bytes);
        let mut decoder = Packets::new(&mut config, &mut trace)?;
        WRONG bytes[0] = 1;
        decoder.next();
        bytes[1] = 1;"),
    ("E0597", "trace does not live as long as its decoder", "
        let outer = [0; 100];
        let mut config = Config::new();
        let mut trace = Trace::new(&outer);
        {
            let inner = [0; 100];
            WRONG trace = Trace::new(&inner);
            let _ = inner[0];
        }
        Packets::new(&mut config, &mut trace)?.next();"),
    ("E0505", "pieces are freed while they are decoded", "
        let pieces = vec![Segment::gap(1)];
        let mut config = Config::new();
        let mut trace = Trace::pieces(&pieces)?;
        let mut decoder = Events::new(&mut config, &mut trace)?;
        WRONG drop(pieces);
        decoder.next();"),
    ("E0506", "a stream's buffer is written to while it is used", "
        let mut buffer = [0; 100];
        let mut config = Config::new();
        let mut trace = Trace::stream(&mut buffer);
        let mut decoder = Packets::new(&mut config, &mut trace)?;
        WRONG buffer[0] = 1;
        decoder.push(&[0]);
        buffer[1] = 1;"),
    ("E0505", "the config moves while a decoder points to it", "
        let mut config = Config::new().code(code);
        let mut trace = Trace::new(&[]);
        let mut decoder = Instructions::new(&mut config, &mut trace)?;
        WRONG let config = Box::new(config);
        decoder.next();
        drop(config);"),
    ("E0505", "the trace moves while a decoder points to it", "
        let mut config = Config::new();
        let mut trace = Trace::new(&[]);
        let mut decoder = Packets::new(&mut config, &mut trace)?;
        WRONG let trace = Box::new(trace);
        decoder.next();
        drop(trace);"),
    ("E0499", "two decoders use one cache at a time", "
        let mut lines = [CacheLine::EMPTY; 64];
        let mut config = Config::new().code(code).cache(&mut lines)?;
        let (mut one, mut two) = (Trace::new(&[]), Trace::new(&[]));
        let mut first = Blocks::new(&mut config, &mut one)?;
        WRONG let mut second = Blocks::new(&mut config, &mut two)?;
        first.next();
        let mut second = Blocks::new(&mut config, &mut two)?;
        second.next();"),
    ("E0499", "two configs, of other code perhaps, use the lines of one cache", "
        let mut lines = [CacheLine::EMPTY; 64];
        let mut one = Config::new().code(code).cache(&mut lines)?;
        WRONG let mut two = Config::new().code(code).cache(&mut lines)?;
        one.invalidate(None, 0, 0);
        let mut two = Config::new().code(code).cache(&mut lines)?;
        two.invalidate(None, 0, 0);"),
    ("E0505", "the lines of a cache are freed while it is used", "
        let mut lines = vec![CacheLine::EMPTY; 64];
        let mut config = Config::new().code(code).cache(&mut lines)?;
        WRONG drop(lines);
        config.invalidate(None, 0, 0);"),
    ("E0499", "the code is asked for by two decoders at a time", "
        let mut calls = 0;
        let mut count = |_: &mut [u8], _: &Asid, _: u64| { calls += 1; Ok(0) };
        let (mut one, mut two) = (Trace::new(&[]), Trace::new(&[]));
        let mut config = Config::new().code(&mut count);
        let mut first = Blocks::new(&mut config, &mut one)?;
        WRONG let mut other = Config::new().code(&mut count);
        first.next();
        let mut other = Config::new().code(&mut count);
        Blocks::new(&mut other, &mut two)?.next();"),
    ("E0499", "a callback calls into its decoder's trace and config", "
        let mut trace = Trace::new(&[]);
        let mut other = Config::new();
        let reader = |_: &mut [u8], _: &Asid, _: u64| {
            WRONG let _ = Packets::new(&mut other, &mut trace);
            Ok(0)
        };
        let mut config = Config::new().code(reader);
        let mut decoder = Instructions::new(&mut config, &mut trace)?;
        decoder.next();
        Packets::new(&mut other, &mut trace)?.next();"),
    ("E0277", "instructions without a callback for code", "
        let mut config = Config::new();
        let mut trace = Trace::new(&[]);
        WRONG Instructions::new(&mut config, &mut trace)?.next();
        Packets::new(&mut config, &mut trace)?.next();"),
    ("E0277", "coverage without a callback for code", "
        let mut config = Config::new();
        WRONG Coverage::new(&mut config, &mut [], 0)?;
        config.invalidate(None, 0, 0);"),
    ("E0277", "a decoder goes to a thread that its callback must not be in", "
        let calls = std::rc::Rc::new(0);
        let mut config = Config::new().code(move |_: &mut [u8], _: &Asid, _: u64| Ok(*calls));
        let mut trace = Trace::new(&[]);
        let mut decoder = Instructions::new(&mut config, &mut trace)?;
        WRONG std::thread::scope(|threads| { threads.spawn(|| decoder.next()); });
        decoder.next();"),
    ("E0499", "two threads use a decoder", "
        let mut config = Config::new().code(code);
        let mut trace = Trace::new(&[]);
        let mut decoder = Instructions::new(&mut config, &mut trace)?;
        std::thread::scope(|threads| {
            threads.spawn(|| decoder.next());
            WRONG threads.spawn(|| decoder.next());
        });"),
    ("E0277", "two threads look at a decoder", "
        let mut config = Config::new().code(code);
        let mut trace = Trace::new(&[]);
        let decoder = Instructions::new(&mut config, &mut trace)?;
        std::thread::scope(|threads| {
            threads.spawn(|| 1);
            WRONG threads.spawn(|| decoder.at().offset);
        });
        decoder.at();"),
    ("E0599", "a clone shares the cache", "
        let mut config = Config::new().code(code);
        let mut trace = Trace::new(&[]);
        let decoder = Instructions::new(&mut config, &mut trace)?;
        WRONG let _ = decoder.clone();
        decoder.at();"),
    ("E0502", "a bitmap is looked at while a run adds to it", "
        let mut bitmap = [0; 100];
        let mut config = Config::new().code(code);
        let mut coverage = Coverage::new(&mut config, &mut [], 0)?;
        let mut trace = Trace::new(&[]);
        let run = coverage.begin(&mut trace, &mut bitmap)?;
        WRONG let first = &bitmap[0];
        run.finish()?;
        let _ = bitmap[0];"),
    ("E0499", "two runs of one decoder of coverage", "
        let (mut one, mut two) = ([0; 100], [0; 100]);
        let mut config = Config::new().code(code);
        let mut coverage = Coverage::new(&mut config, &mut [], 0)?;
        let (mut first, mut second) = (Trace::new(&[]), Trace::new(&[]));
        let run = coverage.begin(&mut first, &mut one)?;
        WRONG let other = coverage.begin(&mut second, &mut two)?;
        run.finish()?;
        coverage.begin(&mut second, &mut two)?.finish()?;"),
    ("E0499", "one memo of two decoders at a time", "
        let mut memo = [MemoLine::EMPTY; 4];
        let (mut one, mut two) = (Config::new().code(code), Config::new().code(code));
        let mut first = Coverage::new(&mut one, &mut memo, 0)?;
        WRONG Coverage::new(&mut two, &mut memo, 0)?;
        first.invalidate(None, 0, 0);
        Coverage::new(&mut two, &mut memo, 0)?;"),
    ("E0505", "the trace is freed within a run", "
        let (bytes, mut bitmap) = (vec![0; 100], [0; 100]);
        let mut config = Config::new().code(code);
        let mut coverage = Coverage::new(&mut config, &mut [], 0)?;
        let mut trace = Trace::new(&bytes);
        let run = coverage.begin(&mut trace, &mut bitmap)?;
        WRONG drop(bytes);
        run.finish()?;"),
    ("E0502", "code is invalidated past the decoder that is in the middle of it", "
        let mut config = Config::new().code(code);
        let mut trace = Trace::new(&[]);
        let mut decoder = Instructions::new(&mut config, &mut trace)?;
        WRONG let _ = &config;
        decoder.next();
        config.invalidate(None, 0, 0);"),
    ("E0616", "fields that are not yours", "
        let mut config = Config::new();
        let mut trace = Trace::new(&[]);
        let decoder = Packets::new(&mut config, &mut trace)?;
        WRONG let _ = decoder.raw.magic_;
        decoder.at();"),
    ("E0133", "a member of u that type does not name", "
        let mut config = Config::new();
        let mut trace = Trace::new(&[]);
        for packet in Packets::new(&mut config, &mut trace)? {
            let packet = packet?;
            WRONG let bits = packet.u.tnt.bits;
            let _ = packet.tnt().map(|tnt| tnt.bits);
        }"),
    ("E0308", "an item is used although there is none", "
        let mut config = Config::new();
        let mut trace = Trace::new(&[]);
        for packet in Packets::new(&mut config, &mut trace)? {
            WRONG let packet: Packet = packet;
            let _ = packet;
        }"),
];

/// The crate that these tests are linked with: the newest one beside them.
fn library() -> PathBuf {
    let tests = env::current_exe().unwrap();
    let files = fs::read_dir(tests.parent().unwrap()).unwrap().map(|file| file.unwrap().path());
    files
        .filter(|path| {
            let name = path.file_name().unwrap().to_str().unwrap();
            name.starts_with("libipt-") && name.ends_with(".rlib")
        })
        .max_by_key(|path| fs::metadata(path).unwrap().modified().unwrap())
        .unwrap()
}

/// Compiles a program; what rustc says if it does not like it.
fn compile(name: &str, body: &str) -> Result<(), String> {
    let source = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let program = format!(
        "#![allow(unused)]\nuse ipt::*;\n\
         fn code(_: &mut [u8], _: &Asid, _: u64) -> Result<usize, i32> {{ Ok(0) }}\n\
         fn main() -> Result<(), Status> {{\n{body}\nOk(())\n}}\n"
    );
    fs::write(&source, program).unwrap();
    let rustc = env::var("RUSTC").unwrap_or_else(|_| "rustc".to_string());
    let output = Command::new(rustc)
        .args(["--edition=2021", "--emit=metadata", "--crate-type=bin", "-o"])
        .arg(source.with_extension("rmeta"))
        .arg("--extern")
        .arg(format!("ipt={}", library().display()))
        .arg(&source)
        .output()
        .unwrap();
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

#[test]
fn mistakes_do_not_compile() {
    let mut bad = Vec::new();
    for (number, (code, what, program)) in CASES.iter().enumerate() {
        let is_wrong = |line: &&str| line.trim_start().starts_with("WRONG ");
        let right: Vec<_> = program.lines().filter(|line| !is_wrong(line)).collect();
        let wrong: Vec<_> = program.lines().map(|line| line.replace("WRONG ", "")).collect();
        assert_eq!(wrong.len(), right.len() + 1, "{what}");
        if let Err(said) = compile(&format!("right{number}.rs"), &right.join("\n")) {
            bad.push(format!("{what}: the right program does not compile\n{said}"));
        }
        match compile(&format!("wrong{number}.rs"), &wrong.join("\n")) {
            Ok(()) => bad.push(format!("{what}: the wrong program compiles")),
            Err(said) if said.contains(&format!("error[{code}]")) => (),
            Err(said) => bad.push(format!("{what}: not for {code}\n{said}")),
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}
