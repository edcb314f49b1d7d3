# cache.gp: gnuplot -e "data='FILE'" cache.gp: blocks by size of the cache, from
# what `bench -k` printed.
set terminal svg size 560,320 font "sans,11" background "white"
set logscale x 2
set xlabel "cache, KiB"
set ylabel "million instructions per second"
set yrange [0:*]
set xtics 4
set grid
set key at graph 0.98, 0.82
stats data using 1 nooutput
plot for [i = 0 : STATS_blocks - 1] data index i using 1:2 \
    with linespoints title columnheader(1)
