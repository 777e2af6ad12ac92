/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_PROFILE_RECORD_H
#define VG_PROFILE_RECORD_H

/*
 * Numbers of the file format, vgp(5), which the writer and the reader share.
 *
 * A profile is a sequence of chunks.  A chunk is one msgpack array
 *     ["VGP1", sequence (uint32), crc (uint32), payload (bin32)]
 * Its integers always have their five-byte forms, so the header has a fixed size.  After damage, a reader searches for
 * VG_CHUNK_MAGIC to find the next chunk.  The crc is zlib's CRC-32 of the four bytes of the sequence number, followed
 * by the payload.  It is not CRC-32C, because the standard libraries of most languages have CRC-32 only.
 *
 * The payload is a sequence of records.  A record is a msgpack array that begins with its kind.
 * The numbers of kinds are never reused.  Neither are the stack ids of roots (see VG_STACK_ROOTS).
 */
enum { VG_FORMAT_VERSION = 1 };
#define VG_CHUNK_MAGIC "\x94\xa4VGP1\xce"   /* all bytes before the sequence number */
enum {
	VG_CHUNK_MAGIC_BYTES = 7,
	VG_CHUNK_SEQUENCE_AT = 7,
	VG_CHUNK_CRC_AT = 12,
	VG_CHUNK_LENGTH_AT = 17,
	VG_CHUNK_HEADER_BYTES = 21,
	VG_CHUNK_PAYLOAD_MAX = (1 << 20) - VG_CHUNK_HEADER_BYTES,
};

/*
 * To add a kind, follow "To add a record" in HACKING.md.
 *
 * time_us is in microseconds since the recording began.  since_us, since_ns and after_us count from an earlier record.
 * Fields in brackets may be absent.
 */
enum vg_record {
	VG_RECORD_HEADER = 0,         /* {name: value}: how the profile was recorded */
	VG_RECORD_TIME = 1,           /* time_us: for the since_us and since_ns of the next records; always the first
	                                 record of a chunk */
	VG_RECORD_MODULE = 2,         /* id, time_us, name, build_id (bin), base, size_bytes */
	VG_RECORD_MODULE_UNLOAD = 3,  /* id, time_us */
	VG_RECORD_THREAD = 4,         /* id, time_us, tid, name */
	VG_RECORD_THREAD_NAME = 5,    /* id, time_us, name */
	VG_RECORD_THREAD_END = 6,     /* id, time_us */
	VG_RECORD_STACK = 7,          /* id, parent, module or nil, address, [found_by] */
	VG_RECORD_SAMPLE = 8,         /* thread, since_us (signed, from the previous sample or TIME), stack,
	                                 cpu_100us, [wall_us or nil, [count, [interval]]] */
	VG_RECORD_LOST = 9,           /* {reason: count}: totals since the recording began */
	VG_RECORD_STATS = 10,         /* {name: value}: totals since the recording began */
	VG_RECORD_GAP = 11,           /* bytes: number of damaged bytes that were left out here */
	VG_RECORD_END = 12,           /* reason, time_us, {name: value} */
	VG_RECORD_FUNCTION = 13,      /* id, name, file or nil, module */
	VG_RECORD_SYMBOL = 14,        /* module, address, [function, line, ...] innermost first */
	VG_RECORD_UNRESOLVED = 15,    /* module: it has no symbols */
	VG_RECORD_PAUSES = 16,        /* [upper_bound_ns, count, ...]: all pauses since the recording began */
	VG_RECORD_RATE = 17,          /* time_us, period_ns: the period from this time on */
	VG_RECORD_JIT_CODE = 18,      /* address, size_bytes, name */
	VG_RECORD_LABEL = 19,         /* id, text: a string for events */
	VG_RECORD_EVENT = 20,         /* type, thread, since_ns (from the chunk's previous event, or TIME), event_kind
	                                 or nil, label or nil, value, [token, [parent]] */
	VG_RECORD_PERF_COUNTERS = 21, /* thread, after_us (from the thread's latest sample), [value, ...]: growth since
	                                 the thread's previous record of this kind */
	VG_RECORD_KERNEL_SYMBOL = 22, /* module, number, name: a kernel function; its frames have this module, and this
	                                 number in place of an address */
};

/* Stack ids below this are roots: empty stacks, one for each enum vg_walk_end.  The parent of a root frame is one of
 * these roots, which says why the walk ended. */
enum { VG_STACK_ROOTS = 16 };

/* Unit of a sample's CPU time.  One msgpack byte holds up to 12.7 ms in this unit.  The writer adds the remainder to
 * the thread's next sample, so that sums are exact. */
enum { VG_CPU_UNIT_NS = 100 * 1000 };

/* The first field of an event record. */
enum vg_event_type {
	VG_EVENT_INSTANT = 0,
	VG_EVENT_BEGIN = 1,           /* of an interval */
	VG_EVENT_END = 2,             /* of the interval `token`, on the same thread */
	VG_EVENT_DETACHED_BEGIN = 3,  /* of an interval that may end on any thread */
	VG_EVENT_DETACHED_END = 4,
	VG_EVENT_COUNTER = 5,         /* `value` is signed */
	VG_EVENT_TYPES = 6,
};

/* The longest name (module, thread, function, file) and the longest label that a writer writes and a reader keeps. */
enum { VG_NAME_MAX_BYTES = 16 * 1024 };
enum { VG_LABEL_MAX_BYTES = 1024 };

/* The deepest stack that a recorder writes: --max-frames is at most 65,536, and the system call in which a thread waits
 * is one more frame.  A reader treats a deeper stack as damage, because the cost of views grows with the depth of
 * stacks. */
enum { VG_STACK_DEPTH_MAX = 65536 + 1 };

/* The most perf counters in one profile. */
enum { VG_PERF_COUNTERS_MAX = 4 };

#endif
