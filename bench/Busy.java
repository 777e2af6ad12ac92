// SPDX-License-Identifier: MIT OR Apache-2.0
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A steady load that never ends: several kinds of work in turn. */
public class Busy {
	private static int fib(int n) {
		return n < 2 ? n : fib(n - 1) + fib(n - 2);
	}

	private static List<Integer> count() {
		Map<Integer, Integer> sums = new HashMap<>();
		for (int i = 0; i < 20000; i++)
			sums.merge(i * 7919 % 1009, i, Integer::sum);
		return new ArrayList<>(sums.values());
	}

	private static String text(int n) {
		StringBuilder text = new StringBuilder();
		for (int i = 0; i < n; i++)
			text.append("word").append(i * 7919 % 1000).append(' ');
		return text.toString().replaceAll("w(or)d(\\d)", "$2$1");
	}

	public static void main(String[] arguments) {
		for (long sum = 0; sum >= 0; sum = sum / 2) {
			sum += fib(22);
			List<Integer> sums = count();
			Collections.sort(sums);
			sum += sums.get(3) + text(500).length();
		}
	}
}
