"""The fault matrix: each block's workload under each fault, with what is expected of the pair."""
