//! observer TRACE CODE BASE RUNS: coverage in the form of LibAFL's observers.
//! The traits here are LibAFL's (libafl::observers), as far as they matter, so
//! that this needs nothing but ipt: put LibAFL's own in their place. With
//! hardware, `pre_exec` starts tracing and `post_exec` takes the trace from
//! where the processor wrote it.
use ipt::{copy_code, Asid, CacheLine, Code, Config, Coverage, MemoLine, Trace};
use std::{borrow::Cow, env, error::Error, fs};

trait Named {
    fn name(&self) -> &Cow<'static, str>;
}

#[allow(dead_code)] // this one only ever succeeds
enum ExitKind {
    Ok,
    Crash,
    Oom,
    Timeout,
}

trait Observer<I, S>: Named {
    fn pre_exec(&mut self, state: &mut S, input: &I) -> Result<(), Box<dyn Error>>;
    fn post_exec(&mut self, state: &mut S, input: &I, exit: &ExitKind)
        -> Result<(), Box<dyn Error>>;
}

trait MapObserver {
    fn get(&self, index: usize) -> &u8;
    fn usable_count(&self) -> usize;
    fn count_bytes(&self) -> u64;
    fn reset_map(&mut self) -> Result<(), Box<dyn Error>>;
}

/// The observer: a map that each execution's trace fills.
struct PtObserver<'a, F> {
    name: Cow<'static, str>,
    coverage: Coverage<'a, F>,
    map: Vec<u8>,
}

impl<F> Named for PtObserver<'_, F> {
    fn name(&self) -> &Cow<'static, str> {
        &self.name
    }
}

/// What the executor leaves in the fuzzer's state: the trace of the last run.
struct State {
    trace: Vec<u8>,
}

impl<I, F: Code> Observer<I, State> for PtObserver<'_, F> {
    fn pre_exec(&mut self, _: &mut State, _: &I) -> Result<(), Box<dyn Error>> {
        self.reset_map()
    }

    fn post_exec(&mut self, state: &mut State, _: &I, exit: &ExitKind)
        -> Result<(), Box<dyn Error>> {
        if let ExitKind::Oom = exit {
            return Ok(()); // nor is there a trace of all that ran
        }
        let mut trace = Trace::new(&state.trace);
        let run = self.coverage.begin(&mut trace, &mut self.map).map_err(|e| e.to_string())?;
        match run.finish().map_err(|e| e.to_string())? {
            0 => Ok(()),
            verdict => Err(format!("{}: not all was decoded: {verdict:#x}", self.name).into()),
        }
    }
}

impl<F> MapObserver for PtObserver<'_, F> {
    fn get(&self, index: usize) -> &u8 {
        &self.map[index]
    }
    fn usable_count(&self) -> usize {
        self.map.len()
    }
    fn count_bytes(&self) -> u64 {
        self.map.iter().filter(|&&count| count != 0).count() as u64
    }
    fn reset_map(&mut self) -> Result<(), Box<dyn Error>> {
        self.map.fill(0);
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().collect();
    let (trace, code, base, runs) = match args.as_slice() {
        [_, trace, code, base, runs] => (trace, code, base, runs),
        _ => return Err("usage: observer TRACE CODE BASE RUNS".into()),
    };
    let mut state = State { trace: fs::read(trace)? };
    let code = fs::read(code)?;
    let base = u64::from_str_radix(base, 16)?;
    let (mut lines, mut memo) = (vec![CacheLine::EMPTY; 16384], vec![MemoLine::EMPTY; 16384]);
    let mut config = Config::new()
        .code(|buffer: &mut [u8], _: &Asid, ip| copy_code(buffer, ip, base, &code))
        .cache(&mut lines)
        .map_err(|e| e.to_string())?;
    let coverage = Coverage::new(&mut config, &mut memo, 0).map_err(|e| e.to_string())?;
    let mut observer = PtObserver { name: "pt".into(), coverage, map: vec![0; 65536] };

    let mut history = vec![0; observer.usable_count()];
    for run in 0..runs.parse()? {
        let input = run;
        observer.pre_exec(&mut state, &input)?;
        observer.post_exec(&mut state, &input, &ExitKind::Ok)?;
        let mut new = 0;
        for (index, old) in history.iter_mut().enumerate() {
            new += u32::from(*observer.get(index) > *old);
            *old = (*old).max(*observer.get(index));
        }
        println!("{}: {} counters, {new} new", observer.name(), observer.count_bytes());
    }
    Ok(())
}
