# SPDX-License-Identifier: MIT OR Apache-2.0
"""A thread counts primes in an interval.  The program records itself into the profile primes.vgp:

    python3 primes.py && vgtool report --interval 'small primes' primes.vgp
"""
import sys
from contextlib import contextmanager
from ctypes import CDLL, Structure, byref, c_char_p, c_double, c_int, c_size_t, c_uint, c_uint64, c_void_p, sizeof
from threading import Thread


class Options(Structure):
    """The first members of struct vgctl_options.  The library has defaults for the others."""
    _fields_ = [("struct_bytes", c_size_t), ("rate_hz", c_uint), ("mode", c_int), ("max_frames", c_uint),
                ("max_duration_s", c_uint), ("max_file_bytes", c_uint64), ("helper_path", c_char_p),
                ("budget_percent", c_double), ("perf_map", c_int), ("thread_names", c_int)]


class Interval(Structure):
    _fields_ = [("token", c_uint64), ("session", c_uint), ("detached", c_uint)]


vgctl = CDLL("libvgctl.so.0")
vgctl.vgctl_strerror.restype = c_char_p
vgctl.vgctl_interval_begin.argtypes = c_uint, c_uint, c_uint64
vgctl.vgctl_interval_begin.restype = Interval


def check(rc):
    if rc < 0:
        sys.exit("primes: " + vgctl.vgctl_strerror(rc).decode())


@contextmanager
def interval(kind, label):
    begun = vgctl.vgctl_interval_begin(vgctl.vgctl_intern(kind), vgctl.vgctl_intern(label), 0)
    try:
        yield
    finally:
        vgctl.vgctl_interval_end(begun)


def primes_count(limit):
    vgctl.vgctl_thread_name(b"worker")
    with interval(b"count", b"small primes"):
        print(sum(all(n % divisor for divisor in range(2, n)) for n in range(2, limit)), "primes")


options, session = Options(), c_void_p()
vgctl.vgctl_options_init(byref(options), c_size_t(sizeof(options)))
options.rate_hz = 499
if sys.version_info >= (3, 12):  # Earlier interpreters do not write the names of Python functions into a perf map.
    sys.activate_stack_trampoline("perf")
    options.perf_map = 1
check(vgctl.vgctl_begin(b"primes.vgp", byref(options), byref(session)))
thread = Thread(target=primes_count, args=[10000])
thread.start()
thread.join()
check(vgctl.vgctl_end(session, None))
