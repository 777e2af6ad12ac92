// SPDX-License-Identifier: MIT OR Apache-2.0

// A thread counts primes in an interval.  The program records itself into the profile primes.vgp:
//
//	go build primes.go
//	./primes && vgtool report --interval 'small primes' primes.vgp
package main

// #cgo pkg-config: vgctl
// #include <vgctl.h>
import "C"

import "log"
import "runtime"

// Ids stay valid, so each is taken once.
var count, small = C.vgctl_intern(C.CString("count")), C.vgctl_intern(C.CString("small primes"))

func check(rc C.int) {
	if rc < 0 {
		log.Fatal(C.GoString(C.vgctl_strerror(rc)))
	}
}

// scope begins an interval and returns the function that ends it.  Until then the goroutine stays on its thread.
func scope(kind, label C.uint32_t) func() {
	runtime.LockOSThread()
	interval := C.vgctl_interval_begin(kind, label, 0)
	return func() {
		C.vgctl_interval_end(interval)
		runtime.UnlockOSThread()
	}
}

func primesCount(limit int) (primes int) {
	defer scope(count, small)()
	C.vgctl_thread_name(C.CString("worker"))
	for n := 2; n < limit; n++ {
		divisor := 2
		for ; n%divisor != 0; divisor++ {
		}
		if divisor == n {
			primes++
		}
	}
	return primes
}

func main() {
	runtime.LockOSThread() // The sentence of vgctl_strerror has details only on the thread of the failed call.
	var options C.struct_vgctl_options
	var session *C.struct_vgctl_session
	C.vgctl_options_init(&options, C.sizeof_struct_vgctl_options)
	options.rate_hz = 499
	check(C.vgctl_begin(C.CString("primes.vgp"), &options, &session))
	primes := make(chan int)
	go func() { primes <- primesCount(70000) }()
	log.Println(<-primes, "primes")
	check(C.vgctl_end(session, nil))
}
