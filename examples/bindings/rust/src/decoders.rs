//! The four iterators.
use crate::trace::State;
use crate::{raw, Asid, At, Block, Code, Config, Event, Insn, Packet, Status, Trace};
use core::marker::PhantomData;
use core::mem::zeroed;
use core::ptr;

/// What the next call begins with.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Begin {
    Next,
    Again, // next, after NEED_PAGE
    Sync,
    Resync,
    Last, // next, and then it is over: flow goes on nowhere
    Never,
}

/// How flow is taken up after `status`, which is none of the notes that a call
/// of the same function answers.
pub(crate) fn recovery(begin: Begin, status: i32) -> Begin {
    match status {
        raw::IPT_ERR_NOSYNC => Begin::Sync,
        -31..=-16 | raw::IPT_ERR_INTERNAL => Begin::Never,
        _ if begin == Begin::Next || begin == Begin::Again => Begin::Resync,
        _ => Begin::Sync,
    }
}

/// A decoder: its struct, its functions, and what it needs of a config.
macro_rules! decoder {
    (
        $(#[$doc:meta])* $name:ident: $raw:ident, $item:ident, [$($bound:ident)?],
        $init:ident($($cache:ident)?), $next:ident, $forward:ident, $backward:ident,
        $set:ident, $resync:path
    ) => {
        $(#[$doc])*
        pub struct $name<'a, F> {
            raw: raw::$raw,
            item: $item, // the last one
            config: *mut Config<'a, F>,
            trace: *mut State,
            begin: Begin,
            status: i32, // of the last call
            borrowed: PhantomData<(&'a mut Config<'a, F>, &'a mut State)>,
        }

        // SAFETY: it borrows config and trace exclusively, and both are Send.
        unsafe impl<F: Send> Send for $name<'_, F> {}

        impl<'a, F $(: $bound)?> $name<'a, F> {
            /// A decoder that begins at the first PSB of the trace.
            pub fn new<'m: 'a, 't: 'a>(
                config: &'a mut Config<'m, F>,
                trace: &'a mut Trace<'t>,
            ) -> Result<Self, Status> {
                let mut decoder = $name {
                    // SAFETY: in C, too, it may begin as zeros.
                    raw: unsafe { zeroed() },
                    // SAFETY: it is integers. C writes over it what it gives.
                    item: unsafe { zeroed() },
                    config: (config as *mut Config<'m, F>).cast(),
                    trace: ptr::addr_of_mut!(trace.0),
                    begin: Begin::Sync,
                    status: 0,
                    borrowed: PhantomData,
                };
                // SAFETY: both are borrowed, and stay in place, for 'a.
                Status::check(unsafe {
                    raw::$init(
                        &mut decoder.raw,
                        Config::pin(decoder.config),
                        State::pin(decoder.trace),
                        $(Config::$cache(decoder.config),)?
                    )
                })?;
                Ok(decoder)
            }
        }

        impl<'a, F> $name<'a, F> {
            /// Where it stands, and why it stopped.
            pub fn at(&self) -> &At {
                &self.raw.at
            }

            /// Adds fuel, if [`Config::fuel`] bounds it.
            pub fn refuel(&mut self, units: u64) {
                // SAFETY: C uses it only during a call.
                unsafe { (*self.config).fuel = (*self.config).fuel.saturating_add(units) };
            }

            /// Appends to a [`Trace::stream`] as much of `bytes` as there is
            /// room for, and says how much. There is room after `MORE`.
            pub fn push(&mut self, bytes: &[u8]) -> usize {
                let cut = self.status == raw::IPT_MORE;
                // SAFETY: as in `refuel`.
                unsafe { (*self.trace).push(bytes, cut, self.raw.at.release) }
            }

            /// Nothing more comes: the stream ends where it is.
            pub fn close(&mut self) {
                // SAFETY: as in `refuel`.
                unsafe { (*self.trace).close() }
            }

            fn go(&mut self, begin: Begin, status: i32) -> Result<i32, Status> {
                self.status = status;
                self.begin = begin;
                Status::check(status)
            }

            /// Goes to the next PSB.
            pub fn sync_forward(&mut self) -> Result<i32, Status> {
                // SAFETY: the decoder was initialised.
                let status = unsafe { raw::$forward(&mut self.raw) };
                self.go(if status < 0 { Begin::Sync } else { Begin::Next }, status)
            }

            /// Goes to the last PSB before the place where it is.
            pub fn sync_backward(&mut self) -> Result<i32, Status> {
                // SAFETY: as above.
                let status = unsafe { raw::$backward(&mut self.raw) };
                self.go(Begin::Next, status)
            }

            /// Goes to a stream offset; except for packets, to a PSB there.
            pub fn sync_set(&mut self, offset: u64) -> Result<i32, Status> {
                // SAFETY: as above.
                let status = unsafe { raw::$set(&mut self.raw, offset) };
                self.go(Begin::Next, status)
            }

            /// One call of C's _next: its status, with the item in `item`.
            #[inline(always)]
            fn call(&mut self) -> i32 {
                // SAFETY: as above.
                self.status = unsafe { raw::$next(&mut self.raw, ptr::addr_of_mut!(self.item).cast()) };
                self.status
            }

            /// Flow is lost, or was not found yet: find it. 0: it is there.
            #[inline(never)]
            fn find(&mut self) -> i32 {
                let begin = self.begin;
                // SAFETY: as above.
                let status = unsafe {
                    match begin {
                        Begin::Sync => raw::$forward(&mut self.raw),
                        Begin::Resync => $resync(&mut self.raw),
                        _ => return 0,
                    }
                };
                self.status = status;
                if status >= 0 || status == raw::IPT_EVENT_FIRST {
                    self.begin = Begin::Next;
                    return 0;
                }
                match status {
                    raw::IPT_MORE | raw::IPT_BUDGET => (),
                    // A block may be in progress.
                    raw::IPT_END if begin == Begin::Resync => {
                        self.begin = Begin::Last;
                        return 0;
                    }
                    raw::IPT_END => (),
                    _ => self.begin = recovery(begin, status),
                }
                status
            }

            /// An item came.
            fn given(&mut self) {
                self.begin = match self.begin {
                    Begin::Last => Begin::Never,
                    _ => Begin::Next,
                };
            }

            /// No item came. 0: another call is to be made.
            #[inline(never)]
            fn stopped(&mut self, status: i32) -> i32 {
                match status {
                    raw::IPT_EVENT_FIRST => return 0,
                    _ if self.begin == Begin::Last => {
                        self.begin = Begin::Never;
                        return raw::IPT_END;
                    }
                    raw::IPT_END | raw::IPT_MORE | raw::IPT_BUDGET => (),
                    raw::IPT_NEED_PAGE if self.begin != Begin::Again => self.begin = Begin::Again,
                    raw::IPT_NEED_PAGE => {
                        self.begin = Begin::Resync;
                        return 0;
                    }
                    _ => self.begin = recovery(self.begin, status),
                }
                status
            }

            /// As `advance`, after `last`, with which no item came; 0: there
            /// was no call yet.
            #[inline(never)]
            fn slow(&mut self, mut last: i32) -> i32 {
                loop {
                    let mut stop = if last < 0 { self.stopped(last) } else { 0 };
                    if stop == 0 {
                        stop = match self.begin {
                            Begin::Never => raw::IPT_END,
                            _ => self.find(),
                        };
                    }
                    if stop < 0 {
                        return stop;
                    }
                    last = self.call();
                    if last >= 0 {
                        self.given();
                        return last;
                    }
                }
            }

            /// To the next item. A status below 0: there is none.
            #[inline]
            fn advance(&mut self) -> i32 {
                if self.begin != Begin::Next {
                    return self.slow(0);
                }
                match self.call() {
                    status @ 0.. => status,
                    status => self.slow(status),
                }
            }
        }

        impl<'a, F> Iterator for $name<'a, F> {
            type Item = Result<$item, Status>;

            #[inline]
            fn next(&mut self) -> Option<Self::Item> {
                match self.advance() {
                    0.. => Some(Ok(self.item)),
                    raw::IPT_END => None,
                    status => Some(Err(Status(status))),
                }
            }
        }
    };
}

decoder! {
    /// What the bytes say.
    Packets: ipt_pkt_decoder, Packet, [], ipt_pkt_init(), ipt_pkt_next,
    ipt_pkt_sync_forward, ipt_pkt_sync_backward, ipt_pkt_sync_set,
    raw::ipt_pkt_sync_forward
}
decoder! {
    /// Packets that belong together, as one event.
    Events: ipt_evt_decoder, Event, [], ipt_evt_init(), ipt_evt_next,
    ipt_evt_sync_forward, ipt_evt_sync_backward, ipt_evt_sync_set,
    raw::ipt_evt_sync_forward
}
decoder! {
    /// Runs of instructions, in the order in which they executed.
    Blocks: ipt_blk_decoder, Block, [Code], ipt_blk_init(cache_of), ipt_blk_next,
    ipt_blk_sync_forward, ipt_blk_sync_backward, ipt_blk_sync_set,
    raw::ipt_blk_resync
}
decoder! {
    /// Instructions, in the order in which they executed.
    Instructions: ipt_insn_decoder, Insn, [Code], ipt_insn_init(cache_of), ipt_insn_next,
    ipt_insn_sync_forward, ipt_insn_sync_backward, ipt_insn_sync_set,
    raw::ipt_insn_resync
}

/// What [`Blocks::with_events`] and [`Instructions::with_events`] give.
#[derive(Clone, Copy, Debug)]
pub enum Step<T> {
    /// A block, an instruction.
    Item(T),
    /// What happened before the next one.
    Event(Event),
}

/// Items and events, in order.
pub struct WithEvents<D>(D);

impl<D> WithEvents<D> {
    /// The decoder, to push, to refuel, to see where it is.
    pub fn decoder(&mut self) -> &mut D {
        &mut self.0
    }
}

/// What decoders that need code can do besides.
macro_rules! with_code {
    ($name:ident, $item:ident, $event:ident, $resync:ident, $set_asid:ident) => {
        impl<'a, F: Code> $name<'a, F> {
            /// Events as well, in order.
            pub fn with_events(self) -> WithEvents<Self> {
                WithEvents(self)
            }

            /// Gives up what flow needs here, and takes it up where the trace
            /// says where it is.
            pub fn resync(&mut self) -> Result<i32, Status> {
                // SAFETY: the decoder was initialised.
                let status = unsafe { raw::$resync(&mut self.raw) };
                self.go(if status < 0 { Begin::Resync } else { Begin::Next }, status)
            }

            /// The address space of the next instruction, where the trace does
            /// not name it.
            pub fn set_asid(&mut self, asid: &Asid) -> Result<i32, Status> {
                // SAFETY: as above.
                Status::check(unsafe { raw::$set_asid(&mut self.raw, asid) })
            }

            /// Code has changed: see [`Config::invalidate`]. It counts at once.
            pub fn invalidate(&mut self, asid: Option<&Asid>, ip: u64, size: u64) {
                // SAFETY: C uses the cache only during a call.
                unsafe { Config::forget(self.config, asid, ip, size) };
            }

            /// The bytes of code at `ip`, of an instruction, say; `asid` is
            /// `at().asid` before it was given. `ERR_ARG`: there is no cache.
            pub fn code(
                &mut self,
                asid: &Asid,
                mode: u8,
                ip: u64,
                buffer: &mut [u8],
            ) -> Result<i32, Status> {
                // SAFETY: as above.
                Status::check(unsafe {
                    raw::ipt_cache_code(
                        Config::cache_of(self.config),
                        ptr::addr_of!((*self.config).raw),
                        asid,
                        mode,
                        ip,
                        buffer.as_mut_ptr(),
                        buffer.len(),
                    )
                })
            }
        }

        impl<F: Code> Iterator for WithEvents<$name<'_, F>> {
            type Item = Result<Step<$item>, Status>;

            fn next(&mut self) -> Option<Self::Item> {
                let d = &mut self.0;
                loop {
                    let pending = d.status >= 0 && d.status & raw::IPT_EVENT_PENDING as i32 != 0;
                    if pending || d.status == raw::IPT_EVENT_FIRST {
                        // SAFETY: the decoder was initialised.
                        unsafe {
                            let mut event: Event = zeroed();
                            d.status = raw::$event(&mut d.raw, &mut event.0);
                            if d.status >= 0 {
                                return Some(Ok(Step::Event(event)));
                            }
                        }
                    }
                    let stop = match d.begin {
                        Begin::Never => raw::IPT_END,
                        Begin::Sync | Begin::Resync => d.find(), // events first
                        _ => match d.call() {
                            0.. => {
                                d.given();
                                return Some(Ok(Step::Item(d.item)));
                            }
                            status => d.stopped(status),
                        },
                    };
                    match stop {
                        0.. => (),
                        raw::IPT_END => return None,
                        status => return Some(Err(Status(status))),
                    }
                }
            }
        }
    };
}
with_code!(Blocks, Block, ipt_blk_event, ipt_blk_resync, ipt_blk_set_asid);
with_code!(Instructions, Insn, ipt_insn_event, ipt_insn_resync, ipt_insn_set_asid);
