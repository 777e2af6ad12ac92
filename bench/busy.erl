%% SPDX-License-Identifier: MIT OR Apache-2.0
%% A steady load that never ends: several kinds of work in turn, in compiled code, the runtime's C functions and its
%% garbage collector.
-module(busy).
-export([main/0]).

fib(N) when N < 2 -> N;
fib(N) -> fib(N - 1) + fib(N - 2).

main() ->
    fib(22),
    lists:sort([N * 7919 rem 10007 || N <- lists:seq(1, 5000)]),
    maps:from_list([{N, N} || N <- lists:seq(1, 3000)]),
    binary:matches(list_to_binary(lists:duplicate(500, "word1 word2 ")), <<"word2">>),
    main().
