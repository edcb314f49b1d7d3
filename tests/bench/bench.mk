# bench.mk: targets that measure speed. Part of ../../Makefile.

BENCH = BUILD=$(BUILD) CC="$(CC)" BASE="$(BASE)" sh tests/bench

bench:  ## Speed next to libipt; see tests/bench/bench.sh for TRACES, TSV, ...
	+@$(SUB) $(BUILD)/ptparallel $(BUILD)/ptflow $(BUILD)/ptprof \
	    $(COMPAT)/libipt.so.2
	@$(BENCH)/bench.sh run

bench-curve:  ## Draw tests/bench/cache.svg: speed by size of the cache
	@$(BENCH)/bench.sh curve

bench-instr:  ## Instructions per item by callgrind: TRACES=dir, BASE=dir
	@$(BENCH)/instr.sh

bench-scale:  ## Speed on large programs, address spaces, fuel, ...: BASE=dir
	@$(BENCH)/scale.sh run
