# SPDX-License-Identifier: MIT OR Apache-2.0
#
# The first inputs of the fuzzers.  The scripts that run them read this file with `.`.  $out is their folder.

# unwind_seed NAME EXPRESSION INSTRUCTIONS [BYTE READSBITS]: makes an input of fuzz_unwind with two functions.  The
# thread is in the second function, which the first function called.  EXPRESSION and INSTRUCTIONS are the second
# function's unwind information.  With BYTE, that byte of the expression changes between reads.  READSBITS is
# a word of 16 bits: the high half says after which of every eight reads, one bit each; the low half says which bits of
# BYTE change.  The second function's unwind information is then two pages after the first function's.
unwind_seed() {
	cat >"$out/seeds/seed.s" <<END
	.data
	.short 0x8210, 0x1000, 0x1040, 0x1020, first - cie + 64, second - cie + 64, 0x200, ${4:+start - cie + 64 + }${4:-0}
	.rept 63
	.short 0x8110
	.endr
	.short ${5:-0x8110}
cie:	.long cie_end - . - 4, 0
	.byte 1
	.asciz "zR"
	.byte 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1
cie_end:
first:	.long first_end - . - 4, . - cie
	.long 0x8000 - 64 - (. - cie), 0x200
	.byte 0, 0x42, 0x0e, 16, 0x86, 2, 0x44, 0x0c, 7, 8
first_end:
	${4:+.skip 8192 - (. - cie)}
second:	.long second_end - . - 4, . - cie
	.long 0x8200 - 64 - (. - cie), 0x200
	.byte 0, 0x0f
	.uleb128 end - start
start:	.byte $2
end:	.byte $3
second_end:
END
	as -o "$out/seeds/seed.o" "$out/seeds/seed.s"
	objcopy -O binary -j .data "$out/seeds/seed.o" "$out/seeds/unwind/$1"
}

# code_seed NAME WORD CHANGES INSTRUCTIONS: makes an input of fuzz_code.  WORD is its word 1, CHANGES its word 6.  The
# instructions begin at `code`.  Rows are searched for the address of their label `here`.  The call behind them ends with
# the last page.
code_seed() {
	cat >"$out/seeds/seed.s" <<END
	.data
	.short (code - end) & 4095, $2, here - code, 0, end - code, here - code, $3, 0
code:	$(echo "$4" | tr ';' '\n')
	call code
end:
END
	as -o "$out/seeds/seed.o" "$out/seeds/seed.s"
	objcopy -O binary -j .data "$out/seeds/seed.o" "$out/seeds/code/$1"
}

# seeds NAME: makes the first inputs of a fuzzer.  They are binary files, so the tree does not have them.
seeds() {
	mkdir -p "$out/seeds/$1"
	case $1 in
	elf | sym)
		for options in "-O2 -g" "-O1 -g -gdwarf-4 -gz" "-O2 -g -gsplit-dwarf" "-O1 -s"; do
			number=$(echo "$options" | tr -dc 'a-zA-Z0-9')
			(cd "$out" && gcc $options -shared -nostdlib -fPIC -w "$SRCDIR/tests/fixtures/symbols_plain_more.c" \
				-o "seeds/plain-$number")
			"$VGTOOL" symbols "$out/seeds/plain-$number" >"$out/seeds/sym-$number"
			mkdir -p "$out/seeds/elf" "$out/seeds/sym"
			cp "$out/seeds/plain-$number" "$out/seeds/elf/"
			cp "$out/seeds/sym-$number" "$out/seeds/sym/"
		done
		objcopy --compress-debug-sections=zstd "$out/seeds/plain-O2g" "$out/seeds/elf/zstd"
		xz -c "$out/seeds/plain-O2g" >"$out/seeds/packed"
		objcopy --add-section .gnu_debugdata="$out/seeds/packed" "$out/seeds/plain-O1s" \
			"$out/seeds/elf/minidebug"
		gcc -O2 -s "$SRCDIR/tests/fixtures/symbols_plain.c" \
			"$SRCDIR/tests/fixtures/symbols_plain_more.c" -o "$out/seeds/elf/stubs" -lpthread
		gcc -shared -nostdlib -Wa,--defsym,ROWS=10 "$SRCDIR/tests/fixtures/symbols_cfi.s" \
			-o "$out/seeds/elf/unwinds"
		gcc -shared -nostdlib "$SRCDIR/tests/fixtures/symbols_languages.s" -o "$out/seeds/elf/languages"
		"$VGTOOL" symbols "$out/seeds/elf/unwinds" >"$out/seeds/sym/unwinds"
		# Paths of about PATH_MAX bytes: a fuzzer would not find them, because a word of its dictionary has at
		# most 64 bytes.
		for length in 4095 4096 4097; do
			path=$(printf "%${length}s" | tr ' ' n)
			printf '# 1 "%s"\nint f(void) { return 1; }\n' "$path" |
				gcc -g -shared -nostdlib "-fdebug-prefix-map=$PWD=$path" -x c - \
					-o "$out/seeds/elf/path-$length"
		done ;;
	profile)
		"$VIGNETTED" -o "$out/seeds/profile/sleep.vgp" --rate 50 -- sleep 0.2 2>/dev/null
		# With perf counters, if this machine allows them.
		"$VIGNETTED" -o "$out/seeds/profile/counters.vgp" --rate 50 --counter task-clock,page-faults:u \
			-- sleep 0.2 2>/dev/null || true ;;
	unwind)
		unwind_seed plain "0x77, 8" 0
		unwind_seed register "0x73, 8" "0x10, 3, 2, 0x77, 0"
		unwind_seed skip "0x2f, 0xfd, 0xff" 0
		unwind_seed bra "0x31, 0x28, 0xfc, 0xff" 0
		unwind_seed deref "0x77, 0, 0x06, 0x13, 0x2f, 0xf9, 0xff" 0
		unwind_seed divide "0x0e, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x09, 0xff, 0x1b" 0
		unwind_seed constu "0x10, 0x1b, 0x11, 0x2f, 0x92, 0x28, 0x1b" 0
		unwind_seed states "0x73, 8" "0x0a, 0x42, 0x0a, 0x42, 0x0b, 0x0b, 0x14, 0x0f, 1, 0x16, 3, 1, 0x30, 0x2e, 0x80, 0"
		for reads in 0x01 0x02 0x04 0x08 0x10 0x20 0x40 0x80 0x55 0x33 0x0f; do
			unwind_seed change-$reads "0x31, 0x08, 0x3f, 0x24, 0x09, 0xff, 0x22, 0x13, 0x77, 8" 0 6 ${reads}39
		done
		# The same inputs without the table of .eh_frame_hdr.  The seventh word of an input is the key of the table's
		# second entry.  If this word is odd, fuzz_unwind.c makes no table.
		for seed in plain register states; do
			cp "$out/seeds/unwind/$seed" "$out/seeds/unwind/$seed-index"
			printf '\001\002' |
				dd of="$out/seeds/unwind/$seed-index" bs=1 seek=12 conv=notrunc 2>"$out/seeds/log"
		done
		unwind_seed leb "0x77, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 8" 0 ;;
	code)
		frame="endbr64; push %rbp; mov %rsp, %rbp; push %rbx; sub \$24, %rsp; call code"
		pop="add \$24, %rsp; pop %rbx; pop %rbp; ret"
		for space in 0 1 2 3 0x41 0x401; do
			code_seed frame-$space $space 0 "$frame; here: test %eax, %eax; jne 1f; call 1f; 1: $pop"
			code_seed change-$space $space 0x5539 "$frame; here: test %eax, %eax; jne 1f; call 1f; 1: $pop"
		done
		code_seed leave 1 0 "$frame; sub %rdi, %rsp; here: lea -8(%rbp), %rsp; pop %rbx; leave; ret \$8"
		code_seed enter 1 0 "enter \$32, \$0; here: nop; leave; ret"
		code_seed align 1 0 "lea 8(%rsp), %r10; and \$-32, %rsp; push -8(%r10); push %rbp; mov %rsp, %rbp;
			here: pop %rbp; lea -8(%r10), %rsp; ret"
		code_seed go 1 0 "sub \$40, %rsp; mov %rbp, 32(%rsp); lea 32(%rsp), %rbp; here: nop; mov 32(%rsp), %rbp;
			add \$40, %rsp; ret"
		code_seed v8 1 0 "push %rbp; mov %rsp, %rbp; here: leave; pop %rcx; lea 8(%rsp,%rdi,8), %rsp; jmp *%rcx"
		code_seed switch 1 0 "push %rbp; xchg %rax, %rsp; xchg %rsp, %rbx; mov (%rdi), %rsp; add %rax, %rsp;
			here: ret"
		code_seed table 1 0 "cmp \$7, %edi; here: ja 1f; lea 2f(%rip), %rax; movslq (%rax,%rdi,4), %rdi;
			add %rax, %rdi; notrack jmp *%rdi; 2: .long 1f - 2b, here - 2b; 1: ret"
		code_seed loop 1 0 "here: jmp 1f; 2: loop 3f; jrcxz here; 1: jmp 2b; 3: jmp here"
		code_seed calls 1 0 "here: .rept 600; call 1f; 1:; .endr; pop %rax; push (%rax);
			pushf; popf; pop (%rbx)"
		code_seed jumps 1 0 "here: .rept 300; jne 1f; push %rax; 1:; .endr; .rept 300; pop %rax; .endr; ret"
		code_seed beginnings 1 0 ".rept 3000; ret; .endr; .rept 600; nop; .endr; here: hlt"
		code_seed far 1 0 ".rept 4; .balign 4096; 1: jne 1b + 8192; jmp 1b - 4096; .endr; here: jmp code;
			.balign 4096; ret"
		code_seed prefixes 1 0 "here: .rept 14; .byte 0x66; .endr; nop; .fill 14, 1, 0xf3; ret;
			.fill 15, 1, 0x2e; nop; .byte 0x48, 0x66, 0x40, 0xc3; rep ret; bnd jmp code; lock incl (%rax);
			mov 16(%esp), %ebp"
		code_seed vex 1 0 "here: vaddps %ymm1, %ymm2, %ymm3; vzeroupper; vpalignr \$3, 64(%rsp), %xmm1, %xmm2;
			andn %rsp, %rax, %rbx; rorx \$3, %rax, %rsp; bextr %rax, %rbx, %rsp; ret"
		code_seed evex 1 0 "here: vaddps 64(%rsp){1to16}, %zmm1, %zmm2{%k1}{z}; vcmpps \$3, %zmm1, %zmm2, %k1;
			vpternlogd \$3, %zmm1, %zmm2, %zmm17; ret"
		code_seed xop 1 0 "here: vpcmov %ymm1, %ymm2, %ymm3, %ymm4; bextr \$7, %rax, %rsp; blcfill %rax, %rsp;
			vprotb \$3, %xmm1, %xmm2; pop (%rax); .byte 0x0f, 0x0f, 0xc1, 0xb4; ret"
		code_seed rare 1 0 "here: movabs 0x1122334455667788, %rax; movabs \$0x1122334455667788, %rsp;
			mov %cr0, %rax; push %ax; pop %sp; push %fs; pop %gs; int3; ud2; syscall; xbegin code; cmpxchg16b (%rsp);
			lretl; iretq"
		# code of compilers
		for options in -O0 -O1 -O2 "-O2 -fcf-protection=full" -Os "-O3 -mavx512f"; do
			gcc $options -c -w -fomit-frame-pointer -fno-asynchronous-unwind-tables -o "$out/seeds/seed.o" \
				"$SRCDIR/tests/fixtures/symbols_plain_more.c"
			objcopy -O binary -j .text "$out/seeds/seed.o" "$out/seeds/text"
			level=$(echo "$options" | tr -dc 'a-zA-Z0-9')
			for here in 040 100 200 300; do
				{
					printf '\000\000\001\000\'$here'\000\000\000\060\000\000\000\000\000\000\000'
					cat "$out/seeds/text"
				} >"$out/seeds/code/$level-$here"
			done
		done ;;
	perfmap)
		word='\000\020\000\000\000\000\000\000'
		at=$word$word$word$word
		printf "$at"'1000 10 one\n1008 8 two\n1000 4 three\n0 ffffffffffffffff all\nfff 2' >"$out/seeds/perfmap/lines"
		{ printf "$at"'1000 10 '; head -c 20000 /dev/zero | tr '\0' x; printf '\n1000 1 behind\n'; } >"$out/seeds/perfmap/long"
		{ printf "$at"'1000 10 a'; head -c 60000 /dev/zero; } >"$out/seeds/perfmap/nothing"
		printf '\377\020\000\000\000\000\000\000'"$word$word$word"'1000 100 sparse\n' >"$out/seeds/perfmap/sparse" ;;
	esac
}
