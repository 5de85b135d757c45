#!lua
-- cache/open: return the epoch of a tag; set it if there is none.
--
-- KEYS[1]  STRING  epoch    epoch of the tag
-- ARGV[1]  int     kept_ms  how long the epoch lives at least
-- returns  string  the epoch
-- include clock
-- include epochs

local _, _, now_us = clock()
return open_epoch(KEYS[1], now_us, tonumber(ARGV[1]))
