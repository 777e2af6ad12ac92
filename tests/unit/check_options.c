/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Programs and libraries of different versions: options structures that are shorter or longer than the library's. */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "libvgctl/vgctl.h"
#include "tests/unit/suites.h"

/* A structure of a later version, and what the bytes beyond it contain. */
union structure {
	struct vgctl_options options;
	unsigned char bytes[8192];
};

static const size_t sizes[] = {
	sizeof(size_t),
	offsetof(struct vgctl_options, rate_hz) + 1,
	offsetof(struct vgctl_options, mode),
	offsetof(struct vgctl_options, helper_path),
	offsetof(struct vgctl_options, budget_percent),
	offsetof(struct vgctl_options, watchdog_path),
	offsetof(struct vgctl_options, counters),
	sizeof(struct vgctl_options) - 1,
	sizeof(struct vgctl_options),
	sizeof(struct vgctl_options) + 1,
	sizeof(struct vgctl_options) + 64,
	4096,
};

/* -ENOENT: the options were accepted, and the file could not be created. */
static int begin(union structure *structure)
{
	struct vgctl_session *session;

	return vgctl_begin("/nonexistent/x.vgp", &structure->options, &session);
}

/* The bytes beyond the structure are 0xa5: as options they would be out of range. */
START_TEST(any_size)
{
	static const struct vgctl_options initial = VGCTL_OPTIONS_INIT;
	size_t size = sizes[_i];
	union structure structure;

	memset(&structure, 0xa5, sizeof structure);
	vgctl_options_init(&structure.options, size);
	ck_assert_uint_eq(structure.options.struct_bytes, size);
	for (size_t i = sizeof size; i < sizeof structure; i++) {
		unsigned char known = i < sizeof initial ? ((const unsigned char *)&initial)[i] : 0;

		ck_assert_msg(structure.bytes[i] == (i < size ? known : 0xa5), "size %zu, byte %zu", size, i);
	}
	ck_assert_int_eq(begin(&structure), -ENOENT);
	if (size <= sizeof initial)
		return;
	structure.bytes[size - 1] = 1;
	ck_assert_int_eq(begin(&structure), -E2BIG);
	ck_assert_ptr_nonnull(strstr(vgctl_strerror(-E2BIG), "later libvgctl"));
	ck_assert_int_eq(vgctl_listen("/nonexistent", &structure.options), -E2BIG);
}
END_TEST

/* A member that the structure has is used. */
START_TEST(short_structure_is_used)
{
	union structure structure;

	memset(&structure, 0xa5, sizeof structure);
	vgctl_options_init(&structure.options, offsetof(struct vgctl_options, mode));
	structure.options.rate_hz = 10001;
	ck_assert_int_eq(begin(&structure), -EINVAL);
	ck_assert_ptr_nonnull(strstr(vgctl_strerror(-EINVAL), "rate_hz"));
}
END_TEST

START_TEST(not_a_size)
{
	static const size_t bad[] = { 0, 1, sizeof(size_t) - 1, 4097, SIZE_MAX };
	union structure structure;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		memset(&structure, 0, sizeof structure);
		structure.options.struct_bytes = bad[i];
		ck_assert_int_eq(begin(&structure), -EINVAL);
		ck_assert_ptr_nonnull(strstr(vgctl_strerror(-EINVAL), "struct_bytes"));
	}
	memset(&structure, 0xa5, sizeof structure);
	vgctl_options_init(&structure.options, sizeof(size_t) - 1);
	vgctl_options_init(NULL, sizeof structure.options);
	for (size_t i = 0; i < sizeof structure; i++)
		ck_assert_uint_eq(structure.bytes[i], 0xa5);
}
END_TEST

Suite *options_suite(void)
{
	Suite *suite = suite_create("options");
	TCase *tests = tcase_create("sizes");

	tcase_add_loop_test(tests, any_size, 0, sizeof sizes / sizeof *sizes);
	tcase_add_test(tests, short_structure_is_used);
	tcase_add_test(tests, not_a_size);
	suite_add_tcase(suite, tests);
	return suite;
}
