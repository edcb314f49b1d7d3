//! The config: what does not change while a decoder runs, and where code is.
use crate::c::{c_int, c_void};
use crate::{raw, Asid, Status};
use core::marker::PhantomData;
use core::mem::{forget, zeroed};
use core::ptr;

/// Where traced code comes from. Closures are such readers.
pub trait Code {
    /// Copies the code at `ip` into `buffer`: all of it, or less if the mapping
    /// ends there. Returns how many bytes; 0: there is none at the moment. An
    /// error, a negative number, ends decoding with `ERR_IMAGE`.
    fn read(&mut self, buffer: &mut [u8], asid: &Asid, ip: u64) -> Result<usize, i32>;
}

impl<F: FnMut(&mut [u8], &Asid, u64) -> Result<usize, i32>> Code for F {
    #[inline]
    fn read(&mut self, buffer: &mut [u8], asid: &Asid, ip: u64) -> Result<usize, i32> {
        self(buffer, asid, ip)
    }
}

/// There is no code: for packets and events.
pub struct NoCode;

/// Copies the code at `ip` out of `bytes`, which lie at `base`.
pub fn copy_code(buffer: &mut [u8], ip: u64, base: u64, bytes: &[u8]) -> Result<usize, i32> {
    let from = usize::try_from(ip.wrapping_sub(base)).unwrap_or(usize::MAX);
    let bytes = bytes.get(from..).unwrap_or(&[]);
    let count = buffer.len().min(bytes.len());
    buffer[..count].copy_from_slice(&bytes[..count]);
    Ok(count)
}

/// A line of the code cache.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct CacheLine(raw::ipt_cache_line);

impl CacheLine {
    /// What an array is made of.
    pub const EMPTY: CacheLine = CacheLine(raw::ipt_cache_line {
        ip_: 0,
        target_: 0,
        key_: 0,
        size_: 0,
        count_: 0,
        kind_: 0,
        last_: 0,
        leaves_: 0,
        next_: [0; 2],
        sizes_: [0; 32],
    });
}

/// A config, with the code, the cache of that code, and fuel. One decoder at a
/// time borrows it; what the cache holds is kept for the next one.
pub struct Config<'m, F = NoCode> {
    pub(crate) raw: raw::ipt_config,
    pub(crate) fuel: u64,
    bounded: bool,
    code: F,
    cache: Option<raw::ipt_cache>,
    lines: PhantomData<&'m mut [CacheLine]>,
}

// SAFETY: its pointers are to what it has or borrows uniquely; see `pin`.
unsafe impl<F: Send> Send for Config<'_, F> {}

impl Config<'_> {
    /// The default of everything.
    pub fn new() -> Self {
        Config {
            // SAFETY: in C, too, a config begins as zeros.
            raw: unsafe { zeroed() },
            fuel: 0,
            bounded: false,
            code: NoCode,
            cache: None,
            lines: PhantomData,
        }
    }
}

impl Default for Config<'_> {
    fn default() -> Self {
        Config::new()
    }
}

/// A panic must not go through C. This makes it an abort.
struct NoUnwind;
impl Drop for NoUnwind {
    fn drop(&mut self) {
        panic!("a callback of ipt panicked");
    }
}

/// Runs what C calls.
pub(crate) fn guard<R>(call: impl FnOnce() -> R) -> R {
    let bomb = NoUnwind;
    let result = call();
    forget(bomb);
    result
}

/// C's callback: `context` is the reader.
unsafe extern "C" fn read<F: Code>(
    buffer: *mut u8,
    size: usize,
    asid: *const Asid,
    ip: u64,
    context: *mut c_void,
) -> c_int {
    // SAFETY: while C runs, only it uses the reader; the buffer is C's.
    let code = &mut *context.cast::<F>();
    buffer.write_bytes(0, size); // C need not have initialised it
    let buffer = core::slice::from_raw_parts_mut(buffer, size);
    match guard(|| code.read(buffer, &*asid, ip)) {
        Ok(count) => count as c_int,
        Err(error) => error.min(-1),
    }
}

impl<'m, F> Config<'m, F> {
    /// Where code comes from, `|buffer, asid, ip|`. What was in the cache is
    /// forgotten.
    pub fn code<G: Code>(self, code: G) -> Config<'m, G> {
        let mut config = Config {
            raw: self.raw,
            fuel: self.fuel,
            bounded: self.bounded,
            code,
            cache: self.cache,
            lines: PhantomData,
        };
        config.raw.read = Some(read::<G>);
        config.invalidate(None, 0, 0);
        config
    }

    /// Lines that the code cache uses, at least 64.
    pub fn cache(mut self, lines: &'m mut [CacheLine]) -> Result<Self, Status> {
        // SAFETY: any bytes are a cache; the lines are borrowed for 'm.
        let mut cache = unsafe { zeroed() };
        Status::check(unsafe {
            raw::ipt_cache_init(&mut cache, lines.as_mut_ptr().cast(), lines.len())
        })?;
        self.cache = Some(cache);
        Ok(self)
    }

    /// Bounds work: calls stop with `BUDGET` when so many units are used up.
    pub fn fuel(mut self, units: u64) -> Self {
        self.bounded = true;
        self.fuel = units;
        self
    }

    /// `raw::IPT_CONFIG_`
    pub fn flags(mut self, flags: u32) -> Self {
        self.raw.flags = flags;
        self
    }
    /// `raw::IPT_ERRATUM_`
    pub fn errata(mut self, errata: u32) -> Self {
        self.raw.errata = errata;
        self
    }
    /// The errata of a processor, by family and model of CPUID leaf 1.
    pub fn cpu(mut self, family: u16, model: u8) -> Self {
        // SAFETY: the pointer is to a field.
        unsafe { raw::ipt_cpu_errata(&mut self.raw.errata, family, model) };
        self
    }
    /// Events not to give: a bit for each `raw::IPT_EVT_`.
    pub fn unwanted(mut self, events: u64) -> Self {
        self.raw.unwanted = events as _;
        self
    }
    /// CPUID leaf 0x15, for time.
    pub fn cpuid_15(mut self, eax: u32, ebx: u32) -> Self {
        self.raw.cpuid_15_eax = eax;
        self.raw.cpuid_15_ebx = ebx;
        self
    }
    /// `RTIT_CTL.MTCFreq`, for time.
    pub fn mtc_freq(mut self, mtc_freq: u8) -> Self {
        self.raw.mtc_freq = mtc_freq;
        self
    }
    /// The TSC's rate in units of the bus clock, for time.
    pub fn nom_freq(mut self, nom_freq: u8) -> Self {
        self.raw.nom_freq = nom_freq;
        self
    }
    /// `raw::IPT_MODE_`, where the trace has not said one.
    pub fn mode(mut self, mode: u8) -> Self {
        self.raw.mode = mode;
        self
    }
    /// The filters that were in force, of ranges.
    pub fn filter(mut self, filter: [raw::ipt_filter; 4]) -> Self {
        self.raw.filter = filter;
        self
    }
    /// With `raw::IPT_CONFIG_CR3_ONLY`: which, in these bits.
    pub fn cr3(mut self, cr3: u64, mask: u64) -> Self {
        self.raw.cr3 = cr3;
        self.raw.cr3_mask = mask;
        self
    }
    /// Classify code with Zydis instead of the built-in classifier.
    #[cfg(feature = "zydis")]
    pub fn zydis(mut self) -> Self {
        extern "C" {
            fn ipt_rust_zydis_classify(
                code: *mut raw::ipt_code,
                bytes: *const u8,
                size: usize,
                mode: u8,
                context: *mut c_void,
            ) -> c_int;
        }
        self.raw.classify = Some(ipt_rust_zydis_classify);
        self.invalidate(None, 0, 0);
        self
    }

    /// Code has changed: forget what the cache has of [ip, ip + size), in one
    /// address space or all. Size 0: of everything.
    pub fn invalidate(&mut self, asid: Option<&Asid>, ip: u64, size: u64) {
        // SAFETY: nobody else has a pointer to it.
        unsafe { Config::forget(self, asid, ip, size) };
    }

    /// # Safety
    /// `config` points to one that is exclusively borrowed.
    pub(crate) unsafe fn forget(config: *mut Self, asid: Option<&Asid>, ip: u64, size: u64) {
        let asid = asid.map_or(ptr::null(), |asid| asid as *const Asid);
        let cache = Config::cache_of(config);
        if !cache.is_null() {
            raw::ipt_cache_invalidate(cache, asid, ip, size);
        }
    }

    /// C's cache, or NULL.
    ///
    /// # Safety
    /// As `forget`.
    pub(crate) unsafe fn cache_of(config: *mut Self) -> *mut raw::ipt_cache {
        match &mut *ptr::addr_of_mut!((*config).cache) {
            Some(cache) => cache,
            None => ptr::null_mut(),
        }
    }

    /// What C is given. While that is used the config stays in its place.
    ///
    /// # Safety
    /// As `forget`.
    pub(crate) unsafe fn pin(config: *mut Self) -> *const raw::ipt_config {
        (*config).raw.context = ptr::addr_of_mut!((*config).code).cast();
        (*config).raw.fuel = match (*config).bounded {
            true => ptr::addr_of_mut!((*config).fuel),
            false => ptr::null_mut(),
        };
        ptr::addr_of!((*config).raw)
    }
}
