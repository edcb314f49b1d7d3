"""Made by examples/bindings/generate.py: do not edit.
Structs, constants and functions of ipt.h, perfdata.h."""
from ctypes import (CFUNCTYPE,
    POINTER,
    Structure,
    Union,
    c_char_p,
    c_int,
    c_int64,
    c_size_t,
    c_uint,
    c_uint16,
    c_uint32,
    c_uint64,
    c_uint8,
    c_void_p)

CONSTANTS = {
    "IPT_VERSION": 512,
    "IPT_EVENT_PENDING": 1,
    "IPT_IP_SUPPRESSED": 2,
    "IPT_UNPROVEN": 4,
    "IPT_LAST": 8,
    "IPT_FILTERS": 4,
    "IPT_CONFIG_NO_RETCOMP": 1,
    "IPT_CONFIG_IFLAGS": 2,
    "IPT_CONFIG_STRICT": 4,
    "IPT_CONFIG_WALK_ON": 8,
    "IPT_CONFIG_END_ON_CALL": 16,
    "IPT_CONFIG_END_ON_JUMP": 32,
    "IPT_CONFIG_TICKS": 64,
    "IPT_CONFIG_KEEP_TCAL": 128,
    "IPT_CONFIG_MONOTONIC": 256,
    "IPT_CONFIG_ROOT_ONLY": 512,
    "IPT_CONFIG_NON_ROOT_ONLY": 1024,
    "IPT_CONFIG_CR3_ONLY": 2048,
    "IPT_CONFIG_VMX_EVENTS": 4096,
    "IPT_CONFIG_RELATIVE_IP": 8192,
    "IPT_CONFIG_NO_TIME": 16384,
    "IPT_CONFIG_KEEP_CALLS": 32768,
    "IPT_CONFIG_NO_TNT": 65536,
    "IPT_CONFIG_FLAGS_": 131071,
    "IPT_ERRATUM_BDM64": 1,
    "IPT_ERRATUM_SKD007": 2,
    "IPT_ERRATUM_SKD010": 4,
    "IPT_ERRATUM_SKD022": 8,
    "IPT_ERRATUM_SKL014": 16,
    "IPT_ERRATUM_SKL168": 32,
    "IPT_ERRATUM_SKZ84": 64,
    "IPT_ERRATUM_APL11": 128,
    "IPT_ERRATUM_APL12": 256,
    "IPT_ERRATUM_NLIP": 512,
    "IPT_ERRATUM_ALL_": 1023,
    "IPT_AT_SYNC": 1,
    "IPT_AT_IP": 2,
    "IPT_AT_TSC": 4,
    "IPT_EVENT_NO_IP": 1,
    "IPT_EVENT_NO_TO": 2,
    "IPT_EVENT_STATUS": 4,
    "IPT_EVENT_TSC": 8,
    "IPT_EVENT_RESUMED": 16,
    "IPT_EVENT_SEAM": 32,
    "IPT_CFE_HAS_VECTOR": 1,
    "IPT_CFE_HAS_CR2": 2,
    "IPT_CFE_HAS_VMXQ": 4,
    "IPT_CFE_HAS_VMXR": 8,
    "IPT_CFE_INFERRED": 16,
    "IPT_START_LAST_IP": 1,
    "IPT_START_ASID": 2,
    "IPT_START_TSC": 4,
    "IPT_START_ALL_": 7,
    "IPT_FLOW_SPECULATIVE": 1,
    "IPT_FLOW_ENABLED": 2,
    "IPT_FLOW_RESUMED": 4,
    "IPT_FLOW_RESYNCED": 8,
    "IPT_FLOW_ASID": 16,
    "IPT_FLOW_DISABLED": 32,
    "IPT_FLOW_INTERRUPTED": 64,
    "IPT_FLOW_ABORTED": 128,
    "IPT_FLOW_COMMITTED": 256,
    "IPT_FLOW_STOPPED": 512,
    "IPT_FLOW_TRUNCATED": 1024,
    "IPT_COV_INDIRECT": 1,
    "IPT_COV_SATURATE": 2,
    "IPT_COV_HASH": 4,
    "IPT_COV_FLAGS_": 7,
    "IPT_COV_UNFINISHED": 1,
    "IPT_COV_SKIPPED": 2,
    "IPT_COV_OVERFLOW": 4,
    "IPT_COV_GAP": 8,
    "IPT_COV_NO_PAGE": 16,
    "IPT_COV_ERROR": 32,
    "IPT_COV_TRUNCATED": 64,
    "IPT_HOT_NO_LIMIT": 4294967295,
    "IPT_GEN_TNT_64": 65536,
    "IPT_GEN_DEFER": 131072,
    "IPT_GEN_TSC": 262144,
    "IPT_GEN_MTC": 524288,
    "IPT_GEN_CYC": 1048576,
    "IPT_GEN_FLAGS_": 2031616,
    "IPT_GEN_ROOM": 256,
    "IPT_TOPA_INT": 4,
    "IPT_TOPA_STOP": 16,
    "IPT_RTIT_TRACE_EN": 1,
    "IPT_RTIT_CYC_EN": 2,
    "IPT_RTIT_OS": 4,
    "IPT_RTIT_USER": 8,
    "IPT_RTIT_PWR_EVT_EN": 16,
    "IPT_RTIT_FUP_ON_PTW": 32,
    "IPT_RTIT_FABRIC_EN": 64,
    "IPT_RTIT_CR3_FILTER": 128,
    "IPT_RTIT_TOPA": 256,
    "IPT_RTIT_MTC_EN": 512,
    "IPT_RTIT_TSC_EN": 1024,
    "IPT_RTIT_DIS_RETC": 2048,
    "IPT_RTIT_PTW_EN": 4096,
    "IPT_RTIT_BRANCH_EN": 8192,
    "IPT_RTIT_EVENT_EN": 2147483648,
    "IPT_RTIT_DIS_TNT": 36028797018963968,
    "IPT_RTIT_INJECT_PSB_PMI": 72057594037927936,
    "IPT_WORDS_MAX": 128,
    "IPT_PENDING_MAX_": 15,
    "IPT_RUN_MAX_": 32,
    "IPT_RETURN_STACK_": 64,
    "IPT_REACHED_MAX_": 4,
    "IPT_COV_ITEMS_": 7,
    "IPT_GEN_TIPS_": 8,
    "IPT_END": -1,
    "IPT_MORE": -2,
    "IPT_BUDGET": -3,
    "IPT_NEED_PAGE": -4,
    "IPT_EVENT_FIRST": -5,
    "IPT_NO_TIME": -6,
    "IPT_ERR_ARG": -16,
    "IPT_ERR_STATE": -17,
    "IPT_ERR_CONFIG": -18,
    "IPT_ERR_NOSYNC": -19,
    "IPT_ERR_ROOM": -20,
    "IPT_ERR_GONE": -21,
    "IPT_ERR_QUERY": -22,
    "IPT_ERR_OPCODE": -32,
    "IPT_ERR_PACKET": -33,
    "IPT_ERR_TRUNCATED": -34,
    "IPT_ERR_CONTEXT": -35,
    "IPT_ERR_NO_IP": -36,
    "IPT_ERR_STATUS": -37,
    "IPT_ERR_EVENTS": -38,
    "IPT_ERR_MISMATCH": -39,
    "IPT_ERR_RETURN": -40,
    "IPT_ERR_MODE": -41,
    "IPT_ERR_RETCOMP": -42,
    "IPT_ERR_RETURN_LOST": -43,
    "IPT_ERR_NO_TNT": -44,
    "IPT_ERR_IMAGE": -64,
    "IPT_ERR_CALLBACK": -65,
    "IPT_ERR_BAD_INSN": -66,
    "IPT_ERR_LOOP": -67,
    "IPT_ERR_INTERNAL": -127,
    "IPT_OK": 0,
    "IPT_MODE_UNKNOWN": 0,
    "IPT_MODE_16": 1,
    "IPT_MODE_32": 2,
    "IPT_MODE_64": 3,
    "IPT_MODE_COUNT": 4,
    "IPT_FILTER_OFF": 0,
    "IPT_FILTER_TRACE": 1,
    "IPT_FILTER_STOP": 2,
    "IPT_PKT_NONE": 0,
    "IPT_PKT_PAD": 1,
    "IPT_PKT_PSB": 2,
    "IPT_PKT_PSBEND": 3,
    "IPT_PKT_OVF": 4,
    "IPT_PKT_STOP": 5,
    "IPT_PKT_TNT_8": 6,
    "IPT_PKT_TNT_64": 7,
    "IPT_PKT_TIP": 8,
    "IPT_PKT_TIP_PGE": 9,
    "IPT_PKT_TIP_PGD": 10,
    "IPT_PKT_FUP": 11,
    "IPT_PKT_MODE_EXEC": 12,
    "IPT_PKT_MODE_TSX": 13,
    "IPT_PKT_PIP": 14,
    "IPT_PKT_VMCS": 15,
    "IPT_PKT_TSC": 16,
    "IPT_PKT_CBR": 17,
    "IPT_PKT_TMA": 18,
    "IPT_PKT_MTC": 19,
    "IPT_PKT_CYC": 20,
    "IPT_PKT_MNT": 21,
    "IPT_PKT_PTW": 22,
    "IPT_PKT_EXSTOP": 23,
    "IPT_PKT_MWAIT": 24,
    "IPT_PKT_PWRE": 25,
    "IPT_PKT_PWRX": 26,
    "IPT_PKT_BBP": 27,
    "IPT_PKT_BIP": 28,
    "IPT_PKT_BEP": 29,
    "IPT_PKT_CFE": 30,
    "IPT_PKT_EVD": 31,
    "IPT_PKT_TRIG": 32,
    "IPT_PKT_UNKNOWN": 33,
    "IPT_PKT_INVALID": 34,
    "IPT_PKT_GAP": 35,
    "IPT_PKT_COUNT": 36,
    "IPT_CFE_INTR": 1,
    "IPT_CFE_IRET": 2,
    "IPT_CFE_SMI": 3,
    "IPT_CFE_RSM": 4,
    "IPT_CFE_SIPI": 5,
    "IPT_CFE_INIT": 6,
    "IPT_CFE_VMENTRY": 7,
    "IPT_CFE_VMEXIT": 8,
    "IPT_CFE_VMEXIT_INTR": 9,
    "IPT_CFE_SHUTDOWN": 10,
    "IPT_CFE_UINTR": 12,
    "IPT_CFE_UIRET": 13,
    "IPT_CFE_SWINTR": 14,
    "IPT_CFE_SYSCALL": 15,
    "IPT_EVD_CR2": 0,
    "IPT_EVD_VMXQ": 1,
    "IPT_EVD_VMXR": 2,
    "IPT_EVT_NONE": 0,
    "IPT_EVT_ENABLED": 1,
    "IPT_EVT_DISABLED": 2,
    "IPT_EVT_ASYNC_DISABLED": 3,
    "IPT_EVT_ASYNC_BRANCH": 4,
    "IPT_EVT_PAGING": 5,
    "IPT_EVT_ASYNC_PAGING": 6,
    "IPT_EVT_VMCS": 7,
    "IPT_EVT_ASYNC_VMCS": 8,
    "IPT_EVT_OVERFLOW": 9,
    "IPT_EVT_EXEC_MODE": 10,
    "IPT_EVT_TSX": 11,
    "IPT_EVT_STOP": 12,
    "IPT_EVT_PTWRITE": 13,
    "IPT_EVT_EXSTOP": 14,
    "IPT_EVT_MWAIT": 15,
    "IPT_EVT_PWRE": 16,
    "IPT_EVT_PWRX": 17,
    "IPT_EVT_CBR": 18,
    "IPT_EVT_MNT": 19,
    "IPT_EVT_TIP": 20,
    "IPT_EVT_TNT": 21,
    "IPT_EVT_CFE": 22,
    "IPT_EVT_TRIG": 23,
    "IPT_EVT_IFLAGS": 24,
    "IPT_EVT_PEBS_BEGIN": 25,
    "IPT_EVT_PEBS_ITEM": 26,
    "IPT_EVT_PEBS_END": 27,
    "IPT_EVT_TICK": 28,
    "IPT_EVT_GAP": 29,
    "IPT_EVT_COUNT": 30,
    "IPT_INSN_OTHER": 0,
    "IPT_INSN_JCC": 1,
    "IPT_INSN_JMP": 2,
    "IPT_INSN_CALL": 3,
    "IPT_INSN_JMP_INDIRECT": 4,
    "IPT_INSN_CALL_INDIRECT": 5,
    "IPT_INSN_RET": 6,
    "IPT_INSN_JMPABS": 7,
    "IPT_INSN_FAR_CALL": 8,
    "IPT_INSN_FAR_JMP": 9,
    "IPT_INSN_FAR_RET": 10,
    "IPT_INSN_INT": 11,
    "IPT_INSN_SYSCALL": 12,
    "IPT_INSN_VMCALL": 13,
    "IPT_INSN_IRET": 14,
    "IPT_INSN_UIRET": 15,
    "IPT_INSN_VMENTRY": 16,
    "IPT_INSN_RSM": 17,
    "IPT_INSN_XBEGIN": 18,
    "IPT_INSN_PTWRITE": 19,
    "IPT_INSN_MOV_CR3": 20,
    "IPT_INSN_VMPTRLD": 21,
    "IPT_INSN_INTO": 22,
    "IPT_INSN_COUNT": 23,
    "IPT_HOT_DECIDE": 0,
    "IPT_HOT_END": 1,
    "IPT_HOT_CONTINUE": 2,
    "IPT_HOT_KEEP": 0,
    "IPT_HOT_DROP": 1,
    "IPT_ASID_UNKNOWN": 18446744073709551615,
    "PERFDATA_BUILD_ID_MAX": 20,
    "PERFDATA_NAMESPACE_KINDS": 7,
    "PERFDATA_PT_WORDS": 17,
    "PERFDATA_NO_EVENT": 4294967295,
    "PERFDATA_GAP_MISSING": 65536,
    "PERFDATA_GAP_SNAPSHOT": 131072,
    "PERFDATA_END": -1,
    "PERFDATA_ERR_ARG": -16,
    "PERFDATA_ERR_MEMORY": -17,
    "PERFDATA_ERR_READ": -18,
    "PERFDATA_ERR_ZSTD": -19,
    "PERFDATA_ERR_MAGIC": -32,
    "PERFDATA_ERR_HEADER": -33,
    "PERFDATA_ERR_CUT": -34,
    "PERFDATA_ERR_RECORD": -35,
    "PERFDATA_ERR_FIELDS": -36,
    "PERFDATA_ERR_STRING": -37,
    "PERFDATA_ERR_INFLATE": -38,
    "PERFDATA_SAMPLE_IP": 1,
    "PERFDATA_SAMPLE_TID": 2,
    "PERFDATA_SAMPLE_TIME": 4,
    "PERFDATA_SAMPLE_ADDR": 8,
    "PERFDATA_SAMPLE_READ": 16,
    "PERFDATA_SAMPLE_CALLCHAIN": 32,
    "PERFDATA_SAMPLE_ID": 64,
    "PERFDATA_SAMPLE_CPU": 128,
    "PERFDATA_SAMPLE_PERIOD": 256,
    "PERFDATA_SAMPLE_STREAM_ID": 512,
    "PERFDATA_SAMPLE_RAW": 1024,
    "PERFDATA_SAMPLE_BRANCH_STACK": 2048,
    "PERFDATA_SAMPLE_REGS_USER": 4096,
    "PERFDATA_SAMPLE_STACK_USER": 8192,
    "PERFDATA_SAMPLE_WEIGHT": 16384,
    "PERFDATA_SAMPLE_DATA_SRC": 32768,
    "PERFDATA_SAMPLE_IDENTIFIER": 65536,
    "PERFDATA_SAMPLE_TRANSACTION": 131072,
    "PERFDATA_SAMPLE_REGS_INTR": 262144,
    "PERFDATA_SAMPLE_PHYS_ADDR": 524288,
    "PERFDATA_SAMPLE_AUX": 1048576,
    "PERFDATA_SAMPLE_CGROUP": 2097152,
    "PERFDATA_SAMPLE_DATA_PAGE_SIZE": 4194304,
    "PERFDATA_SAMPLE_CODE_PAGE_SIZE": 8388608,
    "PERFDATA_SAMPLE_WEIGHT_STRUCT": 16777216,
    "PERFDATA_TRAILER": 66246,
    "PERFDATA_MMAP": 1,
    "PERFDATA_LOST": 2,
    "PERFDATA_COMM": 3,
    "PERFDATA_EXIT": 4,
    "PERFDATA_THROTTLE": 5,
    "PERFDATA_UNTHROTTLE": 6,
    "PERFDATA_FORK": 7,
    "PERFDATA_READ": 8,
    "PERFDATA_SAMPLE": 9,
    "PERFDATA_MMAP2": 10,
    "PERFDATA_AUX": 11,
    "PERFDATA_ITRACE_START": 12,
    "PERFDATA_LOST_SAMPLES": 13,
    "PERFDATA_SWITCH": 14,
    "PERFDATA_SWITCH_CPU_WIDE": 15,
    "PERFDATA_NAMESPACES": 16,
    "PERFDATA_KSYMBOL": 17,
    "PERFDATA_BPF_EVENT": 18,
    "PERFDATA_CGROUP": 19,
    "PERFDATA_TEXT_POKE": 20,
    "PERFDATA_AUX_OUTPUT_HW_ID": 21,
    "PERFDATA_USER_TYPES": 64,
    "PERFDATA_HEADER_ATTR": 64,
    "PERFDATA_TRACING_DATA": 66,
    "PERFDATA_BUILD_ID": 67,
    "PERFDATA_FINISHED_ROUND": 68,
    "PERFDATA_ID_INDEX": 69,
    "PERFDATA_AUXTRACE_INFO": 70,
    "PERFDATA_AUXTRACE": 71,
    "PERFDATA_AUXTRACE_ERROR": 72,
    "PERFDATA_TIME_CONV": 79,
    "PERFDATA_HEADER_FEATURE": 80,
    "PERFDATA_COMPRESSED": 81,
    "PERFDATA_COMPRESSED2": 83,
    "PERFDATA_MISC_CPUMODE_MASK": 7,
    "PERFDATA_MISC_KERNEL": 1,
    "PERFDATA_MISC_USER": 2,
    "PERFDATA_MISC_HYPERVISOR": 3,
    "PERFDATA_MISC_GUEST_KERNEL": 4,
    "PERFDATA_MISC_GUEST_USER": 5,
    "PERFDATA_MISC_MMAP_DATA": 8192,
    "PERFDATA_MISC_COMM_EXEC": 8192,
    "PERFDATA_MISC_FORK_EXEC": 8192,
    "PERFDATA_MISC_SWITCH_OUT": 8192,
    "PERFDATA_MISC_SWITCH_PREEMPT": 16384,
    "PERFDATA_MISC_MMAP_BUILD_ID": 16384,
    "PERFDATA_MISC_BUILD_ID_SIZE": 32768,
    "PERFDATA_AUX_TRUNCATED": 1,
    "PERFDATA_AUX_OVERWRITE": 2,
    "PERFDATA_AUX_PARTIAL": 4,
    "PERFDATA_AUX_COLLISION": 8,
    "PERFDATA_PT_PMU_TYPE": 0,
    "PERFDATA_PT_TIME_SHIFT": 1,
    "PERFDATA_PT_TIME_MULT": 2,
    "PERFDATA_PT_TIME_ZERO": 3,
    "PERFDATA_PT_CAP_USER_TIME_ZERO": 4,
    "PERFDATA_PT_TSC_BIT": 5,
    "PERFDATA_PT_NORETCOMP_BIT": 6,
    "PERFDATA_PT_HAVE_SCHED_SWITCH": 7,
    "PERFDATA_PT_SNAPSHOT_MODE": 8,
    "PERFDATA_PT_PER_CPU_MMAPS": 9,
    "PERFDATA_PT_MTC_BIT": 10,
    "PERFDATA_PT_MTC_FREQ_BITS": 11,
    "PERFDATA_PT_TSC_CTC_N": 12,
    "PERFDATA_PT_TSC_CTC_D": 13,
    "PERFDATA_PT_CYC_BIT": 14,
    "PERFDATA_PT_MAX_NONTURBO_RATIO": 15,
    "PERFDATA_PT_FILTER_STR_LEN": 16,
    "PERFDATA_FEATURE_BUILD_ID": 2,
    "PERFDATA_FEATURE_HOSTNAME": 3,
    "PERFDATA_FEATURE_OSRELEASE": 4,
    "PERFDATA_FEATURE_CPUID": 9,
    "PERFDATA_FEATURE_CMDLINE": 11,
    "PERFDATA_FEATURE_EVENT_DESC": 12,
    "PERFDATA_FEATURE_PMU_MAPPINGS": 16,
    "PERFDATA_FEATURE_AUXTRACE": 18,
    "PERFDATA_FEATURE_SAMPLE_TIME": 21,
    "PERFDATA_FEATURE_DIR_FORMAT": 24,
    "PERFDATA_FEATURE_COMPRESSED": 27,
    "PERFDATA_FEATURES": 64,
    "PERFDATA_ATTR_EXCLUDE_USER": 16,
    "PERFDATA_ATTR_EXCLUDE_KERNEL": 32,
    "PERFDATA_ATTR_ENABLE_ON_EXEC": 4096,
    "PERFDATA_ATTR_SAMPLE_ID_ALL": 262144,
    "PERFDATA_ATTR_USE_CLOCKID": 33554432,
}

class ipt_segment(Structure): pass
class ipt_trace(Structure): pass
class ipt_asid(Structure): pass
class ipt_filter(Structure): pass
class ipt_config(Structure): pass
class ipt_where(Structure): pass
class ipt_packet(Structure): pass
class ipt_packet_u(Union): pass
class ipt_packet_u_tnt(Structure): pass
class ipt_packet_u_ip(Structure): pass
class ipt_packet_u_exec(Structure): pass
class ipt_packet_u_tsx(Structure): pass
class ipt_packet_u_pip(Structure): pass
class ipt_packet_u_vmcs(Structure): pass
class ipt_packet_u_tsc(Structure): pass
class ipt_packet_u_cbr(Structure): pass
class ipt_packet_u_tma(Structure): pass
class ipt_packet_u_mtc(Structure): pass
class ipt_packet_u_cyc(Structure): pass
class ipt_packet_u_mnt(Structure): pass
class ipt_packet_u_ptw(Structure): pass
class ipt_packet_u_exstop(Structure): pass
class ipt_packet_u_mwait(Structure): pass
class ipt_packet_u_pwre(Structure): pass
class ipt_packet_u_pwrx(Structure): pass
class ipt_packet_u_bbp(Structure): pass
class ipt_packet_u_bip(Structure): pass
class ipt_packet_u_bep(Structure): pass
class ipt_packet_u_cfe(Structure): pass
class ipt_packet_u_evd(Structure): pass
class ipt_packet_u_trig(Structure): pass
class ipt_packet_u_gap(Structure): pass
class ipt_event(Structure): pass
class ipt_event_u(Union): pass
class ipt_event_u_branch(Structure): pass
class ipt_event_u_tnt(Structure): pass
class ipt_event_u_paging(Structure): pass
class ipt_event_u_vmcs(Structure): pass
class ipt_event_u_exec(Structure): pass
class ipt_event_u_tsx(Structure): pass
class ipt_event_u_ptwrite(Structure): pass
class ipt_event_u_mwait(Structure): pass
class ipt_event_u_pwre(Structure): pass
class ipt_event_u_pwrx(Structure): pass
class ipt_event_u_cbr(Structure): pass
class ipt_event_u_mnt(Structure): pass
class ipt_event_u_cfe(Structure): pass
class ipt_event_u_trig(Structure): pass
class ipt_event_u_pebs(Structure): pass
class ipt_event_u_gap(Structure): pass
class ipt_start(Structure): pass
class ipt_code(Structure): pass
class ipt_block(Structure): pass
class ipt_insn(Structure): pass
class ipt_cov_config(Structure): pass
class ipt_hot_tag(Structure): pass
class ipt_hot_head(Structure): pass
class ipt_hot_trace(Structure): pass
class ipt_hot_config(Structure): pass
class ipt_hot_stats(Structure): pass
class ipt_gen_config(Structure): pass
class ipt_topa(Structure): pass
class ipt_region(Structure): pass
class ipt_cpuid_14(Structure): pass
class ipt_msrs(Structure): pass
class ipt_cursor_(Structure): pass
class ipt_pkt_decoder(Structure): pass
class ipt_clock(Structure): pass
class ipt_pending_(Structure): pass
class ipt_evt_state_(Structure): pass
class ipt_evt_decoder(Structure): pass
class ipt_qry_decoder(Structure): pass
class ipt_cache_line(Structure): pass
class ipt_window_(Structure): pass
class ipt_cache(Structure): pass
class ipt_calls_at_(Structure): pass
class ipt_calls_(Structure): pass
class ipt_bind_(Structure): pass
class ipt_loop_(Structure): pass
class ipt_probe_(Structure): pass
class ipt_next_(Structure): pass
class ipt_stamp_(Structure): pass
class ipt_flow_(Structure): pass
class ipt_prev_(Structure): pass
class ipt_mode_(Structure): pass
class ipt_resync_(Structure): pass
class ipt_tally_(Structure): pass
class ipt_code_at_(Structure): pass
class ipt_place_(Structure): pass
class ipt_out_(Structure): pass
class ipt_item_(Structure): pass
class ipt_marks_(Structure): pass
class ipt_walk_(Structure): pass
class ipt_blk_decoder(Structure): pass
class ipt_insn_decoder(Structure): pass
class ipt_cov_line(Structure): pass
class ipt_cov_memo(Structure): pass
class ipt_cov_mark(Structure): pass
class ipt_cov_seen(Structure): pass
class ipt_cov_block_(Structure): pass
class ipt_cov_leg_(Structure): pass
class ipt_cov_keys_(Structure): pass
class ipt_cov_learn_(Structure): pass
class ipt_cov_decoder(Structure): pass
class ipt_hot(Structure): pass
class ipt_gen_time_(Structure): pass
class ipt_gen(Structure): pass
class perfdata_attr(Structure): pass
class perfdata_sample(Structure): pass
class perfdata_record(Structure): pass
class perfdata_record_u(Union): pass
class perfdata_record_u_mmap(Structure): pass
class perfdata_record_u_lost(Structure): pass
class perfdata_record_u_comm(Structure): pass
class perfdata_record_u_task(Structure): pass
class perfdata_record_u_throttle(Structure): pass
class perfdata_record_u_thread(Structure): pass
class perfdata_record_u_aux(Structure): pass
class perfdata_record_u_namespaces(Structure): pass
class perfdata_record_u_namespaces_link(Structure): pass
class perfdata_record_u_ksymbol(Structure): pass
class perfdata_record_u_bpf(Structure): pass
class perfdata_record_u_cgroup(Structure): pass
class perfdata_record_u_text_poke(Structure): pass
class perfdata_record_u_event(Structure): pass
class perfdata_record_u_attr(Structure): pass
class perfdata_record_u_tracing(Structure): pass
class perfdata_record_u_build_id(Structure): pass
class perfdata_record_u_info(Structure): pass
class perfdata_record_u_auxtrace(Structure): pass
class perfdata_record_u_error(Structure): pass
class perfdata_record_u_time_conv(Structure): pass
class perfdata_record_u_feature(Structure): pass
class perfdata_record_u_compressed(Structure): pass
class perfdata_place(Structure): pass
class perfdata_id(Structure): pass
class perfdata_config(Structure): pass
class perfdata(Structure): pass
class perfdata_piece(Structure): pass
class perfdata_queue(Structure): pass
class perfdata_loss(Structure): pass
class perfdata_queues(Structure): pass

ipt_segment._fields_ = [
    ("data", POINTER(c_uint8)),
    ("size", c_size_t),
]
ipt_trace._fields_ = [
    ("seg", POINTER(ipt_segment)),
    ("count", c_uint32),
    ("open", c_uint8),
    ("offset", c_uint64),
]
ipt_asid._fields_ = [
    ("cr3", c_uint64),
    ("vmcs", c_uint64),
    ("nr", c_uint8),
]
ipt_filter._fields_ = [
    ("first", c_uint64),
    ("last", c_uint64),
    ("kind", c_uint8),
]
ipt_config._fields_ = [
    ("context", c_void_p),
    ("read", CFUNCTYPE(c_int, POINTER(c_uint8), c_size_t, POINTER(ipt_asid), c_uint64, c_void_p)),
    ("classify", CFUNCTYPE(c_int, POINTER(ipt_code), POINTER(c_uint8), c_size_t, c_uint8, c_void_p)),
    ("unknown", CFUNCTYPE(c_int, POINTER(ipt_packet), POINTER(c_uint8), c_size_t, c_void_p)),
    ("space", CFUNCTYPE(c_uint64, POINTER(ipt_asid), c_void_p)),
    ("space_at", CFUNCTYPE(c_uint64, POINTER(ipt_asid), c_uint64, POINTER(c_uint64), POINTER(c_uint64), c_void_p)),
    ("cs_base", CFUNCTYPE(c_uint64, POINTER(ipt_asid), c_uint64, c_uint8, c_void_p)),
    ("section", CFUNCTYPE(c_uint64, POINTER(ipt_asid), c_uint64, c_void_p)),
    ("fuel", POINTER(c_uint64)),
    ("flags", c_uint32),
    ("errata", c_uint32),
    ("unwanted", c_uint64),
    ("cpuid_15_eax", c_uint32),
    ("cpuid_15_ebx", c_uint32),
    ("mtc_freq", c_uint8),
    ("nom_freq", c_uint8),
    ("mode", c_uint8),
    ("filter", ipt_filter * 4),
    ("cr3", c_uint64),
    ("cr3_mask", c_uint64),
]
ipt_where._fields_ = [
    ("offset", c_uint64),
    ("release", c_uint64),
    ("sync", c_uint64),
    ("packet_offset", c_uint64),
    ("ip", c_uint64),
    ("missing", c_uint64),
    ("tsc", c_uint64),
    ("asid", ipt_asid),
    ("skip_from", c_uint64),
    ("skip_to", c_uint64),
    ("skipped", c_uint64),
    ("dropped", c_uint64),
    ("overflows", c_uint32),
    ("gaps", c_uint32),
    ("resyncs", c_uint32),
    ("lost_mtc", c_uint32),
    ("lost_cyc", c_uint32),
    ("error", c_int),
    ("image_error", c_int),
    ("packet", c_uint8),
    ("cbr", c_uint8),
    ("valid", c_uint8),
    ("mode", c_uint8),
]
ipt_packet_u_tnt._fields_ = [
    ("bits", c_uint64),
    ("count", c_uint8),
]
ipt_packet_u_ip._fields_ = [
    ("payload", c_uint64),
    ("ipc", c_uint8),
]
ipt_packet_u_exec._fields_ = [
    ("csl", c_uint8),
    ("csd", c_uint8),
    ("iflag", c_uint8),
]
ipt_packet_u_tsx._fields_ = [
    ("intx", c_uint8),
    ("abrt", c_uint8),
]
ipt_packet_u_pip._fields_ = [
    ("cr3", c_uint64),
    ("nr", c_uint8),
]
ipt_packet_u_vmcs._fields_ = [
    ("base", c_uint64),
]
ipt_packet_u_tsc._fields_ = [
    ("value", c_uint64),
]
ipt_packet_u_cbr._fields_ = [
    ("ratio", c_uint8),
]
ipt_packet_u_tma._fields_ = [
    ("ctc", c_uint16),
    ("fc", c_uint16),
]
ipt_packet_u_mtc._fields_ = [
    ("ctc", c_uint8),
]
ipt_packet_u_cyc._fields_ = [
    ("value", c_uint64),
]
ipt_packet_u_mnt._fields_ = [
    ("payload", c_uint64),
]
ipt_packet_u_ptw._fields_ = [
    ("payload", c_uint64),
    ("plc", c_uint8),
    ("has_ip", c_uint8),
]
ipt_packet_u_exstop._fields_ = [
    ("has_ip", c_uint8),
]
ipt_packet_u_mwait._fields_ = [
    ("hints", c_uint32),
    ("ext", c_uint32),
]
ipt_packet_u_pwre._fields_ = [
    ("hw", c_uint8),
    ("state", c_uint8),
    ("sub_state", c_uint8),
]
ipt_packet_u_pwrx._fields_ = [
    ("last", c_uint8),
    ("deepest", c_uint8),
    ("interrupt", c_uint8),
    ("store", c_uint8),
    ("autonomous", c_uint8),
]
ipt_packet_u_bbp._fields_ = [
    ("type", c_uint8),
    ("sz", c_uint8),
]
ipt_packet_u_bip._fields_ = [
    ("payload", c_uint64),
    ("id", c_uint8),
    ("sz", c_uint8),
]
ipt_packet_u_bep._fields_ = [
    ("has_ip", c_uint8),
]
ipt_packet_u_cfe._fields_ = [
    ("type", c_uint8),
    ("vector", c_uint8),
    ("has_ip", c_uint8),
]
ipt_packet_u_evd._fields_ = [
    ("payload", c_uint64),
    ("type", c_uint8),
]
ipt_packet_u_trig._fields_ = [
    ("icnt", c_uint16),
    ("trbv", c_uint8),
    ("icntv", c_uint8),
    ("mult", c_uint8),
    ("has_ip", c_uint8),
]
ipt_packet_u_gap._fields_ = [
    ("lost", c_uint64),
]
ipt_packet_u._fields_ = [
    ("tnt", ipt_packet_u_tnt),
    ("ip", ipt_packet_u_ip),
    ("exec", ipt_packet_u_exec),
    ("tsx", ipt_packet_u_tsx),
    ("pip", ipt_packet_u_pip),
    ("vmcs", ipt_packet_u_vmcs),
    ("tsc", ipt_packet_u_tsc),
    ("cbr", ipt_packet_u_cbr),
    ("tma", ipt_packet_u_tma),
    ("mtc", ipt_packet_u_mtc),
    ("cyc", ipt_packet_u_cyc),
    ("mnt", ipt_packet_u_mnt),
    ("ptw", ipt_packet_u_ptw),
    ("exstop", ipt_packet_u_exstop),
    ("mwait", ipt_packet_u_mwait),
    ("pwre", ipt_packet_u_pwre),
    ("pwrx", ipt_packet_u_pwrx),
    ("bbp", ipt_packet_u_bbp),
    ("bip", ipt_packet_u_bip),
    ("bep", ipt_packet_u_bep),
    ("cfe", ipt_packet_u_cfe),
    ("evd", ipt_packet_u_evd),
    ("trig", ipt_packet_u_trig),
    ("gap", ipt_packet_u_gap),
    ("unknown", c_uint64 * 2),
]
ipt_packet._fields_ = [
    ("offset", c_uint64),
    ("size", c_uint32),
    ("type", c_uint8),
    ("u", ipt_packet_u),
]
ipt_event_u_branch._fields_ = [
    ("to", c_uint64),
]
ipt_event_u_tnt._fields_ = [
    ("bits", c_uint64),
    ("count", c_uint8),
]
ipt_event_u_paging._fields_ = [
    ("cr3", c_uint64),
    ("nr", c_uint8),
]
ipt_event_u_vmcs._fields_ = [
    ("base", c_uint64),
]
ipt_event_u_exec._fields_ = [
    ("mode", c_uint8),
    ("iflag", c_uint8),
]
ipt_event_u_tsx._fields_ = [
    ("speculative", c_uint8),
    ("aborted", c_uint8),
]
ipt_event_u_ptwrite._fields_ = [
    ("payload", c_uint64),
    ("size", c_uint8),
]
ipt_event_u_mwait._fields_ = [
    ("hints", c_uint32),
    ("ext", c_uint32),
]
ipt_event_u_pwre._fields_ = [
    ("state", c_uint8),
    ("sub_state", c_uint8),
    ("hw", c_uint8),
]
ipt_event_u_pwrx._fields_ = [
    ("last", c_uint8),
    ("deepest", c_uint8),
    ("interrupt", c_uint8),
    ("store", c_uint8),
    ("autonomous", c_uint8),
]
ipt_event_u_cbr._fields_ = [
    ("ratio", c_uint8),
]
ipt_event_u_mnt._fields_ = [
    ("payload", c_uint64),
]
ipt_event_u_cfe._fields_ = [
    ("data", c_uint64 * 2),
    ("type", c_uint8),
    ("has", c_uint8),
    ("vector", c_uint8),
]
ipt_event_u_trig._fields_ = [
    ("icnt", c_uint16),
    ("trbv", c_uint8),
    ("icntv", c_uint8),
    ("mult", c_uint8),
]
ipt_event_u_pebs._fields_ = [
    ("payload", c_uint64),
    ("id", c_uint8),
    ("size", c_uint8),
]
ipt_event_u_gap._fields_ = [
    ("lost", c_uint64),
]
ipt_event_u._fields_ = [
    ("branch", ipt_event_u_branch),
    ("tnt", ipt_event_u_tnt),
    ("paging", ipt_event_u_paging),
    ("vmcs", ipt_event_u_vmcs),
    ("exec", ipt_event_u_exec),
    ("tsx", ipt_event_u_tsx),
    ("ptwrite", ipt_event_u_ptwrite),
    ("mwait", ipt_event_u_mwait),
    ("pwre", ipt_event_u_pwre),
    ("pwrx", ipt_event_u_pwrx),
    ("cbr", ipt_event_u_cbr),
    ("mnt", ipt_event_u_mnt),
    ("cfe", ipt_event_u_cfe),
    ("trig", ipt_event_u_trig),
    ("pebs", ipt_event_u_pebs),
    ("gap", ipt_event_u_gap),
]
ipt_event._fields_ = [
    ("offset", c_uint64),
    ("ip", c_uint64),
    ("tsc", c_uint64),
    ("lost_mtc", c_uint32),
    ("lost_cyc", c_uint32),
    ("type", c_uint8),
    ("flags", c_uint8),
    ("cbr", c_uint8),
    ("u", ipt_event_u),
]
ipt_start._fields_ = [
    ("offset", c_uint64),
    ("last_ip", c_uint64),
    ("ip", c_uint64),
    ("tsc", c_uint64),
    ("asid", ipt_asid),
    ("stack", POINTER(c_uint64)),
    ("stack_count", c_uint32),
    ("has", c_uint8),
    ("enabled", c_uint8),
    ("mode", c_uint8),
    ("cbr", c_uint8),
]
ipt_code._fields_ = [
    ("displacement", c_int64),
    ("size", c_uint8),
    ("kind", c_uint8),
    ("ip16", c_uint8),
]
ipt_block._fields_ = [
    ("offset", c_uint64),
    ("ip", c_uint64),
    ("end_ip", c_uint64),
    ("count", c_uint16),
    ("flags", c_uint16),
    ("kind", c_uint8),
    ("last_size", c_uint8),
    ("mode", c_uint8),
]
ipt_insn._fields_ = [
    ("offset", c_uint64),
    ("ip", c_uint64),
    ("flags", c_uint16),
    ("size", c_uint8),
    ("kind", c_uint8),
    ("mode", c_uint8),
]
ipt_cov_config._fields_ = [
    ("bitmap", POINTER(c_uint8)),
    ("bitmap_size", c_uint32),
    ("flags", c_uint32),
    ("edge", CFUNCTYPE(None, c_uint64, c_uint64, c_uint8, c_void_p)),
    ("block", CFUNCTYPE(None, c_uint64, c_uint32, c_uint8, c_void_p)),
    ("context", c_void_p),
    ("filter", POINTER(ipt_filter)),
    ("memo", POINTER(ipt_cov_memo)),
    ("shared", POINTER(ipt_cov_memo)),
    ("seen", POINTER(ipt_cov_seen)),
]
ipt_hot_tag._fields_ = [
    ("ip", c_uint64),
    ("asid", ipt_asid),
    ("mode", c_uint8),
]
ipt_hot_head._fields_ = [
    ("tag", ipt_hot_tag),
    ("count", c_uint32),
    ("trace_", c_uint32),
    ("used", c_uint8),
]
ipt_hot_trace._fields_ = [
    ("tag", ipt_hot_tag),
    ("runs", c_uint64),
    ("credit_", c_uint64),
    ("first", c_uint32),
    ("count", c_uint32),
    ("head_", c_uint32),
    ("link_", c_uint32),
]
ipt_hot_config._fields_ = [
    ("context", c_void_p),
    ("end_trace", CFUNCTYPE(c_int, POINTER(ipt_hot_tag), c_uint64, c_void_p)),
    ("trace", CFUNCTYPE(c_int, POINTER(ipt_hot_tag), POINTER(ipt_block), c_uint32, c_void_p)),
    ("deleted", CFUNCTYPE(None, POINTER(ipt_hot_tag), c_void_p)),
    ("aborted", CFUNCTYPE(None, POINTER(ipt_hot_tag), c_void_p)),
    ("heads", POINTER(ipt_hot_head)),
    ("traces", POINTER(ipt_hot_trace)),
    ("blocks", POINTER(ipt_block)),
    ("head_count", c_uint32),
    ("trace_count", c_uint32),
    ("block_count", c_uint32),
    ("threshold", c_uint32),
    ("max_blocks", c_uint32),
]
ipt_hot_stats._fields_ = [
    ("blocks", c_uint64),
    ("inside", c_uint64),
    ("insns", c_uint64),
    ("told", c_uint64),
    ("dropped", c_uint64),
    ("deleted", c_uint64),
    ("aborted", c_uint64),
    ("heads_lost", c_uint64),
    ("evicted", c_uint64),
    ("refused", c_uint64),
    ("cut", c_uint64),
]
ipt_gen_config._fields_ = [
    ("flags", c_uint32),
    ("psb_period", c_uint32),
    ("tsc", c_uint64),
    ("cpuid_15_eax", c_uint32),
    ("cpuid_15_ebx", c_uint32),
    ("mtc_freq", c_uint8),
    ("nom_freq", c_uint8),
    ("cbr", c_uint8),
]
ipt_topa._fields_ = [
    ("rtit_ctl", c_uint64),
    ("output_base", c_uint64),
    ("output_mask_ptrs", c_uint64),
    ("since_base", c_uint64),
    ("since_mask_ptrs", c_uint64),
    ("table", c_uint64),
    ("wrapped", c_uint8),
    ("map", CFUNCTYPE(POINTER(c_uint8), c_uint64, c_uint64, c_void_p)),
    ("context", c_void_p),
]
ipt_region._fields_ = [
    ("physical", c_uint64),
    ("size", c_uint64),
    ("flags", c_uint64),
]
ipt_cpuid_14._fields_ = [
    ("ebx", c_uint32),
    ("ecx", c_uint32),
    ("eax_1", c_uint32),
    ("ebx_1", c_uint32),
]
ipt_msrs._fields_ = [
    ("rtit_ctl", c_uint64),
    ("rtit_addr", c_uint64 * 2 * 4),
    ("platform_info", c_uint64),
    ("cpuid_1_eax", c_uint32),
    ("cpuid_14_ecx", c_uint32),
    ("cpuid_15_eax", c_uint32),
    ("cpuid_15_ebx", c_uint32),
]
ipt_cursor_._fields_ = [
    ("config", POINTER(ipt_config)),
    ("trace", POINTER(ipt_trace)),
    ("origin", c_uint64),
    ("begin", c_uint64),
    ("limit", c_uint64),
    ("quick", c_uint64),
    ("piece", c_uint32),
    ("seg", c_uint32),
    ("run", c_uint8),
    ("state", c_uint8),
    ("block", c_uint8),
    ("paid", c_uint32),
]
ipt_pkt_decoder._fields_ = [
    ("at", ipt_where),
    ("cur_", ipt_cursor_),
    ("magic_", c_uint32),
]
ipt_clock._fields_ = [
    ("tsc", c_uint64),
    ("fcr", c_uint64),
    ("lost_mtc", c_uint32),
    ("lost_cyc", c_uint32),
    ("has_tsc", c_uint8),
    ("cbr", c_uint8),
    ("state_", c_uint8),
    ("cal_cbr_", c_uint8),
    ("magic_", c_uint32),
    ("config_", POINTER(ipt_config)),
    ("base_", c_uint64),
    ("fc_", c_uint64),
    ("cal_tsc_", c_uint64),
    ("cal_tsc_cyc_", c_uint64),
    ("cal_mtc_cyc_", c_uint32),
    ("cal_span_", c_uint32),
    ("cal_ctc_", c_uint32),
    ("ctc_", c_uint32),
    ("rest_", c_uint32),
    ("cyc_end_", c_uint32),
    ("moved_", c_uint64),
]
ipt_pending_._fields_ = [
    ("event", ipt_event),
    ("waits", c_uint8),
    ("stamped", c_uint8),
]
ipt_evt_state_._fields_ = [
    ("clock", ipt_clock),
    ("last_ip", c_uint64),
    ("psb_ip", c_uint64),
    ("error", c_int),
    ("phase", c_uint8),
    ("psb_fup", c_uint8),
    ("enabled", c_uint8),
    ("was_enabled", c_uint8),
    ("synced", c_uint8),
    ("exec", c_uint8),
    ("skipped", c_uint8),
    ("vmx", c_uint8),
    ("cfe", c_uint8),
    ("ticked", c_uint8),
    ("count", c_uint8),
    ("pending", ipt_pending_ * 16),
]
ipt_evt_decoder._fields_ = [
    ("at", ipt_where),
    ("cur_", ipt_cursor_),
    ("evt_", ipt_evt_state_),
    ("magic_", c_uint32),
]
ipt_qry_decoder._fields_ = [
    ("at", ipt_where),
    ("cur_", ipt_cursor_),
    ("evt_", ipt_evt_state_),
    ("event_", ipt_event),
    ("from_", c_uint64),
    ("tnt_", c_uint64),
    ("tnt_count_", c_uint8),
    ("have_event_", c_uint8),
    ("fresh_", c_uint8),
    ("magic_", c_uint32),
]
ipt_cache_line._fields_ = [
    ("ip_", c_uint64),
    ("target_", c_uint64),
    ("key_", c_uint16),
    ("size_", c_uint16),
    ("count_", c_uint8),
    ("kind_", c_uint8),
    ("last_", c_uint8),
    ("leaves_", c_uint8),
    ("next_", c_uint32 * 2),
    ("sizes_", c_uint8 * 32),
]
ipt_window_._fields_ = [
    ("ip", c_uint64),
    ("key", c_uint16),
    ("size", c_uint8),
    ("ended", c_uint8),
    ("cut", c_uint8),
    ("bytes", c_uint8 * 96),
]
ipt_cache._fields_ = [
    ("fuel", POINTER(c_uint64)),
    ("lines_", POINTER(ipt_cache_line)),
    ("last_", c_uint32),
    ("magic_", c_uint32),
    ("version_", c_uint32),
    ("clock_", c_uint32),
    ("sweep_", c_uint32),
    ("renew_", c_uint32),
    ("next_id_", c_uint16),
    ("aliases_", c_uint8),
    ("name_", c_uint64),
    ("pages_", c_uint64 * 16),
    ("window_", ipt_window_),
]
ipt_calls_at_._fields_ = [
    ("top", c_uint8),
    ("count", c_uint8),
    ("lost", c_uint8),
    ("spare", c_uint8),
]
ipt_calls_._fields_ = [
    ("ip", c_uint64 * 64),
    ("at", ipt_calls_at_),
]
ipt_bind_._fields_ = [
    ("ip", c_uint64),
    ("kinds", c_uint32),
    ("count", c_uint32),
    ("how", c_uint8),
    ("once", c_uint8),
]
ipt_loop_._fields_ = [
    ("ip", c_uint64),
    ("branches", c_uint32),
    ("total", c_uint32),
]
ipt_probe_._fields_ = [
    ("ip", c_uint64),
    ("count", c_uint32),
]
ipt_next_._fields_ = [
    ("tnt", c_uint64),
    ("tnt_offset", c_uint64),
    ("tip", c_uint64),
    ("tip_offset", c_uint64),
    ("has_tip", c_uint8),
    ("has_event", c_uint8),
    ("event", ipt_event),
    ("bind", ipt_bind_),
]
ipt_stamp_._fields_ = [
    ("time", ipt_event),
    ("fresh", c_uint8),
    ("due", c_uint8),
    ("after", ipt_event),
]
ipt_flow_._fields_ = [
    ("ip", c_uint64),
    ("enabled", c_uint8),
    ("hidden", c_uint8),
    ("synced", c_uint8),
]
ipt_prev_._fields_ = [
    ("ip", c_uint64),
    ("kind", c_uint8),
    ("taken", c_uint8),
]
ipt_mode_._fields_ = [
    ("speculative", c_uint16),
    ("now", c_uint8),
    ("next", c_uint8),
    ("old", c_uint8),
]
ipt_resync_._fields_ = [
    ("ip", c_uint64),
    ("has", c_uint8),
    ("state", c_uint8),
    ("offset", c_uint64),
]
ipt_tally_._fields_ = [
    ("icnt", c_uint32),
    ("counted", c_uint8),
]
ipt_code_at_._fields_ = [
    ("offset", c_uint64),
    ("count", c_uint8),
    ("index", c_uint8),
    ("calm", c_uint8),
    ("run", ipt_cache_line),
]
ipt_place_._fields_ = [
    ("mask", c_uint64),
    ("first", c_uint64),
    ("more", c_uint64),
    ("version", c_uint32),
    ("line", c_uint32),
    ("way", c_uint16),
    ("key", c_uint16),
]
ipt_out_._fields_ = [
    ("events", ipt_event * 4),
    ("count", c_uint8),
    ("waiting", c_uint8),
    ("ends_block", c_uint8),
]
ipt_item_._fields_ = [
    ("from", c_uint64),
    ("full", c_uint8),
    ("begun", c_uint8),
    ("unsettled", c_uint8),
]
ipt_marks_._fields_ = [
    ("lead", c_uint16),
    ("trail", c_uint16),
]
ipt_walk_._fields_ = [
    ("cur", ipt_cursor_),
    ("evt", ipt_evt_state_),
    ("cache", POINTER(ipt_cache)),
    ("valid", POINTER(c_uint32)),
    ("calm", c_uint8),
    ("next", ipt_next_),
    ("flow", ipt_flow_),
    ("stamp", ipt_stamp_),
    ("prev", ipt_prev_),
    ("mode", ipt_mode_),
    ("resync", ipt_resync_),
    ("tally", ipt_tally_),
    ("code", ipt_code_at_),
    ("place", ipt_place_),
    ("out", ipt_out_),
    ("item", ipt_item_),
    ("marks", ipt_marks_),
    ("end", c_uint8),
    ("loop", ipt_loop_),
    ("probe", ipt_probe_),
    ("calls", ipt_calls_),
]
ipt_blk_decoder._fields_ = [
    ("at", ipt_where),
    ("walk_", ipt_walk_),
    ("block_", ipt_block),
    ("magic_", c_uint32),
]
ipt_insn_decoder._fields_ = [
    ("at", ipt_where),
    ("walk_", ipt_walk_),
    ("insn_", ipt_insn),
    ("magic_", c_uint32),
]
ipt_cov_line._fields_ = [
    ("ip_", c_uint64),
    ("tnt_", c_uint64),
    ("next_", c_uint64),
    ("key_", c_uint32),
    ("from_", c_uint32),
    ("kind_", c_uint8),
    ("edges_", c_uint8),
    ("frames_", c_uint8),
    ("peak_", c_uint8),
    ("items_", c_uint32 * 7),
]
ipt_cov_memo._fields_ = [
    ("lost", c_uint64),
    ("lines_", POINTER(ipt_cov_line)),
    ("formula_", c_uint64),
    ("mask_", c_uint32),
    ("magic_", c_uint32),
    ("clock_", c_uint32),
    ("cache_", POINTER(ipt_cache)),
    ("epoch_", c_uint64),
    ("renew_", c_uint32),
    ("next_id_", c_uint32),
    ("noise_", c_uint8),
    ("novel_", c_uint8),
    ("seen_", c_uint64),
    ("code_", c_uint64),
    ("named_", c_uint32),
]
ipt_cov_mark._fields_ = [
    ("ip_", c_uint64),
    ("size_", c_uint32),
    ("mode_", c_uint32),
]
ipt_cov_seen._fields_ = [
    ("count", c_uint64),
    ("lost", c_uint64),
    ("marks_", POINTER(ipt_cov_mark)),
    ("name_", c_uint64),
    ("mask_", c_uint32),
    ("magic_", c_uint32),
]
ipt_cov_block_._fields_ = [
    ("ip", c_uint64),
    ("end", c_uint64),
    ("mode", c_uint8),
]
ipt_cov_leg_._fields_ = [
    ("tnt", c_uint64),
    ("to", c_uint64),
    ("last_ip", c_uint64),
    ("offset", c_uint64),
    ("p", POINTER(c_uint8)),
    ("window", POINTER(c_uint8)),
    ("end", POINTER(c_uint8)),
    ("next", POINTER(c_uint8)),
    ("psb", POINTER(c_uint8)),
    ("line", POINTER(ipt_cov_line)),
    ("held", c_uint64),
    ("psb_size", c_size_t),
    ("after", c_uint32),
    ("ahead", c_uint8),
    ("moved", c_uint8),
    ("noisy", c_uint8),
]
ipt_cov_keys_._fields_ = [
    ("formula", c_uint64),
    ("asid", ipt_asid),
    ("own", c_uint32),
    ("shared", c_uint32),
    ("epoch", c_uint64),
    ("version", c_uint32),
]
ipt_cov_learn_._fields_ = [
    ("line", ipt_cov_line),
    ("whole", ipt_cov_line),
    ("mode", c_uint8),
    ("on", c_uint8),
    ("frames", c_uint8),
    ("peak", c_uint8),
]
ipt_cov_decoder._fields_ = [
    ("at", ipt_where),
    ("begin", c_uint64),
    ("hash", c_uint64),
    ("hits", c_uint64),
    ("misses", c_uint64),
    ("verdict", c_uint32),
    ("magic_", c_uint32),
    ("cov_", POINTER(ipt_cov_config)),
    ("walk_", ipt_walk_),
    ("block_", ipt_cov_block_),
    ("keys_", ipt_cov_keys_),
    ("leg_", ipt_cov_leg_),
    ("learn_", ipt_cov_learn_),
    ("slow_", c_uint64),
    ("gave_up_", c_uint8),
    ("syncing_", c_uint8),
    ("begun_", c_uint8),
    ("fast_", c_uint8),
]
ipt_hot._fields_ = [
    ("stats", ipt_hot_stats),
    ("kept", c_uint32),
    ("magic_", c_uint32),
    ("config_", POINTER(ipt_hot_config)),
    ("now_", ipt_hot_tag),
    ("tag_", ipt_hot_tag),
    ("recorded_", c_uint32),
    ("room_", c_uint32),
    ("max_blocks_", c_uint32),
    ("threshold_", c_uint32),
    ("mask_", c_uint32),
    ("pool_end_", c_uint32),
    ("dying_", c_uint32),
    ("inside_", c_uint32),
    ("left_", c_uint32),
    ("next_", POINTER(ipt_block)),
    ("kind_", c_uint8),
    ("cut_off_", c_uint8),
    ("busy_", c_uint8),
]
ipt_gen_time_._fields_ = [
    ("cyc", c_uint64),
    ("mtc", c_uint64),
    ("period", c_uint64),
    ("base_clock", c_uint64),
    ("base_tsc", c_uint64),
    ("cbr", c_uint8),
]
ipt_gen._fields_ = [
    ("out", POINTER(c_uint8)),
    ("size", c_size_t),
    ("used", c_size_t),
    ("clock", c_uint64),
    ("config_", ipt_gen_config),
    ("last_ip_", c_uint64),
    ("from_psb_", c_uint64),
    ("wait_", c_uint64),
    ("tnt_", c_uint64),
    ("tips_", c_uint64 * 8),
    ("pip_", ipt_packet),
    ("vmcs_", ipt_packet),
    ("exec_", ipt_packet),
    ("next_exec_", ipt_packet),
    ("time_", ipt_gen_time_),
    ("calls_", ipt_calls_),
    ("tip_count_", c_uint8),
    ("have_ip_", c_uint8),
    ("enabled_", c_uint8),
    ("tsx_", c_uint8),
    ("lost_", c_uint8),
    ("magic_", c_uint32),
]
perfdata_attr._fields_ = [
    ("type", c_uint32),
    ("size", c_uint32),
    ("config", c_uint64),
    ("sample_period", c_uint64),
    ("sample_type", c_uint64),
    ("read_format", c_uint64),
    ("flags", c_uint64),
    ("config1", c_uint64),
    ("config2", c_uint64),
    ("branch_sample_type", c_uint64),
    ("sample_regs_user", c_uint64),
    ("sample_regs_intr", c_uint64),
    ("aux_sample_size", c_uint32),
    ("aux_action", c_uint32),
]
perfdata_sample._fields_ = [
    ("has", c_uint64),
    ("pid", c_uint32),
    ("tid", c_uint32),
    ("time", c_uint64),
    ("id", c_uint64),
    ("stream_id", c_uint64),
    ("identifier", c_uint64),
    ("cpu", c_uint32),
]
perfdata_record_u_mmap._fields_ = [
    ("pid", c_uint32),
    ("tid", c_uint32),
    ("addr", c_uint64),
    ("len", c_uint64),
    ("pgoff", c_uint64),
    ("maj", c_uint32),
    ("min", c_uint32),
    ("ino", c_uint64),
    ("ino_generation", c_uint64),
    ("prot", c_uint32),
    ("flags", c_uint32),
    ("build_id_size", c_uint8),
    ("build_id", c_uint8 * 20),
    ("name", c_char_p),
]
perfdata_record_u_lost._fields_ = [
    ("id", c_uint64),
    ("lost", c_uint64),
]
perfdata_record_u_comm._fields_ = [
    ("pid", c_uint32),
    ("tid", c_uint32),
    ("name", c_char_p),
]
perfdata_record_u_task._fields_ = [
    ("pid", c_uint32),
    ("ppid", c_uint32),
    ("tid", c_uint32),
    ("ptid", c_uint32),
    ("time", c_uint64),
]
perfdata_record_u_throttle._fields_ = [
    ("time", c_uint64),
    ("id", c_uint64),
    ("stream_id", c_uint64),
]
perfdata_record_u_thread._fields_ = [
    ("pid", c_uint32),
    ("tid", c_uint32),
]
perfdata_record_u_aux._fields_ = [
    ("offset", c_uint64),
    ("size", c_uint64),
    ("flags", c_uint64),
]
perfdata_record_u_namespaces_link._fields_ = [
    ("dev", c_uint64),
    ("inode", c_uint64),
]
perfdata_record_u_namespaces._fields_ = [
    ("pid", c_uint32),
    ("tid", c_uint32),
    ("count", c_uint32),
    ("link", perfdata_record_u_namespaces_link * 7),
]
perfdata_record_u_ksymbol._fields_ = [
    ("addr", c_uint64),
    ("len", c_uint32),
    ("kind", c_uint16),
    ("flags", c_uint16),
    ("name", c_char_p),
]
perfdata_record_u_bpf._fields_ = [
    ("kind", c_uint16),
    ("flags", c_uint16),
    ("id", c_uint32),
    ("tag", POINTER(c_uint8)),
]
perfdata_record_u_cgroup._fields_ = [
    ("id", c_uint64),
    ("path", c_char_p),
]
perfdata_record_u_text_poke._fields_ = [
    ("addr", c_uint64),
    ("old_len", c_uint16),
    ("new_len", c_uint16),
    ("old_bytes", POINTER(c_uint8)),
    ("new_bytes", POINTER(c_uint8)),
]
perfdata_record_u_event._fields_ = [
    ("ip", c_uint64),
    ("addr", c_uint64),
    ("period", c_uint64),
    ("raw_size", c_uint32),
    ("aux_size", c_uint32),
    ("raw", POINTER(c_uint8)),
    ("aux", POINTER(c_uint8)),
    ("kept", c_uint64),
]
perfdata_record_u_attr._fields_ = [
    ("attr", perfdata_attr),
    ("ids", POINTER(c_uint8)),
    ("id_count", c_uint32),
]
perfdata_record_u_tracing._fields_ = [
    ("size", c_uint32),
]
perfdata_record_u_build_id._fields_ = [
    ("pid", c_uint32),
    ("size", c_uint8),
    ("id", c_uint8 * 20),
    ("name", c_char_p),
]
perfdata_record_u_info._fields_ = [
    ("kind", c_uint32),
    ("count", c_uint32),
    ("word", c_uint64 * 17),
    ("filter", c_char_p),
    ("event_trace", c_uint64),
]
perfdata_record_u_auxtrace._fields_ = [
    ("size", c_uint64),
    ("offset", c_uint64),
    ("reference", c_uint64),
    ("idx", c_uint32),
    ("tid", c_uint32),
    ("cpu", c_uint32),
    ("data", c_uint64),
    ("left", c_uint64),
]
perfdata_record_u_error._fields_ = [
    ("type", c_uint32),
    ("code", c_uint32),
    ("cpu", c_uint32),
    ("pid", c_uint32),
    ("tid", c_uint32),
    ("ip", c_uint64),
    ("time", c_uint64),
    ("message", c_char_p),
]
perfdata_record_u_time_conv._fields_ = [
    ("shift", c_uint64),
    ("mult", c_uint64),
    ("zero", c_uint64),
    ("cycles", c_uint64),
    ("mask", c_uint64),
    ("cap_time_zero", c_uint8),
    ("cap_time_short", c_uint8),
]
perfdata_record_u_feature._fields_ = [
    ("bit", c_uint64),
    ("data", POINTER(c_uint8)),
    ("size", c_uint32),
]
perfdata_record_u_compressed._fields_ = [
    ("data", POINTER(c_uint8)),
    ("size", c_uint32),
]
perfdata_record_u._fields_ = [
    ("mmap", perfdata_record_u_mmap),
    ("lost", perfdata_record_u_lost),
    ("comm", perfdata_record_u_comm),
    ("task", perfdata_record_u_task),
    ("throttle", perfdata_record_u_throttle),
    ("thread", perfdata_record_u_thread),
    ("aux", perfdata_record_u_aux),
    ("namespaces", perfdata_record_u_namespaces),
    ("ksymbol", perfdata_record_u_ksymbol),
    ("bpf", perfdata_record_u_bpf),
    ("cgroup", perfdata_record_u_cgroup),
    ("text_poke", perfdata_record_u_text_poke),
    ("hw_id", c_uint64),
    ("event", perfdata_record_u_event),
    ("attr", perfdata_record_u_attr),
    ("tracing", perfdata_record_u_tracing),
    ("build_id", perfdata_record_u_build_id),
    ("info", perfdata_record_u_info),
    ("auxtrace", perfdata_record_u_auxtrace),
    ("error", perfdata_record_u_error),
    ("time_conv", perfdata_record_u_time_conv),
    ("feature", perfdata_record_u_feature),
    ("compressed", perfdata_record_u_compressed),
]
perfdata_record._fields_ = [
    ("bytes", POINTER(c_uint8)),
    ("type", c_uint32),
    ("misc", c_uint16),
    ("size", c_uint16),
    ("body", c_uint16),
    ("trailer", c_uint16),
    ("event", c_uint32),
    ("offset", c_uint64),
    ("packed", c_uint8),
    ("sample", perfdata_sample),
    ("u", perfdata_record_u),
]
perfdata_place._fields_ = [
    ("offset", c_uint64),
    ("size", c_uint64),
]
perfdata_id._fields_ = [
    ("id", c_uint64),
    ("event", c_uint32),
]
perfdata_config._fields_ = [
    ("read", CFUNCTYPE(c_int, POINTER(c_uint8), c_size_t, c_uint64, c_void_p)),
    ("inflate", CFUNCTYPE(c_int, POINTER(c_uint8), POINTER(c_size_t), POINTER(c_uint8), POINTER(c_size_t), c_void_p)),
    ("context", c_void_p),
    ("size", c_uint64),
    ("kept", c_uint64),
    ("parts", POINTER(perfdata_place)),
    ("part_count", c_uint32),
    ("events", POINTER(perfdata_attr)),
    ("ids", POINTER(perfdata_id)),
    ("event_max", c_uint32),
    ("id_max", c_uint32),
]
perfdata._fields_ = [
    ("config", POINTER(perfdata_config)),
    ("big_endian", c_uint8),
    ("is_pipe", c_uint8),
    ("event_count", c_uint32),
    ("id_count", c_uint32),
    ("event_need", c_uint32),
    ("id_need", c_uint32),
    ("offset", c_uint64),
    ("first", c_uint64),
    ("last", c_uint64),
    ("end", c_uint64),
    ("next", c_uint64),
    ("part", c_uint32),
    ("cut", c_uint8),
    ("sorted", c_uint32),
    ("more", c_uint8),
    ("window_at", c_uint64),
    ("window_size", c_uint32),
    ("packed", c_uint32),
    ("packed_size", c_uint32),
    ("packed_at", c_uint64),
    ("plain_at", c_uint32),
    ("plain_size", c_uint32),
    ("features", perfdata_place * 64),
    ("window", c_uint8 * 65536),
    ("plain", c_uint8 * 131072),
]
perfdata_piece._fields_ = [
    ("data", c_uint64),
    ("size", c_uint64),
    ("position", c_uint64),
    ("reference", c_uint64),
    ("idx", c_uint32),
    ("tid", c_uint32),
    ("cpu", c_uint32),
    ("order", c_uint32),
    ("gap", c_uint32),
]
perfdata_queue._fields_ = [
    ("idx", c_uint32),
    ("cpu", c_uint32),
    ("tid", c_uint32),
    ("first", c_uint32),
    ("count", c_uint32),
    ("gaps", c_uint32),
    ("gap_at_end", c_uint32),
    ("size", c_uint64),
]
perfdata_loss._fields_ = [
    ("position", c_uint64),
    ("flags", c_uint32),
    ("cpu", c_uint32),
    ("tid", c_uint32),
    ("used", c_uint8),
]
perfdata_queues._fields_ = [
    ("pieces", POINTER(perfdata_piece)),
    ("losses", POINTER(perfdata_loss)),
    ("queues", POINTER(perfdata_queue)),
    ("piece_max", c_uint32),
    ("loss_max", c_uint32),
    ("queue_max", c_uint32),
    ("piece_count", c_uint32),
    ("loss_count", c_uint32),
    ("queue_count", c_uint32),
    ("records", c_uint32),
    ("packed", c_uint32),
    ("snapshot", c_uint8),
    ("by_cpu", c_uint8),
]

FUNCTIONS = {
    "ipt_status_name": (c_char_p, [c_int]),
    "ipt_status_cause": (c_char_p, [c_int]),
    "ipt_status_remedy": (c_char_p, [c_int]),
    "ipt_cpu_errata": (c_int, [POINTER(c_uint32), c_uint16, c_uint8]),
    "ipt_pkt_init": (c_int, [POINTER(ipt_pkt_decoder), POINTER(ipt_config), POINTER(ipt_trace)]),
    "ipt_pkt_sync_forward": (c_int, [POINTER(ipt_pkt_decoder)]),
    "ipt_pkt_sync_backward": (c_int, [POINTER(ipt_pkt_decoder)]),
    "ipt_pkt_sync_set": (c_int, [POINTER(ipt_pkt_decoder), c_uint64]),
    "ipt_pkt_next": (c_int, [POINTER(ipt_pkt_decoder), POINTER(ipt_packet)]),
    "ipt_pkt_encode": (c_int, [POINTER(c_uint8), c_size_t, POINTER(ipt_packet)]),
    "ipt_pkt_last_ip": (c_int, [POINTER(c_uint64), POINTER(ipt_packet)]),
    "ipt_time_init": (c_int, [POINTER(ipt_clock), POINTER(ipt_config)]),
    "ipt_time_packet": (c_int, [POINTER(ipt_clock), POINTER(ipt_packet)]),
    "ipt_time_calibrate": (c_int, [POINTER(ipt_clock), POINTER(ipt_packet)]),
    "ipt_time_update": (c_int, [POINTER(ipt_clock), POINTER(ipt_packet)]),
    "ipt_evt_init": (c_int, [POINTER(ipt_evt_decoder), POINTER(ipt_config), POINTER(ipt_trace)]),
    "ipt_evt_sync_forward": (c_int, [POINTER(ipt_evt_decoder)]),
    "ipt_evt_sync_backward": (c_int, [POINTER(ipt_evt_decoder)]),
    "ipt_evt_sync_set": (c_int, [POINTER(ipt_evt_decoder), c_uint64]),
    "ipt_evt_start": (c_int, [POINTER(ipt_evt_decoder), POINTER(ipt_start)]),
    "ipt_evt_next": (c_int, [POINTER(ipt_evt_decoder), POINTER(ipt_event)]),
    "ipt_qry_init": (c_int, [POINTER(ipt_qry_decoder), POINTER(ipt_config), POINTER(ipt_trace)]),
    "ipt_qry_sync_forward": (c_int, [POINTER(ipt_qry_decoder), POINTER(c_uint64)]),
    "ipt_qry_sync_backward": (c_int, [POINTER(ipt_qry_decoder), POINTER(c_uint64)]),
    "ipt_qry_sync_set": (c_int, [POINTER(ipt_qry_decoder), c_uint64, POINTER(c_uint64)]),
    "ipt_qry_cond_branch": (c_int, [POINTER(ipt_qry_decoder), POINTER(c_int)]),
    "ipt_qry_indirect_branch": (c_int, [POINTER(ipt_qry_decoder), POINTER(c_uint64)]),
    "ipt_qry_event": (c_int, [POINTER(ipt_qry_decoder), POINTER(ipt_event)]),
    "ipt_classify": (c_int, [POINTER(ipt_code), POINTER(c_uint8), c_size_t, c_uint8, c_void_p]),
    "ipt_cache_init": (c_int, [POINTER(ipt_cache), POINTER(ipt_cache_line), c_size_t]),
    "ipt_cache_code": (c_int, [POINTER(ipt_cache), POINTER(ipt_config), POINTER(ipt_asid), c_uint8, c_uint64, POINTER(c_uint8), c_size_t]),
    "ipt_cache_invalidate": (c_int, [POINTER(ipt_cache), POINTER(ipt_asid), c_uint64, c_uint64]),
    "ipt_blk_init": (c_int, [POINTER(ipt_blk_decoder), POINTER(ipt_config), POINTER(ipt_trace), POINTER(ipt_cache)]),
    "ipt_blk_sync_forward": (c_int, [POINTER(ipt_blk_decoder)]),
    "ipt_blk_sync_backward": (c_int, [POINTER(ipt_blk_decoder)]),
    "ipt_blk_sync_set": (c_int, [POINTER(ipt_blk_decoder), c_uint64]),
    "ipt_blk_start": (c_int, [POINTER(ipt_blk_decoder), POINTER(ipt_start)]),
    "ipt_blk_set_asid": (c_int, [POINTER(ipt_blk_decoder), POINTER(ipt_asid)]),
    "ipt_blk_resync": (c_int, [POINTER(ipt_blk_decoder)]),
    "ipt_blk_next": (c_int, [POINTER(ipt_blk_decoder), POINTER(ipt_block)]),
    "ipt_blk_event": (c_int, [POINTER(ipt_blk_decoder), POINTER(ipt_event)]),
    "ipt_insn_init": (c_int, [POINTER(ipt_insn_decoder), POINTER(ipt_config), POINTER(ipt_trace), POINTER(ipt_cache)]),
    "ipt_insn_sync_forward": (c_int, [POINTER(ipt_insn_decoder)]),
    "ipt_insn_sync_backward": (c_int, [POINTER(ipt_insn_decoder)]),
    "ipt_insn_sync_set": (c_int, [POINTER(ipt_insn_decoder), c_uint64]),
    "ipt_insn_start": (c_int, [POINTER(ipt_insn_decoder), POINTER(ipt_start)]),
    "ipt_insn_set_asid": (c_int, [POINTER(ipt_insn_decoder), POINTER(ipt_asid)]),
    "ipt_insn_resync": (c_int, [POINTER(ipt_insn_decoder)]),
    "ipt_insn_next": (c_int, [POINTER(ipt_insn_decoder), POINTER(ipt_insn)]),
    "ipt_insn_event": (c_int, [POINTER(ipt_insn_decoder), POINTER(ipt_event)]),
    "ipt_cov_memo_init": (c_int, [POINTER(ipt_cov_memo), POINTER(ipt_cov_line), c_size_t]),
    "ipt_cov_seen_init": (c_int, [POINTER(ipt_cov_seen), POINTER(ipt_cov_mark), c_size_t]),
    "ipt_cov_init": (c_int, [POINTER(ipt_cov_decoder), POINTER(ipt_config), POINTER(ipt_cov_config), POINTER(ipt_trace), POINTER(ipt_cache)]),
    "ipt_cov_begin": (c_int, [POINTER(ipt_cov_decoder), POINTER(ipt_trace)]),
    "ipt_cov_start": (c_int, [POINTER(ipt_cov_decoder), POINTER(ipt_start)]),
    "ipt_cov_run": (c_int, [POINTER(ipt_cov_decoder)]),
    "ipt_cov_resync": (c_int, [POINTER(ipt_cov_decoder)]),
    "ipt_cov_invalidate": (c_int, [POINTER(ipt_cov_decoder), POINTER(ipt_asid), c_uint64, c_uint64]),
    "ipt_hot_init": (c_int, [POINTER(ipt_hot), POINTER(ipt_hot_config)]),
    "ipt_hot_feed": (c_int, [POINTER(ipt_hot), POINTER(ipt_block), POINTER(ipt_asid)]),
    "ipt_hot_break": (c_int, [POINTER(ipt_hot)]),
    "ipt_hot_mark_head": (c_int, [POINTER(ipt_hot), POINTER(ipt_hot_tag)]),
    "ipt_hot_delete": (c_int, [POINTER(ipt_hot), POINTER(ipt_hot_tag)]),
    "ipt_hot_invalidate": (c_int, [POINTER(ipt_hot), POINTER(ipt_asid), c_uint64, c_uint64]),
    "ipt_gen_init": (c_int, [POINTER(ipt_gen), POINTER(ipt_gen_config), c_uint8]),
    "ipt_gen_branch": (c_int, [POINTER(ipt_gen), c_uint8, c_uint64, c_uint8, c_uint64]),
    "ipt_gen_event": (c_int, [POINTER(ipt_gen), POINTER(ipt_event)]),
    "ipt_gen_flush": (c_int, [POINTER(ipt_gen)]),
    "ipt_segments_from_topa": (c_int, [POINTER(ipt_segment), c_uint32, POINTER(ipt_topa)]),
    "ipt_topa_from_regions": (c_int, [POINTER(c_uint8), c_uint32, c_uint64, POINTER(ipt_region), c_uint32]),
    "ipt_rtit_ctl_missing": (c_uint64, [c_uint64, POINTER(ipt_cpuid_14)]),
    "ipt_config_from_msrs": (c_int, [POINTER(ipt_config), POINTER(ipt_msrs)]),
    "ipt_pkt_name": (c_char_p, [c_uint8]),
    "ipt_evt_name": (c_char_p, [c_uint8]),
    "ipt_insn_name": (c_char_p, [c_uint8]),
    "ipt_packet_words": (c_int, [POINTER(ipt_packet), c_char_p, c_size_t]),
    "ipt_event_words": (c_int, [POINTER(ipt_event), c_char_p, c_size_t]),
    "perfdata_text": (c_char_p, [c_int]),
    "perfdata_parse_attr": (c_int, [c_int, POINTER(c_uint8), c_size_t, POINTER(perfdata_attr)]),
    "perfdata_u32": (c_uint32, [c_int, POINTER(c_uint8)]),
    "perfdata_u64": (c_uint64, [c_int, POINTER(c_uint8)]),
    "perfdata_parse": (c_int, [POINTER(perfdata_attr), c_int, POINTER(c_uint8), c_size_t, POINTER(perfdata_record)]),
    "perfdata_parse_build_id": (c_int, [c_int, POINTER(c_uint8), c_size_t, POINTER(perfdata_record)]),
    "perfdata_identifier": (c_uint64, [c_int, POINTER(c_uint8), c_size_t]),
    "perfdata_open": (c_int, [POINTER(perfdata), POINTER(perfdata_config)]),
    "perfdata_next": (c_int, [POINTER(perfdata), POINTER(perfdata_record)]),
    "perfdata_rewind": (None, [POINTER(perfdata)]),
    "perfdata_feature": (c_int, [POINTER(perfdata), c_uint, POINTER(perfdata_place)]),
    "perfdata_feature_text": (c_int, [POINTER(perfdata), c_uint, c_char_p, c_size_t]),
    "perfdata_read": (c_int, [POINTER(perfdata), c_uint64, POINTER(c_uint8), c_size_t]),
    "perfdata_event": (c_uint32, [POINTER(perfdata), c_uint64]),
    "perfdata_pt_event": (c_uint32, [POINTER(perfdata), POINTER(perfdata_record)]),
    "perfdata_ns": (c_uint64, [c_uint64, c_uint64, c_uint64, c_uint64]),
    "perfdata_tsc": (c_uint64, [c_uint64, c_uint64, c_uint64, c_uint64]),
    "perfdata_trace_at": (c_uint64, [POINTER(perfdata_record)]),
    "perfdata_queues_add": (c_int, [POINTER(perfdata_queues), POINTER(perfdata_record)]),
    "perfdata_queues_finish": (c_int, [POINTER(perfdata_queues)]),
    "perfdata_queues_trim": (c_int, [POINTER(perfdata_queues), POINTER(perfdata)]),
}
