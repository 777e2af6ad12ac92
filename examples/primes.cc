// SPDX-License-Identifier: MIT OR Apache-2.0
// A thread counts primes in an interval.  The program records itself into the profile primes.vgp:
//
//     g++ -O2 -g -o primes primes.cc $(pkg-config --cflags --libs vgctl)
//     ./primes && vgtool report --interval 'small primes' primes.vgp
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vgctl.h>

static void check(int rc)
{
	if (rc < 0)
		throw std::runtime_error(vgctl_strerror(rc));
}

// Records until end() is called or the object is destroyed.  Only end() reports errors.
struct Recording {
	vgctl_session *session = nullptr;

	Recording(const char *path, const vgctl_options &options) { check(vgctl_begin(path, &options, &session)); }
	Recording(Recording &&) = delete;
	~Recording() { if (session) vgctl_end(session, nullptr); }
	void end() { check(vgctl_end(std::exchange(session, nullptr), nullptr)); }
};

// An interval that ends when the object is destroyed.
struct Interval {
	const vgctl_interval interval;

	Interval(uint32_t kind, uint32_t label) : interval(vgctl_interval_begin(kind, label, 0)) {}
	Interval(Interval &&) = delete;
	~Interval() { vgctl_interval_end(interval); }
};

[[gnu::noinline]] static int primes_count(int limit)
{
	int primes = 0;
	for (int n = 2, divisor; n < limit; n++) {
		for (divisor = 2; n % divisor != 0; divisor++) {}
		primes += divisor == n;
	}
	return primes;
}

int main() try {
	vgctl_options options = VGCTL_OPTIONS_INIT;
	options.rate_hz = 499;
	Recording recording("primes.vgp", options);
	std::thread([] {
		vgctl_thread_name("worker");
		Interval counting(vgctl_intern("count"), vgctl_intern("small primes"));
		std::printf("%d primes\n", primes_count(70000));
	}).join();
	recording.end();
} catch (const std::exception &error) {
	std::fprintf(stderr, "primes: %s\n", error.what());
	return 1;
}
