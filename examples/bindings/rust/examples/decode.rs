//! decode TRACE CODE BASE BITMAP: print how many instructions ran, and a hash
//! of their addresses, and write the bitmap of a fuzzer into a file. With a
//! number instead of BITMAP: decode so many times, to see how long that takes.
use ipt::{copy_code, Asid, CacheLine, Config, Coverage, Instructions, MemoLine, Trace};
use std::{env, error::Error, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().collect();
    let (trace, code, base, last) = match args.as_slice() {
        [_, trace, code, base, last] => (trace, code, base, last),
        _ => return Err("usage: decode TRACE CODE BASE BITMAP|ROUNDS".into()),
    };
    let (bytes, code) = (fs::read(trace)?, fs::read(code)?);
    let base = u64::from_str_radix(base, 16)?;
    let mut lines = vec![CacheLine::EMPTY; 4096];
    let mut config = Config::new()
        .code(|buffer: &mut [u8], _: &Asid, ip| copy_code(buffer, ip, base, &code))
        .cache(&mut lines)
        .map_err(|status| status.to_string())?;

    let rounds = last.parse::<u32>();
    let (mut count, mut hash) = (0, 0xcbf29ce484222325_u64);
    for _ in 0..rounds.clone().unwrap_or(1) {
        let mut trace = Trace::new(&bytes);
        let insns = Instructions::new(&mut config, &mut trace);
        for insn in insns.map_err(|status| status.to_string())? {
            let insn = insn.map_err(|status| status.to_string())?;
            hash = (hash ^ insn.ip).wrapping_mul(0x100000001b3);
            count += 1;
        }
    }
    println!("{} instructions, hash {:x}", { count }, { hash });

    if rounds.is_err() {
        let mut memo = vec![MemoLine::EMPTY; 4096];
        let mut bitmap = vec![0; 65536];
        let mut trace = Trace::new(&bytes);
        let verdict = Coverage::new(&mut config, &mut memo, 0)
            .and_then(|mut coverage| coverage.begin(&mut trace, &mut bitmap)?.finish())
            .map_err(|status| status.to_string())?;
        fs::write(last, bitmap)?;
        println!("verdict {verdict}");
    }
    Ok(())
}
