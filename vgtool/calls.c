/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/calls.h"

#include <stddef.h>
#include <string.h>

#include "vgtool/calls_x86_64.h"

const char *vg_call_name(const char *arch, uint64_t number)
{
	if (strcmp(arch, "x86_64") == 0 && number < sizeof calls_x86_64 / sizeof *calls_x86_64)
		return calls_x86_64[number];
	return NULL;
}
