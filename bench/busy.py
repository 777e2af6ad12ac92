# SPDX-License-Identifier: MIT OR Apache-2.0
"""A steady load that never ends: busy.py THREADS.  Each thread does several kinds of work in turn."""
import json
import re
import sys
import threading

words = [f"word{i * 7919 % 1000}" for i in range(400)]
text = " ".join(words)


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def parse():
    return json.loads(json.dumps({word: [i, str(i)] for i, word in enumerate(words)}))


def search():
    return re.sub(r"w(or)d(\d)", lambda match: match.group(2) + match.group(1), text)


def order():
    return sorted(words, key=lambda word: (len(word), word[::-1]))


def work():
    while True:
        fib(15)
        parse()
        search()
        order()


for _ in range(int(sys.argv[1]) - 1):
    threading.Thread(target=work, daemon=True).start()
work()
