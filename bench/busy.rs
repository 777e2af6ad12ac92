// SPDX-License-Identifier: MIT OR Apache-2.0
// A steady load that never ends: several kinds of work in turn.
use std::collections::HashMap;
use std::hint::black_box;

#[inline(never)]
fn fib(n: u64) -> u64 {
    if n < 2 { n } else { fib(n - 1) + fib(n - 2) }
}

#[inline(never)]
fn count(n: u64) -> Vec<u64> {
    let mut sums = HashMap::new();
    for i in 0..n {
        *sums.entry(i * 7919 % 1009).or_insert(0u64) += i;
    }
    let mut values: Vec<u64> = sums.into_values().collect();
    values.sort_unstable();
    values
}

#[inline(never)]
fn text(n: u64) -> usize {
    (0..n).map(|i| format!("word{} {:.3}", i * 7919 % 1000, i as f64 * 1.5).len()).sum()
}

fn main() {
    loop {
        black_box(fib(black_box(18)));
        black_box(count(black_box(2000)));
        black_box(text(black_box(300)));
    }
}
