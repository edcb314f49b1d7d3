//! Statuses, and what decoders give.
use crate::c::c_char;
use crate::raw;
use core::fmt;

/// Why no item came. The constants are those of `ipt.h`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Status(
    /// Negative, as C has it.
    pub i32,
);

/// A text of the library, which has only constant ones.
fn text(start: *const c_char) -> &'static str {
    // SAFETY: C gives ASCII with a zero at its end, which stays.
    unsafe {
        let mut size = 0;
        while *start.add(size) != 0 {
            size += 1;
        }
        core::str::from_utf8_unchecked(core::slice::from_raw_parts(start, size))
    }
}

impl Status {
    /// A result of C: the bits of a success, or a status.
    pub(crate) fn check(status: i32) -> Result<i32, Status> {
        if status < 0 { Err(Status(status)) } else { Ok(status) }
    }
    /// `IPT_END`, say.
    pub fn name(self) -> &'static str {
        // SAFETY: it takes any number.
        text(unsafe { raw::ipt_status_name(self.0) })
    }
    /// What has happened, in English.
    pub fn cause(self) -> &'static str {
        // SAFETY: it takes any number.
        text(unsafe { raw::ipt_status_cause(self.0) })
    }
    /// What to do, in English.
    pub fn remedy(self) -> &'static str {
        // SAFETY: it takes any number.
        text(unsafe { raw::ipt_status_remedy(self.0) })
    }
    /// Nothing is wrong: something is missing, or the trace ends.
    pub fn is_note(self) -> bool {
        self.0 > -16
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: {}; {}", self.name(), self.cause(), self.remedy())
    }
}

#[cfg(feature = "std")]
impl std::error::Error for Status {}

/// An address space.
pub type Asid = raw::ipt_asid;
/// Where a decoder stands, and why it stopped.
pub type At = raw::ipt_where;
/// A packet. Its functions give what it holds, if it is of that type.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Packet(pub(crate) raw::ipt_packet);
/// An event. Its functions give what it holds, if it is of that type.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Event(pub(crate) raw::ipt_event);
/// A run of instructions.
pub type Block = raw::ipt_block;
/// An instruction that executed.
pub type Insn = raw::ipt_insn;

impl At {
    /// A PSB was found: there is something to decode.
    pub fn synced(&self) -> bool {
        u32::from(self.valid) & raw::IPT_AT_SYNC != 0
    }
}

/// Functions for the members of `u`: each is there for some types.
macro_rules! members {
    ($item:ident: $raw:ident, $($member:ident: $($type:ident)|+ => $of:ident;)+) => {
        impl core::ops::Deref for $item {
            type Target = raw::$raw;
            fn deref(&self) -> &raw::$raw {
                &self.0
            }
        }

        impl $item {
            $(
                /// The member of `u` with this name, if `type_` is of it.
                #[inline]
                pub fn $member(&self) -> Option<&raw::$of> {
                    // SAFETY: all bytes of `u` are initialised, for items
                    // begin as zeros and only decoders make them; and any
                    // bytes are such integers.
                    match self.type_ {
                        $(raw::$type)|+ => Some(unsafe { &self.u.$member }),
                        _ => None,
                    }
                }
            )+
            /// Types that have such a function.
            #[doc(hidden)]
            pub const TYPES: &'static [u8] = &[$($(raw::$type),+),+];
        }
    };
}

members! { Packet: ipt_packet,
    tnt: IPT_PKT_TNT_8 | IPT_PKT_TNT_64 => ipt_packet_u_tnt;
    ip: IPT_PKT_TIP | IPT_PKT_TIP_PGE | IPT_PKT_TIP_PGD | IPT_PKT_FUP
        => ipt_packet_u_ip;
    exec: IPT_PKT_MODE_EXEC => ipt_packet_u_exec;
    tsx: IPT_PKT_MODE_TSX => ipt_packet_u_tsx;
    pip: IPT_PKT_PIP => ipt_packet_u_pip;
    vmcs: IPT_PKT_VMCS => ipt_packet_u_vmcs;
    tsc: IPT_PKT_TSC => ipt_packet_u_tsc;
    cbr: IPT_PKT_CBR => ipt_packet_u_cbr;
    tma: IPT_PKT_TMA => ipt_packet_u_tma;
    mtc: IPT_PKT_MTC => ipt_packet_u_mtc;
    cyc: IPT_PKT_CYC => ipt_packet_u_cyc;
    mnt: IPT_PKT_MNT => ipt_packet_u_mnt;
    ptw: IPT_PKT_PTW => ipt_packet_u_ptw;
    exstop: IPT_PKT_EXSTOP => ipt_packet_u_exstop;
    mwait: IPT_PKT_MWAIT => ipt_packet_u_mwait;
    pwre: IPT_PKT_PWRE => ipt_packet_u_pwre;
    pwrx: IPT_PKT_PWRX => ipt_packet_u_pwrx;
    bbp: IPT_PKT_BBP => ipt_packet_u_bbp;
    bip: IPT_PKT_BIP => ipt_packet_u_bip;
    bep: IPT_PKT_BEP => ipt_packet_u_bep;
    cfe: IPT_PKT_CFE => ipt_packet_u_cfe;
    evd: IPT_PKT_EVD => ipt_packet_u_evd;
    trig: IPT_PKT_TRIG => ipt_packet_u_trig;
    gap: IPT_PKT_GAP => ipt_packet_u_gap;
}

members! { Event: ipt_event,
    branch: IPT_EVT_DISABLED | IPT_EVT_ASYNC_DISABLED | IPT_EVT_ASYNC_BRANCH
        => ipt_event_u_branch;
    tnt: IPT_EVT_TNT => ipt_event_u_tnt;
    paging: IPT_EVT_PAGING | IPT_EVT_ASYNC_PAGING => ipt_event_u_paging;
    vmcs: IPT_EVT_VMCS | IPT_EVT_ASYNC_VMCS => ipt_event_u_vmcs;
    exec: IPT_EVT_EXEC_MODE | IPT_EVT_IFLAGS => ipt_event_u_exec;
    tsx: IPT_EVT_TSX => ipt_event_u_tsx;
    ptwrite: IPT_EVT_PTWRITE => ipt_event_u_ptwrite;
    mwait: IPT_EVT_MWAIT => ipt_event_u_mwait;
    pwre: IPT_EVT_PWRE => ipt_event_u_pwre;
    pwrx: IPT_EVT_PWRX => ipt_event_u_pwrx;
    cbr: IPT_EVT_CBR => ipt_event_u_cbr;
    mnt: IPT_EVT_MNT => ipt_event_u_mnt;
    cfe: IPT_EVT_CFE => ipt_event_u_cfe;
    trig: IPT_EVT_TRIG => ipt_event_u_trig;
    pebs: IPT_EVT_PEBS_BEGIN | IPT_EVT_PEBS_ITEM | IPT_EVT_PEBS_END
        => ipt_event_u_pebs;
    gap: IPT_EVT_GAP => ipt_event_u_gap;
}

/// Names of types and kinds, as in `ipt.h`, in lower case.
macro_rules! name {
    ($item:ident, $field:ident, $function:ident) => {
        impl $item {
            /// Name of its type or kind.
            pub fn name(&self) -> &'static str {
                // SAFETY: it takes any number.
                text(unsafe { raw::$function(self.$field) })
            }
        }
    };
}
name!(Packet, type_, ipt_pkt_name);
name!(Event, type_, ipt_evt_name);
name!(Block, kind, ipt_insn_name);
name!(Insn, kind, ipt_insn_name);

macro_rules! debug {
    ($item:ident) => {
        impl fmt::Debug for $item {
            fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
                write!(f, "{} at {:#x}", self.name(), self.offset)
            }
        }
    };
}
debug!(Packet);
debug!(Event);
