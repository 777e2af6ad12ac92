/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_PROFILE_RECORD_H
#define VG_PROFILE_RECORD_H

#include <stdint.h>

#include "base/build_id.h"

/*
 * The file format, as vgp(5) specifies it: what the writer and the reader must agree on.
 *
 * A profile is a sequence of chunks.  A chunk is one msgpack array
 *     ["VGP1", sequence (uint32), crc (uint32), payload (bin32)]
 * whose integers always take their five-byte forms, so that the header has a fixed size and a
 * reader can find the next chunk behind damage.  crc is CRC-32 (zlib's) of the sequence number
 * as four big-endian bytes, then the payload.  The payload is a sequence of records, each a
 * msgpack array that starts with its kind.  Kinds and roots are never reused.
 */
enum { VG_FORMAT_VERSION = 1 };
#define VG_CHUNK_MAGIC "\x94\xa4VGP1\xce"   /* up to the sequence number's bytes */
enum {
	VG_CHUNK_MAGIC_BYTES = 7,
	VG_CHUNK_SEQUENCE_AT = 7,
	VG_CHUNK_CRC_AT = 12,
	VG_CHUNK_LENGTH_AT = 17,
	VG_CHUNK_HEADER_BYTES = 21,
	VG_CHUNK_PAYLOAD_MAX = (1 << 20) - VG_CHUNK_HEADER_BYTES,
};

/* A new kind also needs: the writer and its sink (writer.h), the reader, the flight recorder (vignetted/output/flight_sink.c), and
 * in vgtool cmd_dump.c, cmd_audit.c if it has strings, record_filter.c and recopy.c. */
enum vg_record {
	VG_RECORD_HEADER = 0,         /* {name: value}: how the profile was taken */
	VG_RECORD_TIME = 1,           /* time_us: absolute; opens every chunk */
	VG_RECORD_MODULE = 2,         /* id, time_us, name, build_id (bin), base, size_bytes */
	VG_RECORD_MODULE_UNLOAD = 3,  /* id, time_us */
	VG_RECORD_THREAD = 4,         /* id, time_us, tid, name */
	VG_RECORD_THREAD_NAME = 5,    /* id, time_us, name */
	VG_RECORD_THREAD_END = 6,     /* id, time_us */
	VG_RECORD_STACK = 7,          /* id, parent, module or nil, address, [found] */
	VG_RECORD_SAMPLE = 8,         /* thread, time since the last sample (us, signed), stack, cpu_100us,
	                                 [wall_us or nil, [count, [interval]]] */
	VG_RECORD_LOST = 9,           /* {cause: count}, so far */
	VG_RECORD_STATS = 10,         /* {name: value}, so far */
	VG_RECORD_GAP = 11,           /* bytes: damaged chunks stood here and were left out */
	VG_RECORD_END = 12,           /* reason, time_us, {name: value} */
	VG_RECORD_FUNCTION = 13,      /* id, name, file or nil, module */
	VG_RECORD_SYMBOL = 14,        /* module, address, [function, line, ...] innermost first */
	VG_RECORD_UNRESOLVED = 15,    /* module: no symbols were found for it */
	VG_RECORD_PAUSES = 16,        /* [longest_ns, count, ...]: how long threads were stopped, so far */
	VG_RECORD_RATE = 17,          /* time_us, period_ns: from then on */
	VG_RECORD_CODE = 18,          /* address, size_bytes, name: code of no module, by its maker */
	VG_RECORD_LABEL = 19,         /* id, text: a string of the program's, for its events */
	VG_RECORD_EVENT = 20,         /* what, thread, since_ns, event_kind or nil, label or nil, value,
	                                 [token, [parent]] */
	VG_RECORD_COUNT = 21,         /* thread, after_us, [value, ...]: how far its counters went since
	                                 its count before */
};

/* Stack ids below this are the empty stacks, one per enum vg_walk_end: every stack's outermost
 * frame has one of them as its parent, which is how a stack says why its walk ended. */
enum { VG_STACK_ROOTS = 16 };

/* CPU time of a sample is in this unit: a byte serves up to 12.7 ms.  The writer hands on what is
 * cut off to the thread's next sample, so that sums are true. */
enum { VG_CPU_UNIT_NS = 100 * 1000 };

/* The first field of an event record. */
enum vg_event_what {
	VG_EVENT_INSTANT = 0,
	VG_EVENT_BEGIN = 1,           /* of an interval */
	VG_EVENT_END = 2,             /* of the interval `token`, on the same thread */
	VG_EVENT_DETACHED_BEGIN = 3,  /* of an interval that belongs to no thread's stack */
	VG_EVENT_DETACHED_END = 4,    /* on any thread */
	VG_EVENT_COUNTER = 5,         /* `value` is signed */
	VG_EVENT_WHATS = 6,
};

/* Longest name (module, thread, function, file) that a writer writes and a reader keeps. */
enum { VG_NAME_MAX_BYTES = 16 * 1024 };
enum { VG_LABEL_MAX_BYTES = 1024 };

/* The deepest stack that a recorder writes: --max-frames ends at 65,536, and the system call that a
 * thread waits in is one more.  A reader takes a deeper one for damage: views cost as much as stacks
 * are deep. */
enum { VG_STACK_DEPTH_MAX = 65536 + 1 };

/* Counters of a profile. */
enum { VG_COUNTS_MAX = 4 };

#endif
