//! Decoder of Intel Processor Trace. It needs no heap and no `std`: all state
//! is in structs of yours, and what they borrow stays in place while it is
//! used, for that is what the lifetimes say.
//!
//! ```
//! # fn main() -> Result<(), ipt::Status> {
//! # let (trace_bytes, code) = (include_bytes!("../tests/trace.pt"),
//! #                            include_bytes!("../tests/pages.bin"));
//! let mut lines = [ipt::CacheLine::EMPTY; 1024]; // 64 KiB
//! let mut config = ipt::Config::new()
//!     .code(|buffer: &mut [u8], _: &ipt::Asid, ip| {
//!         ipt::copy_code(buffer, ip, 0x401000, code)
//!     })
//!     .cache(&mut lines)?;
//! let mut trace = ipt::Trace::new(trace_bytes);
//! let mut count = 0;
//! for insn in ipt::Instructions::new(&mut config, &mut trace)? {
//!     let insn = insn?;
//!     assert!(insn.size > 0);
//!     count += 1;
//! }
//! assert_eq!(count, 9254);
//! # Ok(())
//! # }
//! ```
//!
//! [`Packets`], [`Events`], [`Blocks`] and [`Instructions`] are iterators that
//! begin at the first PSB. An `Err` is a note or an error:
//!
//! - [`Status::MORE`]: push more trace, or close it, and go on.
//! - [`Status::BUDGET`]: refuel, and go on.
//! - [`Status::NEED_PAGE`]: code at `at().missing` is not there. The next call
//!   asks once more. If it is still not there, it is given up.
//! - any error: the next call takes flow up again further on.
//!
//! So a loop that goes on after errors ends, too. What was skipped is counted
//! in [`At`]. If there is no PSB, the iterator ends at once: see `synced`.
//!
//! [`Coverage`] fills a fuzzer's bitmap. [`raw`] has all the rest of `ipt.h`,
//! as it is there; its manual is the manual of this crate.
#![cfg_attr(not(feature = "std"), no_std)]
#![warn(missing_docs)]

mod config;
mod coverage;
mod decoders;
mod items;
mod trace;

/// What `ipt.h` declares, made by bindgen.
#[allow(missing_docs, non_camel_case_types, clippy::all)]
#[rustfmt::skip]
pub mod raw;

/// C's types, where they are not Rust's.
#[allow(missing_docs, non_camel_case_types)]
pub mod c {
    pub use core::ffi::c_void;
    pub type c_char = u8; // what texts consist of, whatever its sign
    pub type c_int = i32;
    pub type c_uint = u32;
}

pub use config::{copy_code, CacheLine, Code, Config, NoCode};
pub use coverage::{Coverage, MemoLine, Run};
pub use decoders::{Blocks, Events, Instructions, Packets, Step, WithEvents};
pub use items::{Asid, At, Block, Event, Insn, Packet, Status};
pub use trace::{Segment, Trace};
