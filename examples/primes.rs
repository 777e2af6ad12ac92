// SPDX-License-Identifier: MIT OR Apache-2.0
// A thread counts primes in an interval.  The program records itself into the profile primes.vgp:
//
//     rustc --edition 2021 -O -g -L "$(pkg-config --variable=libdir vgctl)" primes.rs
//     ./primes && vgtool report --interval 'small primes' primes.vgp
use std::os::raw::{c_char, c_int, c_uint, c_void};
use std::{ffi::CStr, ffi::CString, marker::PhantomData, mem::size_of, ptr, thread};

#[repr(C)] // The first members of struct vgctl_options.  The library has defaults for the others.
struct Options { struct_bytes: usize, rate_hz: c_uint, mode: c_int }

#[repr(C)] #[derive(Clone, Copy)]
struct RawInterval { token: u64, session: u32, detached: u32 }

#[link(name = "vgctl")]
extern "C" {
    fn vgctl_options_init(options: *mut Options, size: usize);
    fn vgctl_begin(path: *const c_char, options: *const Options, session: *mut *mut c_void) -> c_int;
    fn vgctl_end(session: *mut c_void, summary: *mut c_void) -> c_int;
    fn vgctl_strerror(error: c_int) -> *const c_char;
    fn vgctl_intern(text: *const c_char) -> u32;
    fn vgctl_thread_name(name: *const c_char);
    fn vgctl_interval_begin(kind: u32, label: u32, argument: u64) -> RawInterval;
    fn vgctl_interval_end(interval: RawInterval);
}

/// An interval that ends when the value is dropped.  The marker keeps the value on its thread.
struct Interval(RawInterval, PhantomData<*const ()>);

impl Interval {
    fn begin(kind: &str, label: &str) -> Self {
        let [kind, label] = [kind, label].map(|text| unsafe { vgctl_intern(c(text).as_ptr()) });
        Interval(unsafe { vgctl_interval_begin(kind, label, 0) }, PhantomData)
    }
}
impl Drop for Interval { fn drop(&mut self) { unsafe { vgctl_interval_end(self.0) } } }

fn c(text: &str) -> CString { CString::new(text).expect("text without NUL") }

fn check(rc: c_int) -> Result<(), String> {
    if rc >= 0 { Ok(()) } else { Err(unsafe { CStr::from_ptr(vgctl_strerror(rc)) }.to_string_lossy().into()) }
}

#[inline(never)]
fn primes_count(limit: u32) -> usize {
    (2..limit).filter(|&n| (2..n).all(|divisor| n % divisor != 0)).count()
}

fn main() -> Result<(), String> {
    let (mut options, mut session) = (Options { struct_bytes: 0, rate_hz: 0, mode: 0 }, ptr::null_mut());
    unsafe { vgctl_options_init(&mut options, size_of::<Options>()) };
    options.rate_hz = 499;
    check(unsafe { vgctl_begin(c("primes.vgp").as_ptr(), &options, &mut session) })?;
    println!("{} primes", thread::spawn(|| {
        unsafe { vgctl_thread_name(c("worker").as_ptr()) };
        let _counting = Interval::begin("count", "small primes");
        primes_count(70_000)
    }).join().unwrap());
    check(unsafe { vgctl_end(session, ptr::null_mut()) })
}
