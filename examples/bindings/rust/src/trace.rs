//! The trace: bytes, pieces, or a stream.
use crate::{raw, Status};
use core::marker::PhantomData;
use core::ptr;

/// A piece of trace.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Segment<'t>(raw::ipt_segment, PhantomData<&'t [u8]>);

// SAFETY: it is a borrow of bytes.
unsafe impl Send for Segment<'_> {}
// SAFETY: as above.
unsafe impl Sync for Segment<'_> {}

impl<'t> Segment<'t> {
    /// Trace that lies here.
    pub const fn new(bytes: &'t [u8]) -> Self {
        let piece = raw::ipt_segment { data: bytes.as_ptr(), size: bytes.len() };
        Segment(piece, PhantomData)
    }
    /// So many bytes of trace were lost here.
    pub const fn gap(lost: usize) -> Self {
        let piece = raw::ipt_segment { data: ptr::null(), size: lost };
        Segment(piece, PhantomData)
    }
}

/// The part of a [`Trace`] that C points to.
pub(crate) struct State {
    pub(crate) raw: raw::ipt_trace,
    one: raw::ipt_segment, // all of it, if `whole`
    whole: bool,
    buffer: *mut u8, // of a stream
    room: usize,
}

/// The trace of one logical processor or thread. A decoder borrows it.
pub struct Trace<'t>(pub(crate) State, PhantomData<&'t mut [u8]>);

// SAFETY: its pointers are borrows of bytes and pieces, `buffer` a unique one.
unsafe impl Send for Trace<'_> {}

impl<'t> Trace<'t> {
    fn with(one: raw::ipt_segment, open: bool, buffer: *mut u8, room: usize) -> Self {
        let raw = raw::ipt_trace {
            seg: ptr::null(), // `one`: set when this is in its place
            count: 1,
            open: open.into(),
            offset: 0,
        };
        Trace(State { raw, one, whole: true, buffer, room }, PhantomData)
    }

    /// A trace in one piece, which is all.
    pub fn new(bytes: &'t [u8]) -> Self {
        Trace::with(Segment::new(bytes).0, false, ptr::null_mut(), 0)
    }

    /// A trace in pieces, the oldest first: a ring, ToPA. `ERR_ARG`: more bytes
    /// than there can be.
    pub fn pieces(pieces: &'t [Segment<'t>]) -> Result<Self, Status> {
        let mut sum = 0_u64;
        for piece in pieces.iter().filter(|piece| !piece.0.data.is_null()) {
            sum = sum.saturating_add(piece.0.size as u64);
        }
        let mut trace = Trace::new(&[]);
        trace.0.whole = false;
        trace.0.raw.seg = pieces.as_ptr().cast();
        trace.0.raw.count = u32::try_from(pieces.len()).unwrap_or(u32::MAX);
        if sum > 1 << 62 || trace.0.raw.count as usize != pieces.len() {
            return Err(Status::ERR_ARG);
        }
        Ok(trace)
    }

    /// A trace that comes bit by bit, by the decoder's `push`, which copies it
    /// into this buffer. It should have at least 4 KiB, and needs 64 bytes.
    pub fn stream(buffer: &'t mut [u8]) -> Self {
        let (data, room) = (buffer.as_mut_ptr(), buffer.len());
        Trace::with(raw::ipt_segment { data, size: 0 }, true, data, room)
    }

    /// The stream offset of its first byte, if that is not 0; at most 2^62.
    pub fn offset(mut self, offset: u64) -> Self {
        self.0.raw.offset = offset.min(1 << 62);
        self
    }
}

impl State {
    /// What C is given. While that is used the state stays in its place.
    ///
    /// # Safety
    /// `state` points to one that is exclusively borrowed.
    pub(crate) unsafe fn pin(state: *mut State) -> *const raw::ipt_trace {
        if (*state).whole {
            (*state).raw.seg = ptr::addr_of!((*state).one);
        }
        ptr::addr_of!((*state).raw)
    }

    /// Append to a stream as much of `bytes` as there is room for. `cut`: the
    /// decoder has said MORE, so trace below `release` may go.
    pub(crate) fn push(&mut self, bytes: &[u8], cut: bool, release: u64) -> usize {
        if self.buffer.is_null() || self.raw.open == 0 {
            return 0;
        }
        let size = self.one.size;
        let gone = release.saturating_sub(self.raw.offset).min(size as u64);
        // SAFETY: [buffer, buffer + room) is borrowed, `size` of it is used.
        // The lengths of both copies end at `size` and at `room`.
        unsafe {
            if cut {
                ptr::copy(self.buffer.add(gone as usize), self.buffer, size - gone as usize);
                self.one.size -= gone as usize;
                self.raw.offset += gone;
            }
            let count = bytes.len().min(self.room - self.one.size);
            ptr::copy(bytes.as_ptr(), self.buffer.add(self.one.size), count);
            self.one.size += count;
            count
        }
    }

    pub(crate) fn close(&mut self) {
        self.raw.open = 0;
    }
}
