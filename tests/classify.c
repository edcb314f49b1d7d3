/* classify.c: code bytes to length, kind, displacement. By hand and by the
 * manuals; peer_zydis.c is the comparison with another decoder. */
#define IPT_IMPLEMENTATION
#include "../ipt.h"
#include "hex.h"
#include "test.h"

enum { M16 = 1, M32 = 2, M64 = 4, LEGACY = 3, ALL = 7 };

typedef struct row {
    int modes;
    const char *hex;
    int kind;
    int64_t displacement;
} row;

/* ---- every kind, in every mode that has it ---- */

static const row kinds[] = {
    {ALL, "7000", IPT_INSN_JCC, 0},
    {ALL, "7f80", IPT_INSN_JCC, -128}, // JG
    {ALL, "2e757f", IPT_INSN_JCC, 127}, // hint
    {ALL, "6675fe", IPT_INSN_JCC, -2},
    {ALL, "e000", IPT_INSN_JCC, 0}, // LOOPNE
    {ALL, "e1fe", IPT_INSN_JCC, -2},
    {ALL, "e280", IPT_INSN_JCC, -128},
    {ALL, "e305", IPT_INSN_JCC, 5},
    {ALL, "67e305", IPT_INSN_JCC, 5}, // JECXZ, JCXZ
    {M64, "48e3fb", IPT_INSN_JCC, -5},
    {M16, "0f803412", IPT_INSN_JCC, 0x1234},
    {M16, "0f8ffeff", IPT_INSN_JCC, -2},
    {M32, "0f8078563412", IPT_INSN_JCC, 0x12345678},
    {M64, "0f8ffeffffff", IPT_INSN_JCC, -2},
    {M16, "660f8478563412", IPT_INSN_JCC, 0x12345678},
    {M32, "660f84fe7f", IPT_INSN_JCC, 0x7ffe},
    {M64, "660f8400000080", IPT_INSN_JCC, -0x80000000ll}, // 66 does nothing
    {M64, "480f8500000000", IPT_INSN_JCC, 0},
    {ALL, "ebfe", IPT_INSN_JMP, -2},
    {ALL, "66eb10", IPT_INSN_JMP, 16},
    {ALL, "f2eb7f", IPT_INSN_JMP, 127}, // BND
    {M16, "e9fdff", IPT_INSN_JMP, -3},
    {M16, "66e9faffffff", IPT_INSN_JMP, -6},
    {M32, "e9ffffff7f", IPT_INSN_JMP, 0x7fffffff},
    {M32, "66e90080", IPT_INSN_JMP, -0x8000},
    {M64, "e900000080", IPT_INSN_JMP, -0x80000000ll},
    {M64, "66e978563412", IPT_INSN_JMP, 0x12345678},
    {M64, "f266e978563412", IPT_INSN_JMP, 0x12345678},
    {M16, "e80000", IPT_INSN_CALL, 0},
    {M16, "66e800000000", IPT_INSN_CALL, 0},
    {M32, "e8fbffffff", IPT_INSN_CALL, -5},
    {M32, "66e8ffff", IPT_INSN_CALL, -1},
    {M64, "e8fbffffff", IPT_INSN_CALL, -5},
    {M64, "66e801000000", IPT_INSN_CALL, 1},
    {M64, "4866e801000000", IPT_INSN_CALL, 1},
    {ALL, "ffe0", IPT_INSN_JMP_INDIRECT, 0}, // JMP rAX
    {ALL, "3effe0", IPT_INSN_JMP_INDIRECT, 0}, // NOTRACK
    {M64, "41ffe7", IPT_INSN_JMP_INDIRECT, 0},
    {M64, "ff2578563412", IPT_INSN_JMP_INDIRECT, 0},
    {M32, "ff248578563412", IPT_INSN_JMP_INDIRECT, 0},
    {M16, "ff263412", IPT_INSN_JMP_INDIRECT, 0},
    {M16, "ff6708", IPT_INSN_JMP_INDIRECT, 0},
    {M64, "d501ffe0", IPT_INSN_JMP_INDIRECT, 0}, // REX2
    {ALL, "ffd0", IPT_INSN_CALL_INDIRECT, 0},
    {M64, "ff542408", IPT_INSN_CALL_INDIRECT, 0},
    {M64, "ff947878563412", IPT_INSN_CALL_INDIRECT, 0},
    {M64, "67ff9078563412", IPT_INSN_CALL_INDIRECT, 0},
    {M32, "67ff903412", IPT_INSN_CALL_INDIRECT, 0},
    {M16, "ff903412", IPT_INSN_CALL_INDIRECT, 0},
    {M16, "67ff9078563412", IPT_INSN_CALL_INDIRECT, 0},
    {ALL, "c3", IPT_INSN_RET, 0},
    {ALL, "f3c3", IPT_INSN_RET, 0},
    {ALL, "f2c3", IPT_INSN_RET, 0},
    {ALL, "66c3", IPT_INSN_RET, 0},
    {ALL, "c23412", IPT_INSN_RET, 0},
    {M64, "d500a18877665544332211", IPT_INSN_JMPABS, 0x1122334455667788},
    {M64, "d577a1feffffffffffffff", IPT_INSN_JMPABS, -2},
    {M64, "2ed500a10000000000000080", IPT_INSN_JMPABS, INT64_MIN},
    {M16, "9a34127856", IPT_INSN_FAR_CALL, 0},
    {M16, "669a341278560000", IPT_INSN_FAR_CALL, 0},
    {M32, "9a34127856bc9a", IPT_INSN_FAR_CALL, 0},
    {M32, "669a34127856", IPT_INSN_FAR_CALL, 0},
    {ALL, "ff18", IPT_INSN_FAR_CALL, 0},
    {M64, "48ff5808", IPT_INSN_FAR_CALL, 0},
    {M16, "ea34127856", IPT_INSN_FAR_JMP, 0},
    {M32, "ea34127856bc9a", IPT_INSN_FAR_JMP, 0},
    {M32, "66ea34127856", IPT_INSN_FAR_JMP, 0},
    {ALL, "ff28", IPT_INSN_FAR_JMP, 0},
    {M64, "48ff2d00000000", IPT_INSN_FAR_JMP, 0},
    {ALL, "cb", IPT_INSN_FAR_RET, 0},
    {ALL, "ca0800", IPT_INSN_FAR_RET, 0},
    {M64, "48cb", IPT_INSN_FAR_RET, 0},
    {ALL, "cc", IPT_INSN_INT, 0},
    {ALL, "cd80", IPT_INSN_INT, 0},
    {ALL, "cd20", IPT_INSN_INT, 0},
    {ALL, "f1", IPT_INSN_INT, 0},
    {LEGACY, "ce", IPT_INSN_INTO, 0},
    {ALL, "0f05", IPT_INSN_SYSCALL, 0},
    {ALL, "0f34", IPT_INSN_SYSCALL, 0},
    {ALL, "0f01c1", IPT_INSN_VMCALL, 0},
    {ALL, "cf", IPT_INSN_IRET, 0},
    {ALL, "66cf", IPT_INSN_IRET, 0},
    {M64, "48cf", IPT_INSN_IRET, 0},
    {ALL, "0f07", IPT_INSN_IRET, 0},
    {M64, "480f07", IPT_INSN_IRET, 0},
    {ALL, "0f35", IPT_INSN_IRET, 0},
    {M64, "480f35", IPT_INSN_IRET, 0},
    {M64, "f30f01ca", IPT_INSN_IRET, 0}, // ERETU
    {M64, "f20f01ca", IPT_INSN_IRET, 0}, // ERETS
    {M64, "f20f01ca", IPT_INSN_IRET, 0},
    {M64, "f30f01ec", IPT_INSN_UIRET, 0},
    {ALL, "0f01c2", IPT_INSN_VMENTRY, 0},
    {ALL, "0f01c3", IPT_INSN_VMENTRY, 0},
    {ALL, "0faa", IPT_INSN_RSM, 0},
    {M16, "c7f8feff", IPT_INSN_XBEGIN, -2},
    {M16, "66c7f878563412", IPT_INSN_XBEGIN, 0x12345678},
    {M32, "c7f878563412", IPT_INSN_XBEGIN, 0x12345678},
    {M32, "66c7f83412", IPT_INSN_XBEGIN, 0x1234},
    {M64, "c7f8f0ffffff", IPT_INSN_XBEGIN, -16},
    {M64, "66c7f83412", IPT_INSN_XBEGIN, 0x1234},
    {M64, "48c7f800000080", IPT_INSN_XBEGIN, -0x80000000ll},
    {ALL, "f30faee0", IPT_INSN_PTWRITE, 0},
    {M64, "f3480faee3", IPT_INSN_PTWRITE, 0},
    {M64, "f3410faee3", IPT_INSN_PTWRITE, 0},
    {M64, "f30fae6010", IPT_INSN_PTWRITE, 0},
    {ALL, "0f22d8", IPT_INSN_MOV_CR3, 0},
    {ALL, "0f22df", IPT_INSN_MOV_CR3, 0},
    {ALL, "0f2218", IPT_INSN_MOV_CR3, 0}, // mod does not matter
    {ALL, "0f225c", IPT_INSN_MOV_CR3, 0},
    {M64, "410f22df", IPT_INSN_MOV_CR3, 0},
    {M64, "d59022d8", IPT_INSN_MOV_CR3, 0}, // REX2, B4
    {ALL, "0fc730", IPT_INSN_VMPTRLD, 0},
    {M64, "0fc77424f0", IPT_INSN_VMPTRLD, 0},
    {M16, "0fc7760a", IPT_INSN_VMPTRLD, 0},
    {ALL, "f30f01c1", IPT_INSN_OTHER, 0}, // near misses
    {ALL, "660f01c2", IPT_INSN_OTHER, 0},
    {ALL, "f30f01cb", IPT_INSN_OTHER, 0},
    {ALL, "0f01ca", IPT_INSN_OTHER, 0}, // CLAC
    {ALL, "0f01cb", IPT_INSN_OTHER, 0}, // STAC
    {ALL, "0f01c4", IPT_INSN_OTHER, 0}, // VMXOFF
    {ALL, "0f01ec", IPT_INSN_OTHER, 0},
    {ALL, "f20f01ec", IPT_INSN_OTHER, 0},
    {LEGACY, "f30f01ec", IPT_INSN_OTHER, 0},
    {LEGACY, "f30f01ca", IPT_INSN_OTHER, 0},
    {ALL, "0f01d4", IPT_INSN_OTHER, 0}, // VMFUNC
    {ALL, "0f01d9", IPT_INSN_OTHER, 0}, // VMMCALL
    {ALL, "0f22c0", IPT_INSN_OTHER, 0}, // MOV CR0
    {ALL, "0f20d8", IPT_INSN_OTHER, 0}, // from CR3
    {ALL, "0f23d8", IPT_INSN_OTHER, 0}, // DR3
    {M64, "440f22d8", IPT_INSN_OTHER, 0}, // CR11
    {M64, "d5c022d8", IPT_INSN_OTHER, 0}, // CR19
    {M64, "d58422d8", IPT_INSN_OTHER, 0}, // CR11
    {M64, "44660f22d8", IPT_INSN_MOV_CR3, 0}, // a REX before 66 is void
    {ALL, "660fc730", IPT_INSN_OTHER, 0}, // VMCLEAR
    {ALL, "f30fc730", IPT_INSN_OTHER, 0}, // VMXON
    {ALL, "f20fc730", IPT_INSN_OTHER, 0},
    {ALL, "0fc7f0", IPT_INSN_OTHER, 0}, // RDRAND
    {ALL, "0fc738", IPT_INSN_OTHER, 0}, // VMPTRST
    {ALL, "0fae20", IPT_INSN_OTHER, 0}, // XSAVE
    {ALL, "0faee8", IPT_INSN_OTHER, 0}, // LFENCE
    {ALL, "f30faee8", IPT_INSN_OTHER, 0}, // INCSSP
    {ALL, "c6f855", IPT_INSN_OTHER, 0}, // XABORT
    {ALL, "0f01d5", IPT_INSN_OTHER, 0}, // XEND
    {ALL, "ff30", IPT_INSN_OTHER, 0}, // PUSH
    {ALL, "ffc0", IPT_INSN_OTHER, 0},
    {ALL, "f4", IPT_INSN_OTHER, 0}, // HLT
    {ALL, "0f0b", IPT_INSN_OTHER, 0} // UD2
};

/* ---- lengths: assembled with GNU as, Intel syntax ---- */

static const struct {
    const char *hex, *text;
} plain64[] = {
    {"4801c3", "add rbx, rax"},
    {"0578563412", "add eax, 0x12345678"},
    {"66053412", "add ax, 0x1234"},
    {"438054881105", "adc byte ptr [r8+r9*4+0x11], 5"},
    {"66810d440000003412", "or word ptr [rip+0x44], 0x1234"},
    {"4881ec88010000", "sub rsp, 0x188"},
    {"4883642420f0", "and qword ptr [rsp+0x20], 0xfffffffffffffff0"},
    {"6533042528000000", "xor eax, dword ptr gs:[0x28]"},
    {"807dff41", "cmp byte ptr [rbp-1], 0x41"},
    {"f0480fc70f", "lock cmpxchg16b [rdi]"},
    {"f00fc108", "lock xadd dword ptr [rax], ecx"},
    {"f048ff4b08", "lock dec qword ptr [rbx+8]"},
    {"f0480fba3103", "lock btr qword ptr [rcx], 3"},
    {"f2f00100", "xacquire lock add dword ptr [rax], eax"},
    {"6a7f", "push 0x7f"},
    {"6878563412", "push 0x12345678"},
    {"66683412", "pushw 0x1234"},
    {"0fa0", "push fs"},
    {"415f", "pop r15"},
    {"8f00", "pop qword ptr [rax]"},
    {"4863c1", "movsxd rax, ecx"},
    {"4869c334120000", "imul rax, rbx, 0x1234"},
    {"6bc105", "imul eax, ecx, 5"},
    {"6669ca3412", "imul cx, dx, 0x1234"},
    {"f60080", "test byte ptr [rax], 0x80"},
    {"f794d878563412", "not dword ptr [rax+rbx*8+0x12345678]"},
    {"48f70078563412", "test qword ptr [rax], 0x12345678"},
    {"66f7c13412", "test cx, 0x1234"},
    {"49f7dc", "neg r12"},
    {"a08877665544332211", "mov al, byte ptr [0x1122334455667788]"},
    {"48b88877665544332211", "movabs rax, 0x1122334455667788"},
    {"b844332211", "mov eax, 0x11223344"},
    {"66b82211", "mov ax, 0x1122"},
    {"b109", "mov cl, 9"},
    {"c70044332211", "mov dword ptr [rax], 0x11223344"},
    {"66c7002211", "mov word ptr [rax], 0x1122"},
    {"c6405511", "mov byte ptr [rax+0x55], 0x11"},
    {"0f20d8", "mov rax, cr3"},
    {"440f22c0", "mov cr8, rax"},
    {"0f23f8", "mov dr7, rax"},
    {"8ed8", "mov ds, ax"},
    {"488d0500100000", "lea rax, [rip+0x1000]"},
    {"c8200001", "enter 0x20, 1"},
    {"c9", "leave"},
    {"e460", "in al, 0x60"},
    {"ef", "out dx, eax"},
    {"c12004", "shl dword ptr [rax], 4"},
    {"48d1f9", "sar rcx, 1"},
    {"0fa4c807", "shld eax, ecx, 7"},
    {"0fadc8", "shrd eax, ecx, cl"},
    {"0fbae009", "bt eax, 9"},
    {"f348a5", "rep movsq"},
    {"f2ae", "repne scasb"},
    {"67ad", "addr32 lodsd"},
    {"2e660f1f0400", "nop word ptr cs:[rax+rax+0x0]"},
    {"f30f1efa", "endbr64"},
    {"f390", "pause"},
    {"0fa2", "cpuid"},
    {"0f01f9", "rdtscp"},
    {"0f01d0", "xgetbv"},
    {"0f01f8", "swapgs"},
    {"0f01ca", "clac"},
    {"0f01cb", "stac"},
    {"0f0110", "lgdt [rax]"},
    {"0f0138", "invlpg [rax]"},
    {"0f30", "wrmsr"},
    {"0f33", "rdpmc"},
    {"0f0b", "ud2"},
    {"0fb900", "ud1 eax, [rax]"},
    {"f4", "hlt"},
    {"490fc9", "bswap r9"},
    {"f30fb8c1", "popcnt eax, ecx"},
    {"f3480fbd03", "lzcnt rax, [rbx]"},
    {"66f30fbcc1", "tzcnt ax, cx"},
    {"f2480f38f003", "crc32 rax, byte ptr [rbx]"},
    {"0f38f003", "movbe eax, [rbx]"},
    {"660f38f6c1", "adcx eax, ecx"},
    {"0fc7f0", "rdrand eax"},
    {"480fc7f9", "rdseed rcx"},
    {"0fc7642440", "xsavec [rsp+0x40]"},
    {"660fae38", "clflushopt [rax]"},
    {"0faee8", "lfence"},
    {"0faef0", "mfence"},
    {"f3480faec0", "rdfsbase rax"},
    {"f3480faed9", "wrgsbase rcx"},
    {"f3480faee8", "incsspq rax"},
    {"f30f0128", "rstorssp [rax]"},
    {"f30f01e8", "setssbsy"},
    {"f30f1efb", "endbr32"},
    {"660fae30", "clwb [rax]"},
    {"f30faef0", "umonitor rax"},
    {"660faef0", "tpause eax"},
    {"f20faef1", "umwait ecx"},
    {"0f1c00", "cldemote [rax]"},
    {"0f38f908", "movdiri [rax], ecx"},
    {"660f38f801", "movdir64b rax, [rcx]"},
    {"f20f38f801", "enqcmd rax, [rcx]"},
    {"f30f01ee", "clui"},
    {"f30f01ef", "stui"},
    {"f30f01ed", "testui"},
    {"f30fc7f0", "senduipi rax"},
    {"f30f3af0c005", "hreset 5"},
    {"660f388201", "invpcid rax, [rcx]"},
    {"660f388001", "invept rax, [rcx]"},
    {"0f78c8", "vmread rax, rcx"},
    {"0f79c1", "vmwrite rax, rcx"},
    {"660fc730", "vmclear [rax]"},
    {"f30fc730", "vmxon [rax]"},
    {"0f01c4", "vmxoff"},
    {"0f01d4", "vmfunc"},
    {"0f01cf", "encls"},
    {"0f01d7", "enclu"},
    {"0f01c5", "pconfig"},
    {"0f01d5", "xend"},
    {"0f01d6", "xtest"},
    {"c6f805", "xabort 5"},
    {"660f78c10506", "extrq xmm1, 5, 6"},
    {"f20f78ca0506", "insertq xmm1, xmm2, 5, 6"},
    {"0f0f009e", "pfadd mm0, [rax]"},
    {"0f0e", "femms"},
    {"0f77", "emms"},
    {"db28", "fld tbyte ptr [rax]"},
    {"d9fe", "fsin"},
    {"dbf1", "fcomi st, st(1)"},
    {"0fae00", "fxsave [rax]"},
    {"dfe0", "fnstsw ax"},
    {"0f284010", "movaps xmm0, [rax+0x10]"},
    {"f20f10ca", "movsd xmm1, xmm2"},
    {"f2480f2ac0", "cvtsi2sd xmm0, rax"},
    {"660f70c11b", "pshufd xmm0, xmm1, 0x1b"},
    {"660f71d304", "psrlw xmm3, 4"},
    {"660fc5c102", "pextrw eax, xmm1, 2"},
    {"660f380000", "pshufb xmm0, [rax]"},
    {"660f3a0fc105", "palignr xmm0, xmm1, 5"},
    {"660f3a63000c", "pcmpistri xmm0, [rax], 0x0c"},
    {"660f38dcc1", "aesenc xmm0, xmm1"},
    {"660f3adfc101", "aeskeygenassist xmm0, xmm1, 1"},
    {"0f3accc102", "sha1rnds4 xmm0, xmm1, 2"},
    {"660f3acec103", "gf2p8affineqb xmm0, xmm1, 3"},
    {"0fc2c102", "cmpps xmm0, xmm1, 2"},
    {"c48174580408", "vaddps ymm0, ymm1, [r8+r9]"},
    {"c5f877", "vzeroupper"},
    {"c5fc77", "vzeroall"},
    {"c5fd70c11b", "vpshufd ymm0, ymm1, 0x1b"},
    {"c5fd71d104", "vpsrlw ymm0, ymm1, 4"},
    {"c4e2710c8078563412", "vpermilps xmm0, xmm1, [rax+0x12345678]"},
    {"c4e3714ac230", "vblendvps xmm0, xmm1, xmm2, xmm3"},
    {"c4e2f1a90508000000", "vfmadd213sd xmm0, xmm1, [rip+8]"},
    {"c4e26d920488", "vgatherdps ymm0, [rax+ymm1*4], ymm2"},
    {"c4e37bf0c107", "rorx eax, ecx, 7"},
    {"c4e2e3f5c1", "pdep rax, rbx, rcx"},
    {"c4e270f2c2", "andn eax, ecx, edx"},
    {"c4e1fb92c8", "kmovq k1, rax"},
    {"c4e3f932ca03", "kshiftlw k1, k2, 3"},
    {"c5f998c1", "kortestb k0, k1"},
    {"62f174c9584001", "vaddps zmm0{k1}{z}, zmm1, [rax+0x40]"},
    {"62f17458584001", "vaddps zmm0, zmm1, dword ptr [rax+4]{1to16}"},
    {"62f17c48c2c903", "vcmpps k1, zmm0, zmm1, 3"},
    {"62f17d4871d104", "vpsrlw zmm0, zmm1, 4"},
    {"62f3754825c255", "vpternlogd zmm0, zmm1, zmm2, 0x55"},
    {"62f27d496300", "vpcompressb [rax]{k1}, zmm0"},
    {"62f5744858c2", "vaddph zmm0, zmm1, zmm2"},
    {"62f67548a8c2", "vfmadd213ph zmm0, zmm1, zmm2"},
    {"62f37c48c2c903", "vcmpph k1, zmm0, zmm1, 3"},
    {"62f27d49a20488", "vscatterdps [rax+zmm1*4]{k1}, zmm0"},
    {"c4e27b4b0418", "tileloadd tmm0, [rax+rbx]"},
    {"c4e26b5ec1", "tdpbssd tmm0, tmm1, tmm2"},
    {"c4e27849c0", "tilerelease"},
    {"c4e2784900", "ldtilecfg [rax]"},
    {"8fe870a2c230", "vpcmov xmm0, xmm1, xmm2, xmm3"},
    {"8fe878c0c105", "vprotb xmm0, xmm1, 5"},
    {"8fe978c1c1", "vphaddbw xmm0, xmm1"},
    {"8fea7810c178563412", "bextr eax, ecx, 0x12345678"},
    {"8feaf812c178563412", "lwpins rax, ecx, 0x12345678"},
    {"8fe9788000", "vfrczps xmm0, [rax]"}
}, plain32[] = {
    {"0578563412", "add eax, 0x12345678"},
    {"66053412", "add ax, 0x1234"},
    {"27", "daa"},
    {"3f", "aas"},
    {"60", "pusha"},
    {"61", "popad"},
    {"6201", "bound eax, [ecx]"},
    {"6308", "arpl word ptr [eax], cx"},
    {"c403", "les eax, [ebx]"},
    {"c54e04", "lds ecx, [esi+4]"},
    {"0fb220", "lss esp, [eax]"},
    {"06", "push es"},
    {"17", "pop ss"},
    {"40", "inc eax"},
    {"4f", "dec edi"},
    {"a044332211", "mov al, byte ptr [0x11223344]"},
    {"67a02211", "addr16 mov al, byte ptr [0x1122]"},
    {"678b803412", "addr16 mov eax, [bx+si+0x1234]"},
    {"678b4608", "addr16 mov eax, [bp+8]"},
    {"67a13412", "addr16 mov eax, [0x1234]"},
    {"678b05", "addr16 mov eax, [di]"},
    {"8b844478563412", "mov eax, [esp+eax*2+0x12345678]"},
    {"a178563412", "mov eax, [0x12345678]"},
    {"8d5ced00", "lea ebx, [ebp+ebp*8+0x0]"},
    {"d407", "aam 7"},
    {"d509", "aad 9"},
    {"6834120000", "push 0x1234"},
    {"66683412", "pushw 0x1234"},
    {"0f20e0", "mov eax, cr4"},
    {"0f22c0", "mov cr0, eax"},
    {"c5f45800", "vaddps ymm0, ymm1, [eax]"},
    {"c5f970c103", "vpshufd xmm0, xmm1, 3"},
    {"62f17449584001", "vaddps zmm0{k1}, zmm1, [eax+0x40]"},
    {"8fe878c0c105", "vprotb xmm0, xmm1, 5"},
    {"c4e270f2c2", "andn eax, ecx, edx"},
    {"dd5df8", "fstp qword ptr [ebp-8]"},
    {"c8341205", "enter 0x1234, 5"},
    {"f70078563412", "test dword ptr [eax], 0x12345678"},
    {"66f7003412", "test word ptr [eax], 0x1234"},
    {"f30f1efb", "endbr32"},
    {"90", "nop"}
}, plain16[] = {
    {"053412", "add ax, 0x1234"},
    {"660578563412", "add eax, 0x12345678"},
    {"8b00", "mov ax, [bx+si]"},
    {"8b4312", "mov ax, [bp+di+0x12]"},
    {"a13412", "mov ax, [0x1234]"},
    {"8b873412", "mov ax, [bx+0x1234]"},
    {"67668b848b78563412", "mov eax, dword ptr [ebx+ecx*4+0x12345678]"},
    {"678b0424", "mov ax, word ptr [esp]"},
    {"67a134120000", "addr32 mov ax, word ptr [0x1234]"},
    {"a03412", "mov al, byte ptr [0x1234]"},
    {"67a078563412", "addr32 mov al, byte ptr [0x12345678]"},
    {"c43f", "les di, [bx]"},
    {"c57604", "lds si, [bp+4]"},
    {"6207", "bound ax, [bx]"},
    {"60", "pusha"},
    {"683412", "push 0x1234"},
    {"666878563412", "pushd 0x12345678"},
    {"66c70778563412", "mov dword ptr [bx], 0x12345678"},
    {"c747023412", "mov word ptr [bx+2], 0x1234"},
    {"0f01163412", "lgdt [0x1234]"},
    {"660f01163412", "lgdtd [0x1234]"},
    {"0f22c0", "mov cr0, eax"},
    {"0f20c0", "mov eax, cr0"},
    {"f7043412", "test word ptr [si], 0x1234"},
    {"66f70478563412", "test dword ptr [si], 0x12345678"},
    {"f3a4", "rep movsb"},
    {"66f3ab", "rep stosd"},
    {"2eac", "cs lodsb"},
    {"c8080000", "enter 8, 0"},
    {"69ca3412", "imul cx, dx, 0x1234"},
    {"6669ca78563412", "imul ecx, edx, 0x12345678"},
    {"e460", "in al, 0x60"},
    {"fa", "cli"},
    {"0f09", "wbinvd"},
    {"0fa4c804", "shld ax, cx, 4"},
    {"660fb607", "movzx eax, byte ptr [bx]"}
};

/* ---- lengths: one digit for each opcode 00 to FF ---- */

/* [0F] opcode modrm 11 11 11 .. is that long, in hex; a dot: not valid so, or
 * no opcode. Written by Zydis 4.0. */
static const struct {
    int escape; // after 0F
    uint8_t mode, modrm;
    const char *sizes;
} grids[] = {
    {0, IPT_MODE_16, 0xC0,
     "222223112222231.2222231122222311222223.1222223.1222223.1222223.1"
     "1111111111111111111111111111111111.2....342311112222222222222222"
     "3433222222222.2.111111111151111133331111231111112222222233333333"
     "3331..344131121122222.11222222222222222233521111.1..113411111122"},
    {0, IPT_MODE_16, 0x01,
     "222223112222231.2222231122222311222223.1222223.1222223.1222223.1"
     "1111111111111111111111111111111111.2....342311112222222222222222"
     "343322222222222.111111111151111133331111231111112222222233333333"
     "3331..344131121122222.11222222222222222233521111.1..113411111122"},
    {0, IPT_MODE_32, 0xC0,
     "222225112222251.2222251122222511222225.1222225.1222225.1222225.1"
     "1111111111111111111111111111111111.2....562311112222222222222222"
     "3633222222222.2.111111111171111155551111251111112222222255555555"
     "3331..364131121122222.11222222222222222255721111.1..113611111122"},
    {0, IPT_MODE_32, 0x01,
     "222225112222251.2222251122222511222225.1222225.1222225.1222225.1"
     "1111111111111111111111111111111111.2....562311112222222222222222"
     "363322222222222.111111111171111155551111251111112222222255555555"
     "3331..364131121122222.11222222222222222255721111.1..113611111122"},
    {0, IPT_MODE_64, 0xC0,
     "222225..222225..222225..222225..222225..222225..222225..222225.."
     "................1111111111111111...2....562311112222222222222222"
     "36.3222222222.2.1111111111.1111199991111251111112222222255555555"
     "3331..36413112.12222...1222222222222222255.21111.1..113611111122"},
    {0, IPT_MODE_64, 0x01,
     "222225..222225..222225..222225..222225..222225..222225..222225.."
     "................1111111111111111...2....562311112222222222222222"
     "36.322222222222.1111111111.1111199991111251111112222222255555555"
     "3331..36413112.12222...1222222222222222255.21111.1..113611111122"},
    {1, IPT_MODE_16, 0xC0,
     "3333.22222.2.32.333.333.333333333333....333.3333222222.2........"
     "33333333333333333333333333333333333333333333..334...333233....33"
     "44444444444444443333333333333333222343.3222343.333.3..33.3.33333"
     "334.444.22222222.33333.333333333333333..33333333.333333333333333"},
    {1, IPT_MODE_16, 0x01,
     "3333.22222.2.32.3333333333..33333333....33333333222222.2........"
     "3333333333333333.333333333333333333333333333..334...333233....33"
     "44444444444444443333333333333333222343..2223433333333333.3.33333"
     "33434.4.22222222.33333..33333333333333.333333333.333333.33333333"},
    {1, IPT_MODE_32, 0xC0,
     "3333.22222.2.32.333.333.333333333333....333.3333222222.2........"
     "33333333333333333333333333333333333333333333..334...333233....33"
     "66666666666666663333333333333333222343.3222343.333.3..33.3.33333"
     "334.444.22222222.33333.333333333333333..33333333.333333333333333"},
    {1, IPT_MODE_32, 0x01,
     "3333.22222.2.32.33333333333333333333....33333333222222.2........"
     "3333333333333333.333333333333333333333333333..334...333233....33"
     "66666666666666663333333333333333222343..2223433333333333.3.33333"
     "33434.4.22222222.33333..33333333333333.333333333.333333.33333333"},
    {1, IPT_MODE_64, 0xC0,
     "3333.22222.2.32.333.333.333333333333....333.3333222222.2........"
     "33333333333333333333333333333333333333333333..334...333233....33"
     "66666666666666663333333333333333222343.3222343.333.3..33.3.33333"
     "334.444.22222222.33333.333333333333333..33333333.333333333333333"},
    {1, IPT_MODE_64, 0x01,
     "3333.22222.2.32.33333333333333333333....33333333222222.2........"
     "3333333333333333.333333333333333333333333333..334...333233....33"
     "66666666666666663333333333333333222343..2223433333333333.3.33333"
     "33434.4.22222222.33333..33333333333333.333333333.333333.33333333"}
};

/* APX and others GNU as 2.40 cannot assemble: by the manual */
static const row newer[] = {
    {M64, "d50001c8", IPT_INSN_OTHER, 0}, // add eax, ecx
    {M64, "d5088b042578563412", IPT_INSN_OTHER, 0}, // mov rax, [disp32]
    {M64, "d518b88877665544332211", IPT_INSN_OTHER, 0}, // mov r16, imm64
    {M64, "66d510b83412", IPT_INSN_OTHER, 0}, // mov r16w, imm16
    {M64, "d51058", IPT_INSN_OTHER, 0}, // pop r16
    {M64, "d5188fc0", IPT_INSN_OTHER, 0}, // pop r16 by 8F
    {M64, "d590afc1", IPT_INSN_OTHER, 0}, // imul r16d
    {M64, "d580a2", IPT_INSN_OTHER, 0}, // cpuid
    {M64, "d508f7c044332211", IPT_INSN_OTHER, 0}, // test rax, imm32
    {M64, "d508f7d0", IPT_INSN_OTHER, 0}, // not rax
    {M64, "62f4fc1801c8", IPT_INSN_OTHER, 0}, // add with ndd
    {M64, "62f4fc1881c044332211", IPT_INSN_OTHER, 0}, // add r64, imm32
    {M64, "62f47d1881c03412", IPT_INSN_OTHER, 0}, // add r16, imm16
    {M64, "62f47c1883c005", IPT_INSN_OTHER, 0}, // add r32, imm8
    {M64, "62f4fc1880c005", IPT_INSN_OTHER, 0},
    {M64, "62f47c0869c044332211", IPT_INSN_OTHER, 0}, // imul imm32
    {M64, "62f47d0869c03412", IPT_INSN_OTHER, 0}, // imul imm16
    {M64, "62f47c086bc005", IPT_INSN_OTHER, 0}, // imul imm8
    {M64, "62f47c18c1e005", IPT_INSN_OTHER, 0}, // shl imm8
    {M64, "62f47c18d1e0", IPT_INSN_OTHER, 0}, // shl 1
    {M64, "62f47c1824c805", IPT_INSN_OTHER, 0}, // shld imm8
    {M64, "62f47c18a5c8", IPT_INSN_OTHER, 0}, // shld cl
    {M64, "62f47c182cc805", IPT_INSN_OTHER, 0}, // shrd imm8
    {M64, "62f47c08f6c055", IPT_INSN_OTHER, 0}, // ctest imm8
    {M64, "62f47c08f7c044332211", IPT_INSN_OTHER, 0}, // ctest imm32
    {M64, "62f47d08f7c03412", IPT_INSN_OTHER, 0}, // ctest imm16
    {M64, "62f4fc18f7d0", IPT_INSN_OTHER, 0}, // not
    {M64, "62f47c08f7f0", IPT_INSN_OTHER, 0}, // div
    {M64, "62f47c08d4c002", IPT_INSN_OTHER, 0}, // sha1rnds4
    {M64, "62f47c188fc0", IPT_INSN_OTHER, 0}, // pop2
    {M64, "62f47c18fff0", IPT_INSN_OTHER, 0}, // push2
    {M64, "62f47f0840c0", IPT_INSN_OTHER, 0}, // setcc
    {M64, "f20f00f0", IPT_INSN_OTHER, 0}, // lkgs
    {M64, "0f01c6", IPT_INSN_OTHER, 0}, // wrmsrns
    {M64, "f30f01c6", IPT_INSN_OTHER, 0}, // wrmsrlist
    {M64, "c4e27bf8c0", IPT_INSN_OTHER, 0}, // map 2, unknown: ModRM only
    {M64, "c4e77bf8c044332211", IPT_INSN_OTHER, 0}, // urdmsr imm32
    {M64, "c4e77af8c044332211", IPT_INSN_OTHER, 0}, // uwrmsr imm32
    {M64, "f20f38f8c8", IPT_INSN_OTHER, 0}, // urdmsr
    {M64, "f30f38f8c8", IPT_INSN_OTHER, 0}, // uwrmsr
    {M64, "c4e251e00408", IPT_INSN_OTHER, 0}, // cmpoxadd
    {M64, "0f38fc08", IPT_INSN_OTHER, 0}, // aadd
    {ALL, "c5f877", IPT_INSN_OTHER, 0} // vzeroupper
};

/* ---- what no processor executes ---- */

static const struct {
    int modes;
    const char *hex;
} bad[] = {
    {M64, "06"}, {M64, "07"}, {M64, "0e"}, {M64, "16"}, {M64, "17"},
    {M64, "1e"}, {M64, "1f"}, {M64, "27"}, {M64, "2f"}, {M64, "37"},
    {M64, "3f"}, {M64, "60"}, {M64, "61"}, {M64, "82c000"}, {M64, "9a"},
    {M64, "ea"}, {M64, "ce"}, {M64, "d400"}, {M64, "d6"}, {ALL, "0f04"},
    {ALL, "0f0a"}, {ALL, "0f0c"}, {ALL, "0f24c0"}, {ALL, "0f25c0"},
    {ALL, "0f26c0"}, {ALL, "0f27c0"}, {ALL, "0f36"}, {ALL, "0f39"},
    {ALL, "0f3b"}, {ALL, "0f3f"}, {ALL, "0f7a"}, {ALL, "0f7b"},
    {ALL, "0fb8c0"}, // POPCNT wants F3
    {ALL, "0fbac0"}, // group 8
    {ALL, "fed0"}, // group 4
    {ALL, "fff8"}, // group 5
    {ALL, "ffd8"}, // far call of a register
    {ALL, "ffe8"}, // far jump of a register
    {ALL, "c6c8"}, {ALL, "c7c8"}, {ALL, "c7f9"},
    {ALL, "8fe0"}, // /4: neither POP nor XOP
    {ALL, "f30f78c0"}, {ALL, "660f7800"}, {ALL, "660f78c8"}, {ALL, "f20f7800"},
    {ALL, "f0c3"}, // LOCK
    {ALL, "f0e900000000"}, {ALL, "f07500"}, {ALL, "f0ffe0"}, {ALL, "f090"},
    {ALL, "f08bc0"}, {ALL, "f08b00"},
    {ALL, "f001c0"}, // LOCK, but no memory
    {ALL, "f08338"}, // CMP
    {M64, "f0f6f0"}, {ALL, "f0f600"}, {ALL, "f0ff30"}, {ALL, "f00fba2000"},
    {ALL, "f00fa300"}, {ALL, "f00fc730"},
    {ALL, "66c5f877"}, // VEX after 66
    {ALL, "f2c5f877"}, {ALL, "f3c4e17877"}, {ALL, "f0c5f877"},
    {M64, "48c5f877"}, {M64, "40c4e17877"}, {M64, "6662f17c4858c0"},
    {M64, "c4e07800"}, // map 0
    {M64, "c4e47800"}, // map 4
    {M64, "c4e87800"}, {M64, "62f07c4858c0"}, {M32, "62f47c4858c0"},
    {M64, "8feb7800"},
    {M64, "48d50090"}, // REX before REX2
    {M64, "d50040"}, {M64, "d50070"}, {M64, "d500a0"}, {M64, "d500a8"},
    {M64, "d500e8"}, {M64, "d5000f"}, {M64, "d50066"}, {M64, "d500f0"},
    {M64, "d500c4"}, {M64, "d500d5"}, {M64, "d50062"}, {M64, "d58038"},
    {M64, "d58030"}, {M64, "d58084"},
    {M64, "d508a1"}, // JMPABS with W
    {M64, "66d500a1"}, {M64, "67d500a1"}, {M64, "f2d500a1"}, {M64, "f3d500a1"},
    {M64, "f0d500a1"}, {M64, "48d500a1"}, {M64, "d50006"}
};

/* Direct branches in 16-bit code without a prefix 66, in 32-bit code with one,
 * cut their target. */
static int cuts(const char *hex, uint8_t mode, int kind)
{
    uint8_t bytes[32];
    size_t size = unhex(bytes, hex);
    uint8_t wide = mode != IPT_MODE_16;
    for (size_t i = 0; i + 1 < size; i++) {
        if (!strchr("\x26\x2e\x36\x3e\x64\x65\x66\x67\xf0\xf2\xf3", bytes[i]))
            break;
        if (bytes[i] == 0x66) wide = mode == IPT_MODE_16;
    }
    return mode != IPT_MODE_64 && !wide
           && (kind == IPT_INSN_JCC || kind == IPT_INSN_JMP
               || kind == IPT_INSN_CALL || kind == IPT_INSN_XBEGIN);
}

/* Classify the instruction in hex, alone, in front of others, and cut off
 * after each of its bytes. The copy of the right size on the heap lets a
 * sanitizer see any byte read too many. */
static void check_code(const char *hex, uint8_t mode, int kind,
                       int64_t displacement)
{
    uint8_t bytes[32];
    memset(bytes, 0xCC, sizeof bytes);
    size_t whole = unhex(bytes, hex);
    int good = 1;
    for (size_t size = 0; size <= whole + 1; size++) {
        ipt_code code = {-77, 77, 77, 77};
        uint8_t *copy = (uint8_t *)malloc(size ? size : 1);
        if (!CHECK(copy != NULL)) return;
        memcpy(copy, bytes, size);
        int status = ipt_classify(&code, copy, size, mode, NULL);
        free(copy);
        if (size < whole) {
            good &= CHECK_EQ(status, IPT_MORE);
            good &= CHECK_EQ(code.size, 77) && CHECK_EQ(code.kind, 77)
                && CHECK_EQ(code.ip16, 77)
                && CHECK_EQ(code.displacement, -77);
            continue;
        }
        good &= CHECK_EQ(status, 0) && CHECK_EQ(code.size, whole)
            && CHECK_EQ(code.kind, kind)
            && CHECK_EQ(code.displacement, displacement)
            && CHECK_EQ(code.ip16, cuts(hex, mode, kind));
    }
    if (!good) printf("    %s in mode %d\n", hex, mode);
}

static void check_rows(const row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (uint8_t mode = IPT_MODE_16; mode <= IPT_MODE_64; mode++)
            if (rows[i].modes & 1 << (mode - IPT_MODE_16))
                check_code(rows[i].hex, mode, rows[i].kind,
                           rows[i].displacement);
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

TEST(kinds)
{
    uint32_t seen = 0;
    check_rows(kinds, COUNT(kinds));
    for (size_t i = 0; i < COUNT(kinds); i++) seen |= 1u << kinds[i].kind;
    CHECK_EQ(seen, (1u << IPT_INSN_COUNT) - 1); // none is forgotten
}

TEST(lengths)
{
    for (size_t i = 0; i < COUNT(plain64); i++)
        check_code(plain64[i].hex, IPT_MODE_64, IPT_INSN_OTHER, 0);
    for (size_t i = 0; i < COUNT(plain32); i++)
        check_code(plain32[i].hex, IPT_MODE_32, IPT_INSN_OTHER, 0);
    for (size_t i = 0; i < COUNT(plain16); i++)
        check_code(plain16[i].hex, IPT_MODE_16, IPT_INSN_OTHER, 0);
}

TEST(grids)
{
    for (size_t i = 0; i < COUNT(grids); i++) {
        for (int opcode = 0; opcode < 256; opcode++) {
            uint8_t bytes[15];
            char digit[2] = {grids[i].sizes[opcode], 0};
            ipt_code code = {0, 0, 0, 0};
            memset(bytes, 0x11, sizeof bytes);
            bytes[0] = 0x0F;
            bytes[grids[i].escape] = (uint8_t)opcode;
            bytes[grids[i].escape + 1] = grids[i].modrm;
            if (digit[0] == '.') continue;
            CHECK_EQ(ipt_classify(&code, bytes, 15, grids[i].mode, NULL), 0);
            if (!CHECK_EQ(code.size, strtoul(digit, NULL, 16)))
                printf("    grid %d, opcode %02x\n", (int)i, opcode);
        }
    }
}

TEST(newer) { check_rows(newer, COUNT(newer)); }

TEST(bad)
{
    for (size_t i = 0; i < COUNT(bad); i++) {
        uint8_t bytes[32];
        ipt_code code = {-77, 77, 77, 77};
        memset(bytes, 0, sizeof bytes);
        unhex(bytes, bad[i].hex);
        for (uint8_t mode = IPT_MODE_16; mode <= IPT_MODE_64; mode++) {
            if (!(bad[i].modes & 1 << (mode - IPT_MODE_16))) continue;
            int status = ipt_classify(&code, bytes, 20, mode, NULL);
            if (!CHECK_EQ(status, IPT_ERR_BAD_INSN))
                printf("    %s in mode %d\n", bad[i].hex, mode);
            CHECK(code.size == 77);
            CHECK(code.kind == 77);
            CHECK(code.ip16 == 77);
        }
    }
}

/* Prefixes to the limit: 15 bytes are good, 16 are not, and that is known as
 * soon as the length is. */
TEST(limit)
{
    uint8_t bytes[20];
    ipt_code code;
    memset(bytes, 0x2E, sizeof bytes);
    for (uint8_t mode = IPT_MODE_16; mode <= IPT_MODE_64; mode++) {
        CHECK_EQ(ipt_classify(&code, bytes, 14, mode, NULL), IPT_MORE);
        CHECK_EQ(ipt_classify(&code, bytes, 15, mode, NULL), IPT_ERR_BAD_INSN);
        CHECK_EQ(ipt_classify(&code, bytes, 20, mode, NULL), IPT_ERR_BAD_INSN);
        for (size_t n = 10; n < 18; n++) { // n prefixes, JMP rel8
            bytes[n] = 0xEB;
            bytes[n + 1] = 0xFE;
            int status = ipt_classify(&code, bytes, n + 2, mode, NULL);
            CHECK_EQ(status, n + 2 <= 15 ? 0 : IPT_ERR_BAD_INSN);
            if (n + 2 <= 15) CHECK_EQ(code.size, n + 2);
            bytes[n] = 0xE9; // 3 or 5 bytes
            size_t size = n + (mode == IPT_MODE_16 ? 3 : 5);
            status = ipt_classify(&code, bytes, n + 1, mode, NULL);
            CHECK_EQ(status, size <= 15 ? IPT_MORE : IPT_ERR_BAD_INSN);
            bytes[n] = bytes[n + 1] = 0x2E;
        }
    }
}

TEST(arguments)
{
    static const uint8_t nop[1] = {0x90};
    ipt_code code;
    CHECK_EQ(ipt_classify(NULL, nop, 1, IPT_MODE_64, NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_classify(&code, NULL, 1, IPT_MODE_64, NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_classify(&code, nop, 1, IPT_MODE_UNKNOWN, NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_classify(&code, nop, 1, IPT_MODE_COUNT, NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_classify(&code, nop, 1, 255, NULL), IPT_ERR_ARG);
    CHECK_EQ(ipt_classify(&code, nop, 0, IPT_MODE_64, NULL), IPT_MORE);
}

/* Any three first bytes: a status or an instruction of sane size, and the
 * same answer when exactly the bytes it has are given. */
TEST(sweep)
{
    uint8_t bytes[15];
    memset(bytes, 0x11, sizeof bytes);
    for (uint32_t n = 0; n < 0x1000000; n += 3) {
        bytes[0] = (uint8_t)n;
        bytes[1] = (uint8_t)(n >> 8);
        bytes[2] = (uint8_t)(n >> 16);
        uint8_t mode = (uint8_t)(IPT_MODE_16 + n % 2 + (n >> 9) % 2);
        ipt_code code, again;
        int status = ipt_classify(&code, bytes, sizeof bytes, mode, NULL);
        if (status) {
            CHECK_EQ(status, IPT_ERR_BAD_INSN);
            continue;
        }
        if (!CHECK(code.size) || !CHECK(code.size <= 15)
            || !CHECK(code.kind < IPT_INSN_COUNT))
            continue;
        status = ipt_classify(&again, bytes, code.size, mode, NULL);
        CHECK(status == 0);
        CHECK(again.size == code.size);
        CHECK(again.kind == code.kind);
        CHECK(again.displacement == code.displacement);
        status = ipt_classify(&again, bytes, code.size - 1u, mode, NULL);
        CHECK_EQ(status, IPT_MORE);
    }
}

/* What the short way to plain instructions says is what the whole one says. */
TEST(plain)
{
    uint8_t bytes[15];
    uint64_t seen = 0;
    uint32_t ends = 0;
    memset(bytes, 0x24, sizeof bytes);
    for (uint32_t n = 0; n < 0x1000000; n += 3) {
        uint8_t mode = (uint8_t)(IPT_MODE_16 + n % 2 + (n >> 9) % 2);
        ipt_code plain = {0, 0, IPT_INSN_OTHER, 0};
        ipt_code code;
        unsigned size;
        bytes[0] = (uint8_t)n;
        bytes[1] = (uint8_t)(n >> 8);
        bytes[2] = (uint8_t)(n >> 16);
        bytes[3] = (uint8_t)(n * 7);
        size = ipti_x86_plain(&plain, bytes, mode);
        if (!size) continue;
        CHECK_EQ(ipt_classify(&code, bytes, sizeof bytes, mode, NULL), 0);
        CHECK(code.size == size);
        CHECK(code.kind == plain.kind);
        if (code.kind != IPT_INSN_OTHER) {
            CHECK_EQ(code.displacement, plain.displacement);
            CHECK_EQ(code.ip16, plain.ip16);
        }
        seen |= 1u << size;
        ends |= 1u << code.kind;
    }
    CHECK_EQ(seen & 0xdfe, 0xdfe); /* all sizes but 9 */
    CHECK_EQ(ends, 1u << IPT_INSN_OTHER | 1u << IPT_INSN_JCC
                        | 1u << IPT_INSN_JMP | 1u << IPT_INSN_CALL
                        | 1u << IPT_INSN_RET);
}

int main(void)
{
    RUN(kinds);
    RUN(lengths);
    RUN(grids);
    RUN(newer);
    RUN(bad);
    RUN(limit);
    RUN(arguments);
    RUN(sweep);
    RUN(plain);
    return test_report();
}
