/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/analysis/spread.h"

#include <math.h>

void vg_spread_add(struct vg_spread *spread, double value)
{
	double distance = value - spread->mean;

	if (spread->count == 0)
		spread->min = spread->max = value;
	spread->count++;
	spread->sum += value;
	spread->mean += distance / (double)spread->count;
	spread->squared_distances += distance * (value - spread->mean);
	spread->min = fmin(spread->min, value);
	spread->max = fmax(spread->max, value);
}

void vg_spread_add_zeros(struct vg_spread *spread, size_t count)
{
	while (count-- > 0)
		vg_spread_add(spread, 0);
}

double vg_spread_deviation(const struct vg_spread *spread)
{
	return spread->count > 1 ? sqrt(spread->squared_distances / (double)(spread->count - 1)) : 0;
}
