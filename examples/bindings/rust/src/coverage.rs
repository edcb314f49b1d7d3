//! Trace straight to a fuzzer's bitmap.
use crate::c::c_void;
use crate::config::guard;
use crate::decoders::{recovery, Begin};
use crate::trace::State;
use crate::{raw, At, Code, Config, Status, Trace};
use core::marker::PhantomData;
use core::mem::zeroed;
use core::ptr;

/// A line of the memo.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct MemoLine(raw::ipt_cov_line);

impl MemoLine {
    /// What an array is made of.
    pub const EMPTY: MemoLine = MemoLine(raw::ipt_cov_line {
        ip_: 0,
        tnt_: 0,
        next_: 0,
        key_: 0,
        from_: 0,
        kind_: 0,
        edges_: 0,
        frames_: 0,
        peak_: 0,
        items_: [0; 7],
    });
}

/// A decoder of coverage. Code and memo are kept from run to run, and the trace
/// and the bitmap of each are borrowed only for it.
pub struct Coverage<'a, F> {
    raw: raw::ipt_cov_decoder,
    cov: raw::ipt_cov_config,
    memo: raw::ipt_cov_memo,
    config: *mut Config<'a, F>,
    borrowed: PhantomData<(&'a mut Config<'a, F>, &'a mut [MemoLine])>,
}

// SAFETY: it borrows the config and the lines exclusively; the pointers that a
// run has set mean nothing after it.
unsafe impl<F: Send> Send for Coverage<'_, F> {}

impl<'a, F: Code> Coverage<'a, F> {
    /// `flags` are `raw::IPT_COV_`. `memo`: at least 4 lines, or none for no
    /// memo; 16384, 1 MiB, suit most programs.
    pub fn new<'m: 'a>(
        config: &'a mut Config<'m, F>,
        memo: &'a mut [MemoLine],
        flags: u32,
    ) -> Result<Self, Status> {
        // SAFETY: in C, too, all of them may begin as zeros.
        let (raw, cov, state) = unsafe { (zeroed(), zeroed(), zeroed()) };
        let config = (config as *mut Config<'m, F>).cast();
        let mut new = Coverage { raw, cov, memo: state, config, borrowed: PhantomData };
        new.cov.flags = flags;
        if !memo.is_empty() {
            // SAFETY: the lines are borrowed for 'a.
            Status::check(unsafe {
                raw::ipt_cov_memo_init(&mut new.memo, memo.as_mut_ptr().cast(), memo.len())
            })?;
        }
        Ok(new)
    }

    /// Begins a run: counts the edges of `trace` in `bitmap`, which is not
    /// cleared. It does nothing until it is told to `finish`, or iterated over.
    pub fn begin<'r>(
        &'r mut self,
        trace: &'r mut Trace<'_>,
        bitmap: &'r mut [u8],
    ) -> Result<Run<'r>, Status> {
        self.cov.bitmap = bitmap.as_mut_ptr();
        self.cov.bitmap_size = u32::try_from(bitmap.len()).map_err(|_| Status::ERR_ARG)?;
        if bitmap.is_empty() {
            self.cov.bitmap = ptr::null_mut();
        }
        self.start(trace)
    }

    fn start<'r>(&'r mut self, trace: &'r mut Trace<'_>) -> Result<Run<'r>, Status> {
        let state = ptr::addr_of_mut!(trace.0);
        self.cov.memo = match self.memo.lines_.is_null() {
            false => &mut self.memo,
            true => ptr::null_mut(),
        };
        // SAFETY: all of it is borrowed, and stays in place, for the run.
        Status::check(unsafe {
            raw::ipt_cov_init(
                &mut self.raw,
                Config::pin(self.config),
                &self.cov,
                State::pin(state),
                Config::cache_of(self.config),
            )
        })?;
        let fuel = unsafe { ptr::addr_of_mut!((*self.config).fuel) };
        Ok(Run { raw: &mut self.raw, trace: state, fuel, begin: Begin::Next, status: 0 })
    }

    /// Calls `edge(from, to, kind)` for each edge of the trace. There is no
    /// memo here, so it takes longer than `begin`.
    pub fn edges<G: FnMut(u64, u64, u8)>(
        &mut self,
        trace: &mut Trace<'_>,
        mut edge: G,
    ) -> Result<u32, Status> {
        unsafe extern "C" fn call<G: FnMut(u64, u64, u8)>(
            from: u64,
            to: u64,
            kind: u8,
            context: *mut c_void,
        ) {
            // SAFETY: only C uses the closure while it runs.
            let edge = &mut *context.cast::<G>();
            guard(|| edge(from, to, kind));
        }
        self.cov.bitmap = ptr::null_mut();
        self.cov.bitmap_size = 0;
        self.cov.edge = Some(call::<G>);
        self.cov.context = ptr::addr_of_mut!(edge).cast();
        let verdict = self.start(trace).and_then(|run| run.finish());
        self.cov.edge = None;
        self.cov.context = ptr::null_mut();
        verdict
    }

    /// Code has changed: see [`Config::invalidate`].
    pub fn invalidate(&mut self, asid: Option<&crate::Asid>, ip: u64, size: u64) {
        // SAFETY: C uses the cache only during a call.
        unsafe { Config::forget(self.config, asid, ip, size) };
        if unsafe { Config::cache_of(self.config) }.is_null() && !self.memo.lines_.is_null() {
            // Without a cache nothing else says so to the memo.
            let (lines, count) = (self.memo.lines_, self.memo.mask_ as usize + 1);
            // SAFETY: they are those that it was given.
            unsafe { raw::ipt_cov_memo_init(&mut self.memo, lines, count) };
        }
    }
}

/// A run. As an iterator it gives why it stopped: notes and errors, as the
/// other decoders do, until the end of the trace is reached.
pub struct Run<'r> {
    raw: &'r mut raw::ipt_cov_decoder,
    trace: *mut State,
    fuel: *mut u64,
    begin: Begin,
    status: i32,
}

impl Run<'_> {
    /// Decodes to the end, over errors and missing pages, and gives the
    /// verdict: `raw::IPT_COV_`, 0: this is all that ran. Where more trace or
    /// fuel is needed, it is an error: iterate then.
    pub fn finish(mut self) -> Result<u32, Status> {
        while let Some(stop) = self.next() {
            if matches!(stop, Status::MORE | Status::BUDGET) || self.begin == Begin::Never {
                return Err(stop);
            }
        }
        Ok(self.verdict())
    }

    /// What became of it so far: `raw::IPT_COV_`.
    pub fn verdict(&self) -> u32 {
        self.raw.verdict
    }

    /// Hash of the path so far, with `raw::IPT_COV_HASH`.
    pub fn hash(&self) -> u64 {
        self.raw.hash
    }

    /// Where it stands.
    pub fn at(&self) -> &At {
        &self.raw.at
    }

    /// Adds fuel, if [`Config::fuel`] bounds it.
    pub fn refuel(&mut self, units: u64) {
        // SAFETY: C uses it only during a call.
        unsafe { *self.fuel = (*self.fuel).saturating_add(units) };
    }

    /// Appends to a [`Trace::stream`]; see [`crate::Packets::push`].
    pub fn push(&mut self, bytes: &[u8]) -> usize {
        // SAFETY: as above.
        unsafe { (*self.trace).push(bytes, self.status == raw::IPT_MORE, self.raw.at.release) }
    }

    /// Nothing more comes.
    pub fn close(&mut self) {
        // SAFETY: as above.
        unsafe { (*self.trace).close() }
    }
}

impl Iterator for Run<'_> {
    type Item = Status;

    fn next(&mut self) -> Option<Status> {
        loop {
            let begin = self.begin;
            // SAFETY: the decoder was initialised, and what it uses is borrowed.
            let status = unsafe {
                match begin {
                    Begin::Never => return None,
                    Begin::Resync => raw::ipt_cov_resync(self.raw),
                    _ => raw::ipt_cov_run(self.raw),
                }
            };
            self.status = status;
            match status {
                0.. => self.begin = Begin::Next,
                raw::IPT_END => {
                    self.begin = Begin::Never;
                    return None;
                }
                raw::IPT_NEED_PAGE if begin == Begin::Again => self.begin = Begin::Resync,
                raw::IPT_NEED_PAGE => {
                    self.begin = Begin::Again;
                    return Some(Status(status));
                }
                raw::IPT_MORE | raw::IPT_BUDGET => return Some(Status(status)),
                _ => {
                    self.begin = match recovery(begin, status) {
                        Begin::Sync => Begin::Resync, // the same here
                        begin => begin,
                    };
                    return Some(Status(status));
                }
            }
        }
    }
}
