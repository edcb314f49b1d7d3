/* Made by examples/bindings/generate.py: do not edit.
 * The names of ipt.h. */
use crate::c::*;

pub const IPT_VERSION: u32 = 512;
pub const IPT_EVENT_PENDING: u32 = 1;
pub const IPT_IP_SUPPRESSED: u32 = 2;
pub const IPT_UNPROVEN: u32 = 4;
pub const IPT_LAST: u32 = 8;
pub const IPT_FILTERS: u32 = 4;
pub const IPT_CONFIG_NO_RETCOMP: u32 = 1;
pub const IPT_CONFIG_IFLAGS: u32 = 2;
pub const IPT_CONFIG_STRICT: u32 = 4;
pub const IPT_CONFIG_WALK_ON: u32 = 8;
pub const IPT_CONFIG_END_ON_CALL: u32 = 16;
pub const IPT_CONFIG_END_ON_JUMP: u32 = 32;
pub const IPT_CONFIG_TICKS: u32 = 64;
pub const IPT_CONFIG_KEEP_TCAL: u32 = 128;
pub const IPT_CONFIG_MONOTONIC: u32 = 256;
pub const IPT_CONFIG_ROOT_ONLY: u32 = 512;
pub const IPT_CONFIG_NON_ROOT_ONLY: u32 = 1024;
pub const IPT_CONFIG_CR3_ONLY: u32 = 2048;
pub const IPT_CONFIG_VMX_EVENTS: u32 = 4096;
pub const IPT_CONFIG_RELATIVE_IP: u32 = 8192;
pub const IPT_CONFIG_NO_TIME: u32 = 16384;
pub const IPT_CONFIG_KEEP_CALLS: u32 = 32768;
pub const IPT_CONFIG_NO_TNT: u32 = 65536;
pub const IPT_CONFIG_FLAGS_: u32 = 131071;
pub const IPT_ERRATUM_BDM64: u32 = 1;
pub const IPT_ERRATUM_SKD007: u32 = 2;
pub const IPT_ERRATUM_SKD010: u32 = 4;
pub const IPT_ERRATUM_SKD022: u32 = 8;
pub const IPT_ERRATUM_SKL014: u32 = 16;
pub const IPT_ERRATUM_SKL168: u32 = 32;
pub const IPT_ERRATUM_SKZ84: u32 = 64;
pub const IPT_ERRATUM_APL11: u32 = 128;
pub const IPT_ERRATUM_APL12: u32 = 256;
pub const IPT_ERRATUM_NLIP: u32 = 512;
pub const IPT_ERRATUM_ALL_: u32 = 1023;
pub const IPT_AT_SYNC: u32 = 1;
pub const IPT_AT_IP: u32 = 2;
pub const IPT_AT_TSC: u32 = 4;
pub const IPT_EVENT_NO_IP: u32 = 1;
pub const IPT_EVENT_NO_TO: u32 = 2;
pub const IPT_EVENT_STATUS: u32 = 4;
pub const IPT_EVENT_TSC: u32 = 8;
pub const IPT_EVENT_RESUMED: u32 = 16;
pub const IPT_EVENT_SEAM: u32 = 32;
pub const IPT_CFE_HAS_VECTOR: u32 = 1;
pub const IPT_CFE_HAS_CR2: u32 = 2;
pub const IPT_CFE_HAS_VMXQ: u32 = 4;
pub const IPT_CFE_HAS_VMXR: u32 = 8;
pub const IPT_CFE_INFERRED: u32 = 16;
pub const IPT_START_LAST_IP: u32 = 1;
pub const IPT_START_ASID: u32 = 2;
pub const IPT_START_TSC: u32 = 4;
pub const IPT_START_ALL_: u32 = 7;
pub const IPT_FLOW_SPECULATIVE: u32 = 1;
pub const IPT_FLOW_ENABLED: u32 = 2;
pub const IPT_FLOW_RESUMED: u32 = 4;
pub const IPT_FLOW_RESYNCED: u32 = 8;
pub const IPT_FLOW_ASID: u32 = 16;
pub const IPT_FLOW_DISABLED: u32 = 32;
pub const IPT_FLOW_INTERRUPTED: u32 = 64;
pub const IPT_FLOW_ABORTED: u32 = 128;
pub const IPT_FLOW_COMMITTED: u32 = 256;
pub const IPT_FLOW_STOPPED: u32 = 512;
pub const IPT_FLOW_TRUNCATED: u32 = 1024;
pub const IPT_COV_INDIRECT: u32 = 1;
pub const IPT_COV_SATURATE: u32 = 2;
pub const IPT_COV_HASH: u32 = 4;
pub const IPT_COV_FLAGS_: u32 = 7;
pub const IPT_COV_UNFINISHED: u32 = 1;
pub const IPT_COV_SKIPPED: u32 = 2;
pub const IPT_COV_OVERFLOW: u32 = 4;
pub const IPT_COV_GAP: u32 = 8;
pub const IPT_COV_NO_PAGE: u32 = 16;
pub const IPT_COV_ERROR: u32 = 32;
pub const IPT_COV_TRUNCATED: u32 = 64;
pub const IPT_HOT_NO_LIMIT: u32 = 4294967295;
pub const IPT_GEN_TNT_64: u32 = 65536;
pub const IPT_GEN_DEFER: u32 = 131072;
pub const IPT_GEN_TSC: u32 = 262144;
pub const IPT_GEN_MTC: u32 = 524288;
pub const IPT_GEN_CYC: u32 = 1048576;
pub const IPT_GEN_FLAGS_: u32 = 2031616;
pub const IPT_GEN_ROOM: u32 = 256;
pub const IPT_TOPA_INT: u32 = 4;
pub const IPT_TOPA_STOP: u32 = 16;
pub const IPT_RTIT_TRACE_EN: u32 = 1;
pub const IPT_RTIT_CYC_EN: u32 = 2;
pub const IPT_RTIT_OS: u32 = 4;
pub const IPT_RTIT_USER: u32 = 8;
pub const IPT_RTIT_PWR_EVT_EN: u32 = 16;
pub const IPT_RTIT_FUP_ON_PTW: u32 = 32;
pub const IPT_RTIT_FABRIC_EN: u32 = 64;
pub const IPT_RTIT_CR3_FILTER: u32 = 128;
pub const IPT_RTIT_TOPA: u32 = 256;
pub const IPT_RTIT_MTC_EN: u32 = 512;
pub const IPT_RTIT_TSC_EN: u32 = 1024;
pub const IPT_RTIT_DIS_RETC: u32 = 2048;
pub const IPT_RTIT_PTW_EN: u32 = 4096;
pub const IPT_RTIT_BRANCH_EN: u32 = 8192;
pub const IPT_RTIT_EVENT_EN: u32 = 2147483648;
pub const IPT_RTIT_DIS_TNT: u64 = 36028797018963968;
pub const IPT_RTIT_INJECT_PSB_PMI: u64 = 72057594037927936;
pub const IPT_WORDS_MAX: u32 = 128;
pub const IPT_PENDING_MAX_: u32 = 15;
pub const IPT_RUN_MAX_: u32 = 32;
pub const IPT_RETURN_STACK_: u32 = 64;
pub const IPT_REACHED_MAX_: u32 = 4;
pub const IPT_COV_ITEMS_: u32 = 7;
pub const IPT_GEN_TIPS_: u32 = 8;
pub const IPT_END: c_int = -1;
pub const IPT_MORE: c_int = -2;
pub const IPT_BUDGET: c_int = -3;
pub const IPT_NEED_PAGE: c_int = -4;
pub const IPT_EVENT_FIRST: c_int = -5;
pub const IPT_NO_TIME: c_int = -6;
pub const IPT_ERR_ARG: c_int = -16;
pub const IPT_ERR_STATE: c_int = -17;
pub const IPT_ERR_CONFIG: c_int = -18;
pub const IPT_ERR_NOSYNC: c_int = -19;
pub const IPT_ERR_ROOM: c_int = -20;
pub const IPT_ERR_GONE: c_int = -21;
pub const IPT_ERR_QUERY: c_int = -22;
pub const IPT_ERR_OPCODE: c_int = -32;
pub const IPT_ERR_PACKET: c_int = -33;
pub const IPT_ERR_TRUNCATED: c_int = -34;
pub const IPT_ERR_CONTEXT: c_int = -35;
pub const IPT_ERR_NO_IP: c_int = -36;
pub const IPT_ERR_STATUS: c_int = -37;
pub const IPT_ERR_EVENTS: c_int = -38;
pub const IPT_ERR_MISMATCH: c_int = -39;
pub const IPT_ERR_RETURN: c_int = -40;
pub const IPT_ERR_MODE: c_int = -41;
pub const IPT_ERR_RETCOMP: c_int = -42;
pub const IPT_ERR_RETURN_LOST: c_int = -43;
pub const IPT_ERR_NO_TNT: c_int = -44;
pub const IPT_ERR_IMAGE: c_int = -64;
pub const IPT_ERR_CALLBACK: c_int = -65;
pub const IPT_ERR_BAD_INSN: c_int = -66;
pub const IPT_ERR_LOOP: c_int = -67;
pub const IPT_ERR_INTERNAL: c_int = -127;
pub const IPT_OK: c_int = 0;
pub const IPT_MODE_UNKNOWN: u8 = 0;
pub const IPT_MODE_16: u8 = 1;
pub const IPT_MODE_32: u8 = 2;
pub const IPT_MODE_64: u8 = 3;
pub const IPT_MODE_COUNT: u8 = 4;
pub const IPT_FILTER_OFF: u8 = 0;
pub const IPT_FILTER_TRACE: u8 = 1;
pub const IPT_FILTER_STOP: u8 = 2;
pub const IPT_PKT_NONE: u8 = 0;
pub const IPT_PKT_PAD: u8 = 1;
pub const IPT_PKT_PSB: u8 = 2;
pub const IPT_PKT_PSBEND: u8 = 3;
pub const IPT_PKT_OVF: u8 = 4;
pub const IPT_PKT_STOP: u8 = 5;
pub const IPT_PKT_TNT_8: u8 = 6;
pub const IPT_PKT_TNT_64: u8 = 7;
pub const IPT_PKT_TIP: u8 = 8;
pub const IPT_PKT_TIP_PGE: u8 = 9;
pub const IPT_PKT_TIP_PGD: u8 = 10;
pub const IPT_PKT_FUP: u8 = 11;
pub const IPT_PKT_MODE_EXEC: u8 = 12;
pub const IPT_PKT_MODE_TSX: u8 = 13;
pub const IPT_PKT_PIP: u8 = 14;
pub const IPT_PKT_VMCS: u8 = 15;
pub const IPT_PKT_TSC: u8 = 16;
pub const IPT_PKT_CBR: u8 = 17;
pub const IPT_PKT_TMA: u8 = 18;
pub const IPT_PKT_MTC: u8 = 19;
pub const IPT_PKT_CYC: u8 = 20;
pub const IPT_PKT_MNT: u8 = 21;
pub const IPT_PKT_PTW: u8 = 22;
pub const IPT_PKT_EXSTOP: u8 = 23;
pub const IPT_PKT_MWAIT: u8 = 24;
pub const IPT_PKT_PWRE: u8 = 25;
pub const IPT_PKT_PWRX: u8 = 26;
pub const IPT_PKT_BBP: u8 = 27;
pub const IPT_PKT_BIP: u8 = 28;
pub const IPT_PKT_BEP: u8 = 29;
pub const IPT_PKT_CFE: u8 = 30;
pub const IPT_PKT_EVD: u8 = 31;
pub const IPT_PKT_TRIG: u8 = 32;
pub const IPT_PKT_UNKNOWN: u8 = 33;
pub const IPT_PKT_INVALID: u8 = 34;
pub const IPT_PKT_GAP: u8 = 35;
pub const IPT_PKT_COUNT: u8 = 36;
pub const IPT_CFE_INTR: u8 = 1;
pub const IPT_CFE_IRET: u8 = 2;
pub const IPT_CFE_SMI: u8 = 3;
pub const IPT_CFE_RSM: u8 = 4;
pub const IPT_CFE_SIPI: u8 = 5;
pub const IPT_CFE_INIT: u8 = 6;
pub const IPT_CFE_VMENTRY: u8 = 7;
pub const IPT_CFE_VMEXIT: u8 = 8;
pub const IPT_CFE_VMEXIT_INTR: u8 = 9;
pub const IPT_CFE_SHUTDOWN: u8 = 10;
pub const IPT_CFE_UINTR: u8 = 12;
pub const IPT_CFE_UIRET: u8 = 13;
pub const IPT_CFE_SWINTR: u8 = 14;
pub const IPT_CFE_SYSCALL: u8 = 15;
pub const IPT_EVD_CR2: u8 = 0;
pub const IPT_EVD_VMXQ: u8 = 1;
pub const IPT_EVD_VMXR: u8 = 2;
pub const IPT_EVT_NONE: u8 = 0;
pub const IPT_EVT_ENABLED: u8 = 1;
pub const IPT_EVT_DISABLED: u8 = 2;
pub const IPT_EVT_ASYNC_DISABLED: u8 = 3;
pub const IPT_EVT_ASYNC_BRANCH: u8 = 4;
pub const IPT_EVT_PAGING: u8 = 5;
pub const IPT_EVT_ASYNC_PAGING: u8 = 6;
pub const IPT_EVT_VMCS: u8 = 7;
pub const IPT_EVT_ASYNC_VMCS: u8 = 8;
pub const IPT_EVT_OVERFLOW: u8 = 9;
pub const IPT_EVT_EXEC_MODE: u8 = 10;
pub const IPT_EVT_TSX: u8 = 11;
pub const IPT_EVT_STOP: u8 = 12;
pub const IPT_EVT_PTWRITE: u8 = 13;
pub const IPT_EVT_EXSTOP: u8 = 14;
pub const IPT_EVT_MWAIT: u8 = 15;
pub const IPT_EVT_PWRE: u8 = 16;
pub const IPT_EVT_PWRX: u8 = 17;
pub const IPT_EVT_CBR: u8 = 18;
pub const IPT_EVT_MNT: u8 = 19;
pub const IPT_EVT_TIP: u8 = 20;
pub const IPT_EVT_TNT: u8 = 21;
pub const IPT_EVT_CFE: u8 = 22;
pub const IPT_EVT_TRIG: u8 = 23;
pub const IPT_EVT_IFLAGS: u8 = 24;
pub const IPT_EVT_PEBS_BEGIN: u8 = 25;
pub const IPT_EVT_PEBS_ITEM: u8 = 26;
pub const IPT_EVT_PEBS_END: u8 = 27;
pub const IPT_EVT_TICK: u8 = 28;
pub const IPT_EVT_GAP: u8 = 29;
pub const IPT_EVT_COUNT: u8 = 30;
pub const IPT_INSN_OTHER: u8 = 0;
pub const IPT_INSN_JCC: u8 = 1;
pub const IPT_INSN_JMP: u8 = 2;
pub const IPT_INSN_CALL: u8 = 3;
pub const IPT_INSN_JMP_INDIRECT: u8 = 4;
pub const IPT_INSN_CALL_INDIRECT: u8 = 5;
pub const IPT_INSN_RET: u8 = 6;
pub const IPT_INSN_JMPABS: u8 = 7;
pub const IPT_INSN_FAR_CALL: u8 = 8;
pub const IPT_INSN_FAR_JMP: u8 = 9;
pub const IPT_INSN_FAR_RET: u8 = 10;
pub const IPT_INSN_INT: u8 = 11;
pub const IPT_INSN_SYSCALL: u8 = 12;
pub const IPT_INSN_VMCALL: u8 = 13;
pub const IPT_INSN_IRET: u8 = 14;
pub const IPT_INSN_UIRET: u8 = 15;
pub const IPT_INSN_VMENTRY: u8 = 16;
pub const IPT_INSN_RSM: u8 = 17;
pub const IPT_INSN_XBEGIN: u8 = 18;
pub const IPT_INSN_PTWRITE: u8 = 19;
pub const IPT_INSN_MOV_CR3: u8 = 20;
pub const IPT_INSN_VMPTRLD: u8 = 21;
pub const IPT_INSN_INTO: u8 = 22;
pub const IPT_INSN_COUNT: u8 = 23;
pub const IPT_HOT_DECIDE: c_int = 0;
pub const IPT_HOT_END: c_int = 1;
pub const IPT_HOT_CONTINUE: c_int = 2;
pub const IPT_HOT_KEEP: u8 = 0;
pub const IPT_HOT_DROP: u8 = 1;
pub const IPT_ASID_UNKNOWN: u64 = 18446744073709551615;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_segment {
    pub data: *const u8,
    pub size: usize,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_trace {
    pub seg: *const ipt_segment,
    pub count: u32,
    pub open: u8,
    pub offset: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_asid {
    pub cr3: u64,
    pub vmcs: u64,
    pub nr: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_filter {
    pub first: u64,
    pub last: u64,
    pub kind: u8,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ipt_config {
    pub context: *mut c_void,
    pub read: Option<unsafe extern "C" fn(buffer: *mut u8, size: usize, asid: *const ipt_asid, ip: u64, context: *mut c_void) -> c_int>,
    pub classify: Option<unsafe extern "C" fn(code: *mut ipt_code, bytes: *const u8, size: usize, mode: u8, context: *mut c_void) -> c_int>,
    pub unknown: Option<unsafe extern "C" fn(packet: *mut ipt_packet, bytes: *const u8, size: usize, context: *mut c_void) -> c_int>,
    pub space: Option<unsafe extern "C" fn(asid: *const ipt_asid, context: *mut c_void) -> u64>,
    pub space_at: Option<unsafe extern "C" fn(asid: *const ipt_asid, ip: u64, first: *mut u64, last: *mut u64, context: *mut c_void) -> u64>,
    pub cs_base: Option<unsafe extern "C" fn(asid: *const ipt_asid, ip: u64, mode: u8, context: *mut c_void) -> u64>,
    pub section: Option<unsafe extern "C" fn(asid: *const ipt_asid, ip: u64, context: *mut c_void) -> u64>,
    pub fuel: *mut u64,
    pub flags: u32,
    pub errata: u32,
    pub unwanted: u64,
    pub cpuid_15_eax: u32,
    pub cpuid_15_ebx: u32,
    pub mtc_freq: u8,
    pub nom_freq: u8,
    pub mode: u8,
    pub filter: [ipt_filter; 4usize],
    pub cr3: u64,
    pub cr3_mask: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_where {
    pub offset: u64,
    pub release: u64,
    pub sync: u64,
    pub packet_offset: u64,
    pub ip: u64,
    pub missing: u64,
    pub tsc: u64,
    pub asid: ipt_asid,
    pub skip_from: u64,
    pub skip_to: u64,
    pub skipped: u64,
    pub dropped: u64,
    pub overflows: u32,
    pub gaps: u32,
    pub resyncs: u32,
    pub lost_mtc: u32,
    pub lost_cyc: u32,
    pub error: c_int,
    pub image_error: c_int,
    pub packet: u8,
    pub cbr: u8,
    pub valid: u8,
    pub mode: u8,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ipt_packet {
    pub offset: u64,
    pub size: u32,
    pub type_: u8,
    pub u: ipt_packet_u,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub union ipt_packet_u {
    pub tnt: ipt_packet_u_tnt,
    pub ip: ipt_packet_u_ip,
    pub exec: ipt_packet_u_exec,
    pub tsx: ipt_packet_u_tsx,
    pub pip: ipt_packet_u_pip,
    pub vmcs: ipt_packet_u_vmcs,
    pub tsc: ipt_packet_u_tsc,
    pub cbr: ipt_packet_u_cbr,
    pub tma: ipt_packet_u_tma,
    pub mtc: ipt_packet_u_mtc,
    pub cyc: ipt_packet_u_cyc,
    pub mnt: ipt_packet_u_mnt,
    pub ptw: ipt_packet_u_ptw,
    pub exstop: ipt_packet_u_exstop,
    pub mwait: ipt_packet_u_mwait,
    pub pwre: ipt_packet_u_pwre,
    pub pwrx: ipt_packet_u_pwrx,
    pub bbp: ipt_packet_u_bbp,
    pub bip: ipt_packet_u_bip,
    pub bep: ipt_packet_u_bep,
    pub cfe: ipt_packet_u_cfe,
    pub evd: ipt_packet_u_evd,
    pub trig: ipt_packet_u_trig,
    pub gap: ipt_packet_u_gap,
    pub unknown: [u64; 2usize],
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_packet_u_tnt {
    pub bits: u64,
    pub count: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_packet_u_ip {
    pub payload: u64,
    pub ipc: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_packet_u_exec {
    pub csl: u8,
    pub csd: u8,
    pub iflag: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_packet_u_tsx {
    pub intx: u8,
    pub abrt: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_packet_u_pip {
    pub cr3: u64,
    pub nr: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_packet_u_vmcs {
    pub base: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_packet_u_tsc {
    pub value: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_packet_u_cbr {
    pub ratio: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_packet_u_tma {
    pub ctc: u16,
    pub fc: u16,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_packet_u_mtc {
    pub ctc: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_packet_u_cyc {
    pub value: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_packet_u_mnt {
    pub payload: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_packet_u_ptw {
    pub payload: u64,
    pub plc: u8,
    pub has_ip: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_packet_u_exstop {
    pub has_ip: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_packet_u_mwait {
    pub hints: u32,
    pub ext: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_packet_u_pwre {
    pub hw: u8,
    pub state: u8,
    pub sub_state: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_packet_u_pwrx {
    pub last: u8,
    pub deepest: u8,
    pub interrupt: u8,
    pub store: u8,
    pub autonomous: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_packet_u_bbp {
    pub type_: u8,
    pub sz: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_packet_u_bip {
    pub payload: u64,
    pub id: u8,
    pub sz: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_packet_u_bep {
    pub has_ip: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_packet_u_cfe {
    pub type_: u8,
    pub vector: u8,
    pub has_ip: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_packet_u_evd {
    pub payload: u64,
    pub type_: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_packet_u_trig {
    pub icnt: u16,
    pub trbv: u8,
    pub icntv: u8,
    pub mult: u8,
    pub has_ip: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_packet_u_gap {
    pub lost: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ipt_event {
    pub offset: u64,
    pub ip: u64,
    pub tsc: u64,
    pub lost_mtc: u32,
    pub lost_cyc: u32,
    pub type_: u8,
    pub flags: u8,
    pub cbr: u8,
    pub u: ipt_event_u,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub union ipt_event_u {
    pub branch: ipt_event_u_branch,
    pub tnt: ipt_event_u_tnt,
    pub paging: ipt_event_u_paging,
    pub vmcs: ipt_event_u_vmcs,
    pub exec: ipt_event_u_exec,
    pub tsx: ipt_event_u_tsx,
    pub ptwrite: ipt_event_u_ptwrite,
    pub mwait: ipt_event_u_mwait,
    pub pwre: ipt_event_u_pwre,
    pub pwrx: ipt_event_u_pwrx,
    pub cbr: ipt_event_u_cbr,
    pub mnt: ipt_event_u_mnt,
    pub cfe: ipt_event_u_cfe,
    pub trig: ipt_event_u_trig,
    pub pebs: ipt_event_u_pebs,
    pub gap: ipt_event_u_gap,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_event_u_branch {
    pub to: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_event_u_tnt {
    pub bits: u64,
    pub count: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_event_u_paging {
    pub cr3: u64,
    pub nr: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_event_u_vmcs {
    pub base: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_event_u_exec {
    pub mode: u8,
    pub iflag: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_event_u_tsx {
    pub speculative: u8,
    pub aborted: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_event_u_ptwrite {
    pub payload: u64,
    pub size: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_event_u_mwait {
    pub hints: u32,
    pub ext: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_event_u_pwre {
    pub state: u8,
    pub sub_state: u8,
    pub hw: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_event_u_pwrx {
    pub last: u8,
    pub deepest: u8,
    pub interrupt: u8,
    pub store: u8,
    pub autonomous: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_event_u_cbr {
    pub ratio: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_event_u_mnt {
    pub payload: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_event_u_cfe {
    pub data: [u64; 2usize],
    pub type_: u8,
    pub has: u8,
    pub vector: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_event_u_trig {
    pub icnt: u16,
    pub trbv: u8,
    pub icntv: u8,
    pub mult: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_event_u_pebs {
    pub payload: u64,
    pub id: u8,
    pub size: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_event_u_gap {
    pub lost: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_start {
    pub offset: u64,
    pub last_ip: u64,
    pub ip: u64,
    pub tsc: u64,
    pub asid: ipt_asid,
    pub stack: *const u64,
    pub stack_count: u32,
    pub has: u8,
    pub enabled: u8,
    pub mode: u8,
    pub cbr: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_code {
    pub displacement: i64,
    pub size: u8,
    pub kind: u8,
    pub ip16: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_block {
    pub offset: u64,
    pub ip: u64,
    pub end_ip: u64,
    pub count: u16,
    pub flags: u16,
    pub kind: u8,
    pub last_size: u8,
    pub mode: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_insn {
    pub offset: u64,
    pub ip: u64,
    pub flags: u16,
    pub size: u8,
    pub kind: u8,
    pub mode: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_cov_config {
    pub bitmap: *mut u8,
    pub bitmap_size: u32,
    pub flags: u32,
    pub edge: Option<unsafe extern "C" fn(from: u64, to: u64, kind: u8, context: *mut c_void)>,
    pub block: Option<unsafe extern "C" fn(ip: u64, size: u32, mode: u8, context: *mut c_void)>,
    pub context: *mut c_void,
    pub filter: *const ipt_filter,
    pub memo: *mut ipt_cov_memo,
    pub shared: *const ipt_cov_memo,
    pub seen: *mut ipt_cov_seen,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_hot_tag {
    pub ip: u64,
    pub asid: ipt_asid,
    pub mode: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_hot_head {
    pub tag: ipt_hot_tag,
    pub count: u32,
    pub trace_: u32,
    pub used: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_hot_trace {
    pub tag: ipt_hot_tag,
    pub runs: u64,
    pub credit_: u64,
    pub first: u32,
    pub count: u32,
    pub head_: u32,
    pub link_: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_hot_config {
    pub context: *mut c_void,
    pub end_trace: Option<unsafe extern "C" fn(tag: *const ipt_hot_tag, next: u64, context: *mut c_void) -> c_int>,
    pub trace: Option<unsafe extern "C" fn(tag: *const ipt_hot_tag, blocks: *const ipt_block, count: u32, context: *mut c_void) -> c_int>,
    pub deleted: Option<unsafe extern "C" fn(tag: *const ipt_hot_tag, context: *mut c_void)>,
    pub aborted: Option<unsafe extern "C" fn(tag: *const ipt_hot_tag, context: *mut c_void)>,
    pub heads: *mut ipt_hot_head,
    pub traces: *mut ipt_hot_trace,
    pub blocks: *mut ipt_block,
    pub head_count: u32,
    pub trace_count: u32,
    pub block_count: u32,
    pub threshold: u32,
    pub max_blocks: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_hot_stats {
    pub blocks: u64,
    pub inside: u64,
    pub insns: u64,
    pub told: u64,
    pub dropped: u64,
    pub deleted: u64,
    pub aborted: u64,
    pub heads_lost: u64,
    pub evicted: u64,
    pub refused: u64,
    pub cut: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_gen_config {
    pub flags: u32,
    pub psb_period: u32,
    pub tsc: u64,
    pub cpuid_15_eax: u32,
    pub cpuid_15_ebx: u32,
    pub mtc_freq: u8,
    pub nom_freq: u8,
    pub cbr: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_topa {
    pub rtit_ctl: u64,
    pub output_base: u64,
    pub output_mask_ptrs: u64,
    pub since_base: u64,
    pub since_mask_ptrs: u64,
    pub table: u64,
    pub wrapped: u8,
    pub map: Option<unsafe extern "C" fn(physical: u64, size: u64, context: *mut c_void) -> *const u8>,
    pub context: *mut c_void,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_region {
    pub physical: u64,
    pub size: u64,
    pub flags: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_cpuid_14 {
    pub ebx: u32,
    pub ecx: u32,
    pub eax_1: u32,
    pub ebx_1: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_msrs {
    pub rtit_ctl: u64,
    pub rtit_addr: [[u64; 2usize]; 4usize],
    pub platform_info: u64,
    pub cpuid_1_eax: u32,
    pub cpuid_14_ecx: u32,
    pub cpuid_15_eax: u32,
    pub cpuid_15_ebx: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ipt_cursor_ {
    pub config: *const ipt_config,
    pub trace: *const ipt_trace,
    pub origin: u64,
    pub begin: u64,
    pub limit: u64,
    pub quick: u64,
    pub piece: u32,
    pub seg: u32,
    pub run: u8,
    pub state: u8,
    pub block: u8,
    pub paid: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ipt_pkt_decoder {
    pub at: ipt_where,
    pub cur_: ipt_cursor_,
    pub magic_: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ipt_clock {
    pub tsc: u64,
    pub fcr: u64,
    pub lost_mtc: u32,
    pub lost_cyc: u32,
    pub has_tsc: u8,
    pub cbr: u8,
    pub state_: u8,
    pub cal_cbr_: u8,
    pub magic_: u32,
    pub config_: *const ipt_config,
    pub base_: u64,
    pub fc_: u64,
    pub cal_tsc_: u64,
    pub cal_tsc_cyc_: u64,
    pub cal_mtc_cyc_: u32,
    pub cal_span_: u32,
    pub cal_ctc_: u32,
    pub ctc_: u32,
    pub rest_: u32,
    pub cyc_end_: u32,
    pub moved_: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ipt_pending_ {
    pub event: ipt_event,
    pub waits: u8,
    pub stamped: u8,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ipt_evt_state_ {
    pub clock: ipt_clock,
    pub last_ip: u64,
    pub psb_ip: u64,
    pub error: c_int,
    pub phase: u8,
    pub psb_fup: u8,
    pub enabled: u8,
    pub was_enabled: u8,
    pub synced: u8,
    pub exec: u8,
    pub skipped: u8,
    pub vmx: u8,
    pub cfe: u8,
    pub ticked: u8,
    pub count: u8,
    pub pending: [ipt_pending_; 16usize],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ipt_evt_decoder {
    pub at: ipt_where,
    pub cur_: ipt_cursor_,
    pub evt_: ipt_evt_state_,
    pub magic_: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ipt_qry_decoder {
    pub at: ipt_where,
    pub cur_: ipt_cursor_,
    pub evt_: ipt_evt_state_,
    pub event_: ipt_event,
    pub from_: u64,
    pub tnt_: u64,
    pub tnt_count_: u8,
    pub have_event_: u8,
    pub fresh_: u8,
    pub magic_: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_cache_line {
    pub ip_: u64,
    pub target_: u64,
    pub key_: u16,
    pub size_: u16,
    pub count_: u8,
    pub kind_: u8,
    pub last_: u8,
    pub leaves_: u8,
    pub next_: [u32; 2usize],
    pub sizes_: [u8; 32usize],
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_window_ {
    pub ip: u64,
    pub key: u16,
    pub size: u8,
    pub ended: u8,
    pub cut: u8,
    pub bytes: [u8; 96usize],
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_cache {
    pub fuel: *mut u64,
    pub lines_: *mut ipt_cache_line,
    pub last_: u32,
    pub magic_: u32,
    pub version_: u32,
    pub clock_: u32,
    pub sweep_: u32,
    pub renew_: u32,
    pub next_id_: u16,
    pub aliases_: u8,
    pub name_: u64,
    pub pages_: [u64; 16usize],
    pub window_: ipt_window_,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_calls_at_ {
    pub top: u8,
    pub count: u8,
    pub lost: u8,
    pub spare: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_calls_ {
    pub ip: [u64; 64usize],
    pub at: ipt_calls_at_,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_bind_ {
    pub ip: u64,
    pub kinds: u32,
    pub count: u32,
    pub how: u8,
    pub once: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_loop_ {
    pub ip: u64,
    pub branches: u32,
    pub total: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_probe_ {
    pub ip: u64,
    pub count: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ipt_next_ {
    pub tnt: u64,
    pub tnt_offset: u64,
    pub tip: u64,
    pub tip_offset: u64,
    pub has_tip: u8,
    pub has_event: u8,
    pub event: ipt_event,
    pub bind: ipt_bind_,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ipt_stamp_ {
    pub time: ipt_event,
    pub fresh: u8,
    pub due: u8,
    pub after: ipt_event,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_flow_ {
    pub ip: u64,
    pub enabled: u8,
    pub hidden: u8,
    pub synced: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_prev_ {
    pub ip: u64,
    pub kind: u8,
    pub taken: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_mode_ {
    pub speculative: u16,
    pub now: u8,
    pub next: u8,
    pub old: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_resync_ {
    pub ip: u64,
    pub has: u8,
    pub state: u8,
    pub offset: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_tally_ {
    pub icnt: u32,
    pub counted: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_code_at_ {
    pub offset: u64,
    pub count: u8,
    pub index: u8,
    pub calm: u8,
    pub run: ipt_cache_line,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_place_ {
    pub mask: u64,
    pub first: u64,
    pub more: u64,
    pub version: u32,
    pub line: u32,
    pub way: u16,
    pub key: u16,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ipt_out_ {
    pub events: [ipt_event; 4usize],
    pub count: u8,
    pub waiting: u8,
    pub ends_block: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_item_ {
    pub from: u64,
    pub full: u8,
    pub begun: u8,
    pub unsettled: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_marks_ {
    pub lead: u16,
    pub trail: u16,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ipt_walk_ {
    pub cur: ipt_cursor_,
    pub evt: ipt_evt_state_,
    pub cache: *mut ipt_cache,
    pub valid: *const u32,
    pub calm: u8,
    pub next: ipt_next_,
    pub flow: ipt_flow_,
    pub stamp: ipt_stamp_,
    pub prev: ipt_prev_,
    pub mode: ipt_mode_,
    pub resync: ipt_resync_,
    pub tally: ipt_tally_,
    pub code: ipt_code_at_,
    pub place: ipt_place_,
    pub out: ipt_out_,
    pub item: ipt_item_,
    pub marks: ipt_marks_,
    pub end: u8,
    pub loop_: ipt_loop_,
    pub probe: ipt_probe_,
    pub calls: ipt_calls_,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ipt_blk_decoder {
    pub at: ipt_where,
    pub walk_: ipt_walk_,
    pub block_: ipt_block,
    pub magic_: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ipt_insn_decoder {
    pub at: ipt_where,
    pub walk_: ipt_walk_,
    pub insn_: ipt_insn,
    pub magic_: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_cov_line {
    pub ip_: u64,
    pub tnt_: u64,
    pub next_: u64,
    pub key_: u32,
    pub from_: u32,
    pub kind_: u8,
    pub edges_: u8,
    pub frames_: u8,
    pub peak_: u8,
    pub items_: [u32; 7usize],
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_cov_memo {
    pub lost: u64,
    pub lines_: *mut ipt_cov_line,
    pub formula_: u64,
    pub mask_: u32,
    pub magic_: u32,
    pub clock_: u32,
    pub cache_: *const ipt_cache,
    pub epoch_: u64,
    pub renew_: u32,
    pub next_id_: u32,
    pub noise_: u8,
    pub novel_: u8,
    pub seen_: u64,
    pub code_: u64,
    pub named_: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_cov_mark {
    pub ip_: u64,
    pub size_: u32,
    pub mode_: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_cov_seen {
    pub count: u64,
    pub lost: u64,
    pub marks_: *mut ipt_cov_mark,
    pub name_: u64,
    pub mask_: u32,
    pub magic_: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_cov_block_ {
    pub ip: u64,
    pub end: u64,
    pub mode: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_cov_leg_ {
    pub tnt: u64,
    pub to: u64,
    pub last_ip: u64,
    pub offset: u64,
    pub p: *const u8,
    pub window: *const u8,
    pub end: *const u8,
    pub next: *const u8,
    pub psb: *const u8,
    pub line: *const ipt_cov_line,
    pub held: u64,
    pub psb_size: usize,
    pub after: u32,
    pub ahead: u8,
    pub moved: u8,
    pub noisy: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_cov_keys_ {
    pub formula: u64,
    pub asid: ipt_asid,
    pub own: u32,
    pub shared: u32,
    pub epoch: u64,
    pub version: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_cov_learn_ {
    pub line: ipt_cov_line,
    pub whole: ipt_cov_line,
    pub mode: u8,
    pub on: u8,
    pub frames: u8,
    pub peak: u8,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ipt_cov_decoder {
    pub at: ipt_where,
    pub begin: u64,
    pub hash: u64,
    pub hits: u64,
    pub misses: u64,
    pub verdict: u32,
    pub magic_: u32,
    pub cov_: *const ipt_cov_config,
    pub walk_: ipt_walk_,
    pub block_: ipt_cov_block_,
    pub keys_: ipt_cov_keys_,
    pub leg_: ipt_cov_leg_,
    pub learn_: ipt_cov_learn_,
    pub slow_: u64,
    pub gave_up_: u8,
    pub syncing_: u8,
    pub begun_: u8,
    pub fast_: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_hot {
    pub stats: ipt_hot_stats,
    pub kept: u32,
    pub magic_: u32,
    pub config_: *const ipt_hot_config,
    pub now_: ipt_hot_tag,
    pub tag_: ipt_hot_tag,
    pub recorded_: u32,
    pub room_: u32,
    pub max_blocks_: u32,
    pub threshold_: u32,
    pub mask_: u32,
    pub pool_end_: u32,
    pub dying_: u32,
    pub inside_: u32,
    pub left_: u32,
    pub next_: *const ipt_block,
    pub kind_: u8,
    pub cut_off_: u8,
    pub busy_: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ipt_gen_time_ {
    pub cyc: u64,
    pub mtc: u64,
    pub period: u64,
    pub base_clock: u64,
    pub base_tsc: u64,
    pub cbr: u8,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ipt_gen {
    pub out: *mut u8,
    pub size: usize,
    pub used: usize,
    pub clock: u64,
    pub config_: ipt_gen_config,
    pub last_ip_: u64,
    pub from_psb_: u64,
    pub wait_: u64,
    pub tnt_: u64,
    pub tips_: [u64; 8usize],
    pub pip_: ipt_packet,
    pub vmcs_: ipt_packet,
    pub exec_: ipt_packet,
    pub next_exec_: ipt_packet,
    pub time_: ipt_gen_time_,
    pub calls_: ipt_calls_,
    pub tip_count_: u8,
    pub have_ip_: u8,
    pub enabled_: u8,
    pub tsx_: u8,
    pub lost_: u8,
    pub magic_: u32,
}

extern "C" {
    pub fn ipt_status_name(
        status: c_int,
    ) -> *const c_char;
    pub fn ipt_status_cause(
        status: c_int,
    ) -> *const c_char;
    pub fn ipt_status_remedy(
        status: c_int,
    ) -> *const c_char;
    pub fn ipt_cpu_errata(
        errata: *mut u32,
        family: u16,
        model: u8,
    ) -> c_int;
    pub fn ipt_pkt_init(
        decoder: *mut ipt_pkt_decoder,
        config: *const ipt_config,
        trace: *const ipt_trace,
    ) -> c_int;
    pub fn ipt_pkt_sync_forward(
        decoder: *mut ipt_pkt_decoder,
    ) -> c_int;
    pub fn ipt_pkt_sync_backward(
        decoder: *mut ipt_pkt_decoder,
    ) -> c_int;
    pub fn ipt_pkt_sync_set(
        decoder: *mut ipt_pkt_decoder,
        offset: u64,
    ) -> c_int;
    pub fn ipt_pkt_next(
        decoder: *mut ipt_pkt_decoder,
        packet: *mut ipt_packet,
    ) -> c_int;
    pub fn ipt_pkt_encode(
        buffer: *mut u8,
        size: usize,
        packet: *const ipt_packet,
    ) -> c_int;
    pub fn ipt_pkt_last_ip(
        last_ip: *mut u64,
        packet: *const ipt_packet,
    ) -> c_int;
    pub fn ipt_time_init(
        clock: *mut ipt_clock,
        config: *const ipt_config,
    ) -> c_int;
    pub fn ipt_time_packet(
        clock: *mut ipt_clock,
        packet: *const ipt_packet,
    ) -> c_int;
    pub fn ipt_time_calibrate(
        clock: *mut ipt_clock,
        packet: *const ipt_packet,
    ) -> c_int;
    pub fn ipt_time_update(
        clock: *mut ipt_clock,
        packet: *const ipt_packet,
    ) -> c_int;
    pub fn ipt_evt_init(
        decoder: *mut ipt_evt_decoder,
        config: *const ipt_config,
        trace: *const ipt_trace,
    ) -> c_int;
    pub fn ipt_evt_sync_forward(
        decoder: *mut ipt_evt_decoder,
    ) -> c_int;
    pub fn ipt_evt_sync_backward(
        decoder: *mut ipt_evt_decoder,
    ) -> c_int;
    pub fn ipt_evt_sync_set(
        decoder: *mut ipt_evt_decoder,
        offset: u64,
    ) -> c_int;
    pub fn ipt_evt_start(
        decoder: *mut ipt_evt_decoder,
        start: *const ipt_start,
    ) -> c_int;
    pub fn ipt_evt_next(
        decoder: *mut ipt_evt_decoder,
        event: *mut ipt_event,
    ) -> c_int;
    pub fn ipt_qry_init(
        decoder: *mut ipt_qry_decoder,
        config: *const ipt_config,
        trace: *const ipt_trace,
    ) -> c_int;
    pub fn ipt_qry_sync_forward(
        decoder: *mut ipt_qry_decoder,
        ip: *mut u64,
    ) -> c_int;
    pub fn ipt_qry_sync_backward(
        decoder: *mut ipt_qry_decoder,
        ip: *mut u64,
    ) -> c_int;
    pub fn ipt_qry_sync_set(
        decoder: *mut ipt_qry_decoder,
        offset: u64,
        ip: *mut u64,
    ) -> c_int;
    pub fn ipt_qry_cond_branch(
        decoder: *mut ipt_qry_decoder,
        taken: *mut c_int,
    ) -> c_int;
    pub fn ipt_qry_indirect_branch(
        decoder: *mut ipt_qry_decoder,
        ip: *mut u64,
    ) -> c_int;
    pub fn ipt_qry_event(
        decoder: *mut ipt_qry_decoder,
        event: *mut ipt_event,
    ) -> c_int;
    pub fn ipt_classify(
        code: *mut ipt_code,
        bytes: *const u8,
        size: usize,
        mode: u8,
        context: *mut c_void,
    ) -> c_int;
    pub fn ipt_cache_init(
        cache: *mut ipt_cache,
        lines: *mut ipt_cache_line,
        count: usize,
    ) -> c_int;
    pub fn ipt_cache_code(
        cache: *mut ipt_cache,
        config: *const ipt_config,
        asid: *const ipt_asid,
        mode: u8,
        ip: u64,
        buffer: *mut u8,
        size: usize,
    ) -> c_int;
    pub fn ipt_cache_invalidate(
        cache: *mut ipt_cache,
        asid: *const ipt_asid,
        ip: u64,
        size: u64,
    ) -> c_int;
    pub fn ipt_blk_init(
        decoder: *mut ipt_blk_decoder,
        config: *const ipt_config,
        trace: *const ipt_trace,
        cache: *mut ipt_cache,
    ) -> c_int;
    pub fn ipt_blk_sync_forward(
        decoder: *mut ipt_blk_decoder,
    ) -> c_int;
    pub fn ipt_blk_sync_backward(
        decoder: *mut ipt_blk_decoder,
    ) -> c_int;
    pub fn ipt_blk_sync_set(
        decoder: *mut ipt_blk_decoder,
        offset: u64,
    ) -> c_int;
    pub fn ipt_blk_start(
        decoder: *mut ipt_blk_decoder,
        start: *const ipt_start,
    ) -> c_int;
    pub fn ipt_blk_set_asid(
        decoder: *mut ipt_blk_decoder,
        asid: *const ipt_asid,
    ) -> c_int;
    pub fn ipt_blk_resync(
        decoder: *mut ipt_blk_decoder,
    ) -> c_int;
    pub fn ipt_blk_next(
        decoder: *mut ipt_blk_decoder,
        block: *mut ipt_block,
    ) -> c_int;
    pub fn ipt_blk_event(
        decoder: *mut ipt_blk_decoder,
        event: *mut ipt_event,
    ) -> c_int;
    pub fn ipt_insn_init(
        decoder: *mut ipt_insn_decoder,
        config: *const ipt_config,
        trace: *const ipt_trace,
        cache: *mut ipt_cache,
    ) -> c_int;
    pub fn ipt_insn_sync_forward(
        decoder: *mut ipt_insn_decoder,
    ) -> c_int;
    pub fn ipt_insn_sync_backward(
        decoder: *mut ipt_insn_decoder,
    ) -> c_int;
    pub fn ipt_insn_sync_set(
        decoder: *mut ipt_insn_decoder,
        offset: u64,
    ) -> c_int;
    pub fn ipt_insn_start(
        decoder: *mut ipt_insn_decoder,
        start: *const ipt_start,
    ) -> c_int;
    pub fn ipt_insn_set_asid(
        decoder: *mut ipt_insn_decoder,
        asid: *const ipt_asid,
    ) -> c_int;
    pub fn ipt_insn_resync(
        decoder: *mut ipt_insn_decoder,
    ) -> c_int;
    pub fn ipt_insn_next(
        decoder: *mut ipt_insn_decoder,
        insn: *mut ipt_insn,
    ) -> c_int;
    pub fn ipt_insn_event(
        decoder: *mut ipt_insn_decoder,
        event: *mut ipt_event,
    ) -> c_int;
    pub fn ipt_cov_memo_init(
        memo: *mut ipt_cov_memo,
        lines: *mut ipt_cov_line,
        count: usize,
    ) -> c_int;
    pub fn ipt_cov_seen_init(
        seen: *mut ipt_cov_seen,
        marks: *mut ipt_cov_mark,
        count: usize,
    ) -> c_int;
    pub fn ipt_cov_init(
        decoder: *mut ipt_cov_decoder,
        config: *const ipt_config,
        cov: *const ipt_cov_config,
        trace: *const ipt_trace,
        cache: *mut ipt_cache,
    ) -> c_int;
    pub fn ipt_cov_begin(
        decoder: *mut ipt_cov_decoder,
        trace: *const ipt_trace,
    ) -> c_int;
    pub fn ipt_cov_start(
        decoder: *mut ipt_cov_decoder,
        start: *const ipt_start,
    ) -> c_int;
    pub fn ipt_cov_run(
        decoder: *mut ipt_cov_decoder,
    ) -> c_int;
    pub fn ipt_cov_resync(
        decoder: *mut ipt_cov_decoder,
    ) -> c_int;
    pub fn ipt_cov_invalidate(
        decoder: *mut ipt_cov_decoder,
        asid: *const ipt_asid,
        ip: u64,
        size: u64,
    ) -> c_int;
    pub fn ipt_hot_init(
        h: *mut ipt_hot,
        config: *const ipt_hot_config,
    ) -> c_int;
    pub fn ipt_hot_feed(
        h: *mut ipt_hot,
        block: *const ipt_block,
        asid: *const ipt_asid,
    ) -> c_int;
    pub fn ipt_hot_break(
        h: *mut ipt_hot,
    ) -> c_int;
    pub fn ipt_hot_mark_head(
        h: *mut ipt_hot,
        tag: *const ipt_hot_tag,
    ) -> c_int;
    pub fn ipt_hot_delete(
        h: *mut ipt_hot,
        tag: *const ipt_hot_tag,
    ) -> c_int;
    pub fn ipt_hot_invalidate(
        h: *mut ipt_hot,
        asid: *const ipt_asid,
        ip: u64,
        size: u64,
    ) -> c_int;
    pub fn ipt_gen_init(
        gen: *mut ipt_gen,
        config: *const ipt_gen_config,
        mode: u8,
    ) -> c_int;
    pub fn ipt_gen_branch(
        gen: *mut ipt_gen,
        kind: u8,
        ip: u64,
        size: u8,
        to: u64,
    ) -> c_int;
    pub fn ipt_gen_event(
        gen: *mut ipt_gen,
        event: *const ipt_event,
    ) -> c_int;
    pub fn ipt_gen_flush(
        gen: *mut ipt_gen,
    ) -> c_int;
    pub fn ipt_segments_from_topa(
        segments: *mut ipt_segment,
        room: u32,
        topa: *const ipt_topa,
    ) -> c_int;
    pub fn ipt_topa_from_regions(
        table: *mut u8,
        room: u32,
        next: u64,
        regions: *const ipt_region,
        count: u32,
    ) -> c_int;
    pub fn ipt_rtit_ctl_missing(
        rtit_ctl: u64,
        cpu: *const ipt_cpuid_14,
    ) -> u64;
    pub fn ipt_config_from_msrs(
        config: *mut ipt_config,
        msrs: *const ipt_msrs,
    ) -> c_int;
    pub fn ipt_pkt_name(
        type_: u8,
    ) -> *const c_char;
    pub fn ipt_evt_name(
        type_: u8,
    ) -> *const c_char;
    pub fn ipt_insn_name(
        kind: u8,
    ) -> *const c_char;
    pub fn ipt_packet_words(
        packet: *const ipt_packet,
        text: *mut c_char,
        size: usize,
    ) -> c_int;
    pub fn ipt_event_words(
        event: *const ipt_event,
        text: *mut c_char,
        size: usize,
    ) -> c_int;
}

impl crate::Status {
    pub const END: Self = Self(-1);
    pub const MORE: Self = Self(-2);
    pub const BUDGET: Self = Self(-3);
    pub const NEED_PAGE: Self = Self(-4);
    pub const EVENT_FIRST: Self = Self(-5);
    pub const NO_TIME: Self = Self(-6);
    pub const ERR_ARG: Self = Self(-16);
    pub const ERR_STATE: Self = Self(-17);
    pub const ERR_CONFIG: Self = Self(-18);
    pub const ERR_NOSYNC: Self = Self(-19);
    pub const ERR_ROOM: Self = Self(-20);
    pub const ERR_GONE: Self = Self(-21);
    pub const ERR_QUERY: Self = Self(-22);
    pub const ERR_OPCODE: Self = Self(-32);
    pub const ERR_PACKET: Self = Self(-33);
    pub const ERR_TRUNCATED: Self = Self(-34);
    pub const ERR_CONTEXT: Self = Self(-35);
    pub const ERR_NO_IP: Self = Self(-36);
    pub const ERR_STATUS: Self = Self(-37);
    pub const ERR_EVENTS: Self = Self(-38);
    pub const ERR_MISMATCH: Self = Self(-39);
    pub const ERR_RETURN: Self = Self(-40);
    pub const ERR_MODE: Self = Self(-41);
    pub const ERR_RETCOMP: Self = Self(-42);
    pub const ERR_RETURN_LOST: Self = Self(-43);
    pub const ERR_NO_TNT: Self = Self(-44);
    pub const ERR_IMAGE: Self = Self(-64);
    pub const ERR_CALLBACK: Self = Self(-65);
    pub const ERR_BAD_INSN: Self = Self(-66);
    pub const ERR_LOOP: Self = Self(-67);
    pub const ERR_INTERNAL: Self = Self(-127);
}
