# common.mk: what the recipes share. `make` in a folder here builds into OUT,
# `make run` runs it; FOLDER is the recording (trace.pt, image.map).

ROOT = ../../..
OUT = $(ROOT)/build/targets
FOLDER = $(ROOT)/examples/recording
HOSTCC = cc
HEADERS = $(wildcard $(ROOT)/ipt*.h ../*.h)
FLAGS = -std=c99 -Wall -Wextra -Wpedantic -Wconversion -Wshadow \
    $(if $(filter 1,$(WERROR)),-Werror) -O2 -I$(ROOT) -I..

all:
.PHONY: all run
.DELETE_ON_ERROR:

$(OUT)/data.c: $(OUT)/embed $(FOLDER)/trace.pt $(FOLDER)/image.map
	$(OUT)/embed $(FOLDER) >$@

$(OUT)/embed: ../embed.c $(HEADERS)
	@mkdir -p $(@D)
	$(HOSTCC) $(FLAGS) -I$(ROOT)/examples/tools/common -o $@ ../embed.c
