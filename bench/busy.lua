-- SPDX-License-Identifier: MIT OR Apache-2.0
-- A steady load that never ends: several kinds of work in turn, in traces of the JIT, the interpreter and C functions.
local words = {}
for i = 1, 400 do words[i] = "word" .. i * 7919 % 1000 end
local text = table.concat(words, " ")

local function fib(n)
	if n < 2 then return n end
	return fib(n - 1) + fib(n - 2)
end

local function sums()
	local t = {}
	for i = 1, 200000 do t[i % 100] = (t[i % 100] or 0) + i * 1.5 end
end

local function search() return (text:gsub("w(or)d(%d)", "%2%1")) end

local function order()
	local copy = {}
	for i, word in ipairs(words) do copy[i] = word end
	table.sort(copy, function(a, b) return #a == #b and a < b or #a < #b end)
end

while true do
	fib(24)
	sums()
	search()
	order()
end
